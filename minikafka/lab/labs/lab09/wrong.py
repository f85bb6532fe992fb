"""Wrong solutions of lab 9, each by the mistake that it makes."""
from __future__ import annotations

from minikafka.lab.labs.lab09.checks import DUTIES, ELECTION, HEARTBEATS, OFFSETS, RECORDS

# --- 9.5 ---

def rounds_up(voters):
    return -(-voters // 2), voters - -(-voters // 2)


def as_replicas(voters):
    return voters // 2 + 1, voters - 1


def half_may_die(voters):
    return voters // 2 + 1, voters // 2


# --- 9.3 ---

def last_record(records, at):
    known = [r for r in records if r["offset"] <= at]
    return known[-1].get("leader", -1), len(known) - 1


def every_change_is_an_epoch(records, at):
    leader, epoch = -1, -1
    for record in records:
        if record["offset"] <= at:
            leader, epoch = record.get("leader", leader), epoch + 1
    return leader, epoch


def before_the_offset(records, at):
    leader, epoch = -1, -1
    for record in records:
        if record["offset"] < at and "leader" in record:
            leader, epoch = record["leader"], epoch + 1
    return leader, epoch


def first_of_the_isr(records, at):
    leader, epoch = -1, -1
    for record in records:
        if record["offset"] <= at:
            if "leader" in record:
                epoch += 1
                leader = record["leader"]
            elif leader not in record["isr"]:
                leader = record["isr"][0]
    return leader, epoch


def passes_over_the_gap(records, at):
    leader, epoch = -1, -1
    for record in records:
        if record["offset"] <= at and record.get("leader", -1) >= 0:
            leader, epoch = record["leader"], epoch + 1
    return leader, epoch


# --- 9.8 ---

def _letters(**changed):
    return "".join({**DUTIES, **{duty.replace("_", " "): place for duty, place in changed.items()}}.values())


def heartbeats_written_down():
    return _letters(which_brokers_are_alive=RECORDS)


def elected_by_heartbeats():
    return _letters(which_node_is_the_controller=HEARTBEATS)


def leaders_by_vote():
    return _letters(leader_and_ISR_of_a_partition=ELECTION)


def configurations_in_a_topic():
    return _letters(configurations=OFFSETS)


def brokers_are_told_by_heartbeats():
    return _letters(telling_brokers_what_has_changed=HEARTBEATS)


WRONG = {
    "9.5": {
        "takes half, rounded up": rounds_up,
        "counts failures as for replicas": as_replicas,
        "lets half of them die": half_may_die,
    },
    "9.3": {
        "looks at the last record only": last_record,
        "begins an epoch with each change": every_change_is_an_epoch,
        "leaves out the record at the offset": before_the_offset,
        "elects the first of the ISR by itself": first_of_the_isr,
        "does not count the time without a leader": passes_over_the_gap,
    },
    "9.8": {
        "writes every heartbeat down": heartbeats_written_down,
        "lets heartbeats elect the controller": elected_by_heartbeats,
        "elects the leaders of partitions by vote": leaders_by_vote,
        "keeps configurations in a topic of their own": configurations_in_a_topic,
        "tells brokers the changes in answers to heartbeats": brokers_are_told_by_heartbeats,
    },
}
