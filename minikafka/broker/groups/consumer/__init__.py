"""The consumer group protocol (KIP-848): one request, the heartbeat, and the brokers assign. A group changes only by records.

In reading order: records.py (a group is the sum of its records), state.py (that sum), reconciliation.py (one member's way to
its target), assignors.py (who gets what), subscriptions.py (regular expressions, the hash of the topics), messages.py,
heartbeat_steps.py and group.py (the heartbeat in four steps), commit_fencing.py (whose offsets are taken). Classic members in
such a group: classic_members.py (their requests), migration.py (how a group changes its protocol, and back).
"""
