"""Checks and hints of elective 20: a broker, stage by stage, judged from outside (stages.py)."""
from __future__ import annotations

from minikafka.lab.exercise import hints
from minikafka.lab.labs.lab20 import elected, replicas, stages
from minikafka.lab.program import file_exercise

STAGES = (
    ("20.1", stages.judge_frame, "A broker's first answer is why a client of today and one of tomorrow can share it."),
    ("20.2", stages.judge_metadata,
     "`advertised.listeners` is this host and port. Where they are wrong, a client connects once and never again."),
    ("20.4", stages.judge_produce, "A broker never opens a batch: what it stores costs it no more than the copy."),
    ("20.5", stages.judge_fetch, "`fetch.max.wait.ms` and `fetch.min.bytes` are these two numbers: latency for fewer requests."),
    ("20.6", stages.judge_list_offsets, "`auto.offset.reset` is one such request."),
    ("20.7", stages.judge_commits, "A commit is a note: a broker that loses it sends a group back to its beginning."),
    ("20.8", stages.judge_group, "A broker never reads what the members tell each other: which topics, and whose partitions."),
)
for exercise, stage, matters in STAGES:
    file_exercise(exercise, stages.run(exercise, stage), stages.verdict, matters)

file_exercise("20.9", replicas.run_replicas, stages.verdict,
              "Most losses of a cluster begin with a promise that was made a moment too early.")
file_exercise("20.10", elected.run_controllers, stages.verdict,
              "`unclean.leader.election.enable` elects whoever is alive: up again at once, and without what was promised.")

hints("20.1", "A socket gives you bytes, not requests. How many bytes have you to wait for, and what if more have come?",
      "The size says where a request ends. A loop reads until it has that many; a thread for each connection lets others go on.",
      "minikafka/protocol/codec.py reads the frames of our broker; socket.socket.recv may return less than you want")
hints("20.2", "Where will the client connect next, and who told it?",
      "Brokers first, each with host and port; then topics, each with partitions, each with the node of its leader.",
      "section 3, the layout; minikafka/broker/metadata/api/metadata.py answers Metadata in our broker")
hints("20.4", "Which bytes of a batch does its checksum not cover, and who may write into them?",
      "The base offset is the broker's: eight bytes in front. The last offset delta says how many offsets the batch takes.",
      "section 4, and minikafka/log/batch.py: stamp and crc_ok")
hints("20.5", "Which batch holds the offset that is asked for, and what if it has not been written yet?",
      "Batches are sent whole, from the one that holds the offset. At the end the answer waits for more, until max_wait is over.",
      "minikafka/broker/replication/api/fetch.py is the one of our broker; threading.Condition.wait takes a timeout")
hints("20.6", "Two times are no times: what do -1 and -2 stand for?",
      "-1 asks for the offset that the next record gets, -2 for the first that is kept.",
      "section 6, the layout; minikafka/broker/replication/api/list_offsets.py is the one of our broker")
hints("20.7", "What is a committed offset to a broker: a place in its log, or a note that somebody left?",
      "A dictionary: group, topic and partition lead to an offset and a text. Nothing compares it with the log.",
      "section 7, and minikafka/broker/groups/offsets.py keeps the notes of our broker")
hints("20.8", "Whom does a group of one wait for?",
      "For nobody: JoinGroup can be answered at once. The member leads, and SyncGroup gives back what the leader has sent.",
      "section 8, and minikafka/broker/groups/shell/coordinator.py says who may commit in our broker")
hints("20.9", "Which request tells a leader how far a follower is?",
      "A follower's Fetch names the offset that it wants next, so it has all before it. A promise waits for the high watermark.",
      "section 9; lab 6, section 2; minikafka/broker/replication/replica.py: the mark of our broker")
hints("20.10", "What does an open port say about a process, and what does it not say?",
      "A loop: ask all, next_leader(now, alive), the ISR without the dead. Write only what is new, and if somebody may lead.",
      "section 9; lab 9, section 4; minikafka/broker/controller/leader_election.py: `change` is the whole rule of our controller")
