"""What the machine is asked about processes (proof/bench/machine.py)."""

from __future__ import annotations

import subprocess
import sys

from minikafka.proof.bench.machine import family_mib

HOLD = "held = b'x' * (100 << 20); print('held', flush=True); input()"
CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLD!r}])"
ELDEST = f"""import subprocess, sys
ended = subprocess.Popen([sys.executable, "-c", ""])  # nobody waits for it
subprocess.run([sys.executable, "-c", {CHILD!r}])"""


def test_memory_of_a_family() -> None:
    """Fails if a grandchild's memory is left out, or if a child that has ended, and is not waited for, ends the count."""
    with subprocess.Popen([sys.executable, "-c", ELDEST], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as eldest:
        assert eldest.stdout is not None and eldest.stdout.readline() == "held\n"
        assert 100 < family_mib(eldest.pid) < 250
        eldest.communicate("\n")
