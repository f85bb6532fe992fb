"""A notebook inside a simulated world: for a browser, which has no processes, no threads and no sockets.

    enter()      from now on this kernel's cells, kafka-python and the labs find the world's time, threads and sockets, and
                 `Cluster()` is a cluster of that world

Each kernel of a browser does it before its first cell, and with MINIKAFKA_ENGINE=world one of a machine does, as in its tests.

    notebook.py   `Notebook`: the kernel as one more process of the world
    cluster.py    `WorldCluster`: a simulated cluster with what cells call of a live one
    elsewhere.tsv  the cells that need more than a world has, and what they need

Owns: nothing. The world's clock moves only while a cell waits for something.
"""
