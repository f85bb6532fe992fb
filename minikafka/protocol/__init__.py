"""Kafka's wire protocol: frames, requests, responses, error codes, and the binary form of records in internal topics.

In reading order:

    errors.py          the error codes with Kafka's texts; KafkaError and ProtocolError
    codec.py           frames: taken out of what a connection has received; size, header, body; the table of all APIs
    reader.py          bytes to a message, as strict as Kafka; writer.py: a message to bytes; maker.py: messages made quickly
    failure.py         the response to a request that failed as a whole
    apis.py            the APIs that kafka-python has no schema for, from schemas/*.json
    text.py            what Java calls blank
    record_codec.py    dataclasses as Kafka's records: metadata, groups, transactions

The schemas of the other APIs are kafka-python's (`kafka.protocol`). Importing any of them runs `kafka/__init__`, which loads its
clients, with sockets and threads. So of the pure modules only those of this package import `kafka`; the pure rooms get the
classes that they need from apis.py. (A room's api/ is not pure, and imports kafka-python's classes itself.)
"""
