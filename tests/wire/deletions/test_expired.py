"""The expiry of transactional ids beside work in flight: an open transaction, and producers that come back after it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from minikafka import Cluster
from tests.conftest import SETTINGS, own_cluster
from tests.transcripts import compare
from tests.wire.deletions.play import begin
from tests.wire.deletions.work import ID, IDLE

pytestmark = [pytest.mark.slow]
PATH = Path(__file__).parent / "expiry_of_the_transactional_id.txt"
EXPIRY = {"transactional.id.expiration.ms": 5000, "transaction.remove.expired.transaction.cleanup.interval.ms": 300}
forgetful = own_cluster(3, config=SETTINGS | EXPIRY)    # deletes a transactional id which nobody has used for five seconds


@pytest.mark.judge_first
def test_a_transactional_id_expires(forgetful: Cluster, name: str, rewrite: bool) -> None:
    """Fails if the id of an open transaction expires, or if a producer whose id is gone is answered otherwise than by Apache
    Kafka. The idle ids are used last: when they are gone, those of the open transactions would be, too."""
    told = ["# the expiry of the transactional id: what Apache Kafka 4.3 answers, and leaves\n"]
    with ExitStack() as closing:
        opened = list(begin(forgetful, f"{name}-open", closing, frozenset([ID]), PATH, rewrite))
        idle = list(begin(forgetful, f"{name}-idle", closing, frozenset([IDLE]), PATH, rewrite))
        forgetful.wait(lambda: not any(cell.scene.transaction() for cell in idle), timeout=60)
        told += [cell.go_on() for cell in opened + idle]
    compare(PATH, "\n".join(told), rewrite)
