"""The quorum of controllers, which replicates the metadata log: Raft as Kafka does it (KRaft, KIP-595).

The files on top are pure: an event and the time go in, effects come out. In reading order:

    messages.py      the requests and answers between nodes
    effects.py       what the core reads (the log, random numbers) and the effects that it asks for
    roles.py         Unattached, Follower, Prospective, Candidate, Leader, Resigned: what a node knows in each role
    node.py          QuorumNode: the state of one node, its change of roles, the effects of one event
    snapshots.py     a replica that lacks deleted records loads a snapshot instead
    replication.py   followers fetch; what a majority has on disk is committed
    election.py      pre-votes, votes, the search for a leader, resignation
    raft.py          Raft: the events, and which of the files above handles which
    wire.py          the messages as Kafka's requests and responses; control records; the file quorum-state
    shell/           carries the effects out:
                     quorum.py            one event at a time; append, committed records, leadership
                     network.py           requests to the other nodes
                     metadata_log.py      the folder __cluster_metadata-0: log, quorum-state, snapshots
                     snapshot_files.py    the snapshots in it
                     snapshotter.py       when a snapshot is made, and what is deleted then
    api.py           the requests of the other nodes, and DescribeQuorum

The classes of node.py, snapshots.py, replication.py, election.py and raft.py are one object, told in five parts: each class
extends the one before and uses nothing of those after it.

It promises: no effect overtakes the write of a vote (I-RAFT-1); one leader per epoch, with every committed record (I-RAFT-4);
an offset is committed only when a majority has it on disk (I-RAFT-2, I-RAFT-3); committed records reach the broker once and in
order (I-QRM-2). The core knows no other room. The shell keeps its log with minikafka/log, and reads and writes metadata records.
"""
