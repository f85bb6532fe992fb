"""What a notebook of the course imports: exercises, predictions and their verdicts.

    from minikafka.lab import check, hint, predict, reveal, todo

* `todo(hint)`       stands where a student writes; raises until then
* `check(id, fn)`    returns whether an answer is right: a `Verdict` (PASS, FAIL, UNKNOWN); it never raises
* `check_simulated(id, file)`   the same check of a program, in a simulated world; the same seed gives the same run
* `hint(id)`         the next of three hints: a question, the concept, where to read
* `inside(id, fn)`   brokers run by that answer, and an adversary looks for the record that it loses
* `Night()`          your own night: the moves that shall make weakened brokers lose a record
* `predict(id, x)`   keeps a guess before the experiment, `reveal(id, y)` sets it beside what was measured
* `progress()`       where you stand, over all labs

With LAB_STRICT=1 in the environment (the solved notebooks, in tests) a verdict that is not PASS raises instead.

The files, in reading order:

    what a cell calls    exercise.py    `todo` and `check`, and the list of checks that the labs fill
                         guard.py       a time limit for the student's function, and a limit of what it prints
                         wants.py       the type of answer that a check takes, and words for answers of another type
                         program.py     the student's own file, run as a process under a fault
                         twins.py       the same check, with the program as a process of a simulated world
                         trial.py       the student's function, watched while a check calls it
                         values.py      words for the student's values and errors, and for what differs from the right ones
                         verdict.py     the answer of a check: PASS, FAIL or UNKNOWN, and the sentence that says why
                         hints.py       the three hints of an exercise
                         prediction.py  `predict` and `reveal`
                         forms.py       what a guess has to look like
                         recall.py      `recall`: three questions from earlier labs
    beside each cell     beside.py      what the kernel does before and after it
                         names.py       a name that is missing: which cell makes it
                         trouble.py     an error of a client, a cluster or a wait: what brings it back
                         again.py       a cell that runs again: what its last run had begun ends first
                         waiting.py     what a cell shows while it runs for long
                         background.py  how anything goes on beside a cell: a thread, or turns of a browser's page
    what is kept         record.py      the student's own file
                         uses.py        what the cell of an exercise uses of other cells
                         report.py      `progress()`, one page made from that file and the notebooks
                         classroom.py   what students hand in, and one page over a class
                         room.py        how many students one machine bears
                         marking/       the answers that were handed in, judged again: points, and what to look at
                         beliefs.py     the misconceptions of beliefs.tsv, and which cells refute them
    what starts it       __main__.py    opens JupyterLab on a lab (its settings: jupyter/)
                         startup.py     what each kernel runs before its first cell
                         hub.py         a student's server under JupyterHub
    the folders          labs/          of each lab its checks, experiments and wrong solutions
                         picture/       the picture of a cluster: facts from the trace, sentences, drawing
                         inside/        a student's rule in brokers: the nights of an adversary
                         view/          that picture, live in a notebook
                         page/          a notebook inside a simulated world, as in a browser
                         demos/         failure demos for a class, without a notebook
                         spark/         Spark's side: our source and sink, the session, the connector's jars
                         demo/          the whole pipeline in one command; datasets/: the data

picture/ reads traces only; view/ draws with picture/; labs/ and demos/ use all of it, and the simulator. Outside the lab
only `Cluster.view` and the commands `picture` and `demos` know it.

Invariants
  I-LAB-1  a notebook with unsolved exercises runs from top to bottom: no function here raises unless LAB_STRICT is set
  what is right is decided by importable functions (`minikafka/lab/labs/labNN/checks.py`), never by code in a cell
"""
from typing import Any

from minikafka.lab.beside import install
from minikafka.lab.exercise import Todo, check, strict, todo
from minikafka.lab.hints import hint
from minikafka.lab.inside import Night, inside
from minikafka.lab.prediction import predict, reveal
from minikafka.lab.recall import recall
from minikafka.lab.report import progress
from minikafka.lab.verdict import Verdict

__all__ = ["Night", "Todo", "Verdict", "check", "check_simulated", "hint", "inside", "predict", "progress", "recall", "reveal",
           "strict", "todo"]


def __getattr__(name: str) -> Any:
    # On first use: it imports the brokers' code, which a lab on real brokers has no use for.
    if name == "check_simulated":
        from minikafka.lab.twins import check_simulated
        return check_simulated
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


install()
