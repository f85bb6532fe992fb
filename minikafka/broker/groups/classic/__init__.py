"""The classic group protocol: the members assign, the broker calls them together. In reading order: states.py (tables),
messages.py, members.py, group.py (the state machine), static_member.py (a member that restarts), embedded_protocol.py (the
bytes that members exchange).
"""
