"""Traffic on the picture: what moved in the last second, what a fault holds, and what stands still."""
from __future__ import annotations

from typing import Any

import pytest

from tests.lab.picture.script import TP, Script


def busy() -> Script:
    """Ten records to the leader, seven of which broker 2 copies, and broker 3 none."""
    return Script(records=5).after(2.0).append(1, 5, 15).append(2, 5, 12)


def rates(s: Script) -> dict[tuple[int, int, str], float]:
    return {(flow.source, flow.target, flow.what): flow.rate for flow in s.frame().flows}


def test_rates_are_of_the_last_second() -> None:
    """Fails if a rate is not records a second, goes to the wrong end, or outlives the second; who copies nothing has 0."""
    s = busy()
    assert rates(s) == {(0, 1, "produce"): 10.0, (1, 2, "fetch"): 7.0, (1, 3, "fetch"): 0.0}
    assert [lane.rate for lane in s.frame().chosen.lanes] == [10.0, 7.0, 0.0]                 # type: ignore[union-attr]
    assert set(rates(s.after(1.1)).values()) == {0.0}


def test_traffic_of_other_partitions_counts_for_the_ends() -> None:
    """Fails if flows show the chosen partition only, lanes another one's records, or the controllers' log is traffic."""
    s = busy()
    for name in ("flights-1", "__cluster_metadata-0"):
        s.say("role", 1, tp=name, role="leader", epoch=0, leader=1)
        s.say("append", 1, tp=name, base=0, last=3, epoch=0, count=4, bytes=1)
    assert rates(s)[0, 1, "produce"] == 14.0
    assert s.frame().chosen.lanes[0].rate == 10.0                                             # type: ignore[union-attr]


@pytest.mark.parametrize(("fault", "args", "broken"), [
    ("cut", [1, 3, True], {(1, 3)}), ("cut", [3, 1, True], {(1, 3)}), ("cut", ["clients", 1, True], {(0, 1)}),
    ("hold_follower", [3, True, 0.0], {(1, 3)}), ("hold_follower", [1, True, 0.0], set()), ("pause", [3], {(1, 3)}),
    ("pause", [1], {(0, 1), (1, 2), (1, 3)}), ("slow_follower", [3, False, 9.0], set())])
def test_a_fault_breaks_the_flows_that_it_holds(fault: str, args: list[Any], broken: set[tuple[int, int]]) -> None:
    """Fails if an arrow is broken on the wrong side, or whole although nothing gets through."""
    assert {(f.source, f.target) for f in busy().fault(fault, *args).frame().flows if f.broken} == broken


def test_without_a_leader_nothing_flows() -> None:
    """Fails if copies are shown from nobody."""
    assert busy().decide(-1, 1, [1]).frame().flows == ()


def test_a_leader_of_the_past_is_no_source() -> None:
    """Fails if what the old leader has more than its follower is under way to the new leader, which has it already."""
    s = busy().decide(2, 1, [2], 1).lead(2, 1)
    assert {(f.source, f.target): f.under_way for f in s.frame().flows if f.what == "fetch"} == {(2, 1): 0, (2, 3): 7}
    assert s.frame(TP).chosen.leader == 2                                                     # type: ignore[union-attr]
