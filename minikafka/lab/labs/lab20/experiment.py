"""What the cells of elective 20 call: layouts, one exchange in bytes, answers side by side, and strangers at the broker.

Owns: nothing that stays; each call starts the student's broker, and ends it.
"""
from __future__ import annotations

from minikafka.lab.exercise import Todo, Unknown, Wrong
from minikafka.lab.labs.console import console as run_console
from minikafka.lab.labs.lab20.layouts import say
from minikafka.lab.labs.lab20.parts import running, write_down
from minikafka.lab.labs.lab20.side_by_side import WireLine, read_fields, table
from minikafka.lab.labs.lab20.stages import TIME, bench, names
from minikafka.lab.labs.one_broker import one_broker
from minikafka.log import batch

__all__ = ["beside", "console", "say", "show", "size_of_a_batch", "strangers", "write_down"]

EXAMPLES = {"ListOffsets": {"replica": -1, "topics": [{"name": "ships", "partitions": [{"partition": 0, "time": -1}]}]}}
NOT_YET = (Todo, Unknown, Wrong)


def show(api: str) -> None:
    """Print a request in bytes, field by field, and the answer of our broker."""
    with WireLine(int(one_broker().bootstrap.rpartition(":")[2])) as line:
        frame = line.frame(api, EXAMPLES[api])
        answer = line.exchange(frame)
    client = 14 + int.from_bytes(frame[12:14], "big")
    print("request")
    for name, begin, end in (("size", 0, 4), ("key", 4, 6), ("version", 6, 8), ("number", 8, 12), ("client", 12, client),
                             ("body", client, len(frame))):
        print(f"  {name:8}{frame[begin:end].hex(' ')}")
    print("answer")
    print(f"  {'size':8}{len(answer).to_bytes(4, 'big').hex(' ')}")
    print(f"  {'number':8}{answer[:4].hex(' ')}\n  {'body':8}{answer[4:].hex(' ')}")


def size_of_a_batch(value: bytes) -> int:
    """Return how many bytes a batch takes that holds this one record."""
    return len(batch.build([(None, value)], timestamp_ms=TIME))


def beside(exercise: str, api: str) -> None:
    """Print the student's answer to Metadata beside that of our broker, every field of it."""
    try:
        with bench(exercise, None) as both:
            frame = both.mine.frame(api, names(both.topic))
            mine, kafka = both.answer(frame, api), both.reference(frame)
    except NOT_YET as reason:
        print(reason)
        return
    print(*table(read_fields(api, mine)[0], read_fields(api, kafka)[0]), sep="\n")


def console(exercise: str, command: str) -> None:
    """Start the student's broker, as it is after a stage, and a tool beside it."""
    try:
        with running(exercise) as broker:
            run_console(broker, command)
    except NOT_YET as reason:
        print(reason)


def strangers(group: str = "") -> None:
    """Start the student's broker; kcat and Java's console tools write a line each and read both, Java's as a member."""
    how = f"--group {group} --from-beginning" if group else "--partition 0 --offset earliest"
    try:
        with running("20.8" if group else "20.6") as broker:
            run_console(broker, "kcat -P -t trucks", given="kcat was here\n")
            run_console(broker, "kafka-console-producer.sh --topic trucks", given="Java was here\n")
            run_console(broker, "kcat -C -t trucks -o beginning -e -q")
            run_console(broker, f"kafka-console-consumer.sh --topic trucks {how} --max-messages 2")
    except NOT_YET as reason:
        print(reason)
