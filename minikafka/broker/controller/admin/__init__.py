"""Decisions on administrators' requests, one API a file; each returns records and verdicts, and changes nothing."""
