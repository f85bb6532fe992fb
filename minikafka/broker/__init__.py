"""A node of the cluster: a broker, a controller of the metadata quorum, or both.

The rooms, in an order in which they can be read. In each room the files on top are pure: they take events and the time and
decide. Its shell/ carries the decisions out (files, sockets, timers), its api/ serves the requests of clients and brokers.

    how bytes come in       server/        connections, the table of requests, peers; the one door to clock, disk and network
    what brokers agree on   metadata/      the image: topics, partitions, brokers, as replayed from the metadata log
                            raft/          the quorum that replicates the metadata log
                            controller/    what is decided at the quorum's leader: elections, ISR changes, administration
    how records survive     replication/   the replica: log end, high watermark, ISR, epochs; Produce and Fetch
                            storage/       the folder of logs: checkpoints, cleaning, a clean shutdown
    what coordinators keep  coordinator/   what group and transaction coordinators share: a log that is loaded and appended to
                            groups/        consumer groups of both protocols, and committed offsets
                            transactions/  transactional ids, markers, producer ids
    settings and limits     config/        every setting: its type, its default, who may alter it
                            quotas/        limits of clients, and how long one that is above its limit must wait
                            authorizer/    access lists: who may do what, and the table of the right that each API needs
                            compat/        requests that clients send and that a broker without security answers

broker.py makes the parts of a node, hands each the parts that it works with, and starts and stops them in order.
handlers.py imports every handler of a request, and __main__.py is the process: `python -m minikafka.broker FILE.properties`,
which import_trimming.py lets start sooner; fork_server.py forks such processes for a cluster.

Which room may know which is a table in tests/test_laws.py; minikafka/README.md has three reading paths.
"""
