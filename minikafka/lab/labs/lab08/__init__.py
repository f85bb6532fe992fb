"""Lab 8, slow, stuck, refused, unclean: checks.py and the experiments.

experiment.py has followers that fetch as they are told, traces.py makes the forty fetch logs of exercise 8.6, chart.py draws
lag and stopwatch side by side, unclean.py has the disasters: a leader that is alone in the ISR, and then dies. services.py lets
two services suffer the same faults under settings (8.8), incidents.py has what brokers write into their logs (8.9),
parted.py has pairs of logs that part (8.10).
"""
