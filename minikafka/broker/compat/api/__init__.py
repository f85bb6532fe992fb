"""The requests of this room: scram.py and security_disabled.py."""
