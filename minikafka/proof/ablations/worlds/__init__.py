"""Worlds made for ablations that a swarm of whole clusters meets too seldom.

    lone_log.py           one log on one disk: it grows, is cut and compacted, and dies at any change of the disk
    lone_metadata_log.py  the same for a voter's metadata log and its snapshots
    lone_batch.py         a client's batch, sound or spoiled in one way: what is taken, what is refused, and how
    unrest.py             three brokers, one partition, and leaders that change all the time

Each is a function of a seed that returns the ids of what fell, () if nothing did.
"""
