"""Live campaigns: real processes killed, paused and cut under real clients, judged by the checker of histories.

    command.py       `python -m minikafka chaos`
    campaign.py      one campaign: start, break, mend, finish, read everything, judge
    nemesis.py       which fault comes next, and where
    worker.py        one client under test as a thread that is made anew after every error
    clients.py       what producers, members and transactional copiers do and tell the history
    kafka_python.py  their calls of kafka-python
    librdkafka.py    their calls of librdkafka (confluent-kafka)
    final_reads.py   every partition read from its first to its last offset, by both libraries
    search.py        a missing record looked for in the brokers' log files: lost, or not delivered?
    hostile.py       the other campaign: no faults, but random requests of all APIs beside a probe client
    attack.py        the process that sends them; grammar.py: how they are made from the schemas; probe_client.py: that client
    fuzz.py          the campaign of frames on one simulated broker (one_broker.py); frames.py: how they are spoiled
    compare.py       the same requests on both engines; differences.py: in what two answers differ

Unlike the simulator's swarm (proof/swarm/) a seed repeats the faults here, but not what the machine makes of them.
"""
