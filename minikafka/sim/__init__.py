"""The simulated machine: the same broker code on virtual time, an in-memory network and an in-memory disk.

A seed decides everything that chance decides elsewhere: the order of events, the latency of a frame, the sectors that a
loss of power takes. So a run that fails can be run again, made smaller, and printed as a story.

    world/    time, network, disks, clocks, processes, and everything that can be broken
    engine/   `Cluster(engine="sim")`, and a bridge for real clients
    guest/    unchanged Python programs, with kafka-python, as processes of a world

It carries the brokers (broker/) and the clients (client/), and judges nothing: proof/ does. Nothing in broker/, log/, protocol/
or client/ imports this folder: they get an Env (broker/server/env.py), whose clock may be real or simulated.
"""
