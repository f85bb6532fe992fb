"""What is broken next, and where: faults that chase the leader, the controller and the coordinators.

One round breaks something, waits a little, mends it, and waits until the cluster serves again. Chance is seeded; the
timing of the machine is not.

Owns: the choice of faults, their count, and the limits of what a correct cluster may take to recover.
Invariants: after every round all faults are mended, and the cluster must serve again within PATIENCE:
              every partition led and enough replicas in sync; otherwise the round raises NotReady.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

from minikafka import Cluster
from minikafka.broker.metadata.topic_names import OFFSETS_TOPIC, TRANSACTION_TOPIC
from minikafka.cluster.errors import NotReady
from minikafka.proof.history import History

PATIENCE = 60.0  # seconds until a mended cluster serves again
COORDINATORS = (OFFSETS_TOPIC, TRANSACTION_TOPIC)

ANYWHERE = {"kill_one": 9, "kill_and_chase": 6, "kill_again": 4, "kill_all": 2, "pause_one": 2, "pause_and_kill": 2,
            "stop_one": 1}  # rounds, and how often one is chosen
INSIDE = {"cut_off": 2, "cut_one_way": 1, "hold_and_kill": 2, "new_disk": 1, "full_disk": 1}  # in our brokers only


def rounds(engine: str, only: Sequence[str] = ()) -> dict[str, int]:
    """Return the rounds that this engine's brokers can take; with `only`, those in whose name one of these words is. Raises
    ValueError for a word that is in no name."""
    able = ANYWHERE | (INSIDE if engine == "minikafka" else {})
    if unknown := [word for word in only if not any(word in name for name in able)]:
        raise ValueError(f"no faults named {', '.join(unknown)} for {engine}; there are {', '.join(able)}")
    return {name: weight for name, weight in able.items() if not only or any(word in name for word in only)}


class Nemesis:
    """Breaks `cluster` round by round; the leaders of `topics` (name -> partitions) are among what it chases.

    `only`: rounds in whose name one of these words is, such as "kill" or "cut"; all if there are none.
    """

    def __init__(self, cluster: Cluster, history: History, rng: Random, topics: dict[str, int],
                 only: Sequence[str] = ()) -> None:
        self.cluster, self.history, self.rng, self.topics = cluster, history, rng, topics
        self.count: Counter[str] = Counter()
        self.rounds = rounds(cluster.engine, only)

    def round(self) -> None:
        """Do one fault or a short sequence of faults, then mend it."""
        name = self.rng.choices(list(self.rounds), list(self.rounds.values()))[0]
        getattr(self, name)()
        self.cluster.mend()
        self.record("mend")
        self.recover(everything=name == "new_disk" or self.rng.random() < 0.4)

    def recover(self, everything: bool) -> None:
        """Wait until all partitions are led and two replicas (or all of them) are in sync. Raises NotReady."""
        def serving() -> bool:
            """every partition is led, and its replicas are in sync"""
            found = self.cluster.partitions()
            return bool(found) and all(p.leader >= 0 and len(p.isr) >= (len(p.replicas) if everything else 2)
                                       for p in found.values())
        self.cluster.wait(serving, PATIENCE)

    # --- the victims ----------------------------------------------------------------------------------------------

    def victim(self) -> int:
        """Return a living broker: most often a leader, the controller or a coordinator."""
        role = self.rng.choices(["leader", "controller", "coordinator", "any"], [4, 3, 2, 1])[0]
        alive = self.cluster.alive
        found: int | None = None
        if role == "leader":
            topic = self.rng.choice(sorted(self.topics))
            found = self.cluster.leader(topic, self.rng.randrange(self.topics[topic]))
        elif role == "controller":
            found = self.cluster.controller()
        elif role == "coordinator":
            led = [p.leader for p in self.cluster.partitions(self.rng.choice(COORDINATORS)).values() if p.leader >= 0]
            found = self.rng.choice(led) if led else None
        return found if found in alive else self.rng.choice(alive)

    def nap(self, least: float, most: float) -> None:
        self.cluster.sleep(self.rng.uniform(least, most))

    def record(self, fault: str, **fields: object) -> None:
        self.count[fault] += 1
        self.history.record("nemesis", "ok", fault, **fields)

    def kill(self, node: int) -> None:
        self.cluster.kill(node)
        self.record("kill", node=node)

    # --- the rounds -----------------------------------------------------------------------------------------------

    def kill_one(self) -> None:
        """Kill a broker (kill -9); it is back before or after the others have noticed."""
        self.kill(self.victim())
        self.nap(0.0, 4.0)

    def kill_and_chase(self) -> None:
        """Kill a second of three soon after the first: without a majority nothing may be acknowledged, nothing may be lost."""
        self.kill(self.victim())
        self.nap(0.2, 5.0)
        self.kill(self.victim())
        self.nap(0.0, 3.0)

    def kill_again(self) -> None:
        """Kill a broker that has just come back once more, before it has caught up."""
        node = self.victim()
        self.kill(node)
        self.nap(0.5, 4.0)
        self.cluster.restart(node)
        self.record("restart", node=node)
        self.nap(0.0, 0.5)
        self.kill(node)

    def kill_all(self) -> None:
        """Kill all at once: the kernel keeps the page cache."""
        for node in self.cluster.alive:
            self.kill(node)
        self.nap(0.0, 1.0)

    def pause_one(self) -> None:
        """Pause a broker (SIGSTOP) for longer or shorter than a session: it wakes up as a zombie."""
        node = self.victim()
        self.cluster.pause(node)
        self.record("pause", node=node)
        self.nap(1.0, 6.0)
        self.cluster.resume(node)
        self.record("resume", node=node)
        self.nap(0.0, 2.0)

    def pause_and_kill(self) -> None:
        """Pause one, kill another, then let the paused one wake up."""
        sleeper = self.victim()
        self.cluster.pause(sleeper)
        self.record("pause", node=sleeper)
        self.nap(0.0, 5.0)
        self.kill(self.victim())
        self.nap(0.0, 1.0)
        self.cluster.resume(sleeper)
        self.record("resume", node=sleeper)

    def stop_one(self) -> None:
        """Shut one down in a controlled way. It may wait long for the others, which have faults too: then it is killed."""
        node = self.victim()
        try:
            self.cluster.stop(node)
            self.record("stop", node=node)
        except NotReady:
            self.kill(node)
        self.nap(0.0, 2.0)

    def cut_off(self) -> None:
        """Cut one broker off from all but the clients: it must acknowledge nothing (acks=all)."""
        node = self.victim()
        self.record("cut", node=node)
        for other in self.cluster.ids:
            if other != node:
                self.cluster.cut(node, other)
        self.nap(2.0, 6.0)
        self.cluster.heal()

    def cut_one_way(self) -> None:
        """Cut one direction between two brokers, or the clients of one broker."""
        node = self.victim()
        other = self.rng.choice([n for n in self.cluster.ids if n != node] + ["clients"])
        a, b = (node, other) if self.rng.random() < 0.5 else (other, node)
        self.record("cut", node=node, a=a, b=b)
        self.cluster.cut(a, b, one_way=True)
        self.nap(2.0, 6.0)
        self.cluster.heal()

    def hold_and_kill(self) -> None:
        """Let a follower fall behind while the leader lives; then kill the leader."""
        leader = self.victim()
        behind = self.rng.choice([n for n in self.cluster.ids if n != leader])
        self.cluster.hold_follower(behind)
        self.record("hold", node=behind)
        self.nap(1.0, 6.0)
        if leader in self.cluster.alive:
            self.kill(leader)
        self.nap(0.0, 4.0)
        self.cluster.heal()

    def new_disk(self) -> None:
        """Kill a broker (kill -9) and replace its disk: the two others have everything. The next round waits until this
        broker has it too."""
        self.recover(everything=True)
        node = self.victim()
        self.kill(node)
        self.cluster.wipe(node)
        self.record("wipe", node=node)
        self.nap(0.0, 4.0)

    def full_disk(self) -> None:
        """Fill the disk: a short write, then ENOSPC; the broker ends with a torn tail, and comes back when there is room."""
        node = self.victim()
        self.cluster.fill_disk(node, self.rng.randrange(40_000))
        self.record("fill", node=node)
        self.nap(2.0, 6.0)
        if node in self.cluster.alive:  # it had room enough so far, and might run out of it at any time
            self.kill(node)
        self.cluster.heal()
