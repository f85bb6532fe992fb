"""A student's rule runs the brokers, and an adversary who knows its weak place looks for the record that it loses.

    inside("6.2", high_watermark)      # ✘ 15 acknowledged. Broker 1 promised ..., and the picture of that moment

`check` calls a function alone. Here it stands in simulated brokers in the place of their own rule, by the mechanism of the
weakened rules (proof/weakened, sim/world/replaced.py). Nights whose story is made for this rule are played, then random ones.

    front.py             `inside`: plays the nights, and shows what came of them
    table.py             the rules: the exercise, the place in the brokers, the adaptor, the nights
    student.py           the function while brokers call it: a limit of time, and the first error
    night.py             one night: what an adversary can do, and what is asked afterwards
    became.py            what became of the records: lost, twice, read and gone, two leaders, stood still
    by_hand.py           a producer whose batches, and their numbers, are those of a night's story
    retention.py         exercise 2.2
    group.py             a night of a group, and what became of its work: skipped, worked on twice
    share.py             exercise 4.6
    zombie.py            exercise 5.7
    high_watermark.py    exercise 6.2
    in_sync.py           exercise 8.6
    cutting.py           exercise 8.10
    election.py          exercise 9.3
    controllers.py       a night of controllers, and what was decided: two leaders, decided and gone
    vote.py              exercise 9.6
    commit.py            exercise 9.11
    sequences.py         exercise 10.3
    transactions.py      a night of transactions and readers of committed records: read and gone, stood still
    last_stable.py       exercise 10.7
    breaking.py          the reverse: a rule is weakened, and the student's night has to lose a record
    goals.py             which rules those are, and the shortest nights known
    planned.py           `Night`: the moves of such a night

A file per rule has its adaptor (the exercise's arguments made from the broker's, some ten lines) and its nights.

Invariants
  whatever the function does, `inside` ends with a sentence, and the brokers have their own rule again
  a night falls by what clients and logs show, never because the function differs from ours
"""
from minikafka.lab.inside.front import inside
from minikafka.lab.inside.planned import Night

__all__ = ["Night", "inside"]
