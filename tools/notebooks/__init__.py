"""How the notebooks are made from their sources; the commands are in tools/labs.py."""
