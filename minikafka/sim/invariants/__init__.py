"""What must hold in every run, checked from outside on the real brokers: the invariants I1 to I17."""

from minikafka.sim.invariants.violation import Loss, Violation
from minikafka.sim.invariants.watch import Watch

__all__ = ["Loss", "Violation", "Watch"]
