"""The book of standing faults, without any process."""

from __future__ import annotations

from minikafka.cluster.faults import CLIENTS, FaultBook


def link(peer: int | str, inbound: bool = False, outbound: bool = False, latency: float = 0.0,
         bandwidth: float = 0.0) -> dict:
    return {"fault": "link", "peer": peer, "inbound": inbound, "outbound": outbound, "latency": latency,
            "bandwidth": bandwidth}


def test_a_cut_reaches_both_ends() -> None:
    """Fails if a broker is not told: bytes of connections that it opened would still pass (I-FAULT-2)."""
    assert FaultBook().cut(1, 2, one_way=False) == [(1, link(2, True, True)), (2, link(1, True, True))]


def test_a_one_way_cut_holds_what_the_first_sends() -> None:
    """Fails if inbound and outbound are exchanged at either end."""
    assert FaultBook().cut(1, 2, one_way=True) == [(1, link(2, outbound=True)), (2, link(1, inbound=True))]


def test_clients_have_no_end_of_their_own() -> None:
    """Only the broker gets the command; one way means requests (clients first) or answers (broker first)."""
    assert FaultBook().cut(CLIENTS, 1, one_way=False) == [(1, link(CLIENTS, True, True))]
    assert FaultBook().cut(CLIENTS, 1, one_way=True) == [(1, link(CLIENTS, inbound=True))]
    assert FaultBook().cut(1, CLIENTS, one_way=True) == [(1, link(CLIENTS, outbound=True))]


def test_two_one_way_cuts_make_a_whole_one() -> None:
    """Fails if the second cut forgets the first."""
    book = FaultBook()
    book.cut(1, 2, one_way=True)
    assert book.cut(2, 1, one_way=True) == [(2, link(1, True, True)), (1, link(2, True, True))]


def test_a_slow_link_may_be_cut_too() -> None:
    """Fails if one fault on a link replaces another kind."""
    book = FaultBook()
    book.slow(1, 2, latency=0.2, bandwidth=1e6)
    assert book.cut(1, 2, one_way=False)[0] == (1, link(2, True, True, 0.2, 1e6))


def test_standing_faults_are_sent_again_and_nothing_else() -> None:
    """Fails if a restarted broker would start healthy (I-FAULT-1), or would be told of faults long healed."""
    book = FaultBook()
    assert book.page(1).commands() == []
    book.cut(1, 2, one_way=False)
    book.follower(1, hold=True, rate=0.0)
    book.disk(1, 0)
    book.clock(1, 3600)
    book.clock(1, -600)
    assert book.page(1).commands() == [
        link(2, True, True), {"fault": "follower", "hold": True, "rate": 0.0}, {"fault": "disk", "budget": 0},
        {"fault": "clock", "jump_ms": 3_000_000}]
    assert book.heal() == [(1, {"fault": "heal"}), (2, {"fault": "heal"})]
    assert book.page(1).commands() == [{"fault": "clock", "jump_ms": 3_000_000}]
    assert book.page(2).commands() == []
