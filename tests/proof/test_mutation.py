"""`sim mutate`: what is changed, that it takes effect in one process only, and which judge notices it."""

from __future__ import annotations

import argparse
import ast
import faulthandler
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from minikafka.__main__ import main
from minikafka.proof.mutation import command, fork
from minikafka.proof.mutation.command import chosen, files, places, wanted, write_seeds_alone
from minikafka.proof.mutation.fork import ROOT, Notice, noticed
from minikafka.proof.mutation.mutants import mutants, tree
from minikafka.proof.swarm.campaign import run_one
from minikafka.proof.weakened.table import weakened

SOURCE = '''
def grown(a, b, log):
    """Text is not changed."""
    log.info("nor is %s", a)
    self.env.trace("nor this", a=a < b)
    self.log.cut(a)
    if a <= b and not b:
        return max(a, b + 1)
    self.end = a - b
'''


def test_every_small_change_is_made_once() -> None:
    """Fails if a kind of change is forgotten, or what only tells something is changed."""
    assert [mutant.text for mutant in mutants(SOURCE)] == [
        "self.log.cut(a) -> (dropped)", "if a <= b and (not b): -> (dropped)",
        "a <= b and (not b) -> a <= b or not b", "a <= b and (not b) -> not b",
        "a <= b and (not b) -> a <= b", "a <= b -> a < b", "a <= b -> b <= a", "not b -> b", "max(a, b + 1) -> min(a, b + 1)",
        "b + 1 -> b", "self.end = a - b -> (dropped)", "a - b -> b - a"]


def test_a_number_names_one_change() -> None:
    """Fails if the tree that is compiled is not the change that was printed, or if one change stays in the next."""
    plain = ast.unparse(ast.parse(SOURCE))
    changed = [ast.unparse(tree(SOURCE, number)) for number in range(len(mutants(SOURCE)))]
    assert len({*changed, plain}) == len(changed) + 1 and "min(a, b + 1)" in changed[8] and "a <= b and" in changed[8]
    with pytest.raises(IndexError):
        tree(SOURCE, len(changed))


def mutant_of_isr(change: str) -> str:
    """Return the name of one change of isr.py, by its end."""
    source = (ROOT / "minikafka/broker/replication/isr.py").read_text()
    return f"minikafka/broker/replication/isr.py:{next(n for n, one in enumerate(mutants(source)) if one.text.endswith(change))}"


def test_a_seed_notices_a_rule_and_leaves_this_process_alone() -> None:
    """Fails if the change is not what runs in the fork, so that every judge would find nothing, or if it runs here too."""
    module = sys.modules["minikafka.broker.replication.replica"]
    found = noticed("hw_without_isr", [("transaction", range(1)), ("replica", range(20)), ("tests", "tests/none")], limit=60.0)
    seed, _, fell = found.how.partition(": ")
    assert found.who == "replica" and fell.startswith("I-HW-2 "), found
    assert sys.modules["minikafka.broker.replication.replica"] is module
    assert run_one("replica", int(seed.removeprefix("seed "))).violations == []


def loops(kind: str, seeds: range, begin: fork.Begin) -> str:
    begin("seed 7")
    while True:
        pass


def waits(kind: str, seeds: range, begin: fork.Begin) -> str:
    begin("seed 7")
    time.sleep(600)
    return ""


@pytest.mark.parametrize(("seeds", "limit", "how"), [
    (loops, 0.1, 'seed 7 does not end, at File "tests/proof/test_mutation.py", line '), (waits, 50.0, "seed 7 does not end")])
def test_a_mutant_that_does_not_end_is_noticed(monkeypatch: pytest.MonkeyPatch, seeds: Any, limit: float, how: str) -> None:
    """Fails if one mutant that loops or waits without end holds up all others, or if nobody learns where it loops."""
    monkeypatch.setattr(fork, "load", lambda mutant: None)
    monkeypatch.setattr(fork, "_seeds", seeds)
    monkeypatch.setattr(fork, "IDLE", 0.1 if seeds is waits else 600)
    found = noticed("any", [("replica", range(1))], limit)
    assert found.who == "replica" and found.how.startswith(how), found


@pytest.mark.slow
def test_who_notices_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if a mutant that a test kills is called unnoticed, or an unnoticed one ends with status 0."""
    faulthandler.cancel_dump_traceback_later()  # pytest's own thread for it is not in a fork, and pytest in the fork waits for it
    name = mutant_of_isr("now - self.last_caught_up_time < max_lag")
    monkeypatch.setitem(command.TESTS, "broker/replication", "tests/broker/replication/test_replication_random.py")
    assert main(["sim", "mutate", "--one", name, "--seeds", "0"]) == 0
    assert capsys.readouterr().out.startswith("tests ")
    monkeypatch.setitem(command.TESTS, "broker/replication", "tests/proof/test_checks.py")
    assert main(["sim", "mutate", "--one", name, "--seeds", "0"]) == 1
    assert capsys.readouterr().out.startswith("nobody ")


def test_a_row_of_the_ledger_keeps_what_noticed_it_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Fails if a new result replaces the old one, if another row changes, or if a random mutant is not found again by its row."""
    first, second = list(places("replication/isr"))[:2]
    path = tmp_path / "seeds_alone.tsv"
    path.write_text(f"name\tbefore\tnow\n{places()[first]}\treplica\tnobody\nanother\tlog\tlog\n")
    monkeypatch.setattr(command, "SEEDS_ALONE", path)
    assert wanted(argparse.Namespace(one=None, rules=False, again=True, only="")) == [first]
    for name in (first, second):
        write_seeds_alone(name, Notice("cluster", "seed 80000"))
    assert [line.split("\t")[1:] for line in path.read_text().splitlines()[1:]] == [
        ["replica", "cluster"], ["log", "log"], ["", "cluster"]]


def test_the_choice_is_by_its_seed() -> None:
    """Fails if the same command breaks other rules, a file that decides nothing is changed, or one in the list has gone."""
    assert chosen(5, 7, "") == chosen(5, 7, "") != chosen(5, 8, "") and len({*chosen(5, 7, "")}) == 5
    assert all("/shell/" not in str(path) and "/api/" not in str(path) for path in files())
    assert all(any((ROOT / "minikafka").glob(pattern)) for pattern in command.FILES)


def test_rules_are_chosen_by_name_and_by_file() -> None:
    """Fails if `--only` finds nothing, or everything."""
    found = wanted(argparse.Namespace(one=None, rules=True, again=False, only="reassignment_steps"))
    assert "move_ends_early" in found and len(found) < len(weakened())
