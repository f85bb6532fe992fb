"""Requests about groups, translated: classic_membership.py, consumer_heartbeat.py, offsets.py, admin.py."""
