"""One member of a consumer group, a program of its own:  python -m minikafka.lab.demo.member BOOTSTRAP TOPIC GROUP FILE

It writes down every record it reads and commits its position by hand, afterwards. So a member that dies between the two
leaves records that are read but not committed: the next owner of the partition reads them again (at least once).

Lines of FILE: {"assigned": [0, 2]} when partitions are given to it, {"committed": 1500} after a commit (records since
the last one), else [partition, offset, key, seq]. Ends when its standard input does.
"""
import json
import sys
import threading

from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka.errors import KafkaError

COMMIT_EVERY = 2_000                             # records: what a crash makes the group read again, at most, per member
POLL_MS = 1_000


class TellAssignment(ConsumerRebalanceListener):
    """Writes down which partitions this member got."""

    def __init__(self, out):
        self.out = out

    def on_partitions_revoked(self, revoked):
        pass

    def on_partitions_assigned(self, assigned):
        print(json.dumps({"assigned": sorted(tp.partition for tp in assigned)}), file=self.out, flush=True)


def main(bootstrap: str, topic: str, group: str, path: str) -> None:
    stopping = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stopping.set()), daemon=True).start()

    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap.split(","), group_id=group,
        auto_offset_reset="earliest",            # a group without commits begins at the beginning
        enable_auto_commit=False,                # we say ourselves when a record is done
        session_timeout_ms=6_000, heartbeat_interval_ms=1_000, max_poll_records=500)
    # kafka-python 3.0.12: a member that joins before it knows the topic joins once more, and a poll() that ends while that
    # answer is in flight forgets it: the member then stands still for good. So first fetch the topic's metadata, and then
    # poll for longer than a busy machine needs to join.
    while not consumer.partitions_for_topic(topic) and not stopping.wait(0.1):
        pass
    with open(path, "w", encoding="utf-8") as out:
        consumer.subscribe([topic], listener=TellAssignment(out))
        uncommitted = 0
        while not stopping.is_set():
            polled = consumer.poll(timeout_ms=POLL_MS)
            for records in polled.values():
                for r in records:
                    line = [r.partition, r.offset, r.key.decode(), json.loads(r.value)["seq"]]
                    print(json.dumps(line), file=out)
                    uncommitted += 1
            out.flush()
            if (uncommitted >= COMMIT_EVERY or (uncommitted and not polled)) and commit(consumer):
                print(json.dumps({"committed": uncommitted}), file=out, flush=True)
                uncommitted = 0
        commit(consumer)
    consumer.close()


def commit(consumer: KafkaConsumer) -> bool:
    """Commit the position; return False if that failed: some records will then be read again, and nothing is lost."""
    try:
        consumer.commit()
        return True
    except KafkaError as error:                  # a rebalance took the partitions away, or the coordinator died
        print(f"commit failed: {error}", file=sys.stderr)
        return False


if __name__ == "__main__":
    main(*sys.argv[1:])
