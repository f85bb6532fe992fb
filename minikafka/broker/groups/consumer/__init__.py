"""The consumer group protocol (KIP-848): one request, the heartbeat, and the brokers assign. A group changes only by records.

In reading order: records.py (a group is the sum of its records), state.py (that sum), reconciliation.py (one member's way to
its target), assignors.py (which member gets which partitions), subscriptions.py (regular expressions, the hash of the
topics), messages.py, heartbeat_steps.py and group.py (the heartbeat in four steps), commit_fencing.py (which member may
commit). Classic members in a consumer group: classic_members.py (their requests), migration.py (how a group changes its
protocol, and back).
"""
