"""The playground: a cluster, its picture, and traffic with sliders (labs/playground.ipynb, `make play`). In reading order:
traffic.py (what to send next, and what became of it; pure), producer.py and members.py (the clients), simulated.py (the clients
of a simulated cluster), crew.py (how many members there are), panel.py (the sliders), playground.py (all of it together)."""

from minikafka.lab.play.playground import Playground

__all__ = ["Playground"]
