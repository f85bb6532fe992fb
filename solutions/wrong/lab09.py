"""Wrong answers to the exercises of lab 9, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

import itertools

from minikafka.lab import Night
from solutions.right.lab09 import (
    by_a_list,
    by_a_loop,
    decides_by_cases,
    instead,
    leads_by_a_loop,
    votes_by_cases,
)


def every_record(records, offset):
    leader, epoch = -1, -1
    for record in records:
        if record["offset"] <= offset:
            leader, epoch = record.get("leader", leader), epoch + 1
    return leader, epoch


def living_only(records, offset):
    leaders = [r["leader"] for r in records if "leader" in r and r["offset"] <= offset]
    return leaders[-1], sum(leader != -1 for leader in leaders) - 1


def last_living(records, offset):
    leaders = [r["leader"] for r in records if "leader" in r and r["offset"] <= offset]
    return next((leader for leader in reversed(leaders) if leader != -1), -1), len(leaders) - 1


def changes_only(records, offset):
    leaders = [r["leader"] for r in records if "leader" in r and r["offset"] <= offset]
    return leaders[-1], len(list(itertools.groupby(leaders))) - 1


# --- 9.2 --------------------------------------------------------------------------------------------------------------


def last_record(records, at):
    known = [r for r in records if r["offset"] <= at]
    return known[-1].get("leader", -1), len(known) - 1


def every_change_is_an_epoch(records, at):
    leader, epoch = -1, -1
    for record in records:
        if record["offset"] <= at:
            leader, epoch = record.get("leader", leader), epoch + 1
    return leader, epoch


def before_the_offset(records, at):
    leader, epoch = -1, -1
    for record in records:
        if record["offset"] < at and "leader" in record:
            leader, epoch = record["leader"], epoch + 1
    return leader, epoch


def first_of_the_isr(records, at):
    leader, epoch = -1, -1
    for record in records:
        if record["offset"] <= at:
            if "leader" in record:
                epoch += 1
                leader = record["leader"]
            elif leader not in record["isr"]:
                leader = record["isr"][0]
    return leader, epoch


def passes_over_the_gap(records, at):
    leader, epoch = -1, -1
    for record in records:
        if record["offset"] <= at and record.get("leader", -1) >= 0:
            leader, epoch = record["leader"], epoch + 1
    return leader, epoch


# --- 9.3 --------------------------------------------------------------------------------------------------------------


def first_of_replicas(now, alive):
    return next((broker for broker in now["replicas"] if broker in alive and broker in now["isr"]), -1)


def first_alive(now, alive):
    return next((broker for broker in [now["leader"], *now["replicas"]] if broker in alive), -1)


def forgets_alive(now, alive):
    return now["leader"] if now["leader"] in now["isr"] else now["isr"][0]


def waits_for_the_old_one(now, alive):
    return now["leader"] if now["leader"] in alive else -1


def in_the_order_of_the_isr(now, alive):
    return next((broker for broker in [now["leader"], *now["isr"]] if broker in alive and broker in now["isr"]),
                leads_by_a_loop(now, alive))


def forgets_the_elr(now, alive):
    return leads_by_a_loop({**now, "elr": []}, alive)


def the_elr_beside_the_isr(now, alive):
    return leads_by_a_loop({**now, "isr": [*now["isr"], *now["elr"]]}, alive)


# --- 9.4 -------------------------------------------------------------------------------------------------------------


def changed(**parts):
    """The right decision with some of its three values changed, each by a function of (now, alive, unclean, right)."""
    def decide(now, alive, unclean, clean):
        right = decides_by_cases(now, alive, unclean)
        named = dict(zip(("leader", "epoch", "isr"), right))
        return tuple(parts[name](now, alive, unclean, right) if name in parts else value for name, value in named.items())
    return decide


def never_unclean(now, alive, unclean, clean):
    return decides_by_cases(now, alive, False)


def always_unclean(now, alive, unclean, clean):
    return decides_by_cases(now, alive, True)


def unclean_first(now, alive, unclean, clean):
    leader = first_alive(now, alive) if unclean else leads_by_a_loop(now, alive)
    return leader, now["epoch"] + (leader != now["leader"]), decides_by_cases(now, alive, unclean)[2]


# --- 9.6 -------------------------------------------------------------------------------------------------------------


def by_length(me, ask):
    return votes_by_cases({**me, "last_epoch": 0}, {**ask, "last_epoch": 0})


# --- 9.11 ------------------------------------------------------------------------------------------------------------


def up_to(pick):
    """The rule with another choice among the ends."""
    def committed(ends, start, before):
        end = pick(ends)
        return max(before, end) if end > start else before
    return committed


def counted(ends):
    return sorted(ends, reverse=True)[len(ends) // 2]


WRONG = {
    "9.2": {
        "looks at the last record only": (last_record, ""),
        "begins an epoch with each change": (every_change_is_an_epoch, ""),
        "leaves out the record at the offset": (before_the_offset, ""),
        "elects the first of the ISR by itself": (first_of_the_isr, ""),
        "does not count the time without a leader": (passes_over_the_gap, ""),
        "an epoch with each record": (every_record, r"only a record that names a leader"),
        "nobody begins no epoch": (living_only, r"or -1, begins|nobody leads"),
        "the last one who lived": (last_living, r"nobody leads"),
        "the same leader again begins no epoch": (changes_only, r"same leader again"),
        "the record at the offset is left out": (lambda records, offset: by_a_loop(records, offset - 1), r"at the offset counts"),
        "the end of the log": (lambda records, offset: by_a_loop(records, 10**9), r"later records"),
        "counts epochs from one": (lambda r, o: (by_a_list(r, o)[0], by_a_list(r, o)[1] + 1), r"first epoch is 0"),
        "the other way round": (lambda r, o: by_a_list(r, o)[::-1], r"leader comes first"),
        "the leader only": (lambda r, o: by_a_list(r, o)[0], r"leader, epoch|pair|two"),
        "the offset taken for a place": (lambda r, o: by_a_list(r[:o + 1], 10**9), r"offset|later"),
    },
    "9.3": {
        "the first that is alive": (first_alive, r"71 of them are lost"),
        "the preferred one, whoever leads": (first_of_replicas, r"broker 3 leads, is alive and in the ISR: it stays"),
        "who is alive does not matter": (forgets_alive, r"not alive"),
        "waits for the old leader": (waits_for_the_old_one, r"no record can be written for 3.1 s"),
        "the order of the ISR": (in_the_order_of_the_isr, r"comes before it in `replicas`"),
        "forgets the ELR": (forgets_the_elr, r"is in the ELR .*: it has everything"),
        "the ELR beside the ISR": (the_elr_beside_the_isr, r"asked only if nobody in the ISR is alive"),
        "nobody is None": (lambda now, alive: leads_by_a_loop(now, alive) if leads_by_a_loop(now, alive) > 0 else None, r"None"),
        "never changes": (lambda now, alive: now["leader"], r"broker 1, and it is not alive: nobody leads for 3.1 s"),
        "a list of who may": (lambda now, alive: [b for b in now["isr"] if b in alive], r"number"),
        "text": (lambda now, alive: str(leads_by_a_loop(now, alive)), r"number"),
    },
    "9.4": {
        "no unclean election": (never_unclean, r"an unclean election is allowed: the first living replica"),
        "unclean, allowed or not": (always_unclean, r"25 of them are lost"),
        "unclean before clean": (unclean_first, r"not in the ISR|it stays"),
        "an epoch with each decision": (changed(epoch=lambda now, a, u, right: now["epoch"] + 1), r"the leader is the same as before"),
        "no epoch while nobody leads": (changed(epoch=lambda now, a, u, right: now["epoch"] + (right[0] not in (now["leader"], -1))),
                                        r"the leader was 3 and is -1 now"),
        "the epoch stays": (changed(epoch=lambda now, a, u, right: now["epoch"]), r"the leader was 1 and is 3 now"),
        "the dead stay in the ISR": (changed(isr=lambda now, a, u, right: now["isr"]), r"is gone and in your ISR"),
        "the ISR is empty": (changed(isr=lambda now, alive, u, right: [b for b in now["isr"] if b in alive] or (
            right[2] if right[0] != -1 else [])), r"nobody knows any more"),
        "everybody alive is in the ISR": (changed(isr=lambda now, alive, u, right: alive or right[2]), r"does not have what counts"),
        "the leader alone": (changed(isr=lambda now, a, u, right: [right[0]] if right[0] != -1 else right[2]), r"leaves it out"),
        "two values": (lambda *given: decides_by_cases(*given)[:2], r"three values"),
        "the ISR is a number": (changed(isr=lambda now, a, u, right: len(right[2])), r"list of brokers"),
        "no return": (lambda now, alive, unclean, clean: None, r"None"),
    },
    "9.6": {
        "always": (lambda me, ask: True, r"two leaders in one epoch"),
        "never": (lambda me, ask: False, r"nobody would ever lead"),
        "votes twice": (lambda me, ask: votes_by_cases({**me, "voted": None}, ask), r"two leaders in one epoch"),
        "votes for shorter logs": (lambda me, ask: votes_by_cases({**me, "last_epoch": 0, "end": 0}, ask), r"record 39 is missing"),
        "by length only": (by_length, r"it ends in epoch 5"),
        "a longer log only": (lambda me, ask: votes_by_cases({**me, "end": me["end"] + 1}, ask), r"nobody would ever lead"),
        "one vote for ever": (lambda me, ask: me["voted"] in (None, ask["candidate"]) and votes_by_cases(me, ask),
                              r"a vote counts for one epoch"),
        "an old epoch may ask": (lambda me, ask: votes_by_cases({**me, "epoch": min(me["epoch"], ask["epoch"])}, ask), r"epoch 6 is over"),
        "not the same again": (lambda me, ask: me["voted"] != ask["candidate"] and votes_by_cases(me, ask), r"asks again"),
        "the same one always": (lambda me, ask: ask["candidate"] == me["voted"] or votes_by_cases(me, ask), r"in epoch 8 it lacks record 39"),
    },
    "9.9": {
        "counts living brokers": (instead("set(now) == set(partition[\"replica_nodes\"])",
                                         "len(admin.describe_cluster()[\"brokers\"]) == 3"),
                                  r"copied nothing, or a broker was dead"),
        "waits for a leader": (instead("set(now) == set(partition[\"replica_nodes\"])", "partition[\"leader_id\"] > 0"),
                               r"Compare the ISR with the replicas"),
        "two are enough": (instead("set(now) == set(partition[\"replica_nodes\"])", "len(now) >= 2"), r"last line was 'in sync: 1 2'"),
        "asks once": (instead("while True:", "for _ in range(1):"), r"Compare the ISR"),
        "prints each time": (instead("        if now != last:", "        if True:"), r"same line twice"),
        "says more": (instead("    time.sleep", "    print('waiting')\n    time.sleep"), r"printed 'waiting'"),
        "says it and goes on": (instead("            break", "            pass"), r"still running"),
        "says nothing": (instead("print(\"in sync:\", *now)", "pass"), r"last line is not"),
        "does not begin": ("raise SystemExit(3)\n# nothing\n", r"ended with an error"),
    },    "9.10": {
        "a death only": (lambda: Night().writes(5).kills(1), r"5 acknowledged, and all are in the log of broker \d"),
        "held, and nobody waits for it": (lambda: Night().holds(2).writes(5).kills(1), r"no record was acknowledged"),
        "the wrong one": (lambda: Night().kills(3).writes(5).kills(1), r"5 acknowledged, and all are in the log of broker"),
        "copies before the death": (lambda: Night().kills(2).writes(5).restarts(2).passes(5).kills(1), r"all are in the log"),
        "nobody dies": (lambda: Night().holds(2).writes(5), r"nothing is lost"),
        "nothing is written": (lambda: Night().kills(2, 1), r"writes nothing"),
        "six moves": (lambda: Night().kills(2).passes(5).writes(5).kills(1).restarts(2).passes(5), r"6 moves, and 5 are allowed"),
        "a controller": (lambda: Night().kills(101).writes(5), r"there is no broker 101"),
        "dead already": (lambda: Night().writes(5).kills(2, 2), r"broker 2 is dead already"),
        "no return": (lambda: None, r"does it end with `return night`"),
    },
    "9.11": {
        "half of them": (up_to(lambda ends: sorted(ends, reverse=True)[len(ends) // 2 - 1]), r"the others can elect a leader"),
        "half, rounded up": (up_to(lambda ends: sorted(ends, reverse=True)[(len(ends) + 1) // 2 - 1]), r"2 of 4 are no majority"),
        "the upper median": (up_to(lambda ends: sorted(ends)[len(ends) // 2]), r"2 of 4 are no majority"),
        "all of them": (up_to(min), r"the death of 1 stops all"),
        "the longest log": (up_to(max), r"on 1 of 3 disks: the others"),
        "the leader's own log": (up_to(lambda ends: ends[0]), r"on 1 of 3 disks: the others"),
        "does not count itself": (up_to(lambda ends: sorted(ends[1:], reverse=True)[len(ends) // 2]), r"the death of 1 stops all"),
        "two are always enough": (up_to(lambda ends: sorted(ends, reverse=True)[1]), r"2 of 4 are no majority"),
        "an older epoch by counting": (lambda ends, start, before: max(before, counted(ends)), r"which is of an older epoch"),
        "from the epoch's start on": (lambda ends, start, before: max(before, counted(ends)) if counted(ends) >= start else before,
                                      r"a majority has record 19, which is of an older epoch"),
        "goes back": (lambda ends, start, before: counted(ends) if counted(ends) > start else before, r"you go back to 25"),
        "0 for nothing new": (lambda ends, start, before: max(before, counted(ends)) if counted(ends) > start else 0, r"you go back to 0"),
        "the last record, not the end": (lambda ends, start, before: max(before, counted(ends) - 1) if counted(ends) > start else before,
                                         r"you return an end"),
        "nothing, ever": (lambda ends, start, before: before, r"it is decided"),
        "True or False": (lambda ends, start, before: counted(ends) > max(start, before), r"an offset is wanted"),
        "how many": (lambda ends, start, before: len(ends) // 2 + 1, r"you go back to 2"),
        "no return": (lambda ends, start, before: None, r"None"),
    },
}
