"""Swarm testing: clients at work, faults drawn from a seed, healing, and a verdict; then many seeds of it.

One seed:
    workload.py        what the clients do; client_process.py: the clients' processes, which faults can strike too
    faults.py          the plan of faults, and how each kind begins and ends; damage.py: bits that flip
    recovery.py        what is mended by hand when the faults are over
    swarm.py           all of that drawn, run and judged

Many seeds:
    campaign.py        on all cores; the report, the ledger, and the seeds that once failed
    coverage.py        did the campaign meet enough elections, truncations, torn tails?
    shrink.py          a smaller plan that fails in the same way
    progress.py        one line on the terminal
"""
