"""Data for the course: real flights of 2013 and made streams, as typed records in the order in which they became known.

    from minikafka.lab.datasets import flights
    for flight in flights(limit=3):
        print(flight.key, flight.event_time, flight.encode())

records.py has the types and their JSON, nyc.py the real data (flights, airports, planes, weather), made.py the generated
streams (trucks, taxis). What is real and what is made, units and licence: datasets/README.md.
"""

from .made import taxi_trips, truck_gps
from .nyc import airlines, airports, flights, planes, weather
from .records import Airline, Airport, DatasetRecord, Flight, Plane, Position, Trip, Weather, decode, encode

__all__ = ["flights", "airlines", "airports", "planes", "weather", "truck_gps", "taxi_trips", "encode", "decode",
           "DatasetRecord", "Flight", "Airline", "Airport", "Plane", "Weather", "Position", "Trip"]
