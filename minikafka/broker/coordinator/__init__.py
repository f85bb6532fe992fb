"""The common part of group and transaction coordinators: their state is a partition, and its leader is the coordinator.

    hashing.py                   which partition keeps a group or a transactional id: Java's hash of its name
    shell/coordinator_log.py     one partition of a coordinator's topic: replay it, append records, wait until they are committed
    shell/coordinator.py         which partitions are led here, loaded or not; the refusals of all others
    api.py                       FindCoordinator: which broker coordinates this key?

Promises: a response tells only what is committed (I-GLOG-1); one coordinator at a time can commit anything.
Kafka has the same parts in its module coordinator-common. This room knows replication/ (to append and to read) and
controller/ (to have its topic created); groups/ and transactions/ are built on it.
"""
