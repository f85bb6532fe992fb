"""One group alone: its state machine with clients, a clock and a log, and no broker. A seed takes milliseconds.

    lone_classic_group.py    a classic group, named clients, a log that commits when it is told
    classic_seen.py          a classic group as it was at a moment
    classic_rules.py         what the rules say of each of its answers, asked a second time
    classic_life.py          one seed: clients that behave, that crash, that send nonsense; a coordinator that moves

    lone_consumer_group.py   a group of the consumer protocol (KIP-848), and the topics that it reads
    heartbeat_client.py      a consumer of that protocol
    consumer_refusals.py     which requests it refuses         consumer_facts.py      when something is due, what it knows
    assignment_rules.py      what a target assignment must be  consumer_rules.py      what each answer must be
    consumer_life.py         one seed: members join, leave, restart, fall behind and vanish; topics grow
    assignors_life.py        one seed of the assignors alone

    lone_mixed_group.py      a group that changes its protocol, and back
    classic_client.py        a consumer of the classic protocol, eager or cooperative
    classic_member_rules.py  what a classic member is told     migration_rules.py     what a migration must keep
    judged_mixed_group.py    the group with its judges
    mixed_life.py            one seed: clients restart with the other protocol while they read

    offset_history.py        what the log says of each committed offset, read from its beginning
    expiry_rules.py          when an offset expires
    offsets_life.py          one seed: commits, transactions, tombstones, topics that come and go, expiry

`python -m minikafka sim run --group` runs seeds of groups. The tests of broker/groups/ use the worlds as well.
"""
