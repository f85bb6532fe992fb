"""Consumer groups: which member reads which partition, and how far a group has read.

A group belongs to the broker that leads one partition of `__consumer_offsets`. There are two kinds of group: in a classic
group the members assign the partitions among themselves; in a consumer group the brokers assign them (KIP-848). The pure
files decide and return effects; the shell appends records to the log and answers clients once they are committed.

A consumer group in about 2,000 lines, in reading order:

    tests/stories/groups/*.txt             what a rebalance looks like, as transcripts
    classic/states.py                      the states of a classic group, and the error of a request in each
    classic/messages.py                    requests, results and effects
    classic/members.py                     members, leader, the vote for an assignor
    classic/group.py                       the heart: join, sync, heartbeat, leave, and the timers
    offsets.py                             committed offsets, and those that wait for a transaction's marker
    group.py                               what both kinds of group can do
    shell/shard.py                         one partition of `__consumer_offsets`: loaded, appended to, dropped
    shell/coordinator.py                   all partitions that this broker leads, and the requests of members
    api/classic_membership.py              JoinGroup, SyncGroup, Heartbeat, LeaveGroup

Then: classic/static_member.py (a member that restarts), classic/embedded_protocol.py (the bytes that members exchange),
records.py (the records' bytes), offset_expiration.py (which offsets expire), and consumer/ (the other kind of group; its page
has the order). shell/group_factory.py makes groups; api/consumer_heartbeat.py, api/offsets.py and api/admin.py serve the
other requests.

Promises: no client sees an assignment, an epoch or an offset before its record is committed (rules 58, 60); a commit is
taken only from a member of the present generation or epoch (rules 60, 848); a new coordinator serves only what it has
loaded completely (rule 62).
Knows: the metadata image, for topics. The shell knows replication (the partition it appends to) and broker/coordinator.
"""
