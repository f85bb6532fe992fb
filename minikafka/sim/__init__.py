"""The seeded world: the same broker code on virtual time, an in-memory network and an in-memory disk."""
