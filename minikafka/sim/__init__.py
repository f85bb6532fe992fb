"""The seeded simulator: the same broker code on virtual time, an in-memory network and an in-memory disk.

A seed decides everything that chance decides elsewhere: the order of events, the latency of a frame, the sectors that a
loss of power takes. So a run that fails can be run again, made smaller, and told as a story.

Read the folders in this order; the page of each names its files:

    world/       the machines: time, network, disks, clocks, processes, and everything that can be broken
    engine/      `Cluster(engine="sim")`, and a bridge for real clients
    invariants/  the checks of what must hold after each step and at the end
    swarm/       one seed: clients at work, faults, healing, verdict; many seeds: campaigns
    raft/        the quorum's state machine alone: hundreds of schedules in the time that one whole cluster takes
    groups/      one consumer group alone, of either kind, each answer judged
    controller/  one controller alone: registrations, elections, reassignments, administration, each answer judged
    logs/        one compacted log, and one memory of producers, alone, so judged
    replication/ one replica alone, and the fetch sessions of one broker, so judged
    transactions/  one transactional id alone, each answer and record judged
    stories/     the anomalies, one story each, told as transcripts
    ablations/   the rules that prevent them, switched off one at a time: each time an invariant must fall
    mutation/    one line of a rule changed at random at a time, and which check notices it
    judgement.py what the judges of the small worlds say when a rule falls
    alone.py     the table of the small worlds: one part of the broker alone, each in milliseconds
    command.py   `python -m minikafka sim run | replay | shrink | tell | ablate | mutate`

What is used from elsewhere: the brokers (broker/), the clients (client/), the history and its checker (history/).
Nothing in broker/, log/, protocol/ or client/ knows this folder: they are given an Env (broker/server/env.py) and cannot
tell whether its clock is real.
"""
