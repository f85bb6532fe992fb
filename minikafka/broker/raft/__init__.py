"""The quorum of controllers, which replicates the metadata log: Raft as Kafka does it (KRaft, KIP-595).

The files on top are pure: an event and the time go in, effects come out. In reading order:

    messages.py      the requests and answers between nodes
    effects.py       what the core reads (the log, random numbers) and the effects that it asks for
    roles.py         Unattached, Follower, Prospective, Candidate, Leader, Resigned: what a node knows in each role
    outbox.py        Outbox: the effects of one event, and the requests under way
    state.py         QuorumState: role, epoch, vote and high watermark of one node, and how they change
    snapshots.py     a replica that lacks deleted records loads a snapshot instead
    replication.py   followers fetch; what a majority has on disk is committed
    election.py      pre-votes, votes, the search for a leader, resignation
    raft.py          Raft: the node, which holds these parts; its events, and what must hold between two of them
    wire.py          the messages as Kafka's requests and responses; control records; the file quorum-state
    shell/           carries the effects out:
                     quorum.py            one event at a time; append, committed records, leadership
                     network.py           requests to the other nodes
                     metadata_log.py      the folder __cluster_metadata-0: log, quorum-state, snapshots
                     snapshot_files.py    the snapshots in it
                     snapshotter.py       when a snapshot is made, and what is deleted then
    api.py           the requests of the other nodes, and DescribeQuorum

It promises: no effect overtakes the write of a vote (I-RAFT-1); one leader per epoch, with every committed record (I-RAFT-4);
an offset is committed only when a majority has it on disk (I-RAFT-2, I-RAFT-3); committed records reach the broker once and in
order (I-QRM-2). The core knows no other room. The shell keeps its log with minikafka/log, and reads and writes metadata records.
"""
