"""Questions about producers (labs 1, 3, 7, 10): deliveries, a hot key, an acknowledgement, an account, sequences, transactions.

Owns: how these states are drawn, and their words. The rule of a question stands nowhere here.
"""
from __future__ import annotations

import tempfile
from random import Random
from typing import Any

from minikafka.broker.server.live import LiveFs
from minikafka.lab.labs.lab10.checks import judge
from minikafka.lab.labs.lab10.sequences import Answer, Batch
from minikafka.log.producers import ProducerStates
from tools.teach.question import Kind, Question, in_words, mistakes, of_numbers, of_texts, right_answer


def hot_key(rng: Random) -> Question:
    counts: dict[tuple[int, str | None], int] = {}
    names = rng.sample(("ada", "ben", "cem", "dia", "eli", "fay"), 5)
    for name in names:
        counts[rng.randrange(3), name] = rng.randrange(1, 6)
    counts[rng.randrange(3), None] = rng.randrange(1, 9)
    if rng.random() < 0.7:
        counts[next(pair for pair in counts if pair[1] == names[0])] = rng.randrange(8, 16)
    places = [pair for pair, count in counts.items() for _ in range(count)]
    found = right_answer("3.6")(list(places), 3)
    options = [*sorted(name for name in names), "none of them"]
    table = (("partition", "key", "records"), *((str(p), name or "(no key)", str(count)) for (p, name), count in
                                               sorted(counts.items(), key=lambda one: (one[0][0], str(one[0][1])))))
    state = ("a topic of three partitions, 0 to 2; the table has all its records",
             "a key is hot if it alone has more records than a fair share",
             "a fair share is the number of all records, with and without a key, divided by the number of partitions")
    return Question(3, state, "Which key is the hottest of the hot ones?", tuple(options),
                    options.index(found or "none of them"), table)


def latency(rng: Random) -> Question:
    acks, near = rng.choice((0, 1, "all", "all", "all")), rng.randrange(1, 9)
    far = {b: rng.randrange(2, 60) for b in (2, 3, 4)}
    isr = [1, *sorted(rng.sample((2, 3, 4), rng.choice((1, 2, 3))))]
    right = int(right_answer("7.2")(acks, near, dict(far), list(isr)))
    wrong = [int(n) for n in mistakes("7.2", acks, near, far, isr) if isinstance(n, (int, float)) and n == int(n)]
    table = (("from", "to", "milliseconds, one way"), ("producer", "broker 1, the leader", str(near)),
             *(("broker 1", f"broker {b}", str(ms)) for b, ms in far.items()))
    state = (f"in sync: brokers {', '.join(map(str, isr))}; acks={acks}",
             "only these ways take time; a fetch of each follower waits at the leader, and its next fetch confirms the record")
    return Question(7, state, "How many milliseconds does the producer wait for one record?",
                    *of_numbers(rng, right, wrong, (near, 2 * near, 3 * near)), table)


def account(rng: Random) -> Question:
    values = [f"r{n}" for n in range(1, 11)]
    acknowledged = sorted(rng.sample(values, rng.randrange(5, 8)), key=values.index)
    readable = [v for v in values if rng.random() < (0.8 if v in acknowledged else 0.4)]
    readable += rng.sample(readable, min(len(readable), rng.choice((0, 1, 2)))) if readable else []

    def words(said: Any) -> str:
        return f"lost {int(said['lost'])}, duplicates {int(said['duplicates'])}, unpromised {int(said['unpromised'])}"
    right = right_answer("7.4")(list(acknowledged), list(readable))
    near = [words({**right, name: right[name] + 1}) for name in right]
    state = (f"acknowledged: {', '.join(acknowledged)}", f"readable, by offset: {', '.join(readable)}",
             "each value was sent once",
             "lost: acknowledged, and not readable; duplicates: copies too many",
             "unpromised: readable, and not acknowledged; a value counts once")
    return Question(7, state, "What does the account say?",
                    *of_texts(rng, words(right), in_words(mistakes("7.4", acknowledged, readable), words), near))


