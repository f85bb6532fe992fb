"""Elective 23, the line goes on: checks.py (the exercises and hints); release.py (nights with a new release of the application);
versions.py (the next versions of a query that counts in Spark's state; spark_versions.py runs them in Spark itself); away.py
(nights after an outage); cost.py (what more trips cost). The pipeline, its stages and the notary are those of lab 14."""
