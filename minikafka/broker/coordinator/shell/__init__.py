"""The coordinators' common shell: coordinator_log.py replays and appends, coordinator.py keeps the shards that are led here."""
