"""The groups of a broker at work: shard.py (one partition of `__consumer_offsets`), coordinator.py (all of them),
group_factory.py (makes groups and their context), consumer_requests.py (ConsumerGroupHeartbeat).
"""
