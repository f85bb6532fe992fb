"""Right answers to the exercises of lab 6, of different make; written from the notebook's text alone."""
import heapq
import operator
from collections import deque
from functools import partial, reduce

import numpy as np
import pandas as pd

from minikafka.lab import Night

# 6.2: the high watermark


def mark_by_loop(leo, isr):
    lowest = None
    for broker in isr:
        if lowest is None or leo[broker] < lowest:
            lowest = leo[broker]
    return lowest


def mark_by_pandas(leo, isr):
    return pd.Series(leo).loc[list(isr)].min()


def mark_by_numpy(leo, isr):
    return np.array([leo[broker] for broker in isr]).min()


def mark_by_eating(leo, isr):
    for broker in set(leo) - set(isr):
        del leo[broker]
    return sorted(leo.values())[0]


def mark_by_recursion(leo, isr):
    first, *rest = isr
    return leo[first] if not rest else min(leo[first], mark_by_recursion(leo, rest))


def mark_by_counting(leo, isr):
    "The offset up to which everybody has everything."
    offset = 0
    while all(leo[broker] > offset for broker in isr):
        offset += 1
    return offset


# 6.4: place the replicas


def place_by_strides(brokers, partitions, copies):
    count = len(brokers)
    if copies > count:
        raise ValueError(f"{copies} copies need as many brokers; there are {count}")
    rows = []
    for number in range(partitions):
        turn, leader = divmod(number, count)
        others = [brokers[(leader + step) % count] for step in range(1, count)]
        shift = turn % (count - 1) if count > 1 else 0
        rows.append([brokers[leader], *(others[shift:] + others[:shift])[: copies - 1]])
    return rows


def place_by_deque(brokers, partitions, copies):
    if not copies <= len(brokers):
        raise ValueError("more copies than brokers")
    others = {leader: deque(brokers[place + 1 :] + brokers[:place]) for place, leader in enumerate(brokers)}
    placed = ()
    for number in range(partitions):
        leader = brokers[number % len(brokers)]
        placed += ((leader, *list(others[leader])[: copies - 1]),)
        others[leader].rotate(-1)
    return placed


def place_by_yield(brokers, partitions, copies):
    if copies > len(brokers):
        raise ValueError(copies)

    def rows():
        brokers.sort(reverse=True)
        for number in range(partitions):
            yield place_by_strides(brokers, number + 1, copies)[-1]

    return list(rows())


