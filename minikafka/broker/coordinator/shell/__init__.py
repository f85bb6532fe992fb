"""The coordinators' common shell: coordinator_log.py appends and waits, coordinator.py knows what is led here."""
