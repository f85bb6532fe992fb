"""What judges the Kafka: checkers, campaigns in the simulator and on live clusters, stories, and rules broken on purpose.

Read the folders in this order; the page of each names its files:

    history/       what clients did, and one checker of it for every engine; anomalies have Jepsen's names
    invariants/    what must hold in a simulated cluster after each step and at its end
    swarm/         one seed: clients at work, faults, recovery, verdict; many seeds: campaigns
    small_worlds/  one part of the broker alone, with a clock and its events
    stories/       the anomalies, one story each, told as transcripts
    weakened/      the rules that prevent them, switched off one at a time: each time an invariant must fall
    mutation/      a line changed at random, or one of these rules off: which check notices it
    chaos/         live brokers killed under real clients; hostile requests, spoiled frames
    bench/         the same work on both engines, timed
    ledger.py      the campaigns that were run: tests/seeds/ledger.tsv
    command.py     `python -m minikafka sim run | replay | shrink | tell | ablate | mutate`

It imports the Kafka and its simulator (sim/). Nothing of the Kafka imports it.
"""
