"""The seeded world: the same broker code on virtual time, an in-memory network and an in-memory disk.

What rests on what, and an order to read it in:

    the machine      loop.py          virtual time, and an event loop for each process
                     net.py           hosts and links; transport.py: ends of connections; hold.py: single frames
                     disk.py          what a process wrote, and what of it survives a loss of power
                     clock.py         wall clocks that drift and jump
    the processes    env.py           all of that, behind the interface that brokers know (broker/server/env.py)
                     host.py          a machine, and the broker that runs there at the moment; log_lines.py: what it logs
                     world.py         all machines of a cluster; breakable.py: all that can befall them
    who uses it      clients/         clients in plain code
                     cluster.py       `Cluster(engine="sim")`; watched.py: its clients in the trace
                     bridge.py        real clients, over real sockets
    one seed         workload.py      what clients do; client_process.py: where they live
                     faults.py        what strikes; damage.py: which bits may flip; operator.py: who mends
                     swarm.py         all of that drawn, run and judged
    many seeds       campaign.py      on all cores; coverage.py: did enough happen?; shrink.py: a smaller plan
                     command.py       `python -m minikafka sim`; progress.py: how far it is
    the judges       invariants/      what must hold after each step and in the end (history: minikafka/history)
                     stories/         anomalies as stories; ablations/: without the rule that prevents them
    the quorum alone raft_world.py    Raft cores; raft_net.py, raft_disk.py, raft_node.py: theirs of the above
                     raft_campaign.py its seeds; raft_oracle.py: its judge
"""
