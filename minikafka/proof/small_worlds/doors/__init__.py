"""Doors: whole brokers whose users log in, with rights, passwords and tokens that change, logins that end, clocks that jump, and
brokers that fall.

    life.py       one seed: users, an administrator, faults, healing
    user.py       one user's connection: a login, Produce, Fetch, requests about delegation tokens
    proofs.py     what a user shows at a login: a password, or one of two kinds of tokens
    keeper.py     who might do what, seen from outside: what is served must have been allowed (I-AUTH-1, I-AUTH-2)
"""
