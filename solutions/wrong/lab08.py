"""Wrong answers to the exercises of lab 8, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

from solutions.right.lab08 import (
    CHOICE,
    LIMIT,
    alarm_by_a_loop,
    cut_by_a_loop,
    isr_by_a_loop,
    leaves_by_a_loop,
    lost_by_a_loop,
    moment,
)


def ask_each(now, fetches, end, rule):
    """Return the members, by a rule over one follower's fetches."""
    return [1, *(name for name in (2, 3) if rule(now, [f for f in fetches if f.follower == name], end))]


def last_caught_up(fetches, *, previous=True, at=0):
    moment, before = 0.0, None
    for fetch in fetches:
        if fetch.offset >= fetch.leader_end + at:
            moment = fetch.t
        elif previous and before is not None and fetch.offset >= before.leader_end:
            moment = before.t
        before = fetch
    return moment


def at_the_end(fetches, end):
    return bool(fetches) and fetches[-1].offset == end


def by_count(now, fetches, end):
    """Ask how many records are missing: replica.lag.max.messages, as Kafka had it until 0.8."""
    return ask_each(now, fetches, end, lambda now, own, end: bool(own) and end - own[-1].offset <= 20)


def by_age(now, fetches, end):
    """Ask whether the newest record of the follower was written at most LIMIT seconds ago."""
    def rule(now, own, end):
        newest = own[-1].offset if own else 0
        written = next((f.t for f in fetches if f.leader_end >= newest), now)
        return at_the_end(own, end) or now - written <= LIMIT
    return ask_each(now, fetches, end, rule)


def never_looks_again(now, fetches, end):
    """Judge at the time of the last fetch instead of now."""
    return ask_each(now, fetches, end, lambda now, own, end: not own or own[-1].t - last_caught_up(own) <= LIMIT)


def one_short_is_enough(now, fetches, end):
    return ask_each(now, fetches, end, lambda now, own, end: at_the_end(own, end) or now - last_caught_up(own, at=-1) <= LIMIT)


def by_value_only(acknowledged, readable):
    values, found = {value for _, value in readable}, dict(readable)
    return [(offset, value, found.get(offset)) for offset, value in acknowledged if value not in values]


def side_by_side(acknowledged, readable):
    """Compare the lists place by place, as if both began at 0 and had no holes."""
    padded = [value for _, value in readable] + [None] * len(acknowledged)
    return [(offset, value, there) for (offset, value), there in zip(acknowledged, padded) if there != value]


def only_the_end(acknowledged, readable):
    end = max((offset for offset, _ in readable), default=-1)
    return [(offset, value, None) for offset, value in acknowledged if offset > end]


def in_either_list_only(acknowledged, readable):
    found = dict(readable)
    return [(offset, value, found.get(offset)) for offset, value in set(acknowledged) ^ set(readable)]


def last_fetch(now, fetches, end):
    latest = {fetch.follower: fetch.t for fetch in fetches}
    return [1] + [name for name in (2, 3) if now - latest.get(name, 0.0) <= LIMIT]


def only_whole(now, fetches, end):
    latest = {2: 0.0, 3: 0.0} | {fetch.follower: fetch.t for fetch in fetches if fetch.offset >= fetch.leader_end}
    offsets = {fetch.follower: fetch.offset for fetch in fetches}
    return [1] + [name for name in (2, 3) if now - latest[name] <= LIMIT or offsets.get(name, -1) >= end]


def without_the_leader(now, fetches, end):
    return [name for name in isr_by_a_loop(now, fetches, end) if name != 1]


def idle_is_late(now, fetches, end):
    return [1] + [name for name in (2, 3) if now - moment(fetches, name)[0] <= LIMIT]


def strict(now, fetches, end):
    found = {name: moment(fetches, name) for name in (2, 3)}
    return [1] + [name for name, (t, offset) in found.items() if now - t < LIMIT or (offset is not None and offset >= end)]


