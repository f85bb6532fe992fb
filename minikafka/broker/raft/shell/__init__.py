"""Carries out the effects of the Raft core: quorum.py the events and effects, network.py the requests to other nodes,
metadata_log.py the log, snapshot_files.py and snapshotter.py the snapshots."""
