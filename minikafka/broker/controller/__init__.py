"""The controller: the node that leads the metadata quorum decides for the cluster which broker lives and which replica leads.

A decision reads the metadata image and returns records and a verdict. The records go into the metadata log; when the quorum
has committed them, every node replays them and the verdict goes out as a response. In reading order:

    leader_election.py       one change of a partition: ISR, eligible leaders, leader, as one record. The heart of the room
    alter_partition.py       may this leader change its ISR? the checks in Kafka's order
    heartbeats.py            which brokers are alive, and the four states of a broker's life
    controller.py            the state machine: registration, fencing, elections, producer ids, periodic checks
    placement.py             where the replicas of a new partition go
    reassignment_steps.py    how one list of replicas becomes another while the partition goes on serving
    admin/                   what administrators request, one API a file: create_topics.py, create_partitions.py,
                             delete_topics.py, elect_leaders.py, alter_reassignments.py, update_features.py; verdicts.py is
                             what they all return, replica_budget.py what a broker can hold
    shell/                   active_controller.py   one decision at a time into the quorum's log, answered when committed
                             broker_lifecycle.py    the other side: a broker registers, sends heartbeats, stops
                             controller_channel.py  requests to the active controller, whichever node it is
                             auto_topic_creation.py topics that a broker creates because a client or a coordinator needs them
    api/                     broker_requests.py     what brokers ask: registration, heartbeat, AlterPartition, producer ids
                             forwarding.py          what administrators ask: from any broker to the active controller
                             topics.py              CreateTopics, DeleteTopics, CreatePartitions
                             partitions.py          ElectLeaders, Alter- and ListPartitionReassignments
                             cluster.py             UpdateFeatures, UnregisterBroker

It promises: a clean election takes its leader from the ISR, or from the eligible replicas while the ISR is empty
(I-ELECT-1); a broker without a clean shutdown is in neither (I-ELR-2); no response leaves before its records are committed
(I-CTL-6); a request that any broker accepted ends with an answer of an active controller or with a timeout.

It knows metadata/ (image, records, names of topics) and config/ (effective values, alterations). The other rooms send it
requests and see its records.
"""