def of_all_together(now, fetches, end):
    t = max([0.0] + [fetch.t for fetch in fetches if fetch.offset >= fetch.leader_end])
    return [1, 2, 3] if now - t <= LIMIT else [1]


def first_word(words):
    """An alarm that asks for these words, in this order."""
    return lambda lines: next((alarm for word, alarm in words if any(word in line for line in lines)), "quiet")


LOST, REFUSED, FAILOVER, LATE = (("truncated", "lost"), ("NOT_ENOUGH_REPLICAS", "refused"), ("leader epoch", "failover"),
                                 ("fell behind", "late"))


def lost_without_what(acknowledged, readable):
    return [(o, v) for o, v, _ in lost_by_a_loop(acknowledged, readable)]


def only_its_own_epochs(epochs, end, answer, watermark):
    """Cut where the next epoch begins, wherever the leader's log ended."""
    return next((start for number, start in epochs if number > answer[0]), end)


def at_the_watermark_where_they_part(epochs, end, answer, watermark):
    return end if answer[0] == epochs[-1][0] and answer[1] >= end else watermark


def where_the_epoch_begins(epochs, end, answer, watermark):
    return next((start for number, start in epochs if number >= answer[0]), end)


WRONG = {
    "8.10": {
        "cuts nothing": (lambda epochs, end, answer, watermark: end, r"nothing more is cut.*the leader has"),
        "cuts everything": (lambda epochs, end, answer, watermark: 0, r"throw away"),
        "at the high watermark": (lambda epochs, end, answer, watermark: watermark, r"which a follower learns last"),
        "at the high watermark, where they part": (at_the_watermark_where_they_part, r"which a follower learns last"),
        "at the leader's end, whatever the epoch": (lambda epochs, end, answer, watermark: min(end, answer[1]),
                                                    r"nothing more is cut.*of epoch \d.*of epoch \d"),
        "by its own epochs only": (only_its_own_epochs, r"nothing more is cut"),
        "never below the high watermark": (lambda epochs, end, answer, watermark: max(
            watermark, cut_by_a_loop(epochs, end, answer, watermark)), r"end 100, .*nothing more is cut"),
        "its last epoch, always": (lambda epochs, end, answer, watermark: epochs[-1][1], r"throw away"),
        "where the epoch begins": (where_the_epoch_begins, r"throw away"),
        "the last that stays": (lambda *known: cut_by_a_loop(*known) - 1, r"throw away"),
        "beyond its end": (lambda epochs, end, answer, watermark: answer[1], r"from 0 to \d"),
        "how many are cut": (lambda epochs, end, *known: end - cut_by_a_loop(epochs, end, *known), r"throw away"),
        "the answer": (lambda epochs, end, answer, watermark: answer, r"a whole number is wanted"),
        "no return": (lambda epochs, end, answer, watermark: None, r"returned nothing|None"),
    },
    "8.2": {
        "looks at values only": (by_value_only, ""),
        "compares place by place": (side_by_side, ""),
        "looks only behind the end": (only_the_end, ""),
        "counts what was never promised": (in_either_list_only, ""),
        "by offset alone": (lambda a, r: [(o, v, None) for o, v in a if o not in dict(r)], r"value|instead|\d+"),
        "by value alone": (lambda a, r: [(o, v, None) for o, v in a if v not in dict(r).values()], r"offset|instead|place"),
        "what stands there is missing": (lost_without_what, r"instead|offset, value, what"),
        "the values only": (lambda a, r: [v for _, v, _ in lost_by_a_loop(a, r)], r"offset, value, what"),
        "how many": (lambda a, r: len(lost_by_a_loop(a, r)), r"list"),
        "also what was never promised": (
            lambda a, r: lost_by_a_loop(a, r) + [(o, None, v) for o, v in r if o not in dict(a)],
            r"never (acknowledged|promised)"),
        "an empty text for nothing": (lambda a, r: [(o, v, i or "") for o, v, i in lost_by_a_loop(a, r)], r"None"),
        "nothing": (lambda a, r: [], r"\d+"),
        "the first one only": (lambda a, r: lost_by_a_loop(a, r)[:1], r"\d+"),
    },
    "8.4": {
        "at the limit": (lambda stopped, look: stopped + 10, r"does not look then"),
        "exactly the limit is enough": (lambda stopped, look: next(t for t in range(int(look), 500, 5) if t - stopped >= 10),
                                        r"within the limit"),
        "the limit is five": (lambda stopped, look: next(t for t in range(int(look), 500, 5) if t - stopped > 5), r"within the limit"),
        "one and a half times": (lambda stopped, look: stopped + 15, r"does not look then"),
        "one look too many": (lambda stopped, look: leaves_by_a_loop(stopped, look) + 5, r"late already"),
        "the looks begin at 0": (lambda stopped, look: leaves_by_a_loop(stopped, 0), r"does not look then"),
    },
    "8.6": {
        "counts records": (by_count, ""),
        "takes the age of the newest record": (by_age, ""),
        "does not look again as time passes": (never_looks_again, ""),
        "lets one record pass": (one_short_is_enough, ""),
        "looks at the last fetch": (last_fetch, r"fetch"),
        "counts only who reached the end of that moment": (only_whole, r"in sync"),
        "forgets itself": (without_the_leader, r"1 leads, and is always in sync"),
        "an idle partition makes its followers late": (idle_is_late, r"in sync|everything"),
        "exactly the limit is too late": (strict, r"limit"),
        "one clock for both followers": (of_all_together, r"in sync"),
        "everybody, always": (lambda now, fetches, end: [1, 2, 3], r"late"),
        "how many": (lambda now, fetches, end: len(isr_by_a_loop(now, fetches, end)), r"numbers"),
        "no return": (lambda now, fetches, end: None, r"returned nothing|returned None|None"),
        "one text": (lambda now, fetches, end: "".join(map(str, isr_by_a_loop(now, fetches, end))), r"numbers"),
    },
    "8.8": {
        "safe, both": ({"orders": (2, False), "positions": (2, False)}, r"positions.*0 of 10 positions came through: the map"),
        "the defaults": (lambda: {"orders": (1, False), "positions": (1, False)}, r"orders.*burnt down, and 10"),
        "the other way round": ({"orders": (1, True), "positions": (2, False)}, r"orders.*burnt down"),
        "as safe as can be": ({**CHOICE, "orders": (3, False)}, r"orders.*planned restart .*broker 0 of 10"),
        "unclean, and two of three": ({**CHOICE, "orders": (2, True)}, r"without power for ten seconds, and \d+ confirmed"),
        "the map waits for its leader": ({**CHOICE, "positions": (1, False)}, r"nobody led: the map"),
        "one service": ({"orders": (2, False)}, r"'orders' and 'positions'"),
        "one number": ({"orders": 2, "positions": 1}, r"1, 2 or 3, True or False"),
    },
    "8.9": {
        "any change of the ISR is late": (first_word([LOST, REFUSED, FAILOVER, ("ISR is", "late")]), r"“restart”.*as planned"),
        "the mildest first": (first_word([LATE, FAILOVER, REFUSED, LOST]), r"“death”.*“stuck”.*'failover'"),
        "looks for warnings only": (first_word([("WARNING", "lost")]), r"'late'"),
        "the last line counts": (lambda lines: alarm_by_a_loop(lines[-1:]), r"late|failover|lost"),
        "another leader before a refusal": (first_word([LOST, FAILOVER, REFUSED, LATE]), r"“death”.*'refused'"),
        "only broker 3 is late": (first_word([LOST, REFUSED, FAILOVER, ("(3 fell behind", "late")]), r"“stuck”.*'late'"),
        "always quiet": (lambda lines: "quiet", r"late"),
        "a list": (lambda lines: [alarm for word, alarm in (LOST, REFUSED, FAILOVER, LATE) if word in str(lines)], r"quiet|text"),
    },
}
