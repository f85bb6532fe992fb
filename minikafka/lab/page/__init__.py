"""A notebook inside a simulated world: for a browser, which has no processes, no threads and no sockets.

    enter()      from now on this kernel's cells, kafka-python and the labs find the world's time, threads and sockets, and
                 `Cluster()` is a cluster of that world

Each kernel of a browser does it before its first cell, and with MINIKAFKA_ENGINE=world one of a machine does, as in its tests.

    notebook.py    `Notebook`: the kernel as one more process of the world
    cluster.py     `WorldCluster`: a simulated cluster with what cells call of a live one
    folder.py      its disks as a folder, which a notebook lists, reads and damages
    trace.py       its trace, into which the notebook's processes write
    processes.py   the processes of Python that cells start, as guests of the world
    passing.py     its time between the cells, after a button
    librdkafka.py  a stand-in for confluent-kafka
    checks.py      the exercises "from nothing": the student's file in a world of its own
    elsewhere.tsv  the cells that need more than a world has, and what they need

Owns: nothing. The world's clock moves only while a cell waits for something, and after a button of the picture.
"""