def place_by_numpy(brokers, partitions, copies):
    if copies > len(brokers):
        raise ValueError("not enough brokers")
    count, rows = len(brokers), []
    for number in range(partitions):
        ring = np.roll(np.array(brokers), -(number % count))
        rows.append(np.concatenate([ring[:1], np.roll(ring[1:], -(number // count))])[:copies])
    return np.array(rows)


def place_one_by_one(brokers, partitions, copies):
    "A generator: it refuses when it is asked for the first one."
    if copies > len(brokers):
        raise ValueError("more copies than brokers")
    for number in range(partitions):
        yield place_by_strides(brokers, number + 1, copies)[number]


class TooManyCopies(ValueError):
    pass


def place_by_columns(brokers, partitions, copies):
    "A column of leaders, and for each further copy a column that is one place behind the column before."
    count = len(brokers)
    if copies > count:
        raise TooManyCopies
    turns = np.arange(partitions) // count
    columns = [np.arange(partitions) % count]
    columns += [(columns[0] + 1 + (turns + copy) % (count - 1)) % count for copy in range(copies - 1)]
    return [tuple(brokers[place] for place in row) for row in zip(*columns)]


# 6.6: can it be read?


def readable_by_ifs(n, state):
    if state.leader is None:
        return False
    if n < state.start:
        return False
    for broker in state.isr:
        if state.ends[broker] <= n:
            return False
    return True


def readable_in_a_range(n, state):
    return state.leader is not None and n in range(state.start, min(state.ends[broker] for broker in state.isr))


def readable_by_numpy(n, state):
    ends = np.array([state.ends[broker] for broker in state.isr])
    return np.all(ends > n) & (n >= state.start) & (state.leader is not None)


def readable_by_sets(n, state):
    have = {broker for broker, end in state.ends.items() if state.start <= n < end}
    return state.leader in have and set(state.isr) <= have


def readable_by_exception(n, state):
    try:
        state.ends[state.leader]
    except KeyError:
        return False
    return state.start <= n < min(map(state.ends.get, state.isr))


def readable_by_heap(n, state):
    return not (state.leader is None or n < state.start or heapq.nsmallest(1, [state.ends[b] for b in state.isr])[0] <= n)


def readable_as_a_lambda_would(n, state):
    return reduce(operator.and_, (state.ends[broker] > n for broker in state.isr), state.leader is not None and n >= state.start)


def readable_by_and(n, state):
    "Gives back None where nobody leads."
    return state.leader and state.start <= n and all(n < state.ends.pop(broker) for broker in state.isr)


# 6.7: which broker may be stopped now?


def stop_by_loops(left, isr, least):
    for broker in left:
        may = True
        for members in isr.values():
            if len([other for other in members if other != broker]) < least:
                may = False
        if may:
            return broker


def stop_the_last_one(left, isr, least):
    free = [b for b in left if min(len(set(m) - {b}) for m in isr.values()) >= least]
    return free[-1] if free else None


def stop_by_counting(left, isr, least):
    "A member leaves one less."
    return next((b for b in sorted(left) if all(len(m) - (b in m) >= least for m in isr.values())), None)


def stop_by_pandas(left, isr, least):
    table = pd.DataFrame({p: [b in m for b in left] for p, m in isr.items()}, index=left).astype(int)
    sizes = pd.Series({p: len(m) for p, m in isr.items()})
    free = table.index[(sizes - table >= least).all(axis=1)]
    return int(free[0]) if len(free) else None


def stop_by_eating(left, isr, least):
    while left:
        broker = left.pop()
        if all(sum(other != broker for other in members) >= least for members in isr.values()):
            return broker
    return None


# 6.8: a night that breaks the majority


def night_by_holding():
    night = Night()
    night.holds(2)
    night.writes(3)
    night.kills(1)
    return night


def night_in_one_line():
    return Night().slows(2).writes(20).kills(1)


def night_of_two_deaths():
    night = Night()
    night.holds(3)
    night.writes()
    night.kills(1, 2)
    night.passes(5)
    return night


def night_with_a_cut():
    return Night().cuts(1, 3).writes(1).kills(2, 1).passes(4.5)


def night_by_a_loop():
    night = Night()
    for broker, move in ((2, night.holds), (2, night.writes), (1, night.kills)):
        move(broker)
    return night


NIGHT_AS_A_VALUE = Night().holds(2).writes(np.int64(4)).kills(1).restarts(1)

RIGHT = {
    "6.2": {
        "a loop": mark_by_loop,
        "a lambda": lambda leo, isr: min(map(leo.get, isr)),
        "a lambda with a dictionary": lambda leo, isr: min({broker: end for broker, end in leo.items() if broker in isr}.values()),
        "pandas' integer": mark_by_pandas,
        "numpy's integer": mark_by_numpy,
        "eats the argument": mark_by_eating,
        "recursion": mark_by_recursion,
        "counts": mark_by_counting,
        "a heap": lambda leo, isr: heapq.nsmallest(1, [leo[broker] for broker in isr])[0],
        "a partial": partial(lambda least, leo, isr: least(operator.itemgetter(*isr, isr[0])(leo)), min),
    },
    "6.4": {
        "strides": place_by_strides,
        "a deque for each leader; tuples": place_by_deque,
        "sorts the argument": place_by_yield,
        "numpy's array": place_by_numpy,
        "yield": place_one_by_one,
        "columns, each as a whole; an error of its own": place_by_columns,
    },
    "6.6": {
        "ifs": readable_by_ifs,
        "a range": readable_in_a_range,
        "numpy's bool": readable_by_numpy,
        "sets": readable_by_sets,
        "an exception": readable_by_exception,
        "a heap": readable_by_heap,
        "a fold": readable_as_a_lambda_would,
        "and, which leaves None; eats the ends": readable_by_and,
    },
    "6.7": {
        "loops": stop_by_loops,
        "the last one that may": stop_the_last_one,
        "counts": stop_by_counting,
        "pandas": stop_by_pandas,
        "eats the list": stop_by_eating,
        "numpy's integer": lambda left, isr, least: None if (b := stop_by_counting(left, isr, least)) is None else np.int64(b),
    },    "6.8": {
        "holds one": night_by_holding,
        "slow, in one line": night_in_one_line,
        "two deaths": night_of_two_deaths,
        "a cut": night_with_a_cut,
        "a loop": night_by_a_loop,
        "a value, no function": NIGHT_AS_A_VALUE,
    },
}
