"""The records of the course: what one event or one row of a table is, and how it becomes bytes and back.

Owns: the typed records (Flight, Airport, ...), their key, their event time, their JSON.

Invariants
  I-DATA-1  decode(cls, encode(record)) == record, for every record of every kind.
  I-DATA-2  A field that is unknown, missing, or of another type is refused; nothing is guessed.
  Times are UTC with whole seconds; in JSON "2013-01-01T10:15:00Z".

Kafka itself knows only bytes: a schema is an agreement between the programs at both ends. Production systems keep it in
a schema registry (Avro, Protobuf, JSON Schema); here it is these classes.
"""
import json
from dataclasses import dataclass, fields
from datetime import datetime, timezone
from functools import cache
from types import UnionType
from typing import Any, ClassVar, TypeVar, get_args, get_type_hints


class DatasetRecord:
    """A row with a key. KEY names the field that becomes the Kafka key, TIME (if any) the field with the event time."""

    __slots__ = ()
    KEY: ClassVar[str]
    TIME: ClassVar[str | None] = None

    @property
    def key(self) -> bytes:
        """Return the Kafka key: records with the same key go to the same partition and keep their order."""
        return str(getattr(self, self.KEY)).encode()

    @property
    def event_time(self) -> datetime:
        """Return when it happened or was due to happen, which is not when it became known. Raises TypeError for a row
        of a table."""
        if self.TIME is None:
            raise TypeError(f"{type(self).__name__} is a row of a table: it has no event time")
        return getattr(self, self.TIME)

    @property
    def timestamp_ms(self) -> int:
        """Return the event time in milliseconds since 1970, as Kafka wants a record's timestamp."""
        return int(self.event_time.timestamp()) * 1000

    def encode(self) -> bytes:
        """Return this record as JSON bytes."""
        return encode(self)


@dataclass(frozen=True, slots=True)
class Flight(DatasetRecord):
    """One departure from a New York airport, reported the moment the plane left the gate. Real."""

    seq: int                    # 0, 1, 2 ... in the order in which the departures became known
    carrier: str                # two letters, see Airline
    flight: int                 # flight number of the carrier
    tailnum: str                # the plane; the key
    origin: str                 # EWR, JFK or LGA
    dest: str                   # see Airport
    scheduled: datetime         # when it should have left: the event time
    departed: datetime          # when it left: when this event became known
    dep_delay: int              # minutes; negative when early
    distance: int               # miles
    KEY: ClassVar[str] = "tailnum"
    TIME: ClassVar[str | None] = "scheduled"


@dataclass(frozen=True, slots=True)
class Airline(DatasetRecord):
    """A carrier and its name. Real."""

    carrier: str
    name: str
    KEY: ClassVar[str] = "carrier"


@dataclass(frozen=True, slots=True)
class Airport(DatasetRecord):
    """An airport. Real."""

    faa: str
    name: str
    lat: float                  # degrees north
    lon: float                  # degrees east
    alt: int                    # feet
    tz: int                     # hours from UTC
    dst: str                    # daylight saving: A US rules, U unknown, N none
    tzone: str | None           # IANA name
    KEY: ClassVar[str] = "faa"


@dataclass(frozen=True, slots=True)
class Plane(DatasetRecord):
    """A plane by its tail number. Real."""

    tailnum: str
    year: int | None            # built
    type: str
    manufacturer: str
    model: str
    engines: int
    seats: int
    speed: int | None           # cruising, miles per hour; mostly unknown
    engine: str
    KEY: ClassVar[str] = "tailnum"


@dataclass(frozen=True, slots=True)
class Weather(DatasetRecord):
    """One hour of weather at one of the three airports. Real."""

    origin: str
    time: datetime              # the hour
    temp: float | None          # degrees Fahrenheit
    dewp: float | None          # degrees Fahrenheit
    humid: float | None         # per cent
    wind_dir: int | None        # degrees
    wind_speed: float | None    # miles per hour
    wind_gust: float | None     # miles per hour
    precip: float | None        # inches in the hour
    pressure: float | None      # millibars
    visib: float | None         # miles
    KEY: ClassVar[str] = "origin"
    TIME: ClassVar[str | None] = "time"


@dataclass(frozen=True, slots=True)
class Position(DatasetRecord):
    """A truck says where it is. Made (seeded)."""

    truck: str                  # truck-1, truck-2 ...; the key
    seq: int                    # counts the positions of this truck
    time: datetime              # when it was measured
    lat: float
    lon: float
    speed: float                # km/h
    heading: int                # degrees, 0 is north
    KEY: ClassVar[str] = "truck"
    TIME: ClassVar[str | None] = "time"


@dataclass(frozen=True, slots=True)
class Trip(DatasetRecord):
    """A taxi trip, reported when it ended. Made (seeded)."""

    trip: int                   # 0, 1, 2 ... in the order in which the trips ended
    taxi: str
    pickup: str                 # zone; the key
    dropoff: str                # zone
    started: datetime           # the event time
    ended: datetime             # when this event became known
    km: float
    fare: float                 # dollars
    KEY: ClassVar[str] = "pickup"
    TIME: ClassVar[str | None] = "started"


R = TypeVar("R", bound=DatasetRecord)


def encode(record: DatasetRecord) -> bytes:
    """Return a record as compact JSON in UTF-8, fields in the order of the class."""
    return json.dumps({name: _plain(getattr(record, name)) for name in _types(type(record))},
                      separators=(",", ":")).encode()


def decode(kind: type[R], data: bytes) -> R:
    """Return the record of class `kind` in these JSON bytes. Raises ValueError, which names the field that is wrong."""
    values = json.loads(data)
    types = _types(kind)
    if not isinstance(values, dict) or values.keys() != types.keys():
        odd = sorted(set(values) ^ types.keys()) if isinstance(values, dict) else type(values).__name__
        raise ValueError(f"not a {kind.__name__}: {odd}")
    return kind(**{name: _typed(kind, name, types[name], value) for name, value in values.items()})


@cache
def _types(kind: type[DatasetRecord]) -> dict[str, tuple[type, ...]]:
    """Return field name -> the types a value may have."""
    hints = get_type_hints(kind)
    return {f.name: get_args(hints[f.name]) if isinstance(hints[f.name], UnionType) else (hints[f.name],)
            for f in fields(kind)}                                   # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat() + "Z"          # every datetime here is UTC
    return value


def _typed(kind: type[DatasetRecord], name: str, types: tuple[type, ...], value: Any) -> Any:
    if datetime in types and isinstance(value, str) and value.endswith("Z"):
        return utc(value)
    if type(value) in types:                                         # exactly: True is no int, 3 is no float
        return value
    raise ValueError(f"{kind.__name__}.{name} cannot be {value!r}")


def utc(text: str) -> datetime:
    """Return '2013-01-01T10:15:00Z' as a datetime in UTC."""
    return datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=timezone.utc)
