"""The metadata: the state of the cluster, as every node replays it from the committed records of `__cluster_metadata`.

In reading order:

    records.py          the records: one class for each kind of change, in Kafka's form
    registrations.py    the values that they make: Broker, Partition, Topic; and Changes
    image.py            MetadataImage: apply a record, load a snapshot, find out what changed
    topic_names.py      which names a topic may have, and which topics are internal
    expressions.py      regular expressions of clients over names, in the language of RE2
    features.py         the features of the cluster, and the levels that this code supports
    delegation_tokens.py   passwords for one job: who may have, see, renew and end one
    api/                the requests that are answered from the image: metadata.py (Metadata), describe_topic_partitions.py
                        and describe_cluster.py

It promises that equal sequences of records give equal images (I-IMG-1), and that the epochs of a partition grow with each
change (I-IMG-2). It knows no other room; its api/ asks the controller room to create missing topics. The records come from
raft/ (committed) and controller/ (not committed yet); replication/, groups/ and the others read the image.
"""
