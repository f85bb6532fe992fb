"""Transactional ids on this broker: shard.py, coordinator.py, marker_sender.py, verification.py, producer_ids.py."""
