"""The frame of scripts itself: who watches the watchers."""

from __future__ import annotations

import argparse
import gc
import warnings

import pytest

from minikafka.proof.stories.telling import command, narrate, script
from minikafka.proof.stories.telling.ending import CoordinatedStory
from minikafka.proof.stories.telling.quorum_story import QuorumStory
from minikafka.proof.stories.telling.script import Script
from minikafka.proof.stories.telling.story import Story
from minikafka.proof.stories.telling.tables import layout, with_bar
from minikafka.sim.world.replaced import replaced


class Base:
    def said(self) -> str:
        return "base"


class Heir(Base):
    pass


def test_what_was_replaced_is_back_even_if_it_was_inherited_and_the_story_failed() -> None:
    """I-REPLACED-1: fails if a replacement outlives its context, and every later test runs with a rule off."""
    with pytest.raises(ZeroDivisionError), replaced(Heir, "said", lambda self: "off"):
        assert Heir().said() == "off" and Base().said() == "base"
        raise ZeroDivisionError
    assert Heir().said() == "base" and "said" not in vars(Heir)


def quorum_script(tell: script.Tell) -> Script:
    return Script("test", "Test", "1", tell, stage=QuorumStory)


async def breaks_off(story: QuorumStory) -> None:
    """A story."""
    story.step("something is expected in vain")
    story.until(lambda: False)


async def loses(story: QuorumStory) -> None:
    """A story."""
    story.must("the impossible", lambda: False, within=1.0)


def test_a_story_that_breaks_off_fails_with_every_rule_on_and_proves_nothing_with_one_off() -> None:
    """I-STORY-2: fails if a typo in a story could pass for a rule that was seen missing."""
    told = quorum_script(breaks_off)
    with pytest.raises(TimeoutError):
        script.tell(told)
    off = script.tell(told, without=replaced(Heir, "said", None))
    assert "The story breaks off: TimeoutError" in off.text and off.violations == ()


def test_a_violation_with_every_rule_on_is_an_error() -> None:
    """I-STORY-2: fails if a story could find a bug in our brokers and pass."""
    with pytest.raises(AssertionError, match="I15"):
        script.tell(quorum_script(loses))
    assert script.tell(quorum_script(loses), without=replaced(Heir, "said", None)).violations == ("I15",)


async def goes(story: CoordinatedStory) -> None:
    """A story."""
    await story.topic("t", 1, 2, 3)
    story.send("never looked at", to=1)


def test_a_story_leaves_nothing_behind() -> None:
    """Fails if its world is not closed: what brokers and clients were about to do would be "never awaited"."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        script.tell(Script("test", "Test", "1", goes, stage=CoordinatedStory))
        gc.collect()
    assert [str(w.message) for w in warned if w.category is RuntimeWarning] == []


def test_at_once_acts_in_the_very_step() -> None:
    """Fails if what a story does "at once" comes a step later, when the world has gone on."""
    story, seen = Story(1, False, {}), []

    async def tell(story: Story) -> None:
        story.at_once(lambda: story.partition(2) is not None, lambda: seen.append(story.partition(2).log.end_offset))
        await story.topic("t", 1, 2, 3)
        for number in range(3):
            await story.send(f"m{number}", to=1)

    story.run(tell)
    assert seen == [0] and story.violations() == ()
    story.close()


def test_tables() -> None:
    """Fails if columns no longer line up, or the bar is not where the high watermark is."""
    assert layout(("broker", "HW", "log"), [("1", "10", "a"), ("2", "9", "b c")]) == [
        "broker  HW  log", "1       10  a", "2        9  b c"]
    records = [(0, "m1/0"), (1, "m2/0")]
    assert [with_bar(records, at) for at in (0, 1, 2)] == ["| m1/0 m2/0", "m1/0 | m2/0", "m1/0 m2/0 |"]


def test_the_narrator_writes_the_chosen_events_of_the_topics_of_the_story() -> None:
    """Fails if a story is drowned in the events of internal topics, or a kind is told that is not wanted."""
    cut = {"k": "truncate", "b": 2, "tp": "t-0", "to": 1, "records": 1}
    assert narrate.sentence(cut, ("truncate",), {"t": None}) == "2 truncates t-0 to 1, 1 record gone"
    assert narrate.sentence(cut, ("role",), {"t": None}) is None
    assert narrate.sentence(cut | {"tp": "__consumer_offsets-0"}, ("truncate",), {"t": None}) is None


def test_the_command_tells_by_the_beginning_of_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if `sim tell a9` no longer finds A9, or takes a1 for a10 too."""
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    assert command.run(parser.parse_args(["a9", "--without", "commits_at_epoch_start"])) == 0
    assert "VIOLATION I8" in capsys.readouterr().out
    assert [story.name for story in command._meant("a1")] == ["a1_hw_truncation"]
    assert command.run(parser.parse_args([])) == 0
    assert "a10_vote_amnesia" in capsys.readouterr().out
    assert command.run(parser.parse_args(["nothing"])) == 2
