"""One controller alone: its decisions, with simulated brokers and administrators, a clock and a log, and no network. A seed takes
milliseconds.

    lone_controller.py      the controller, a log that commits at once or loses what was decided, a clock
    cluster_seen.py         the metadata as they were at a moment
    election_rules.py       what Kafka's rules make of a partition: leader, ISR, ELR, reassignment, epochs
    broker_rules.py         whose registration and heartbeat counts, who is fenced when, who may exit: from a book of its own
    partition_rules.py      what is answered to AlterPartition, ElectLeaders and AlterPartitionReassignments
    topic_rules.py          what is answered to CreateTopics, CreatePartitions, DeleteTopics, UpdateFeatures
    placement_rules.py      where the replicas of new partitions may be
    lone_brokers.py         brokers that register, are heard, stop, fall silent, come back
    administrator.py        the requests of administrators, right ones and nonsense
    controller_life.py      one seed: what happens when, and what must be true when all behave
"""
