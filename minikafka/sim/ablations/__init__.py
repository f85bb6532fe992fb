"""Rules switched off, one at a time, to prove that the harness would see it."""
