"""Two ways into a simulated world for code that was written for real clusters.

    cluster.py  `Cluster(engine="sim")`: the interface of cluster/cluster.py; each call drives the world until it is done
    watched.py  the events of that cluster's clients, as cluster/watch.py writes them
    bridge.py   real clients over real sockets; the same seed then no longer gives the same run
"""
