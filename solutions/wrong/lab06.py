"""Wrong answers to the exercises of lab 6, each named by its mistake, with a pattern that the verdict must match ("": any)."""
from __future__ import annotations

import random
from itertools import cycle, islice, permutations

from minikafka.lab import Night
from solutions.right.lab06 import place_by_strides, readable_by_ifs

# --- 6.2 --------------------------------------------------------------------------------------------------------------


def the_first_two_in_sync(leo, isr):
    return min(leo[broker] for broker in isr[:2])


def mark_of_all(leo, isr):
    return min(leo.values())


def mark_of_the_leader(leo, isr):
    return max(leo[broker] for broker in isr)


def mark_as_a_mean(leo, isr):
    return sum(leo[broker] for broker in isr) // len(isr)


def mark_as_last_offset(leo, isr):
    return min(leo[broker] for broker in isr) - 1


def mark_by_majority(leo, isr):
    return sorted(leo[broker] for broker in isr)[(len(isr) - 1) // 2]


def mark_as_a_broker(leo, isr):
    return min(isr, key=leo.get)


def mark_of_followers(leo, isr):
    "Leaves the one with the longest log out: it must be the leader."
    rest = sorted(leo[broker] for broker in isr)[:-1]
    return rest[0]


def mark_where_0_does_not_count(leo, isr):
    return min(leo[broker] for broker in isr if leo[broker])


def mark_by_places(leo, isr):
    "Takes `isr` for places in a list."
    return min(list(leo.values())[broker - 1] for broker in isr)


def mark_of_a_majority_of_all(leo, isr):
    return sorted(leo.values())[len(leo) // 2]


def mark_of_those_out(leo, isr):
    return min((leo[broker] for broker in leo if broker not in isr), default=min(leo.values()))


# --- 6.4 --------------------------------------------------------------------------------------------------------------


def possible(brokers, copies):
    if copies > len(brokers):
        raise ValueError("more copies than brokers")


def always_from_the_first(brokers, partitions, copies):
    possible(brokers, copies)
    return [brokers[:copies] for _ in range(partitions)]


def continues_where_it_stopped(brokers, partitions, copies):
    possible(brokers, copies)
    turn = cycle(brokers)
    return [list(islice(turn, copies)) for _ in range(partitions)]


def promises_the_impossible(brokers, partitions, copies):
    n = len(brokers)
    return [[brokers[p % n], *(brokers[(p + 1 + (p // n + i) % max(1, n - 1)) % n] for i in range(copies - 1))]
            for p in range(partitions)]


def place_the_next_ones(brokers, partitions, copies):
    "Round robin: one broker inherits everything."
    if copies > len(brokers):
        raise ValueError
    return [[brokers[(number + step) % len(brokers)] for step in range(copies)] for number in range(partitions)]


def place_whatever_the_names(brokers, partitions, copies):
    "Takes brokers for 1 to n."
    return place_by_strides(list(range(1, len(brokers) + 1)), partitions, copies)


def place_without_a_refusal(brokers, partitions, copies):
    return place_by_strides(brokers, partitions, min(copies, len(brokers)))


def place_with_a_none(brokers, partitions, copies):
    return None if copies > len(brokers) else place_by_strides(brokers, partitions, copies)


def place_with_an_assertion(brokers, partitions, copies):
    assert copies <= len(brokers), "more copies than brokers"
    return place_by_strides(brokers, partitions, copies)


def place_with_an_error_returned(brokers, partitions, copies):
    return ValueError("more copies than brokers") if copies > len(brokers) else place_by_strides(brokers, partitions, copies)


def place_refusing_too_much(brokers, partitions, copies):
    "As many copies as there are brokers can be done."
    if copies >= len(brokers):
        raise ValueError("too many copies")
    return place_by_strides(brokers, partitions, copies)


def place_one_leader(brokers, partitions, copies):
    if copies > len(brokers):
        raise ValueError
    first, *rest = brokers
    return [[first, *[rest[(number + step) % len(rest)] for step in range(copies - 1)]] for number in range(partitions)]


def place_twice_on_one(brokers, partitions, copies):
    "The followers begin one further each round, and meet their leader."
    if copies > len(brokers):
        raise ValueError
    count = len(brokers)
    return [[brokers[number % count], *[brokers[(number + 1 + number // count + step) % count] for step in range(copies - 1)]]
            for number in range(partitions)]


def place_by_luck(brokers, partitions, copies):
    if copies > len(brokers):
        raise ValueError
    dice = random.Random(6)
    return [dice.sample(brokers, copies) for _ in range(partitions)]


def place_by_permutations(brokers, partitions, copies):
    "All orders in turn: the first rounds all begin with the same leader."
    if copies > len(brokers):
        raise ValueError
    orders = list(permutations(brokers, copies))
    return [list(orders[number % len(orders)]) for number in range(partitions)]


def place_too_few(brokers, partitions, copies):
    "Followers only."
    return [row[1:] for row in place_by_strides(brokers, partitions, copies)]


def place_whole_rounds(brokers, partitions, copies):
    "Leaves the partitions out that do not make a round."
    rounds = partitions // len(brokers) * len(brokers)
    return place_by_strides(brokers, rounds or partitions, copies)


def place_as_a_dictionary(brokers, partitions, copies):
    return {number: row[0] for number, row in enumerate(place_by_strides(brokers, partitions, copies))}


def place_on_two_followers(brokers, partitions, copies):
    "The followers are always the first brokers that do not lead."
    if copies > len(brokers):
        raise ValueError
    rows = []
    for number in range(partitions):
        leader = brokers[number % len(brokers)]
        rows.append([leader, *[broker for broker in brokers if broker != leader][: copies - 1]])
    return rows


def place_with_two_faults(brokers, partitions, copies):
    "No refusal: then a broker has a partition twice; and one broker inherits everything."
    return [[brokers[(number + step) % len(brokers)] for step in range(copies)] for number in range(partitions)]


# --- 6.6 --------------------------------------------------------------------------------------------------------------


def readable_at_the_line(n, state):
    return state.leader is not None and state.start <= n <= min(state.ends[broker] for broker in state.isr)


def readable_when_deleted(n, state):
    return state.leader is not None and all(n < state.ends[broker] for broker in state.isr)


def readable_after_the_start(n, state):
    return state.leader is not None and state.start < n < min(state.ends[broker] for broker in state.isr)


def readable_without_a_leader(n, state):
    return state.start <= n < min(state.ends[broker] for broker in state.isr)


def readable_at_the_leader(n, state):
    return state.leader is not None and state.start <= n < state.ends[state.leader]


def readable_on_all(n, state):
    return state.leader is not None and state.start <= n < min(state.ends.values())


def readable_on_one(n, state):
    return state.leader is not None and n >= state.start and any(n < state.ends[broker] for broker in state.isr)


def readable_with_a_majority(n, state):
    have = sum(n < end for end in state.ends.values())
    return state.leader is not None and n >= state.start and have > len(state.ends) / 2


def readable_as_a_number(n, state):
    "Returns the high watermark."
    return 0 if state.leader is None else min(state.ends[broker] for broker in state.isr)


def readable_as_a_word(n, state):
    return "yes" if readable_by_ifs(n, state) else "no"


def readable_by_place(n, state):
    "Counts from the oldest record that is kept."
    return state.leader is not None and 0 <= n < min(state.ends[broker] for broker in state.isr) - state.start


def readable_turned_round(n, state):
    return not readable_by_ifs(n, state)


def readable_always(n, state):
    return True


def readable_with_two_faults(n, state):
    "At the line, and without a leader."
    return state.start <= n <= min(state.ends[broker] for broker in state.isr)


# --- 6.7 --------------------------------------------------------------------------------------------------------------


def stop_at_once(left, isr, least):
    return left[0]


def stop_when_enough_are_in_sync(left, isr, least):
    "Forgets that the broker itself is one of them."
    return left[0] if all(len(members) >= least for members in isr.values()) else None


def stop_above_least(left, isr, least):
    "Waits for one more than needed, whoever is stopped."
    return left[0] if all(len(members) > least + 1 for members in isr.values()) else None


def stop_when_all_three(left, isr, least):
    "Waits for three in sync, also where there are two replicas."
    return left[0] if all(len(members) == 3 for members in isr.values()) else None


def stop_by_one_partition(left, isr, least):
    for broker in left:
        if any(len(set(members) - {broker}) >= least for members in isr.values()):
            return broker
    return None


def stop_first_or_none(left, isr, least):
    "Asks only for the first of them."
    return left[0] if all(len(set(members) - {left[0]}) >= least for members in isr.values()) else None


def stop_above(left, isr, least):
    return next((b for b in left if all(len(set(m) - {b}) > least for m in isr.values())), None)


def never_stop(left, isr, least):
    return None


def stop_one_that_is_done(left, isr, least):
    brokers = sorted({b for members in isr.values() for b in members})
    return next((b for b in brokers if all(len(set(m) - {b}) >= least for m in isr.values())), None)


def stop_says_true(left, isr, least):
    return all(len(members) > least for members in isr.values())


def stop_with_a_partition(left, isr, least):
    return next((p for p, m in isr.items() if len(m) > least), None)


# --- 6.8 --------------------------------------------------------------------------------------------------------------


def night_of_a_death():
    return Night().writes(5).kills(1)


def night_of_the_wrong_follower():
    "The next in the list has everything."
    return Night().holds(3).writes(5).kills(1)


def night_of_two_held():
    return Night().holds(2, 3).writes(5).kills(1)


def night_that_frees_first():
    return Night().holds(2).writes(5).frees().passes(1).kills(1)


def night_that_waits_too_long():
    "Broker 2 is out of the ISR then."
    return Night().holds(2).writes(5).passes(20).kills(1)


def night_of_all_deaths():
    return Night().writes(5).kills(1, 2, 3)


def night_without_a_death():
    return Night().holds(2).writes(5)


def night_that_writes_nothing():
    return Night().holds(2).kills(1)


def night_of_too_many_moves():
    return Night().holds(3).writes(5).kills(1, 2).passes(5).frees()


def night_of_broker_0():
    return Night().holds(1).writes(5).kills(0)


def night_that_kills_twice():
    return Night().holds(3).writes(5).kills(1, 1)


def night_that_restarts_the_living():
    return Night().holds(2).writes(5).restarts(1)


def night_without_return():
    night = Night()
    night.holds(2).writes(5).kills(1)


def night_with_another_move():
    return Night().stops(2)


def night_of_many_records():
    return Night().holds(2).writes(500).kills(1)


WRONG = {
    "6.2": {
        "looks at the leader and one follower": (the_first_two_in_sync, ""),
        "waits for everybody": (mark_of_all, r"broker 3 is out of sync and holds nobody back"),
        "the longest log": (mark_of_the_leader, r"said 50; broker 2 is in sync, and its log ends at 48"),
        "the last offset, not the end": (mark_as_last_offset, r"said 46; every replica in sync has record 46"),
        "a majority of those in sync": (mark_by_majority, r"said 48; broker 3 is in sync, and its log ends at 47"),
        "a majority of all": (mark_of_a_majority_of_all, r"said 48; broker 3 is in sync, and its log ends at 47"),
        "the mean of those in sync": (mark_as_a_mean, r"said 48; broker 3 is in sync, and its log ends at 47"),
        "the broker, not the offset": (mark_as_a_broker, r"said 2; broker 2 is in sync, and its log ends at 0"),
        "the followers only": (mark_of_followers, r"(?s)IndexError.*isr=\[1\]"),
        "an empty log does not count": (mark_where_0_does_not_count, r"(?s)ValueError: min.*leo=\{6: 0"),
        "takes brokers for places": (mark_by_places, r"(?s)IndexError.*isr=\[3, 5, 2, 8\]"),
        "those that are out": (mark_of_those_out, r"said 12; broker 4 is in sync, and its log ends at 2"),
    },
    "6.4": {
        "the first broker leads everything": (always_from_the_first, ""),
        "deals cards: leaders uneven or heirs uneven": (continues_where_it_stopped, ""),
        "promises three copies on two brokers": (promises_the_impossible, ""),
        "the next ones in the ring": (place_the_next_ones, r"the survivors inherit \{2: 2, 3: 0\}"),
        "brokers are 1 to n": (place_whatever_the_names, r"on a broker that is not there"),
        "as many copies as there are brokers": (place_without_a_refusal, r"cannot be done: raise ValueError"),
        "None for what cannot be done": (place_with_a_none, r"cannot be done: raise ValueError"),
        "an assertion": (place_with_an_assertion, r"cannot be done: raise ValueError"),
        "returns the error": (place_with_an_error_returned, r"cannot be done: raise ValueError"),
        "refuses as many copies as there are brokers": (
            place_refusing_too_much, r"(?s)raised ValueError: too many copies.*brokers=\[1, 2, 3\], partitions=6, copies=3"),
        "one leader": (place_one_leader, r"uneven as leaders"),
        "two copies on one broker": (place_twice_on_one, r"two copies on one broker"),
        "luck": (place_by_luck, r"uneven as leaders"),
        "orders in turn": (place_by_permutations, r"uneven as leaders"),
        "a copy too few": (place_too_few, r"has 2 copies"),
        "whole rounds only": (place_whole_rounds, r"7 partitions, .* you placed 5"),
        "a leader for each partition": (place_as_a_dictionary, r"a list .*is wanted"),
        "always the same followers": (place_on_two_followers, r"uneven as copies"),
        "two faults: no refusal, one heir": (place_with_two_faults, r"cannot be done: raise ValueError"),
    },
    "6.6": {
        "at the line": (readable_at_the_line, r"said True, but the high watermark is"),
        "deleted ones": (readable_when_deleted, r"it was deleted: the log starts at 14"),
        "not the oldest": (readable_after_the_start, r"record 14: you said False, but it can be read"),
        "without a leader": (readable_without_a_leader, r"nobody leads"),
        "the leader's log": (readable_at_the_leader, r"broker 3, in sync, has no more"),
        "all replicas": (readable_on_all, r"it can be read: .*; broker 2 is out of sync and holds nobody back"),
        "one of those in sync": (readable_on_one, r"broker 3, in sync, has no more"),
        "a majority": (readable_with_a_majority, r"broker 3, in sync, has no more"),
        "returns a number": (readable_as_a_number, r"said 51; True or False is wanted"),
        "returns a word": (readable_as_a_word, r"said 'no'; True or False is wanted"),
        "counts from the start": (readable_by_place, r"it was deleted: the log starts at 14"),
        "turned round": (readable_turned_round, r"said True, but it was deleted"),
        "always": (readable_always, r"said True, but it was deleted"),
        "two faults: at the line, without a leader": (readable_with_two_faults, r"said True, but the high watermark is"),
    },
    "6.7": {
        "at once": (stop_at_once, r"left \[2, 3\].*you said 2; without broker 2, partition 0 has 1 in sync: \[3\]"),
        "enough are in sync now": (stop_when_enough_are_in_sync, r"you said 2; without broker 2, partition 0 has 1 in sync"),
        "two more than needed": (stop_above_least, r"said None, but broker 1 may be stopped"),
        "three in sync": (stop_when_all_three, r""),
        "one partition is enough": (stop_by_one_partition, r"you said 2; without broker 2, partition 1 has 1 in sync"),
        "only the first": (stop_first_or_none, r"said None, but broker \d may be stopped"),
        "more than least": (stop_above, r"said None, but broker \d may be stopped"),
        "never": (never_stop, r"said None, but broker 1 may be stopped"),
        "one that is not left": (stop_one_that_is_done, r"a broker of `left`, or None, is wanted"),
        "True": (stop_says_true, r""),
        "a partition": (stop_with_a_partition, r""),
    },    "6.8": {
        "a death only": (night_of_a_death, r"5 acknowledged, and all are in the log of broker \d"),
        "the wrong follower": (night_of_the_wrong_follower, r"all are in the log of broker 2"),
        "both followers": (night_of_two_held, r"no record was acknowledged"),
        "frees first": (night_that_frees_first, r"5 acknowledged, and all are in the log of broker 2"),
        "waits too long": (night_that_waits_too_long, r"5 acknowledged, and all are in the log of broker 3"),
        "everybody dies": (night_of_all_deaths, r"5 acknowledged, and all are in the log"),
        "nobody dies": (night_without_a_death, r"all are in the log of broker 1"),
        "nothing is written": (night_that_writes_nothing, r"writes nothing, so there is no record to lose"),
        "six moves": (night_of_too_many_moves, r"6 moves, and 5 are allowed"),
        "a broker that is not there": (night_of_broker_0, r"move 3, kills\(0\): there is no broker 0; there are 1, 2, 3"),
        "dead already": (night_that_kills_twice, r"move 4, kills\(1\): broker 1 is dead already"),
        "restarts the living": (night_that_restarts_the_living, r"broker 1 lives"),
        "no return": (night_without_return, r"does it end with `return night`"),
        "another move": (night_with_another_move, r"has no move 'stops'; it has writes"),
        "five hundred": (night_of_many_records, r"move 2, writes\(500\): a number of records is wanted, 20 at most"),
        "the brokers": ([2, 1], r"a night is wanted"),
    },
}
