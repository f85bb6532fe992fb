"""The coordinators' common shell: coordinator_log.py appends and waits, coordinator.py keeps the shards that are led here."""
