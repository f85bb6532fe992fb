"""The groups that a broker coordinates: shard.py (one partition of `__consumer_offsets`), coordinator.py (all partitions that
this broker leads, and the requests of members), group_factory.py (makes groups and their context).
"""
