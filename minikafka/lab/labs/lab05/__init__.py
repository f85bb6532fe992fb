"""Lab 5, commit and crash: checks.py and the experiments.

experiment.py comes first: the commit policies and what a crash costs under each; stage.py is the simulated cluster that it
plays on, chart.py draws its result. paper.py is a consumer on paper; bill.py makes a month's bill of a policy, poison.py has
records that cannot be parsed. late.py has the accidents of slow consumers and of zombies, member.py is a real consumer in a
process of its own, to be killed; from_nothing.py runs the student's own program.
"""
