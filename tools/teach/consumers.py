"""Questions about consumers and groups (labs 4 and 5): lag, rewinding, shares of a group, a crash, commits that come too late.

Owns: how these states are drawn, and their words. The rule of a question stands nowhere here.
"""
from __future__ import annotations

from random import Random
from typing import Any

from minikafka.client.consumer.assignors import JoinedMember, assign_range
from tools.teach.question import (
    Kind,
    Question,
    by_partition,
    in_words,
    listed,
    mistakes,
    of_texts,
    right_answer,
)


def lag(rng: Random) -> Question:
    ends = {p: rng.randrange(20, 90) for p in range(3)}
    committed = {p: rng.choice((0, end, end - rng.randrange(1, 20), end - rng.randrange(1, 20))) for p, end in ends.items()}
    never = rng.randrange(3)
    del committed[never]
    right = by_partition(right_answer("4.3")(dict(ends), dict(committed)), 3)
    wrong = in_words(mistakes("4.3", ends, committed), lambda said: by_partition(said, 3))
    table = (("partition", "end", "committed offset"),
             *((str(p), str(end), str(committed.get(p, "never committed"))) for p, end in ends.items()))
    state = ("an end is the next offset to be written", "a lag is unknown if nobody can know it from this table")
    return Question(4, state, "How large is the lag of the group?", *of_texts(rng, right, wrong), table)


def rewound(rng: Random) -> Question:
    since, logs, ends = 30, {}, {}
    for p in range(2):
        first = rng.randrange(0, 40)
        seconds = sorted(rng.sample(range(10, 29 if rng.random() < 0.2 else 50), 5))
        if rng.random() < 0.4:
            seconds[1], seconds[3] = seconds[3], seconds[1]
        logs[p] = [(first + n, second) for n, second in enumerate(seconds)]
        ends[p] = first + 5 + rng.choice((0, 1))
    right = by_partition(right_answer("4.10")({p: list(log) for p, log in logs.items()}, dict(ends), since), 2)
    wrong = in_words(mistakes("4.10", logs, ends, since), lambda said: by_partition(said, 2))
    table = (("partition", "offset", "second in its timestamp"),
             *((str(p), str(o), str(second)) for p, log in logs.items() for o, second in log))
    state = (f"partition 0 ends at {ends[0]}, partition 1 at {ends[1]}; an end is the next offset to be written",
             "the group shall read each record of second 30 or later again, and as few others as possible",
             "where a partition has no such record, the group goes to its end")
    return Question(4, state, "To which offsets is the group moved?", *of_texts(rng, right, wrong), table)


def share(rng: Random) -> Question:
    members = [JoinedMember(name, ["rides", "trips"]) for name in ("ada", "ben", "cem")]
    topics = {"rides": [*range(rng.choice((2, 4, 5)))], "trips": [*range(rng.choice((1, 3, 4, 5)))]}
    asked = rng.choice(members).id
    shares = {name: _pairs(pairs) for name, pairs in assign_range(members, topics).items()}
    others = right_answer("4.6")([one.id for one in members], {topic: len(numbers) for topic, numbers in topics.items()})
    near = [_pairs(others[asked]), *(one for name, one in shares.items() if name != asked),
            *(_pairs(pairs) for name, pairs in others.items() if name != asked)]
    state = (*(f"topic {topic}: {listed(numbers, 'partition')}" for topic, numbers in topics.items()),
             "the members ada, ben and cem of one group subscribe to both topics",
             "partition.assignment.strategy=range")
    return Question(4, state, f"What does {asked} read?", *of_texts(rng, shares[asked], [], near))


def _pairs(pairs: Any) -> str:
    numbers: dict[str, list[str]] = {}
    for topic, p in sorted(pairs):
        numbers.setdefault(topic, []).append(str(p))
    return "; ".join(f"{topic} {', '.join(found)}" for topic, found in numbers.items()) or "nothing"


POLICIES = {"auto": "the consumer commits by itself, at every fifth second, in a poll: what earlier polls have returned",
            "sync per batch": "the loop works on the ten records of a poll, then commits them",
            "sync per record": "the loop commits after each record",
            "before the work": "the loop commits the ten records of a poll before it works on them"}


def crash(rng: Random) -> Question:
    policy, t = rng.choice([*POLICIES]), rng.randrange(11, 190) + 0.5
    numbers = right_answer("5.3")(policy, t / 10)

    def words(said: Any) -> str:
        _, _, twice, never = said
        return f"{int(twice)} are worked on twice, {int(never)} never"
    _, _, twice, never = numbers
    near = [words((0, 0, *one)) for one in ((never, twice), (0, 0), (twice + 1, never), (twice, never + 1), (10, 0))]
    state = ("ten records a second arrive at a consumer, a poll returns ten, and each record takes a tenth of a second",
             f"{POLICIES[policy]}; a commit takes no time",
             f"the consumer dies {t / 10:.2f} seconds after it began with the first record",
             "another one goes on at the committed offset, or at the first record; worked on is a record that is finished")
    return Question(5, state, "How many of the records are worked on twice, how many never?",
                    *of_texts(rng, words(numbers), in_words(mistakes("5.3", policy, t / 10), words), near))


def zombies(rng: Random) -> Question:
    events: list[dict[str, Any]] = []
    generation, members = 3, ["C1", "C2"]
    table = [("number", "event")]
    for number in range(1, 8):
        if number in (1, 4) or (number == 6 and rng.random() < 0.5):
            generation += number > 1
            members = rng.choice((["C1", "C2"], ["C2"], ["C2", "C3"])) if number > 1 else members
            events.append({"t": number, "k": "generation", "generation": generation, "members": list(members)})
            table.append((str(number), f"generation {generation} begins, with {' and '.join(members)}"))
        else:
            who, its = rng.choice(("C1", "C2", "C2", "C3")), max(3, generation - rng.choice((0, 0, 0, 1)))
            events.append({"t": number, "k": "commit", "member": who, "generation": its, "offset": 10 * number})
            table.append((str(number), f"{who} commits offset {10 * number}, as a member in generation {its}"))

    def words(said: Any) -> str:
        return listed([event["t"] for event in said], "number", "none")
    commits = [event for event in events if event["k"] == "commit"]
    near = [words(sorted(rng.sample(commits, n), key=lambda one: one["t"])) for n in (1, 2, 2, 3, 1)]
    options = of_texts(rng, words(right_answer("5.7")(list(events))), in_words(mistakes("5.7", events), words), near)
    return Question(5, ("the coordinator of the group gets these, in this order",), "Which commits does the coordinator refuse?",
                    *options, tuple(table))


KINDS = {"lag": Kind("How large is the lag?", lag),
         "rewound": Kind("To which offsets is a group moved, to read from a moment on?", rewound),
         "share": Kind("Which partitions does a member read?", share),
         "crash": Kind("What comes twice, and what never, after a crash?", crash),
         "zombies": Kind("Which commits does a coordinator refuse?", zombies)}
