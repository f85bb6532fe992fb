"""Do the figures agree? Pure: numbers in, verdict out.

Each figure was counted by another part: `sent` and `acknowledged` by the producer, `in_log` by a fresh consumer,
`distinct_read` from what the group's members wrote down, `spark_rows` by Spark from distinct (partition, offset).

Invariants
  I-DEMO-4  sent = acknowledged = in_log = distinct_read = spark_rows; lost, duplicates and order_violations are 0.
  I-DEMO-5  What Spark did not put into a window is exactly what came too late: rows - in windows = late, counted twice,
            by Spark and, from the flights themselves, here. Parquet and the topic with the results say the same.
"""
from dataclasses import asdict, dataclass


@dataclass
class Figures:
    """The figures of a demo; the first nine are the promise of `--json`."""
    sent: int
    acknowledged: int
    in_log: int
    distinct_read: int
    spark_rows: int                              # before the watermark
    lost: int                                    # acknowledged, and not in the log where the broker said
    duplicates: int                              # flights that are in the log more than once
    order_violations: int                        # per key: in the log, in what members read, in Spark
    redelivered: int                             # to the group; at least once means that this may happen
    late: int                                    # rows that Spark dropped behind the watermark
    late_expected: int                           # flights missing in the windows, counted from the flights
    log_span: int                                # end offsets - first offsets
    spark_duplicates: int                        # rows that Spark holds twice
    results_parquet: int                         # windows with a result
    results_topic: int
    results_differ: int                          # rows that only one of the two has

    def json(self) -> dict[str, int]:
        return asdict(self)

    def checks(self) -> list[tuple[str, int, int]]:
        """Return (what, expected, found) for all figures that must agree."""
        chain = [(name, self.sent, getattr(self, name))
                 for name in ("acknowledged", "in_log", "log_span", "distinct_read", "spark_rows")]
        zero = [(name, 0, getattr(self, name))
                for name in ("lost", "duplicates", "spark_duplicates", "order_violations", "results_differ")]
        return [*chain, *zero, ("late", self.late_expected, self.late),
                ("results_topic", self.results_parquet, self.results_topic)]

    def mismatches(self) -> list[str]:
        """Return one line for each figure that should be another; an empty list if everything agrees."""
        wrong = [f"{name} is {found:,}, expected {expected:,}" for name, expected, found in self.checks() if expected != found]
        return wrong + (["nothing was sent"] if not self.sent else [])
