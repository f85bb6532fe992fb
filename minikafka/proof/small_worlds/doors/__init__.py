"""Doors: whole brokers whose users log in, with rights and passwords that change, logins that end, and brokers that fall.

    life.py       one seed: users, an administrator, faults, healing
    user.py       one user's connection: SCRAM, Produce, Fetch
    keeper.py     who might do what, seen from outside: what is served must have been allowed (I-AUTH-1, I-AUTH-2)
"""
