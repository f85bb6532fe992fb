"""Mutation: does anything notice when a rule is broken? One place of a file is changed, and the judges are asked.

    mutants.py    what can be changed in a file by chance: comparisons, operands, statements that are dropped
    rules.py      the safety rules, each weakened by hand; rules.tsv is the list
    hook.py       a process in which one module is loaded with its change; no file is touched
    command.py    `python -m minikafka sim mutate --n 30 --seed 7`: mutants by chance, and who notices; `--rules`: the list

A mutant that nobody notices is a property that is missing, a line that is not needed, or a change that changes nothing.
"""
