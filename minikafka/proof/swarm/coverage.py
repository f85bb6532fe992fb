"""Coverage: how often a campaign met elections, truncations and other events that it is made for, and how often is enough.

A campaign that finds nothing has shown nothing unless elections, truncations, torn tails and the like really happened.
So each run counts them, the sums are printed, and a campaign of enough seeds that met one of them too seldom fails.

Owns: the names of the counts, and the least that a hundred seeds must show of each.
Invariants: the counts follow from the trace and the requests that were answered, so they are the same
              whenever the seed is run again.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from minikafka.proof.history import History
from minikafka.proof.invariants.losses import METADATA
from minikafka.proof.invariants.watch import Watch
from minikafka.proof.swarm.client_process import KILLED
from minikafka.proof.swarm.faults import BROKERS_ASSIGN, CAUGHT_WRITING, CLIENTS_STRUCK, METADATA_FLIPPED, STRAINED
from minikafka.sim.world.world import World

# Refusals of clients that were replaced: zombies.
FENCED = ("FENCED_LEADER_EPOCH", "FENCED_INSTANCE_ID", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "PRODUCER_FENCED",
          "INVALID_PRODUCER_EPOCH", "INVALID_TXN_STATE", "TRANSACTION_ABORTABLE")  # fmt: skip
ENOUGH = 50  # seeds from which on a campaign is judged by its coverage

# Of each, what 100 seeds must show at least: about a third of what they did when this was written. What the small worlds of
# proof/small_worlds/worlds.py meet is said by the tests of their parts.
LEAST: dict[str, dict[str, float]] = {
    "raft": {
        "leader": 100, "candidate": 120, "prospective": 250, "resigned": 60, "committed": 800, "truncations": 15,
        "torn tail": 5, "torn quorum-state": 0.3, "ballot not replaced": 2, "power loss": 60, "kill": 50, "pauses": 40,
        "cuts": 80, "lost": 100, "timed out": 20, "snapshot": 15, "snapshot loaded": 3, "crash while loading a snapshot": 1,
        "disturbed": 40,
        "FENCED_LEADER_EPOCH": 150, "NOT_LEADER_OR_FOLLOWER": 500,
    },
    "cluster": {
        "ISR shrinks": 600, "ISR expands": 600, "leaders elected": 700, "controllers elected": 100, "truncations": 60,
        "torn tails": 30, "rebalances": 60, "transaction CompleteAbort": 30, "transaction CompleteCommit": 200,
        "segments rolled": 100, "compactions": 100, "brokers died of their disk": 10, "fault kill": 60,
        "fault powerloss": 40, "fault pause": 40, "fault cut": 60, "fault stop": 20, "fault reset": 20, "fault wipe": 3,
        "send ok": 20_000, "send info": 200, "commit ok": 500, "delete-topic ok": 20, "requests fenced": 3, "final ok": 300,
    },
}  # fmt: skip
# What the cluster's seeds from a certain one on must show in addition, for what came with them (swarm.Shape).
LEAST_FROM: dict[int, dict[str, float]] = {
    CLIENTS_STRUCK: {
        "fault flip_bit": 7, "fault kill_for_good": 4, "fault kill_client": 20, "fault pause_client": 20,
        "fault replace_client": 20, "fault stop_polling": 8, "fault check_disk": 4, "killed clients' operations": 20,
        "assignments lost": 3,
    },
    METADATA_FLIPPED: {"bits flipped in metadata": 5, "bits flipped in derived files": 8, "fault renew_metadata": 3},
    CAUGHT_WRITING: {"fault crash_at_write": 35, "died starting": 20},
    BROKERS_ASSIGN: {"reconciliations": 100},
    STRAINED: {"fault strand": 30, "fault lose_answers": 20},
}  # fmt: skip


def may_have(seed: int) -> Counter[str]:
    """Return one count for each range of seeds that a cluster's seed belongs to (LEAST_FROM)."""
    return Counter(_from(first) for first in LEAST_FROM if seed >= first)


def _from(first: int) -> str:
    return f"seeds from {first:,} on"


def lacking(kind: str, coverage: Counter[str], seeds: int) -> list[str]:
    """Return lines on what a campaign of that many seeds met too seldom; none if it was too small to judge."""
    if seeds < ENOUGH:
        return []
    least = {name: int(number * seeds / 100) for name, number in LEAST.get(kind, {}).items()}
    for first, wanted in LEAST_FROM.items():
        least |= {name: int(number * coverage[_from(first)] / 100) for name, number in wanted.items()}
    return [f"too little chaos: {name} {coverage[name]}, wanted at least {number}"
            for name, number in least.items() if coverage[name] < number]  # fmt: skip


def layout(coverage: Counter[str], width: int = 110) -> str:
    """Return the counts, in lines that are filled."""
    lines, line = [], ""
    for name in sorted(coverage):
        item = f"{name} {coverage[name]}"
        if line and len(line) + len(item) + 3 > width:
            lines.append(line)
            line = ""
        line += ("   " if line else "") + item
    return "\n".join([*lines, line])


# --- what a cluster's run met ---------------------------------------------------------------------------------------


def of_cluster(world: World, history: History, watch: Watch) -> Counter[str]:
    """Return the counts of one run, from the trace, the history and the disks."""
    counts: Counter[str] = Counter()
    isrs: dict[str, int] = {}
    for event in world.events:
        _count_event(event, counts, isrs)
    for event in history:
        if event["type"] != "invoke":
            counts[f"{event['f']} {event['type']}"] += 1
            counts["killed clients' operations"] += event.get("error") == KILLED
            counts["assignments lost"] += event["f"] == "revoke" and event["lost"]
            counts["requests fenced"] += event.get("error", "").partition(":")[0] in FENCED
        if event["f"] == "end" and event["type"] == "invoke":
            counts["commits asked" if event["commit"] else "aborts asked"] += 1
    for host in world.hosts.values():
        logs = [path for path in host.disk.files("/data") if path.endswith(".log")]
        counts["segments rolled"] += sum(not path.endswith("/00000000000000000000.log") for path in logs)
    counts["permitted losses"] = len(watch.losses)
    counts["steps"] = world.loop.timeline.steps
    return counts


def _count_event(event: dict[str, Any], counts: Counter[str], isrs: dict[str, int]) -> None:
    kind = event["k"]
    if kind == "fault":
        counts[f"fault {event['fault']}"] += 1
        counts["died starting"] += event.get("starting", False)
        if event["fault"] == "flip_bit" and not event["path"].endswith(".log") or METADATA in event.get("path", ""):
            counts["bits flipped in metadata" if METADATA in event["path"] else "bits flipped in derived files"] += 1
    elif kind == "role" and event["role"] == "leader":
        counts["leaders elected"] += 1
    elif kind == "raft" and event["role"] == "leader":
        counts["controllers elected"] += 1
    elif kind == "truncate" and event["records"]:
        counts["truncations"] += 1
    elif kind == "isr":
        before, now = isrs.get(event["tp"], 3), len(event["isr"])
        counts["ISR shrinks"] += now < before
        counts["ISR expands"] += now > before
        isrs[event["tp"]] = now
    elif kind == "recover" and event["truncated_bytes"]:
        counts["torn tails"] += 1
    elif kind == "crash":
        counts["brokers died of their disk"] += 1
    elif kind == "group" and event["state"] == "PreparingRebalance":
        counts["rebalances"] += 1
    elif kind == "group" and event["state"] == "Reconciling":
        counts["reconciliations"] += 1
    elif kind == "transaction":
        counts[f"transaction {event['state']}"] += 1
    elif kind == "compact":
        counts["compactions"] += 1
