"""Questions about controllers (lab 9): votes, the metadata log and its high watermark, the leaders of a partition.

Owns: how these states are drawn, and their words. The rule of a question stands nowhere here.
"""
from __future__ import annotations

from random import Random
from typing import Any

from minikafka.lab.labs.lab09.checks import _leadership, decided
from minikafka.lab.labs.lab09.votes import decides, gives
from tools.teach import drawings
from tools.teach.question import MANY, Kind, Question, in_words, mistakes, of_numbers, of_texts


def vote(rng: Random) -> Question:
    epoch = rng.randrange(4, 7)
    me = {"epoch": epoch, "voted": rng.choice((None, None, 101, 103)), "last_epoch": rng.randrange(2, epoch),
          "end": rng.randrange(30, 40)}
    asks = {name: _candidate(rng, candidate, me) for name, candidate in (("A", 101), ("B", 103))}
    voted = "nobody" if me["voted"] is None else f"controller {me['voted']}"
    table = (("request", "candidate", "epoch of the request", "the candidate's log ends at", "its last record is of epoch"),
             *((name, f"controller {ask['candidate']}", *(str(ask[part]) for part in ("epoch", "end", "last_epoch")))
               for name, ask in asks.items()))
    state = (f"controller 102 is in epoch {epoch}; in this epoch it has voted for {voted}; it knows no leader",
             f"its log ends at {me['end']}, and its last record is of epoch {me['last_epoch']}",
             "one of the two requests arrives, A or B, and not the other")
    got = tuple(gives(me, ask) for ask in asks.values())
    options = {(True, False): "A gets the vote, B would not.", (False, True): "B gets the vote, A would not.",
               (True, True): "Each of them would get it.", (False, False): "Neither gets it."}
    return Question(9, state, "Which request gets the vote of controller 102?", tuple(options.values()), [*options].index(got),
                    table)


def _candidate(rng: Random, candidate: int, me: dict[str, int]) -> dict[str, int]:
    asked = me["epoch"] + rng.choice((-1, 0, 0, 1))
    if candidate == me["voted"] and asked == me["epoch"]:      # it asks again: it would not have the vote with an older log
        return {"candidate": candidate, "epoch": asked, "end": me["end"] + rng.choice((0, 3)), "last_epoch": me["last_epoch"]}
    return {"candidate": candidate, "epoch": asked, "end": me["end"] + rng.choice((-2, 0, 3)),
            "last_epoch": max(1, min(asked - 1, me["last_epoch"] + rng.choice((-1, 0, 0, 1))))}


def majority(rng: Random) -> Question:
    start, count = rng.randrange(20, 30), rng.choice((3, 4, 5))
    ends = [start + 8, *(start + rng.randrange(-6, 8) for _ in range(count - 1))]
    before = start - rng.randrange(7, 10)
    right = decides(list(ends), start, before)
    options = of_numbers(rng, right, mistakes("9.11", ends, start, before))
    state = (f"controller 101 is the active one; its epoch began at offset {start}",
             f"until now the high watermark of the metadata log is {before}; an end is the next offset to be written")
    return Question(9, state, "Where is the high watermark of the metadata log now?", *options,
                    drawing=drawings.logs({101 + n: end for n, end in enumerate(ends)}, None, 101))


def election(rng: Random) -> Question:
    replicas = rng.sample((1, 2, 3, 4), 3)
    isr = sorted(rng.sample(replicas, rng.choice((1, 2))))
    leader, unclean = rng.choice(isr), rng.random() < 0.5
    alive = sorted(broker for broker in replicas if broker != leader)
    right = decided({"leader": leader, "epoch": 5, "replicas": replicas, "isr": isr, "elr": []}, alive, unclean)[0]
    state = (f"replicas, in this order: {', '.join(map(str, replicas))}", f"in sync: {', '.join(map(str, isr))}",
             f"broker {leader} leads, and dies now; brokers {', '.join(map(str, alive))} are alive",
             f"unclean.leader.election.enable={str(unclean).lower()}; there are no eligible leader replicas (ELR) beside the ISR")
    options = [*(f"Broker {broker}." for broker in sorted(replicas)), "Nobody."]
    return Question(9, state, "Who leads next?", tuple(options), -1 % MANY if right == -1 else sorted(replicas).index(right))


def led(rng: Random) -> Question:
    """Who leads after a record of the metadata log, as a broker's own image says. Whoever leads is in sync."""
    offset, leader, isr = rng.randrange(20, 60), rng.choice((1, 2, 3)), [1, 2, 3]
    records: list[dict[str, Any]] = [{"offset": offset, "kind": "new", "leader": leader, "isr": isr}]
    for _ in range(rng.randrange(4, 6)):
        offset += rng.randrange(1, 6)
        change: dict[str, Any] = {"offset": offset, "kind": "change"}
        if leader < 0 or rng.random() < 0.6:
            leader = change["leader"] = rng.choice(isr if leader < 0 else (*isr, -1))
        if "leader" not in change or (leader > 0 and rng.random() < 0.3):
            isr = change["isr"] = sorted({leader, *rng.sample((1, 2, 3), rng.randrange(3))})
        records.append(change)
    at = rng.choice([record["offset"] for record in records[2:]])

    def words(said: Any) -> str:
        leader, epoch = said
        return f"{'nobody' if leader is None or leader < 0 else f'broker {int(leader)}'}, epoch {int(epoch)}"
    leader, epoch = _leadership(records, at)
    near = [words(one) for one in ((leader, epoch + 1), (leader, max(0, epoch - 1)), (leader % 3 + 1, epoch), (-1, epoch))]
    table = (("offset", "record of the partition", "leader", "in sync"),
             *((str(one["offset"]), one["kind"], str(one.get("leader", "")), ", ".join(map(str, one.get("isr", ()))))
               for one in records))
    state = ("a record names only what it changes; leader -1 means that nobody leads",
             "the first leader epoch is 0; a record that names a leader begins a new one")
    return Question(9, state, f"Who leads, and in which leader epoch, when a broker has applied the record at offset {at}?",
                    *of_texts(rng, words((leader, epoch)), in_words(mistakes("9.2", records, at), words), near), table)


KINDS = {"led": Kind("Who leads, by the metadata log?", led),
         "vote": Kind("Which request gets a controller's vote?", vote, "votes_by_length_only"),
         "majority": Kind("Up to where have the controllers decided?", majority, "commits_by_minority"),
         "election": Kind("Who leads next?", election, "elected_any_replica")}
