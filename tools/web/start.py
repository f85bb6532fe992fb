"""Runs in the page before a notebook's first cell: fills the machine's modules, then does what each kernel of the course does."""
__import__("fallbacks").fill()
__import__("runpy").run_module("minikafka.lab.startup")
