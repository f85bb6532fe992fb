"""What a notebook of the course imports: exercises, predictions and their verdicts.

    from minikafka.lab import check, hint, predict, reveal, todo

* `todo(hint)`       stands where a student writes; raises until then
* `check(id, fn)`    asks whether an answer is right: a `Verdict` (PASS, FAIL, UNKNOWN), never an exception
* `hint(id)`         the next of three hints: a question, the concept, where to read
* `predict(id, x)`   keeps a guess before the experiment, `reveal(id, y)` sets it beside what was measured
* `progress()`       where you stand, over all labs

With LAB_STRICT=1 in the environment (the solved notebooks, in tests) a verdict that is not PASS raises instead.

Invariants
  I-LAB-1  a notebook with unsolved exercises runs from top to bottom: no function here raises unless LAB_STRICT is set
  I-LAB-2  what is right is decided by importable functions (`minikafka/lab/labs/labNN/checks.py`), never by code in a cell
"""
from minikafka.lab.exercise import Todo, check, strict, todo
from minikafka.lab.hints import hint
from minikafka.lab.prediction import predict, reveal
from minikafka.lab.report import progress
from minikafka.lab.verdict import Verdict

__all__ = ["Todo", "Verdict", "check", "hint", "predict", "progress", "reveal", "strict", "todo"]
