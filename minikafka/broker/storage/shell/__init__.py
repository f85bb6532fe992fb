"""What the folder of logs needs of the world: files, timers, tasks."""
