"""The shell of replication: partitions, their waits, the fetchers of followers, the sender of ISR proposals."""
