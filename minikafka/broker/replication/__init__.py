"""Replication: how a record that was acknowledged survives the death of the leader that took it.

A partition has a leader and followers. Clients write to the leader; followers fetch from it, as consumers do. Replication in
about 2,000 lines, in reading order:

    tests/stories/brokers/*.txt          what goes wrong without a rule, as transcripts: begin with a1_hw_truncation.txt
    log/epochs.py                        which leader epoch begins where in a log
    effects.py                           the vocabulary: what a replica may see of the world, what it asks the shell to do
    isr.py                               what a leader knows of each follower, and who is in sync: one clock for slow and stuck
    replica.py                           the heart: the state machine of one replica, leader or follower
    shell/partition.py                   its effects carried out: the log, the trace, the answers that wait
    shell/delayed_operations.py          answers that wait for a move: acks=all, a long poll, a deletion
    api/fetch.py                         Fetch: stored bytes for followers and consumers
    shell/replica_fetcher.py             the follower's side of Fetch
    shell/alter_partition_sender.py      how a leader proposes another ISR; controller/alter_partition.py decides on it
    controller/leader_election.py        how the next leader is chosen

Then, at a story: `.venv/bin/python -m minikafka sim tell a5 --without counts_committed_isr_only`, to see what one rule is for.

The rest: api/produce.py (a batch from a client into the log), api/list_offsets.py and api/delete_records.py (two more requests
to a leader), api/current_leader.py (the leader, in a response of another broker), fetch_session.py (a fetcher names only the
partitions that changed), preferred_replica.py (a consumer reads in its own rack), shell/replica_manager.py (all partitions of
this broker, by name), shell/metadata_publisher.py (which of them are hosted, and in which role, as the metadata says).

Promises: a record below the high watermark is on every replica that may be elected (rules 1 to 3); a replica joins the ISR only
with everything that is committed (rule 15); logs that differ are cut where their epochs part (rule 21); no response
says that a record failed when it may still be committed (rule 8).
Knows: the pure files know no other room. The shell knows storage (the folder), the metadata image, and by the controller's
shell how to reach the controller.
"""
