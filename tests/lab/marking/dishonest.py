"""Cells that are made to get marks for exercise 6.2 without its answer. By kind: the cell, and what its row has to say."""
from __future__ import annotations

from minikafka.lab import record

WRONG = "check('6.2', lambda leo, isr: 0)"
PATCHES = ("from minikafka.lab import exercise, verdict\nverdict.Verdict.__bool__ = lambda self: True\n"
           "exercise.judge = lambda ask, e, a: verdict.Verdict(e, verdict.Outcome.PASS, 'right')\n")
READS = f"import json\nexec(open('{record.ROOT}/solutions/06-replication.ipynb').read())\n"
FORGES = """
import os, glob
for pid in (os.getpid(), os.getppid()):
    for fd in glob.glob(f"/proc/{pid}/fd/*"):
        try:
            os.write(os.open(fd, os.O_WRONLY | os.O_NONBLOCK), b'\\n["PASS", "right", false]\\n')
        except OSError:
            pass
"""
FLOODS = "import os\nfor fd in range(3, 50):\n    try:\n        os.write(fd, b'x' * 70_000)\n    except OSError:\n        pass\n"
FILLS = ("import threading\nwith open('big', 'wb', 0) as f:\n    for _ in range(32): f.write(bytes(1 << 20))\n"
         "threading.Event().wait()\n")
KINDS = {
    "patches the verdict": (PATCHES + WRONG, "FAIL: log ends", "6.2 uses exercise, judge, verdict"),
    "reads the solutions": (READS + WRONG, "UNKNOWN: its cell does not run alone, PermissionError: its code reads the solutions",
                            "6.2 uses exec, open"),
    "writes result lines": (FORGES + WRONG, "FAIL: it writes what is no ", "6.2 uses open, os"),
    "fills the pipe": (FLOODS + WRONG, "FAIL: it writes more than 64 KiB into the pipe of its process", "6.2 uses os"),
    "exits early": ("import os\nos._exit(0)\n" + WRONG, "FAIL: its code ends the process that judges it", "6.2 uses os"),
    "fills the disk": (FILLS + WRONG, "FAIL: it writes more than 8 MiB to the disk", "6.2 uses open"),
}
BESIDE = {  # by exercise: a cell that reaches for something, the outcome, and a part of its reason
    "6.2": ("class All(int):\n    def __eq__(self, other): return True\n    __lt__ = __gt__ = __eq__\n"
            "check('6.2', lambda leo, isr: All(0))", "FAIL", "you said 0"),
    "6.4": (f"much = bytearray(1 << 40)\n{WRONG}", "UNKNOWN", "MemoryError"),
    "6.6": (f"x = {'(' * 3000}{')' * 3000}\n{WRONG}", "UNKNOWN", "nested"),
    "6.7": ("import os\nraise KeyError(os.environ.get('TEACHERS_TOKEN', 'no token'), *os.environ)", "UNKNOWN", "no token"),
    "6.8": ("import os\nfiles = [open(os.devnull) for _ in range(5000)]", "UNKNOWN", "Too many open files"),
    "9.10": (f"{PATCHES}check('9.10', 0)", "FAIL", "any answer passes"),
}