def in_a_sentence(answer: Answer) -> str:
    word, offset = answer
    return {"append": f"it appends the batch at offset {offset}",
            "duplicate": f"it appends nothing and answers with offset {offset}",
            "out of order": "OUT_OF_ORDER_SEQUENCE_NUMBER", "fenced": "INVALID_PRODUCER_EPOCH"}[word]


def sequence(rng: Random) -> Question:
    """The last batch of a story is asked about; the table of the broker judges them all."""
    story, at = [], rng.choice((0, 0, 0, 4))
    for _ in range(rng.randrange(4, 8)):
        story.append(Batch(7, 1, at, rng.randint(1, 3)))
        at = story[-1].last + 1
    asked = rng.choice((story[0], story[-2], story[-5:][0], Batch(7, 1, at, 2), Batch(7, 1, at + 1, 1), Batch(7, 2, 0, 2),
                        Batch(7, 2, at, 2), Batch(7, 0, at, 1), Batch(7, 1, story[-1].sequence, story[-1].count + 1)))
    table, end, firsts = [("batch of producer 7", "epoch", "sequences", "stored at offset")], 0, []
    with tempfile.TemporaryDirectory() as folder:
        states = ProducerStates(LiveFs(), folder, "orders-0")
        for batch in story:
            firsts.append(judge(states, end, batch)[1])
            table.append((f"{len(firsts)}", str(batch.epoch), f"{batch.sequence} to {batch.last}", str(end)))
            end += batch.count
        right = judge(states, end, asked)
    again = rng.choice(firsts) if right[0] != "duplicate" else right[1]
    wrong = map(in_a_sentence, [("append", end), ("duplicate", again), ("out of order", None), ("fenced", None)])
    state = (f"the table has every batch of the partition, in order; the log ends at {end}",
             f"now comes a batch of producer 7, epoch {asked.epoch}, sequences {asked.sequence} to {asked.last}",
             "the producer is idempotent; the broker has not been started again since the first batch")
    return Question(10, state, "What does the broker do?", *of_texts(rng, in_a_sentence(right), wrong), tuple(table))


def last_stable(rng: Random) -> Question:
    watermark = rng.randrange(50, 90)
    begins = {1000 + n: rng.randrange(10, watermark + 6) for n in range(rng.choice((2, 3)))}
    right = int(right_answer("10.7")(watermark, dict(begins)))
    options = of_numbers(rng, right, mistakes("10.7", watermark, begins))
    state = (f"the high watermark is {watermark}",
             *(f"the open transaction of producer {producer} began at offset {first}" for producer, first in begins.items()),
             "every other transaction has ended, and its marker is below the high watermark")
    return Question(10, state, "Where is the last stable offset?", *options)


def delivered(rng: Random) -> Question:
    """A trace that loses nothing, or something, or doubles, or does both: each is drawn equally often."""
    loses, doubles = rng.choice((True, False)), rng.choice((True, False))
    copies = [1, 1, 1, 1]
    if loses:
        copies[0] = 0
    if doubles:
        copies[3] = 2
    if rng.random() < 0.5:
        copies[1] = copies[0] if loses else copies[3]
    rng.shuffle(copies)
    steps = [("sent", *["stored"] * many, *["acknowledged"] * rng.randrange(2)) for many in copies]
    trace = [(what, n) for n, whole in enumerate(steps, 1) for what in whole]
    options = ("at most once", "at least once", "both", "neither")
    state = (f"a trace: {', '.join(f'{what} {n}' for what, n in trace)}", "a message is stored once for each copy in the log",
             "both: each message is there exactly once, so the trace proves nothing")
    right = right_answer("1.8")(list(trace))
    return Question(1, state, "What does this trace fit?", options, options.index(right))


KINDS = {"delivered": Kind("Which delivery does a trace fit?", delivered),
         "hot-key": Kind("Which key is hot?", hot_key),
         "latency": Kind("How long does a producer wait for an acknowledgement?", latency),
         "account": Kind("What is lost, doubled, or there unpromised?", account),
         "sequence": Kind("What does a broker do with a batch that may have come before?", sequence, "retry_of_the_last_only"),
         "last-stable": Kind("Where is the last stable offset?", last_stable)}
