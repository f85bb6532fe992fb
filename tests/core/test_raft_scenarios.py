"""Transcripts of the quorum: `tests/core/raft_scenarios/*.txt`, read by people and replayed by this test.

A transcript is a sequence of blocks: one command a line, then `----`, then what happened; an empty line ends a block.
Lines that start with # explain. In the results, `1: flush` is an effect that node 1 executes, `1: -> 2  Vote ...` a
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

    python -m tests.core.test_raft_scenarios --rewrite       write what happens now; commit only what you understand
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from minikafka.core.raft_messages import Ballot
from tests.core.raft_world import MemoryLog, World, decode

SCENARIOS = Path(__file__).parent / "raft_scenarios"


def replay(text: str) -> str:
    """The transcript as it is today: comments and commands of `text`, and what they lead to."""
    world, out, commands, in_result = World((1,)), [], [], False
    for line in text.splitlines():
        if line == "----":
            in_result = True
            out.append(line)
            for command in commands:
                world = run_command(world, command.split())
            out += world.lines
            world.lines, commands = [], []
        elif not line.strip() or line.startswith("#"):
            in_result = in_result and bool(line.strip())
            if not in_result:
                out.append(line)
        elif not in_result:
            out.append(line)
            commands.append(line)
    return "\n".join(out) + "\n"


def run_command(world: World, words: list[str]) -> World:
    """Carry out one line; `voters` makes a new world."""
    name, *args = words
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
    node.ballot = Ballot(**{key: int(options[key]) for key in ("epoch", "leader", "voted") if key in options})


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
def test_transcript(path: Path) -> None:
    """Fails when a change of core/raft*.py changes a message, an effect or their order.

    If the change is meant: python -m tests.core.test_raft_scenarios --rewrite, and read the difference.
    """
    assert replay(path.read_text()) == path.read_text()


def test_there_are_transcripts() -> None:
    """Fails if the folder is emptied or renamed, which would make the test above pass on nothing."""
    assert len(list(SCENARIOS.glob("*.txt"))) >= 10


if __name__ == "__main__":
    for each in sorted(SCENARIOS.glob("*.txt")):
        now = replay(each.read_text())
        changed = now != each.read_text()
        if changed and "--rewrite" in sys.argv:
            each.write_text(now)
        print(f"{'changed' if changed else 'as before'}  {each.name}")
