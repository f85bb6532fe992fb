"""One controller alone: its decisions, with simulated brokers and administrators, a clock and a log, and no network. A seed takes
a tenth of a second. The cores assert their own invariants (leader_election.py, alter_partition.py, Controller.check()).

    lone_controller.py      the controller, a log that commits at once, a clock; the tests use it too
    judged_controller.py    each decision judged: its refusals have reasons, its records do what it answers
    placement_rules.py      where the replicas of new partitions may be
    administrator.py        the requests of administrators, right ones and nonsense
    controller_life.py      one seed: what happens when, and what must be true when all behave
    lone_election.py        elections of partitions in any allowed state, also in rare ones
"""
