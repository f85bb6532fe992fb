"""The quorum's state machine (broker/raft/) on a world of its own: no bytes, no brokers, many schedules a second.

    node.py      the settings of a world, a request on its way, a process with its disk
    disk.py      the log of entries, its snapshots and `quorum-state`; what a crash leaves of them
    net.py       requests and answers between nodes, and the effect of cuts, losses and deaths on them
    world.py     time, and the effects of each node carried out from left to right, as broker/raft/shell/quorum.py does
    oracle.py    it sees all disks, and checks I7, I8 and I9 at every effect
    campaign.py  one seed: a plan of faults, healing, agreement
"""
