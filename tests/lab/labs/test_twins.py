"""The checks "from nothing" in a simulated world (minikafka/lab/twins.py): 1.9, 3.11, 5.11, 7.9, 9.9."""
from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import minikafka.lab
from minikafka.lab.exercise import Unknown, Wrong
from minikafka.lab.twins import twin

SOLUTIONS = Path(__file__).resolve().parents[3] / "solutions"
SURE = '''
import sys
from kafka import KafkaProducer
producer = KafkaProducer(bootstrap_servers=sys.argv[1], acks="all", enable_idempotence=True)
for line in sys.stdin:
    producer.send(sys.argv[2], line.strip().encode()).get(timeout=60)
    print(line.strip())
'''
CHECKS = {"01": "under_a_dead_leader", "03": "before_and_after_monday", "05": "killed_and_started_again", "07": "two_faults",
          "09": "while_brokers_die"}


def solved(lab: str) -> str:
    """Return the program of a lab's solved notebook."""
    (path,) = SOLUTIONS.glob(f"{lab}-*.ipynb")
    cells = ("".join(cell["source"]) for cell in json.loads(path.read_text())["cells"])
    return next(text.split("\n", 1)[1] for text in cells if text.startswith("%%writefile"))


def judged(lab: str, text: str) -> tuple[Any, str]:
    """Return what the twin of a lab's check has seen of a program, and what it says of it."""
    check = twin(f"minikafka.lab.labs.lab{lab}.from_nothing", seed=7)
    (seen,) = getattr(check, CHECKS[lab])([text])
    return seen, check.verdict(seen)


@pytest.mark.parametrize(("lab", "right", "good", "bad", "refused"), [
    ("01", solved("01"), 'acks="all"', "acks=1", "printed and is not in the log"),
    ("03", solved("03"), "3 if number <= 12 else ", "", "lies in the partitions"),
    ("05", solved("05"), ".poll(timeout_ms=1000).values():", ".poll(timeout_ms=1000).values():\n        consumer.commit()",
     "came in and was printed by neither run"),
    ("07", SURE, "enable_idempotence=True", "enable_idempotence=False", "twice in the log"),
    ("09", solved("09"), 'sorted(found["replica_nodes"])', "[1, 2]", "ended while broker 3 copied nothing"),
])
def test_the_right_answer_passes_and_a_wrong_one_falls(lab: str, right: str, good: str, bad: str, refused: str) -> None:
    """Fails if a fault of the check does not strike in the simulated world, or strikes a program that survives it live."""
    assert good in right and judged(lab, right)[1]
    with pytest.raises(Wrong, match=refused):
        judged(lab, right.replace(good, bad))


def test_a_twin_is_the_same_each_time_and_leaves_nothing() -> None:
    """Fails if two runs of one seed differ, or if anybody else finds a twin's modules in the place of the real ones."""
    names = [name for name in sys.modules if name.startswith(("minikafka.lab", "kafka"))]
    before = [sys.modules[name] for name in names], minikafka.lab.program
    assert str(judged("09", solved("09"))) == str(judged("09", solved("09")))
    assert before == ([sys.modules[name] for name in names], minikafka.lab.program)


def test_a_client_in_c_is_refused_in_words() -> None:
    """Fails if the notebook's own answer of 7.9, which librdkafka runs, is judged as if it had been wrong."""
    with pytest.raises(Unknown, match="Write it with kafka-python"):
        judged("07", solved("07"))
