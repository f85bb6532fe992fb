"""The machines of a simulated cluster: virtual time, a network and disks in memory, and the processes on them.

    loop.py       virtual time, and an event loop for each process
    net.py        hosts and links; transport.py: the ends of connections; hold.py: single frames, held or dropped
    disk.py       a disk, and how much of it survives a loss of power
    clock.py      wall clocks that drift and jump
    env.py        all of that behind the interface that brokers know (broker/server/env.py)
    log_lines.py  the log of each process
    host.py       one machine, and the broker that runs there at the moment
    breakable.py  the faults, under the names that live clusters use; damage.py: which bits may flip
    world.py      all machines of a cluster, their trace, and its hash
    replaced.py   a function of the brokers that stands for another one for a while

Promised: the same seed and the same calls give the same trace, to the last byte (I-WORLD-1); a process that was killed
runs no further line (I-SIM-3); synced bytes survive a loss of power (I-DISK-2). No file here knows threads or sockets.
"""
