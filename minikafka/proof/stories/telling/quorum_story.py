"""A story of the quorum alone: the Raft state machines on their own world (`small_worlds/raft/world.py`), with links cut by hand.

Owns: what a script may do to voters, and the table of their logs:

    node  role      epoch  vote  HW  log
    1     leader        3     1   2  1^ 1a | 3^
    2     follower      3     1   0  | 1^ 1a

`1a` is a record of epoch 1, `3^` the LeaderChange that opens epoch 3; the bar stands where the node's high watermark
does. Epoch and vote are those on the disk.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, cast

from minikafka.broker.raft.effects import InvariantViolation
from minikafka.proof.small_worlds.raft.oracle import RaftViolation
from minikafka.proof.small_worlds.raft.world import QuorumSettings, RaftNode, RaftWorld
from minikafka.proof.stories.telling.tables import layout
from minikafka.proof.stories.telling.teller import Teller

HEAD = ("node", "role", "epoch", "vote", "HW", "log")
NOTED = ("leader", "candidate", "power loss")
PATIENCE = 20.0  # seconds that a story waits for anything


class QuorumStory(Teller):
    """One telling of a story; `world` are fields of proof/small_worlds/raft/node.py's QuorumSettings."""

    def __init__(self, seed: int, unclean: bool, world: dict[str, Any]) -> None:
        super().__init__()
        self.world = RaftWorld(seed, QuorumSettings(**{"observers": 0, "latency": (0.001, 0.001)} | world))
        self.world.listener = self._on_event
        # A vote that leaves before it is on disk is a violation at once; a story goes on and shows what it leads to.
        self.world.oracle.speaks = lambda node: None  # type: ignore[method-assign]
        self._fallen: list[str] = []

    def run(self, tell: Callable[[QuorumStory], Awaitable[None]]) -> None:
        """Run the script's coroutine without a loop: it never waits for another one."""
        try:
            cast(Coroutine[Any, Any, None], tell(self)).send(None)
        except StopIteration:
            return
        except (RaftViolation, InvariantViolation) as found:
            self._fallen.append(getattr(found, "id", "I8"))
            self.lines += ["", f"VIOLATION {found}"]

    def violations(self) -> tuple[str, ...]:
        return tuple(self._fallen)

    def _on_event(self, now: float, node: int, text: str) -> None:
        if text.startswith(NOTED):
            self.note(f"{node}: {text}")

    # --- what a script does ---------------------------------------------------------------------------------------

    def start(self, *ids: int) -> None:
        for id in ids or self.world.voters:
            self.world.start(id)

    def stand(self, id: int) -> None:
        """Let the node's election timeout expire."""
        self.world.expire(id)

    def append(self, id: int) -> None:
        """Hand the controller on `id` one more record."""
        self.world.hand_records(id)

    def cut(self, a: int, *others: int) -> None:
        """Let nothing arrive between `a` and each of the others until they are joined."""
        for b in others:
            self.world.net.cut(a, b)
            self.world.net.cut(b, a)

    def join(self, a: int, *others: int) -> None:
        for b in others:
            self.world.net.join(a, b)
            self.world.net.join(b, a)

    def restart(self, id: int) -> None:
        """Kill the process and start it: it has forgotten that a leader lives, and may vote for another."""
        self.world.crash(id, power=False)
        self.world.start(id)

    def power_loss(self, id: int) -> None:
        """Cut the power of a node: what it has not flushed is gone."""
        self.world.crash(id, power=True)

    def until(self, condition: Callable[[], object]) -> None:
        """Let the world run until the condition holds."""
        if not self.world.run(self.world.now + PATIENCE, lambda: bool(condition())):
            raise TimeoutError(f"still not so after {PATIENCE:.0f} s")

    def must(self, promise: str, condition: Callable[[], object], within: float) -> None:
        """Return whether the condition holds within this number of seconds; otherwise liveness is lost (I15)."""
        if not self.world.run(self.world.now + within, lambda: bool(condition())):
            self._fallen.append("I15")
            self.note(f"VIOLATION I15: {promise}: not within {within:g} s")

    def passes(self, seconds: float) -> None:
        """Let time pass."""
        self.world.run(self.world.now + seconds)

    # --- what it sees ---------------------------------------------------------------------------------------------

    def leads(self, id: int) -> bool:
        return self.world.nodes[id] in self.world.leaders()

    def end(self, id: int) -> int:
        return self.world.nodes[id].disk.end_offset

    def epoch(self, id: int) -> int:
        core = self.world.nodes[id].core
        return core.state.epoch if core is not None else -1

    def high_watermark(self, id: int) -> int:
        return self.world.nodes[id].high_watermark

    def show(self) -> None:
        self.lines += [f"  {line}" for line in layout(HEAD, [self._row(node) for node in self.world.nodes.values()])]

    def _row(self, node: RaftNode) -> tuple[str, ...]:
        election_state = node.disk.read_election_state()
        role = node.core.state.role_name if node.core is not None else "dead"
        vote = str(election_state.voted) if election_state.voted >= 0 else "-"
        log = [f"{epoch}{_letter(value)}" for epoch, value in node.disk.entries]
        at = node.high_watermark
        shown = " ".join([*log[:at], "|", *log[at:]]) if node.core is not None else " ".join(log)
        return (str(node.id), role, str(election_state.epoch), vote, str(at) if node.core is not None else "", shown)


def _letter(value: int) -> str:
    return "^" if value < 0 else chr(ord("a") + value)
