"""Live campaigns: real processes killed, paused and cut under real clients, judged by the checker of histories."""
