"""`sim mutate`: what is changed, that it takes effect in one process only, and who is said to have noticed."""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys

import pytest

from minikafka.__main__ import main
from minikafka.proof.mutation import command
from minikafka.proof.mutation.command import chosen, files, wanted
from minikafka.proof.mutation.hook import ROOT
from minikafka.proof.mutation.mutants import mutants, tree
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


def test_the_change_takes_effect_and_leaves_the_file_alone() -> None:
    """Fails if a mutant is not what runs, so that every judge would find nothing."""
    path = ROOT / "minikafka/broker/replication/isr.py"
    before = path.read_text()
    number = next(n for n, one in enumerate(mutants(before)) if "max_lag ->" in one.text)
    say = ("import minikafka.proof.mutation.hook; import minikafka.broker.replication.isr as isr; "
           "print(isr.__loader__.change.keywords)")
    ran = subprocess.run([sys.executable, "-c", say], cwd=ROOT, capture_output=True, text=True, check=True, env={
        **os.environ, "MUTANT": f"minikafka/broker/replication/isr.py:{number}", "PYTHONPATH": str(ROOT)})
    assert ran.stdout.strip() == str({"number": number}) and path.read_text() == before


def test_a_mutant_that_loops_ends_at_the_limit() -> None:
    """Fails if one mutant in a loop without end holds up all others."""
    say = "import minikafka.proof.mutation.hook as hook\nhook.begin()\nwhile True: pass"
    ran = subprocess.run([sys.executable, "-c", say], cwd=ROOT, capture_output=True, text=True, env={
        **os.environ, "MUTANT_LIMIT": "0.1", "PYTHONPATH": str(ROOT)})
    assert ran.returncode == 1 and ran.stderr.startswith("Timeout (0:00:00.1")


@pytest.mark.slow
def test_who_notices_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Fails if a mutant that a test kills is called unnoticed, or an unnoticed one ends with status 0."""
    source = (ROOT / "minikafka/broker/replication/isr.py").read_text()
    number = next(n for n, one in enumerate(mutants(source)) if one.text.endswith("now - self.last_caught_up_time < max_lag"))
    name = f"minikafka/broker/replication/isr.py:{number}"
    monkeypatch.setitem(command.TESTS, "broker/replication", "tests/broker/replication/test_replication_random.py")
    assert main(["sim", "mutate", "--one", name, "--seeds", "0"]) == 0
    assert capsys.readouterr().out.startswith("tests ")
    monkeypatch.setitem(command.TESTS, "broker/replication", "tests/proof/test_checks.py")
    assert main(["sim", "mutate", "--one", name, "--seeds", "0"]) == 1
    assert capsys.readouterr().out.startswith("nobody ")


def test_the_choice_is_by_its_seed() -> None:
    """Fails if the same command breaks other rules, a file that decides nothing is changed, or one in the list has gone."""
    assert chosen(5, 7, "") == chosen(5, 7, "") != chosen(5, 8, "") and len({*chosen(5, 7, "")}) == 5
    assert all("/shell/" not in str(path) and "/api/" not in str(path) for path in files())
    assert all(any((ROOT / "minikafka").glob(pattern)) for pattern in command.FILES)


def test_rules_are_chosen_by_name_and_by_file() -> None:
    """Fails if `--only` finds nothing, or everything."""
    found = wanted(argparse.Namespace(one=None, rules=True, only="reassignment_steps"))
    assert "move_ends_early" in found and len(found) < len(weakened())
