"""Whole clusters under the seeded swarm: seeds that once failed, and the machinery around all of them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pty
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from minikafka.broker.groups.classic.group import ClassicGroup
from minikafka.log.flush import LogFlush
from minikafka.proof import command
from minikafka.proof.ledger import HEAD
from minikafka.proof.small_worlds.worlds import PER_CLUSTER
from minikafka.proof.swarm import campaign as campaigns
from minikafka.proof.swarm import coverage, faults, workload
from minikafka.proof.swarm.campaign import Campaign, SeedOutcome, kept_seeds, write_ledger
from minikafka.proof.swarm.faults import CAUGHT_WRITING, CONTROLLER, KINDS, SwarmFault
from minikafka.proof.swarm.shrink import shrink
from minikafka.proof.swarm.swarm import OWN_QUORUM, SeedRun, Shape, run_seed
from minikafka.sim.world.replaced import replaced

DRAWN = "b47b38a98b9b4b30"  # a digest of what some seeds draw

@pytest.mark.proof
@pytest.mark.parametrize("kept", kept_seeds(), ids=str)
def test_what_once_failed(kept: campaigns.Kept) -> None:
    """Each seed in regress.txt showed a bug that is mended; fails when it comes back."""
    assert kept.run().violations == []


def test_all_that_was_written_is_read_at_the_end() -> None:
    """Fails when the last reader leaves out a partition: what only a reader would miss then shows nowhere."""
    run = run_seed(2)
    assert run.coverage["send ok"] > 50
    history = run.history
    asked = {event["op"]: event for event in history if event["type"] == "invoke"}

    def partitions(f: str) -> set[tuple[str, int]]:
        done = [asked[event["op"]] for event in history if event["f"] == f and event["type"] == "ok"]
        return {(each["topic"], each["partition"]) for each in done}

    assert partitions("send") and partitions("send") <= partitions("final")


def test_clusters_are_built_in_several_ways_from_a_certain_seed_on() -> None:
    """Fails if a seed that lists name is another run now, if a way of building is never drawn, or if most seeds may lose."""
    assert {Shape.of(seed) for seed in range(OWN_QUORUM)} == {Shape()}
    drawn = Counter(Shape.of(seed) for seed in range(OWN_QUORUM, OWN_QUORUM + 1000))
    assert set(drawn) == {Shape(controllers, unclean) for controllers in (None, 3) for unclean in (False, True)}
    assert 150 < sum(n for shape, n in drawn.items() if shape.controllers) < 250
    assert 60 < sum(n for shape, n in drawn.items() if shape.unclean) < 140
    unclean = next(seed for seed in range(OWN_QUORUM, OWN_QUORUM + 1000) if Shape.of(seed) == Shape(3, True))
    run = SeedRun(unclean)
    assert run.config["unclean.leader.election.enable"] is True and run.watch.unclean
    assert not len(run.history), "what is lost is excused when it is, and nothing else"
    assert len(run.world.nodes) == 6
    run.world.close()


def test_plans_differ_and_faults_can_be_left_out() -> None:
    """Fails when a part of a plan is drawn anew, so that a failing seed could not be made smaller."""
    plan = SeedRun(1).plan
    assert plan != SeedRun(3).plan and len(plan) > 4
    assert SeedRun(1, keep=[1, 3]).plan == [plan[1], plan[3]]
    assert {fault.kind for fault in SeedRun(1, kinds=[plan[0].kind]).plan} == {plan[0].kind}
    there: set[str] = set()
    for first, those in KINDS.items():
        there |= set(those)
        drawn = [fault for seed in range(first, first + 200) for fault in SeedRun.plan_of(seed)]
        assert {fault.kind for fault in drawn} == there
        assert {fault.kind for fault in drawn if fault.target == faults.CLIENT} == there & set(faults.CLIENT_KINDS)
    assert set(campaigns.fault_kinds("cluster")) == there


def test_a_seed_stays_what_it_is() -> None:
    """Fails when seeds that are in the ledger, or in a list, come to mean something else: what the swarm learns is for
    seeds that nobody has run yet."""
    among = ((0, 100), (OWN_QUORUM, OWN_QUORUM + 100), *((first - 100, first + 100) for first in KINDS if first))
    seeds = [seed for first, end in among for seed in range(first, min(end, CAUGHT_WRITING))]
    drawn = [(Shape.of(seed).controllers, Shape.of(seed).unclean, [tuple(fault) for fault in SeedRun.plan_of(seed)])
             for seed in seeds]
    assert hashlib.sha256(repr(drawn).encode()).hexdigest()[:16] == DRAWN


def _topics(seed: int) -> list[str]:
    run = SeedRun(seed)
    run.world.close()
    return run.topics


def test_strained_seeds_have_everything_in_less_time() -> None:
    """Fails if a campaign does not begin with the newest seeds, or if a strained seed lacks its work or its faults."""
    assert command.STRAINED == max(KINDS)
    run = SeedRun(command.STRAINED)
    assert run.shape.strained and run.config["broker.session.timeout.ms"] <= 3000 and all(work.strained for work in run.work)
    run.world.close()
    plans = [SeedRun.plan_of(command.STRAINED + n) for n in range(20)]
    assert max(fault.at for plan in plans for fault in plan) < 20.0
    assert {"strand", "lose_answers"} <= {fault.kind for plan in plans for fault in plan}
    topics = {topic for n in range(20) for topic in _topics(command.STRAINED + n)}
    assert {"brisk", "aged", "ledger"} <= topics
    assert not {"brisk", "aged", "ledger"} & {topic for n in range(20) for topic in _topics(70_000 + n)}


def test_a_campaign_is_judged_by_the_kinds_that_came_later() -> None:
    """Fails when a campaign whose seeds should have them, and had none, is believed."""
    met = Counter(dict.fromkeys(coverage.LEAST["cluster"], 10 ** 6))
    assert coverage.lacking("cluster", met, 200) == []
    for first, wanted in coverage.LEAST_FROM.items():
        (name,) = coverage.may_have(first).keys() - coverage.may_have(first - 1).keys()
        met[name] = 200
        assert len(coverage.lacking("cluster", met, 200)) == len(wanted)
        met.update({name: 2 * number for name, number in wanted.items()})
        assert coverage.lacking("cluster", met, 200) == []


def test_a_swarm_catches_nodes_between_two_writes() -> None:
    """Fails if a node that should die in the middle of a step, or of its start, does not, or does when its time is up;
    if its other half of the step harms anything; or if what only might have struck is counted."""
    run = SeedRun(CAUGHT_WRITING)
    run.plan = [SwarmFault(2.0, "crash_at_write", 1, 5.0, ("kill", 3)),
                SwarmFault(9.0, "crash_at_write", CONTROLLER, 5.0, ("powerloss", 2)),
                SwarmFault(12.0, "crash_at_write", 3, 0.5, ("kill", 100)),
                SwarmFault(16.0, "crash_at_start", 2, 3.0, ("powerloss", 20))]  # fmt: skip
    result = run.execute()
    assert result.violations == []
    assert result.coverage["fault crash_at_write"] == 3 and result.coverage["died starting"] == 1
    died = [e["node"] for e in result.events if e["k"] == "fault" and e["fault"] in ("kill", "powerloss")]
    controller = died[1]
    assert died == [1, controller, 2, 2] and run.world.hosts[3].incarnation == 1 + (controller == 3)


def test_every_kind_of_work_is_drawn() -> None:
    """Fails when a kind of work never comes to be done."""
    drawn = Counter(kind for seed in range(100) for kind in workload.draw(faults.Random(seed)))
    assert set(drawn) == set(workload.KINDS) and min(drawn.values()) > 20


# --- making smaller -------------------------------------------------------------------------------------------------


def test_shrinking_finds_the_two_that_matter() -> None:
    """Fails when a smaller plan that fails is missed, or when what is returned does not fail."""
    tried: list[list[int]] = []

    def fails(part: list[int]) -> bool:
        tried.append(part)
        return {17, 41} <= set(part)

    assert shrink(range(60), fails) == [17, 41]
    assert len(tried) < 100
    assert len(shrink(range(60), lambda part: len(part) >= 58)) == 58


def test_shrinking_to_nothing() -> None:
    """What fails without any fault needs none."""
    assert shrink([1, 2, 3], lambda part: True) == []


# --- reports --------------------------------------------------------------------------------------------------------


def test_a_failing_seed_is_one_line_with_its_replay() -> None:
    """Fails when the line does not name the invariant, or the command does not name the seed and its world."""
    line = SeedOutcome("raft", 7, ["I7 at 1.000 s: two leaders", "I8 at 2.000 s: lost"]).line()
    assert line == "seed 7: I7 at 1.000 s: two leaders (and 1 more)   python -m minikafka sim replay 7 --raft"
    assert SeedOutcome("cluster", 7, ["I7"], faults=["cut", "kill"]).line().endswith("sim replay 7 --faults cut,kill")
    assert campaigns.replay_command("raft", 7, keep=[1, 3]) == "python -m minikafka sim replay 7 --raft --keep 1,3"
    assert campaigns.replay_command("cluster", 7, keep=[]) == "python -m minikafka sim replay 7 --keep none"


def test_the_ledger_and_the_kept_seeds(tmp_path: Path) -> None:
    """Fails when what a campaign came to cannot be read back."""
    done = Campaign("raft", 100, seeds=50, failed=[SeedOutcome("raft", 101, ["I7"])])
    for _ in range(2):
        write_ledger(done, "raft", tmp_path / "ledger.tsv")
    lines = [line.split("\t") for line in (tmp_path / "ledger.tsv").read_text().splitlines()]
    assert tuple(lines[0]) == HEAD and [line[1:] for line in lines[1:]] == [["raft", "100-149", "50", "1"]] * 2
    (tmp_path / "regress.txt").write_text("# kept\nraft 7 keep=1,2  # two leaders\ncluster 8\n")
    kept = kept_seeds(tmp_path / "regress.txt")
    assert kept == [campaigns.Kept("raft", 7, (1, 2)), campaigns.Kept("cluster", 8)]


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fails when a command loses its way: the exit status says whether something was found."""
    assert command.main(["run", "--raft", "--seeds", "3", "--jobs", "1"]) == 0
    assert "raft: 3 seeds from 0 on, 0 with violations" in capsys.readouterr().out
    assert command.main(["replay", "3", "--raft", "--out", str(tmp_path)]) == 0
    assert "leader in epoch" in (tmp_path / "raft-3.trace").read_text()
    assert command.main(["shrink", "3", "--raft"]) == 2
    assert command.main(["replay", "2", "--keep", "0,1", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "2.history.jsonl").exists() and "0 violations" in capsys.readouterr().out


def test_a_replay_numbers_faults_as_keep_takes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if the numbers that a replay prints are others than those by which its faults were kept."""
    plan = campaigns.plan_of("raft", 4)
    kind = plan[3].kind
    for chosen, struck in ((["--keep", "1,3"], [1, 3]), (["--keep", "none"], []),
                           (["--faults", kind], [place for place, fault in enumerate(plan) if fault.kind == kind])):
        assert command.main(["replay", "4", "--raft", "--out", str(tmp_path), *chosen]) == 0
        told = capsys.readouterr().out.splitlines()[1:-1]
        assert told == [f"  {place:3}  {plan[place]}" for place in struck]


def test_shrinking_a_part_of_the_plan(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if faults that were left out come back into the smaller plan, or its replay is another than what failed."""
    plan = campaigns.plan_of("raft", 4)
    kinds = [plan[1].kind, plan[3].kind]
    wanted = {1, 3}

    def run(kind: str, seed: int, faults: list[str] | None = None, keep: list[int] | None = None) -> SeedOutcome:
        struck = [n for n, fault in enumerate(plan) if (faults is None or fault.kind in faults) and (keep is None or n in keep)]
        return SeedOutcome(kind, seed, ["I8 at 1.000 s: lost"] if wanted <= set(struck) else ["I7 at 0.100 s: another"])

    monkeypatch.setattr(campaigns, "run_one", run)
    assert command.main(["shrink", "4", "--raft", "--faults", ",".join(kinds)]) == 0
    said = capsys.readouterr().out.splitlines()
    among = sum(fault.kind in kinds for fault in plan)
    assert said == [f"I8 still fails with 2 of {among} faults: I8 at 1.000 s: lost",
                    "python -m minikafka sim replay 4 --raft --keep 1,3"]


def test_shrinking_keeps_to_what_fell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if a lost write is made smaller until only a duplicate is left of it: both are I17."""
    def run(kind: str, seed: int, faults: list[str] | None = None, keep: list[int] | None = None) -> SeedOutcome:
        name = "lost-write" if keep is None or 2 in keep else "duplicate"
        return SeedOutcome(kind, seed, ["I14 at 9.000 s: it waits"] * (name == "duplicate") + [f"I17 at 9.000 s: {name} (1): 7"])

    monkeypatch.setattr(campaigns, "run_one", run)
    assert command.main(["shrink", "4", "--raft"]) == 0
    first, replay = capsys.readouterr().out.splitlines()
    assert first.startswith("I17 lost-write still fails with 1 of ") and replay.endswith("--keep 2")


def test_only_some_kinds_of_faults() -> None:
    """Fails if a campaign of some kinds is blamed for what it was told to leave out, or believed where no fault struck."""
    some = campaigns.campaign("raft", 0, 60, faults=["crash"])
    assert some.lacking() == [] and 0 < some.coverage["faults"] and not some.coverage["cuts"]
    none = Campaign("cluster", 0, ["flip_bit"], seeds=10)
    assert none.lacking() == ["no flip_bit in the plans of these seeds"]
    assert "not judged" in Campaign("raft", 0, seeds=10).report()
    assert "not judged" not in some.report()


def test_small_worlds_go_with_the_clusters(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if a plain campaign looks at clusters alone, if the next one looks at the same small worlds again, or if what falls
    in one of them is no failure."""
    ran: list[tuple[str, int]] = []

    def run(kind: str, seed: int, faults: list[str] | None = None) -> SeedOutcome:
        ran.append((kind, seed))
        return SeedOutcome(kind, seed, ["I16 in log_alone"] * ((kind, seed) == ("log", 8)))

    monkeypatch.setattr(campaigns, "run_one", run)
    assert command.main(["run", "--seeds", "2", "--jobs", "1"]) == 0
    assert ran == [*((kind, n) for kind, times in PER_CLUSTER.items() for n in range(2 * times)),
                   ("cluster", 80_000), ("cluster", 80_001)]
    ran.clear()
    assert command.main(["run", "--seeds", "1", "--from", "80002", "--jobs", "1"]) == 1
    assert ran == [*((kind, n) for kind, times in PER_CLUSTER.items() for n in range(2 * times, 3 * times)), ("cluster", 80_002)]
    assert "seed 8: I16 in log_alone   python -m minikafka sim replay 8 --log" in capsys.readouterr().out
    ran.clear()
    assert command.main(["run", "--seeds", "1", "--log", "--jobs", "1"]) == 0 and ran == [("log", 0)]


def test_a_log_alone_is_run_again(capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if a seed of a log alone cannot be replayed, or if what falls there is not printed."""
    with replaced(LogFlush, "sync", lambda self: None):
        first = next(seed for seed in range(60) if campaigns.run_one("log", seed).violations)
        assert command.main(["replay", str(first), "--log"]) == 1
    assert "I16: batch " in capsys.readouterr().out
    assert command.main(["replay", str(first), "--log"]) == 0 and campaigns.plan_of("log", first) == ()


def test_a_group_alone_is_run_again(capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if a seed of a group alone cannot be replayed, or if what falls there is not printed."""
    assert command.main(["replay", "3", "--group"]) == 0
    with replaced(ClassicGroup, "renew", lambda self, member, now: None):
        assert command.main(["replay", "3", "--group"]) == 1
    assert "I-GTIME-1: until when i3-made-5 may be silent: " in capsys.readouterr().out


def shown_to_the_end(terminal: int) -> str:
    """What is written to a terminal until nobody has it open any more."""
    shown = b""
    with os.fdopen(terminal, "rb", buffering=0) as file, contextlib.suppress(OSError):  # Linux's word for the end
        while piece := file.read(1 << 16):
            shown += piece
    return shown.decode()


def test_a_campaign_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if a terminal does not see the seeds that are done, or if a log has anything of it."""
    def run(kind: str, seed: int, faults: list[str] | None = None) -> SeedOutcome:
        return SeedOutcome(kind, seed, ["I8 at 1.000 s: lost"] * (seed == 1))

    monkeypatch.setattr(campaigns, "run_one", run)
    asked = ["run", "--raft", "--seeds", "3", "--jobs", "1"]
    assert command.main(asked) == 1
    without, error = capsys.readouterr()
    assert error == ""
    theirs, ours = pty.openpty()
    with os.fdopen(ours, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        assert command.main(asked) == 1
    shown = shown_to_the_end(theirs).split("\r\x1b[K")
    assert capsys.readouterr().out.splitlines()[:-1] == without.splitlines()[:-1], "the last has the seconds that it took"
    assert [line.partition(" seeds/s")[0].rpartition(", ")[0] for line in shown] == [
        "", "0 of 3 seeds, 0 with violations", "1 of 3 seeds, 0 with violations", "", "2 of 3 seeds, 1 with violations",
        "3 of 3 seeds, 1 with violations", ""]  # fmt: skip
    assert shown[5].endswith("seeds/s, 0:00:00 left")


def listen_to_ctrl_c() -> None:
    """Undo that a process in the background of a shell, and so each of its children, ignores SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_campaign_is_broken_off_by_hand(jobs: str) -> None:
    """Fails if a Ctrl-C, which all processes of a terminal get, ends in anything but one line, or leaves one of them."""
    theirs, ours = pty.openpty()
    asked = [sys.executable, "-m", "minikafka", "sim", "run", "--raft", "--seeds", "1000000", "--jobs", jobs]
    running = subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=ours, start_new_session=True, text=True,
                               preexec_fn=listen_to_ctrl_c)
    try:
        os.close(ours)
        shown = ""
        while not re.search("[1-9][0-9]* of 1000000 seeds", shown):
            shown += os.read(theirs, 1 << 16).decode()
        os.killpg(running.pid, signal.SIGINT)
        shown += shown_to_the_end(theirs)
        assert running.communicate(timeout=60) == ("", None) and running.returncode == 130
    finally:  # the session of its own is a group of processes that ends with nobody else
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    assert shown.endswith("\r\nbroken off\r\n") and "Traceback" not in shown


WRONG = {
    "run --seeds 0": "from 1 on", "run --seeds -3": "from 1 on", "run --jobs 0": "from 1 on",
    "run --faults kill,nosuch": "no faults of the kind nosuch; there are kill, powerloss",
    "run --raft --faults kill": "no faults of the kind kill; there are crash, fuse",
    "run --from 49901 --seeds 99 --faults crash_at_write,crash_at_start": "only seeds from 50000 on have faults of the kind",
    "replay 4 --faults flip_bit": "only seeds from 30000 on have faults of the kind flip_bit",
    "run --ledger --faults kill": "the ledger has whole campaigns",
    "replay 4 --raft --keep 1,999": "there is no 999", "replay 4 --raft --keep a": "numbers of faults",
    "replay 4 --raft --out /dev/null/x": "/dev/null/x", "shrink 4 --raft --faults nosuch": "nosuch",
    "shrink 4 --trials 0": "from 1 on", "tell a5 nosuch": "no story nosuch: there are",
    "tell --without never_writes_a_vote": "no story never_writes_a_vote", "tell a5 --without nosuch": "no weakened rule nosuch",
}


@pytest.mark.parametrize("asked", WRONG)
def test_what_there_is_not_is_refused(asked: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if a slip of the pen runs seeds without any fault, and finds that all is well."""
    try:
        status = command.main(asked.split())
    except SystemExit as left:
        status = left.code
    out, error = capsys.readouterr()
    assert (status, out) == (2, "") and WRONG[asked] in error
