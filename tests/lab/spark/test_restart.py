"""Demo D12 in front of the real thing: Spark dies after a write and starts again, and the recording says the same."""
import pytest

from minikafka.lab.demos.restart import RECORDINGS, books, perform, sealed
from minikafka.lab.picture.facts.run import RecordedRun


@pytest.mark.parametrize("kind", ["append", pytest.param("keyed", marks=pytest.mark.judge_first)])
def test_a_real_run_agrees_with_the_recording(cluster, spark, kind):
    """I-TAPE-1. Fails if Spark or our brokers no longer do what demo D12 shows: plans, commits, writes, verdict."""
    events, recorded = perform(cluster, spark, kind, calm=0.0), RecordedRun.open(RECORDINGS / f"d12-{kind}.mk").events
    assert books(events, kind) == books(recorded, kind)
    assert sealed(events).cries == sealed(recorded).cries
