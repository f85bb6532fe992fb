"""Elective 22, the map around Kafka: checks.py (the exercises and hints); registry.py (schemas in a compacted topic);
ecosystem.py (Apache's Streams, Connect and MirrorMaker against the brokers of the lab).
"""
