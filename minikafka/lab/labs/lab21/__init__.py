"""Elective 21, why a client does not connect: office.py (one broker with many listeners, most of them broken); attempt.py (what a
user has: the client's message, the broker's log, the addresses that the client was sent to); certificates.py (certificates of
listeners, and what `openssl s_client` says of them); teams.py (the rights of three teams, and every door);
live.py (the teams at work); quotas.py (a quota, and what its client sees); checks.py (the exercises and hints).
"""
