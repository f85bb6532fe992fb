"""Wrong solutions of lab 6, each by the mistake that it makes."""
from __future__ import annotations

from itertools import cycle, islice

# --- 6.2 ----------------------------------------------------------------------------------------------------------

def the_leaders_end(leo, isr):
    return max(leo.values())


def waits_for_replicas_that_are_out(leo, isr):
    return min(leo.values())


def a_majority(leo, isr):
    return sorted(leo.values(), reverse=True)[len(leo) // 2]


def the_last_readable_offset(leo, isr):
    return min(leo[broker] for broker in isr) - 1


def the_first_two_in_sync(leo, isr):
    return min(leo[broker] for broker in isr[:2])


# --- 6.6 ----------------------------------------------------------------------------------------------------------

def possible(brokers, copies):
    if copies > len(brokers):
        raise ValueError("more copies than brokers")


def always_from_the_first(brokers, partitions, copies):
    possible(brokers, copies)
    return [brokers[:copies] for _ in range(partitions)]


def one_heir(brokers, partitions, copies):
    possible(brokers, copies)
    return [[brokers[(p + i) % len(brokers)] for i in range(copies)] for p in range(partitions)]


def continues_where_it_stopped(brokers, partitions, copies):
    possible(brokers, copies)
    turn = cycle(brokers)
    return [list(islice(turn, copies)) for _ in range(partitions)]


def shifts_onto_itself(brokers, partitions, copies):
    possible(brokers, copies)
    n = len(brokers)
    return [[brokers[p % n], *(brokers[(p + p // n + i) % n] for i in range(1, copies))] for p in range(partitions)]


def promises_the_impossible(brokers, partitions, copies):
    n = len(brokers)
    return [[brokers[p % n], *(brokers[(p + 1 + (p // n + i) % max(1, n - 1)) % n] for i in range(copies - 1))]
            for p in range(partitions)]


# --- 6.8 ----------------------------------------------------------------------------------------------------------

def watermark(state):
    return min(state.ends[broker] for broker in state.isr)


def the_mark_itself(n, state):
    return state.leader is not None and state.start <= n <= watermark(state)


def what_the_leader_has(n, state):
    return state.leader is not None and state.start <= n < state.ends[state.leader]


def nothing_is_ever_deleted(n, state):
    return state.leader is not None and n < watermark(state)


def without_a_leader(n, state):
    return state.start <= n < watermark(state)


def every_replica(n, state):
    return state.leader is not None and state.start <= n < min(state.ends.values())


def two_of_three(n, state):
    return state.leader is not None and state.start <= n < sorted(state.ends.values())[1]


WRONG = {
    "6.2": {
        "readable as soon as the leader has it": the_leaders_end,
        "a replica out of sync holds everybody up": waits_for_replicas_that_are_out,
        "a majority is enough": a_majority,
        "the last readable offset instead of the end": the_last_readable_offset,
        "looks at the leader and one follower": the_first_two_in_sync,
    },
    "6.6": {
        "the first broker leads everything": always_from_the_first,
        "one survivor inherits everything": one_heir,
        "deals cards: leaders uneven or heirs uneven": continues_where_it_stopped,
        "puts two copies on one broker": shifts_onto_itself,
        "promises three copies on two brokers": promises_the_impossible,
    },
    "6.8": {
        "counts the high watermark itself as readable": the_mark_itself,
        "reads what only the leader has": what_the_leader_has,
        "reads what was deleted": nothing_is_ever_deleted,
        "reads where nobody leads": without_a_leader,
        "waits for replicas that are out of sync": every_replica,
        "takes two of three for enough": two_of_three,
    },
}
