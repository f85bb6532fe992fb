"""Lab 8: its fetch logs, its chart, and what a wrong answer is told. Strict cells compare the figures."""
from __future__ import annotations

import subprocess
import sys
import warnings

import pytest
from IPython.core.interactiveshell import InteractiveShell

from minikafka.broker.config.effective import BrokerConfig
from minikafka.lab.exercise import Wrong
from minikafka.lab.labs.lab08 import checks, incidents, parted, services
from minikafka.lab.labs.lab08.chart import twins
from minikafka.lab.labs.lab08.experiment import D, FetchPace, LagCluster, records_a_fetch
from minikafka.lab.labs.lab08.traces import cases, members, tell
from minikafka.log.epochs import LeaderEpochCache
from tests.log.memfs import MemFs


def test_the_twins():
    """Section 5: fails if the chart leaves a twin out, or if the second twin makes acks=all wait for the first one's limit."""
    first, second = LagCluster(own={D: records_a_fetch(5)}).until(20), LagCluster().until(20)
    FetchPace(first, D, every=0.5, first=3.5)
    FetchPace(second, D, every=3.0)
    for twin in (first, second):
        twin.until(45)
    chart = twins({"first twin": first, "second twin": second}, D, since=20)
    assert [line.name for line in chart.data] == ["first twin", "first twin", "second twin", "second twin"]
    assert "second twin: at most 30" in repr(chart)
    probe = second.ask_for_all()
    second.until(55)
    assert 3 < probe.waited < 6.1  # the first of the questions
    for twin in (first, second):
        twin.close()


def test_the_default_that_the_lab_names():
    """Fails if the session of a broker in Kafka 4.3 is not the one that the text names."""
    assert BrokerConfig()["broker.session.timeout.ms"] == 9000


def test_the_forty_logs_hold_every_kind_and_both_answers():
    """Fails if the fetch logs of 8.6 grew one-sided: then a constant answer would nearly pass."""
    found = cases()
    assert len(found) == 40 and len({case.kind for case in found}) == 6
    assert 10 < sum(3 in members(case) for case in found) < 35 and all(2 in members(case) for case in found)
    assert tell(found[0]).splitlines()[-1] == "ISR: 1, 2"


@pytest.mark.parametrize("wrong, told", [
    (lambda acknowledged, readable: set(acknowledged) - set(readable), "each entry is"),
    (lambda acknowledged, readable: [(o, v, None) for o, v in acknowledged if (o, v) not in readable], "it is lost, and what"),
    (lambda acknowledged, readable: [(o, v, None) for o, v in acknowledged], "it is not lost")])
def test_an_entry_of_another_shape_is_not_called_unlost(wrong, told):
    """Fails if a student who names a lost record, but not what stands there now, is told that it is not lost."""
    with pytest.raises(AssertionError, match=told):
        checks.losses(wrong)


@pytest.mark.parametrize("check, wrong, shown", [
    (checks.losses, lambda acknowledged, readable: [], "history "), (checks.in_sync, lambda *_: {1}, "case "),
    (checks.where_to_cut, lambda *_: 0, "pair ")])
def test_the_command_of_a_refusal_shows_its_case(check, wrong, shown, capfd):
    """Fails if the cell that a refusal names shows another case or a warning of Python's."""
    with pytest.raises(Wrong) as refused:
        check(wrong)
    magic, command = refused.value.replay.split(" ", 1)
    shell = InteractiveShell()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        shell.run_line_magic(magic.removeprefix("%"), command)
    out, err = capfd.readouterr()
    assert out.startswith(shown + command.split()[-1]) and len(out.splitlines()) > 2
    assert (err, [str(one.message) for one in warned if one.category is RuntimeWarning]) == ("", [])


def test_only_one_pair_of_settings_suits_both_services():
    """Fails if a demand of 8.8 is met by every setting, or if another choice than the one of the solution gets through."""
    pairs = [(number, unclean) for number in (1, 2, 3) for unclean in (False, True)]
    suits = {service: [pair for pair in pairs if not services.complaint(service, services.suffered(*pair))]
             for service in services.DEMANDS}
    assert suits == {"orders": [(2, False)], "positions": [(1, True)]}
    for demands in services.DEMANDS.values():
        assert all(any(not met(services.suffered(*pair)) for pair in pairs) for _, met in demands)


@pytest.mark.parametrize("kind, has, lacks", [
    ("restart", ["ISR is [1, 2] (metadata)", "(3 caught up)"], ["fell behind", "leader epoch", "truncated"]),
    ("stuck", ["ISR is [1, 2] (3 fell behind)"], ["leader epoch", "truncated", "refused"]),
    ("death", ["leader epoch 1 starts here at offset 20"], ["fell behind", "truncated", "refused"]),
    ("refused", ["refused with NOT_ENOUGH_REPLICAS"], ["leader epoch", "truncated"]),
    ("unclean", ["ISR is [1] (2, 3 fell behind)", "truncated from 27 to 21: leader 2 of epoch 1"], ["refused"])])
def test_what_brokers_write_into_their_logs(kind, has, lacks):
    """Fails if a broker's log does not say that its ISR, its leader or its log has changed, or that it refused a writer."""
    text = "\n".join(incidents.incident(kind))
    assert [words for words in has if words not in text] == [] and [words for words in lacks if words in text] == []


def test_the_leader_of_8_10_answers_as_a_broker_does():
    """Fails if the leader of a pair answers with another epoch or offset than a broker that has its log, if a follower's list is
    not a broker's, or if the pairs grew one-sided: then a constant answer would nearly pass."""
    def cache(entries):
        made = LeaderEpochCache(MemFs(), "/leader-epoch-checkpoint")
        for epoch, start in entries:
            made.assign(epoch, start)
        return made
    for pair in parted.pairs():
        assert cache(parted.entries(pair.mine)).entries == parted.entries(pair.mine)
        leads = cache([*parted.entries(pair.leaders), (9, len(pair.leaders))])
        for epoch, _ in parted.entries(pair.mine):
            assert parted.answer(pair.leaders, epoch) == leads.end_offset_for(epoch, len(pair.leaders))
        assert (pair.watermark <= pair.part) != (pair.told == "this lab's night")
    cut = [len(pair.mine) - pair.part for pair in parted.pairs()]
    assert 20 < sum(map(bool, cut)) < 45 and len({*cut}) > 8
    assert parted.tell(4).splitlines() == ["pair 4, this lab's night: they part at 70", "you     epoch 0: 0 to 99",
                                           "leader  epoch 0: 0 to 69, epoch 1: 70 to 89"]


def _command(*arguments):
    return subprocess.run([sys.executable, "-m", "minikafka.lab.labs.lab08", *arguments], capture_output=True, text=True,
                          check=False, timeout=300)


@pytest.mark.parametrize("arguments", ["", "pair", "case", "pair x", "pair 999", "case 999", "history 999", "case -1", "other 1"])
def test_a_command_without_its_number_says_what_it_takes(arguments):
    """Fails if the command that a refusal names ends in a traceback, or shows a story, when its number is left out or is none."""
    ended = _command(*arguments.split())
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    assert ended.stderr.startswith("usage: python -m minikafka.lab.labs.lab08 history|case|pair N")


@pytest.mark.parametrize("what", ["history", "case", "pair"])
def test_a_command_with_its_number_shows_the_story(what):
    """Fails if a command that a refusal names prints nothing, or ends with an error."""
    ended = _command(what, "1")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(ended.stdout.splitlines()) > 2
