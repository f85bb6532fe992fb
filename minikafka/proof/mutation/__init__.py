"""Mutation: does anything notice when a rule is broken? One place of a file is changed, and seeds and tests are run.

    mutants.py    random changes of a file: comparisons, operands, statements that are dropped
    fork.py       a fork in which one module is loaded with its change, and what notices it there; no file is touched
    command.py    `python -m minikafka sim mutate --n 30 --seed 7`: random mutants, and what notices each; `--rules`: the safety
                  rules, each weakened by hand (proof/weakened)

If nothing notices a mutant, a property is missing, or the line is not needed, or the change changes nothing.
"""
