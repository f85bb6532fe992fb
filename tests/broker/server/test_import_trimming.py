"""What a process of a node imports (broker/import_trimming.py)."""

from __future__ import annotations

import subprocess
import sys

LOOK = """
import gc, sys
import minikafka.broker.__main__ as node
print(sorted({name.split(".")[1] for name in sys.modules if name.startswith(("kafka.", "crc32c."))}), gc.isenabled())
"""


def test_a_node_imports_no_clients() -> None:
    """I-LEAN-1. Fails if a module of the broker needs more of kafka-python than messages, if import_trimming.py is not first, or
    if the checksum's package looks for its version."""
    told = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True).stdout
    assert told == "['_crc32c', 'errors', 'protocol', 'structs', 'util'] False\n"
