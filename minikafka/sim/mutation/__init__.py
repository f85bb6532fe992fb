"""Mutation: does anything notice when a rule is broken? One place of a pure file is changed, and the judges are asked.

    mutants.py    what can be changed in a file: comparisons, operands, statements that are dropped
    hook.py       a process in which one module is loaded with its change; no file is touched
    command.py    `python -m minikafka sim mutate --n 30 --seed 7`: mutants by chance, and who notices

A mutant that nobody notices is a property that is missing, a line that is not needed, or a change that changes nothing.
"""
