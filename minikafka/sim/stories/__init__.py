"""Stories of what goes wrong in a cluster, one anomaly each (A1 to A18), told as transcripts."""
