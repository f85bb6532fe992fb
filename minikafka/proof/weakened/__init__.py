"""Weakened rules: with one rule switched off, its harm must appear, and a check that is named in advance must fail.

A checker that never found anything may be blind; a checker that catches every weakened rule is not. The brokers have no branches
for this: the source of a function is changed, in this process or when a module is loaded.

    rules.tsv    the table: what is changed, which rule that is, what falls then, and which story or seed shows it
    table.py     the rows
    swap.py      `without(rule)`: a rule off in this process; `instead(function, by)`: a function of yours in its place
    showing.py   the worlds whose seeds show a rule, by name
    command.py   `python -m minikafka sim ablate 36`: the rows of a rule that a story or a seed shows

The same rows are read by `sim tell --without` (a story without a rule), by `sim mutate --rules` (do seeds and tests notice it?),
and by RULES.md ("See it").
"""

from minikafka.proof.weakened.swap import CannotSwap, instead, without

__all__ = ["CannotSwap", "instead", "without"]
