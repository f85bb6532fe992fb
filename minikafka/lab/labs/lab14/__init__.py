"""Lab 14, the capstone: checks.py, and a pipeline from trips to prices.

notary.py judges a run; broken.py has twenty pipelines, each broken on purpose, on which the notary is tried, and liars.py those
that fool it. pipeline.py has the settings and the sink, schedule.py the faults, faults.py carries them out, nights.py has small
schedules that are each made for one wrong choice, remedy.py asks of the setting that mends a pipeline. watch.py has the nights
of those who watch, alarms.py what these have against an alarm; late.py has a day with late trips. diary.py notes what
happened when, and line/ draws it. Three stages give the same kind of run: paper.py draws lots, rehearsal.py uses simulated
brokers and a model of Spark (microbatch.py), live.py real brokers and Spark. Elective 23 goes on with this pipeline.
"""
