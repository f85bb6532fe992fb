"""The checks "from nothing" in a simulated world (minikafka/lab/twins.py): 1.9, 3.11, 5.11, 7.9, 9.9."""
from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import minikafka.lab
from minikafka.lab import check_simulated
from minikafka.lab.verdict import Outcome

SOLUTIONS = Path(__file__).resolve().parents[3] / "solutions"
SURE = '''
import sys
from kafka import KafkaProducer
producer = KafkaProducer(bootstrap_servers=sys.argv[1], acks="all", enable_idempotence=True)
for line in sys.stdin:
    producer.send(sys.argv[2], line.strip().encode()).get(timeout=60)
    print(line.strip())
'''

def solved(lab: str) -> str:
    """Return the program of a lab's solved notebook."""
    (path,) = SOLUTIONS.glob(f"{lab}-*.ipynb")
    cells = ("".join(cell["source"]) for cell in json.loads(path.read_text())["cells"])
    return next(text.split("\n", 1)[1] for text in cells if text.startswith("%%writefile"))


@pytest.mark.parametrize(("exercise", "right", "good", "bad", "refused"), [
    ("1.9", solved("01"), 'acks="all"', "acks=1", "printed and is not in the log"),
    ("3.11", solved("03"), "3 if number <= 12 else ", "", "lies in the partitions"),
    ("5.11", solved("05"), ".poll(timeout_ms=1000).values():", ".poll(timeout_ms=1000).values():\n        consumer.commit()",
     "came in and was printed by neither run"),
    ("7.9", SURE, "enable_idempotence=True", "enable_idempotence=False", "twice in the log"),
    ("9.9", solved("09"), 'sorted(found["replica_nodes"])', "[1, 2]", "ended while broker 3 copied nothing"),
])
def test_the_right_answer_passes_and_a_wrong_one_falls(exercise: str, right: str, good: str, bad: str, refused: str) -> None:
    """Fails if a fault of the check does not strike in the simulated world, or strikes a program that survives it live."""
    assert good in right and check_simulated(exercise, right, seed=7)
    verdict = check_simulated(exercise, right.replace(good, bad), seed=7)
    assert verdict.outcome is Outcome.FAIL and refused in verdict.why


def test_a_twin_is_the_same_each_time_and_leaves_nothing() -> None:
    """Fails if two runs of one seed differ, or if anybody else finds a twin's modules in the place of the real ones."""
    names = [name for name in sys.modules if name.startswith(("minikafka.lab", "kafka"))]
    before = [sys.modules[name] for name in names], minikafka.lab.program
    assert str(check_simulated("9.9", solved("09"))) == str(check_simulated("9.9", solved("09")))
    assert before == ([sys.modules[name] for name in names], minikafka.lab.program)


@pytest.mark.parametrize(("exercise", "said"), [("7.9", "Write it with kafka-python"), ("1.8", "These can: 1.9, 3.11,")])
def test_what_cannot_be_simulated_is_unknown_in_words(exercise: str, said: str) -> None:
    """Fails if the notebook's own answer of 7.9, which librdkafka runs, is judged as if it had been wrong."""
    verdict = check_simulated(exercise, solved("07"))
    assert verdict.outcome is Outcome.UNKNOWN and said in verdict.why
