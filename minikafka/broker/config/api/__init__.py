"""The requests about configurations: describe.py reads, alter.py changes."""
