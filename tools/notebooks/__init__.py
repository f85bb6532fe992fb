"""How the notebooks are made from their sources; the commands are in tools/labs.py."""

import minikafka.machine.grammars  # noqa: F401  # before nbformat
