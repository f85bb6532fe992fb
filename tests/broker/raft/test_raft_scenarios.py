"""Transcripts of the quorum: `tests/stories/raft/*.txt`, read by people and replayed by this test.

In the results, `1: flush` is an effect that node 1 executes, `1: -> 2  Vote ...` a
message that it sends. Records are written as their epoch and a letter: `2b`; `2^` is the LeaderChange that opens epoch
2.

    voters N... [observers N...]     new nodes with empty disks, none of them running
    disk N [epoch=E] [leader=L] [voted=V] [log=1^,1a]    what N finds on its disk
    start N...                       the processes start
    crash N                          power off: what was not flushed is lost      (crash N after=K: after K more effects)
    resign N                         the process is about to stop
    append N [COUNT]                 the controller on N appends records
    snapshot N                       N makes a snapshot of what is committed, and deletes its log below
    expire N                         N's timer is the first to run out: now
    advance SECONDS                  time passes, timers fire, no message moves
    deliver A B                      the oldest message from A to B arrives
    lose A B                         it is lost: a broken connection for the node that asked
    settle                           all messages arrive, and those that they lead to; no time passes
    cut A B, heal                    messages from A to B and back wait; all links work again
    run SECONDS                      a working network; only changes of state are shown, not the messages
    show                             every node: role, epoch, high watermark, log
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from minikafka.broker.raft.effects import ElectionState
from tests.broker.raft.by_hand import WorldByHand, parse
from tests.transcripts import compare, replay

SCENARIOS = Path(__file__).parents[2] / "stories" / "raft"
NEVER = float("inf")


def run_command(world: WorldByHand, line: str) -> WorldByHand:
    """Carry out one line; `voters` makes a new world."""
    name, *args = line.split()
    options = dict(arg.split("=", 1) for arg in args if "=" in arg)
    plain = [arg for arg in args if "=" not in arg]
    if name == "voters":
        at = plain.index("observers") if "observers" in plain else len(plain)
        return WorldByHand(at, len(plain[at + 1 :]))
    if name == "advance":
        world.run(world.now + float(plain[0]))
    elif name == "run":
        world.pass_time(float(plain[0]))
    elif name == "disk":
        set_disk(world, int(plain[0]), options)
    elif name == "crash":
        crash(world, int(plain[0]), options)
    else:
        COMMANDS[name](world, *map(int, plain))
    world.run(world.now)
    return world


def set_disk(world: WorldByHand, id: int, options: dict[str, str]) -> None:
    disk = world.nodes[id].disk
    disk.append(parse(options.get("log", "")))
    disk.flush()
    state = ElectionState(**{key: int(options[key]) for key in ("epoch", "leader", "voted") if key in options})
    disk.write_election_state(state, world.voters)
    disk.election_state_written()


def crash(world: WorldByHand, id: int, options: dict[str, str]) -> None:
    if "after" in options:
        world.nodes[id].fuse = (int(options["after"]), True, NEVER)
    else:
        world.crash(id, power=True)


def start(world: WorldByHand, *ids: int) -> None:
    for id in ids:
        world.start(id)


COMMANDS: dict[str, Callable[..., object]] = {
    "start": start, "resign": WorldByHand.resign, "snapshot": lambda world, id: world.snapshot(id, 1),
    "append": WorldByHand.hand_records, "settle": WorldByHand.settle, "expire": WorldByHand.expire, "show": WorldByHand.show,
    "deliver": lambda world, a, b: world.net.deliver(a, b), "lose": lambda world, a, b: world.net.lose(a, b),
    "heal": lambda world: world.net.down.clear(), "cut": lambda world, a, b: world.net.down.update({(a, b), (b, a)}),
}


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.txt")), ids=lambda path: path.stem)
def test_transcript(path: Path, rewrite: bool) -> None:
    """Fails when a change of broker/raft/ changes a message, an effect or their order."""
    compare(path, replay(path.read_text(), WorldByHand(1), run_command), rewrite)


def test_there_are_transcripts() -> None:
    """Fails if the folder is emptied or renamed, which would make the test above pass on nothing."""
    assert len(list(SCENARIOS.glob("*.txt"))) >= 10
