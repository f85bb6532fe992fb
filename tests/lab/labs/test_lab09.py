"""Lab 9: the metadata log as a picture, the nights, the votes. Strict cells compare the figures."""
from __future__ import annotations

import re

import pytest

from minikafka.lab.labs.lab09 import checks, night, votes
from minikafka.lab.labs.lab09 import experiment as lab09
from minikafka.lab.picture.draw.metadata import picture
from minikafka.proof.weakened import without


@pytest.fixture(scope="module")
def fallen() -> lab09.Failover:
    return lab09.failover(session=3.0)


def test_the_metadata_log_as_a_lane(fallen: lab09.Failover) -> None:
    """I-METALANE-1. Fails if a cell is missing or out of order, or a letter is too small."""
    svg, text = picture(fallen.log, fallen.killed)
    assert len(re.findall(r'font-size="18"[^>]*>[A-Za-z]<', svg)) == len(fallen.log)
    assert {float(size) for size in re.findall(r'font-size="([\d.]+)"', svg)} == {14.0, 18.0} and "var(" not in svg
    assert len(text.splitlines()) == len(fallen.log) and text.splitlines()[-1].endswith("broker 1 is fenced") and "epoch 2" in svg


def test_a_night_holds_every_kind_of_decision():
    """Fails if a night no longer has a death of a leader, of a follower and of the last member, a return with and without an
    election, and, where it is allowed, an unclean election: then a wrong rule could pass it."""
    def kinds(unclean):
        return {(moment.what.split()[-1], moment.now["leader"], moment.decided[0]) for moment in night.night(unclean)}
    assert kinds(False) == {("gone", 1, 3), ("back", 3, 3), ("gone", 3, 3), ("gone", 3, -1), ("back", -1, -1), ("back", -1, 3),
                            ("gone", 3, 1)}
    assert ("back", -1, 2) in kinds(True) and ("back", 2, 2) in kinds(True)


@pytest.mark.parametrize("unclean", [False, True])
def test_the_nights_are_decided_as_the_drawn_states_are(unclean):
    """Fails if the code that judges drawn states (ELR off) decides otherwise than the cluster's controller did (ELR on)."""
    for moment in night.night(unclean):
        leader, epoch, isr = checks.decided(moment.now, moment.alive, unclean)
        assert (leader, epoch, sorted(isr)) == (*moment.decided[:2], sorted(moment.decided[2])), moment


def test_the_drawn_states_hold_every_kind():
    """Fails if drawing grows one-sided: few changes of a leader, few without one, few unclean elections."""
    found = [(now["leader"], checks.decided(now, alive, unclean), now) for now, alive, unclean in checks.drawn(300)]
    changed = sum(before not in (-1, after[0]) and after[0] != -1 for before, after, _ in found)
    assert changed > 20 and sum(after[0] == -1 for _, after, _ in found) > 20
    assert sum(not {*after[2]} <= {*now["isr"]} for _, after, now in found) > 20     # unclean
    assert sum(before == after[0] for before, after, _ in found) > 100


def test_a_voter_without_a_part_of_its_rule():
    """Fails if a vote that is given twice makes no second leader, or a record of a majority survives a vote for a log without
    it, or if the brokers' own rule lets either happen."""
    def roles(table):
        return list(table["role"])
    assert roles(votes.two_candidates()).count("leader") == 1
    assert "topic" in votes.short_log().iloc[1, 3]
    with without("votes_twice"):
        assert roles(votes.two_candidates()).count("leader") == 2
    with without("votes_for_shorter_logs"):
        assert "topic" not in votes.short_log().iloc[1, 3]


@pytest.mark.parametrize("part, case", [("votes_twice", 1), ("votes_for_shorter_logs", 5), ("votes_by_length_only", 6)])
def test_the_judge_of_votes_is_the_brokers_own_code(part, case):
    """Fails if 9.6 is judged by a copy of the rule: with a part of the rule gone, the judge must give the vote, too."""
    me, ask = (dict(zip(names, values)) for names, values in zip((checks.ME, checks.ASK), checks.VOTES[case]))
    assert not votes.gives(me, ask)
    with without(part):
        assert votes.gives(me, ask)


@pytest.mark.parametrize("part, case", [("commits_by_minority", 1), ("commits_former_epoch", 7), ("commits_at_epoch_start", 7)])
def test_the_judge_of_commits_is_the_brokers_own_code(part, case):
    """Fails if 9.11 is judged by a copy of the rule: with a part of the rule gone, the judge must decide more."""
    ends, start, before = checks.COUNTED[case]
    assert votes.decides([*ends], start, before) == before
    with without(part):
        assert votes.decides([*ends], start, before) == 20
