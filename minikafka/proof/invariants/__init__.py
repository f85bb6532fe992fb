"""What only a whole cluster can know, checked from outside on the real brokers: the invariants I1 to I20 and I22.

What one state machine can know of itself it asserts itself (minikafka/README.md), and a failed assert is a violation of I14.

    I1   offsets in order                offsets.py       I10  the epoch cache is the log's       offsets.py
    I2   the true HW stays               commitment.py    I11  sequences follow each other        producers.py
    I3   candidates are complete         commitment.py    I12  groups, as their log has them      groups.py
    I4   leaders are complete            commitment.py    I13  transactions, as theirs has them   transactions.py
    I5   logs match                      commitment.py    I14  nothing forgotten or piled up      tasks.py
    I6   the maximal ISR is one          leadership.py    I15  all comes to rest after healing    liveness.py
    I7   one leader per epoch            leadership.py    I16  logs whole, recovery idempotent    logs.py
    I8   the quorum is safe              quorum.py        I17  the clients' history is valid      history.py
    I9   metadata matches                quorum.py           I18  reassignments end whole         moves.py
                                                             I19  the LSO is the log's            stable.py
                                                             I20  brokers come knowing            moves.py
                                                             I22  unclean returns                 returns.py

I14 (in part), I15, I16 and I17 are judged after healing, the others after every step in which something changed.

How they are called:
    watch.py         told of every event; after the step it calls the invariants that the change concerns
    invariant.py     the methods by which an invariant is called; table.py: all of them, in their order
    known.py         what they may ask, and where they report; violation.py: one report
    cluster_view.py  which brokers run, and the newest committed metadata
    replica.py       the truth: what is committed in each partition, and how far each replica was compared with it
    losses.py        which losses the faults of a run permit; excuses.py: what those excuse in the clients' history

Sources: Vanlightly's TLA+ (kafka-tlaplus, v3.5 and kip-966), RaftEventSimulationTest, Jepsen.
"""
