"""Transcripts of the quorum: `tests/stories/raft/*.txt`, read by people and replayed by this test.

In the results, `1: flush` is an effect that node 1 executes, `1: -> 2  Vote ...` a
message that it sends. Records are written as their epoch and a letter: `2b`; `2^` is the LeaderChange that opens epoch
2.

    voters N... [observers N...]     new nodes with empty disks, none of them running
    disk N [epoch=E] [leader=L] [voted=V] [log=1^,1a]    what N finds on its disk
    start N...                       the processes start
    crash N                          power off: what was not flushed is lost      (crash N after=K: after K more
    effects) resign N                         the process is told to stop
    append N [COUNT]                 the controller on N appends records
    snapshot N                       N makes a snapshot of what is committed, and deletes its log below
    expire N                         N's timer is the first to run out: now
    advance SECONDS                  time passes, timers fire, no message moves
    deliver A B                      the oldest message from A to B arrives
    lose A B                         it is lost, and its sender is told of a broken connection
    settle                           all messages arrive, and those that they lead to; no time passes
    cut A B, heal                    messages from A to B and back wait; all links work again
    run SECONDS                      a working network; only changes of state are shown, not the messages
    show                             every node: role, epoch, high watermark, log
"""

from __future__ import annotations

from pathlib import Path

import pytest

from minikafka.broker.raft.effects import ElectionState
from tests.broker.raft.raft_world import MemoryLog, World, decode
from tests.transcripts import compare, replay

SCENARIOS = Path(__file__).parents[2] / "stories" / "raft"


def run_command(world: World, line: str) -> World:
    """Carry out one line; `voters` makes a new world."""
    name, *args = line.split()
    options = dict(arg.split("=", 1) for arg in args if "=" in arg)
    plain = [arg for arg in args if "=" not in arg]
    if name == "voters":
        at = plain.index("observers") if "observers" in plain else len(plain)
        return World(tuple(map(int, plain[:at])), tuple(map(int, plain[at + 1 :])), seed=1)
    if name in ("advance", "run"):
        PASS_TIME[name](world, float(plain[0]))
    elif name == "disk":
        set_disk(world, int(plain[0]), options)
    elif name == "crash" and "after" in options:
        world.crash_at[int(plain[0])] = int(options["after"])
    else:
        COMMANDS[name](world, *map(int, plain))
    return world


def set_disk(world: World, id: int, options: dict[str, str]) -> None:
    node = world.nodes[id]
    node.log = MemoryLog(tuple(decode(options.get("log", "").replace(",", " ").encode())))
    node.election_state = ElectionState(**{key: int(options[key]) for key in ("epoch", "leader", "voted") if key in options})


def settle(world: World) -> None:
    while links := world.deliverable():
        for link in links:
            world.deliver(*link)


def run(world: World, seconds: float) -> None:
    before = len(world.lines)
    world.run(seconds)
    world.lines[before:] = [line for line in world.lines[before:] if "->" not in line]


def show(world: World) -> None:
    for node in world.nodes.values():
        log = " ".join(map(str, node.log.entries)) or "empty"
        core = node.core
        state = f"{core.role_name} epoch={core.epoch} hw={node.high_watermark}" if core else "down"
        world.lines.append(f"{node.id}: {state} log: {log}")


COMMANDS = {
    "start": World.start, "crash": World.crash, "resign": World.resign, "snapshot": World.snapshot,
    "append": World.append, "settle": settle, "deliver": World.deliver, "expire": World.expire,
    "lose": World.drop, "show": show,
    "heal": lambda world: world.down.clear(), "cut": lambda world, a, b: world.down.update({(a, b), (b, a)}),
}
PASS_TIME = {"advance": World.advance, "run": run}


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.txt")), ids=lambda path: path.stem)
def test_transcript(path: Path, rewrite: bool) -> None:
    """Fails when a change of broker/raft/ changes a message, an effect or their order."""
    compare(path, replay(path.read_text(), World((1,)), run_command), rewrite)


def test_there_are_transcripts() -> None:
    """Fails if the folder is emptied or renamed, which would make the test above pass on nothing."""
    assert len(list(SCENARIOS.glob("*.txt"))) >= 10
