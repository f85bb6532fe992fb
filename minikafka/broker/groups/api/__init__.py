"""The handlers of requests about groups: classic_membership.py, consumer_heartbeat.py, offsets.py, admin.py."""
