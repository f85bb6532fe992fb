"""One group alone: its state machine with clients, a clock and a log, and no broker. A seed takes milliseconds.

    lone_group.py            a group of either kind, which may change its protocol, the topics that it reads, and its log
    classic_client.py        a consumer of the classic protocol, eager or cooperative
    heartbeat_client.py      a consumer of the consumer protocol

    group_properties.py      what must be true of a group before and after an event: times, phases, epochs, steps
    assignment_rules.py      what a target assignment must be
    judged_group.py          the group with its judges
    group_life.py            one seed: clients of one protocol, or of both; topics, records and coordinators that change

    assignors_life.py        one seed of the assignors alone
    offset_history.py        what the log says of each committed offset, read from its beginning
    expiry_rules.py          when an offset expires
    offsets_life.py          one seed: commits, transactions, tombstones, topics that come and go, expiry

`python -m minikafka sim run --group` runs seeds of groups. The tests of broker/groups/ use the worlds as well.
"""
