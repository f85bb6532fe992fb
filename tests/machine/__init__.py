"""The machine that a student has: time zone, paths, and what other courses have left behind."""
