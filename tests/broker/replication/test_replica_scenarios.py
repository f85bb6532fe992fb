"""Transcripts of the anomalies that one partition can suffer: each file tells one, and what prevents it.

A file has prose (#), commands (> ...) and, under each command, what happened. The commands:

    cluster SIZE [min-insync=N]      a new world; broker 1 leads epoch 1
    produce B VALUE [acks=1]         to broker B, acks=all unless said otherwise
    fetch B                          B fetches from its leader: request, count, answer
    fetch-send B, fetch-arrive B, fetch-take B       the same in three steps
    kill B, restart B [keep=N]       the process, or with keep the machine: only N records were on disk
    fence B, unfence B, elect B      what the controller decides
    metadata B ...                   these brokers hear the newest state (or: all)
    alter-arrive B, alter-take B     B's AlterPartition reaches the controller; its verdict reaches B
    wait SECONDS, tick B, show
"""

from __future__ import annotations

from pathlib import Path

import pytest

from minikafka.broker.replication.replica import Replica
from tests.broker.replication.replica_world import World
from tests.transcripts import compare

FOLDER = Path(__file__).parents[2] / "stories" / "replica"
FILES = sorted(FOLDER.glob("*.txt"))


def command(world: World, words: list[str]) -> World:
    """Carry out one line; `cluster` makes a new world."""
    name, *args = words
    options = dict(a.split("=", 1) for a in args if "=" in a)
    plain = [a for a in args if "=" not in a]
    if name == "cluster":
        return World(int(plain[0]), min_insync=int(options.get("min-insync", 1)), kind=world.kind)
    if name == "wait":
        world.now += float(plain[0])
    elif name == "show":
        world.show()
    elif name == "produce":
        world.produce(int(plain[0]), plain[1], int(options.get("acks", -1)))
    elif name == "restart":
        world.restart(int(plain[0]), int(options["keep"]) if "keep" in options else None)
    elif name == "metadata":
        for node in world.replicas if plain == ["all"] else map(int, plain):
            world.metadata(node)
    else:
        getattr(world, name.replace("-", "_"))(int(plain[0]))
    return world


def replay(text: str, kind: type[Replica] = Replica) -> str:
    """The transcript with everything under the commands as it happens now, with this kind of replica."""
    world, lines = World(kind=kind), []
    for line in text.splitlines():
        if not line.startswith(">"):
            if line.startswith("#") or not line:
                lines.append(line)
            continue
        lines.append(line)
        world.said = []
        world = command(world, line[1:].split())
        lines += [f"  {said}" for said in world.said]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_scenario(path: Path, rewrite: bool) -> None:
    """Fails when the replica decides anything else in that story; the file says which rule it is about."""
    compare(path, replay(path.read_text()), rewrite)


def test_every_story_is_here() -> None:
    """Fails when a transcript of the anomalies that one partition can show (A1 to A7, A14) is lost."""
    assert {p.stem.split("_")[0] for p in FILES} >= {"a1", "a2", "a3", "a4", "a5", "a6", "a7", "a14"}
