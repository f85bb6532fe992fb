"""The page's small table, judged by pandas: what the labs do with tables gives the same values and the same text."""
from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.web import table


@dataclass(frozen=True, slots=True)
class Help:
    prefetch: int
    seconds: float


class Lag(NamedTuple):
    partition: int
    lag: int


ROWS = [{"broker": 3, "log end": 12, "lag": 0.25}, {"broker": 1, "log end": 7, "lag": 1.5},
        {"broker": 2, "log end": 12, "lag": 0.0}]
USES = {
    "rows and an index": lambda pd: pd.DataFrame(ROWS).set_index("broker").sort_index(),
    "columns and labels": lambda pd: pd.DataFrame({"half": [1.2, 3.456], "slowest": [10, 20]}, index=["acks=0", "acks=all"]),
    "turned": lambda pd: pd.DataFrame({"a": [1, 2], "b": [3, 4]}, index=["x", "y"]).T.rename_axis(columns="ms"),
    "from a dictionary of rows": lambda pd: pd.DataFrame.from_dict({1: (5, 0.5), 2: (4, 2.5)}, orient="index",
                                                                   columns=["log", "waits"]),
    "of dictionaries": lambda pd: pd.DataFrame({"got": {1: "a", 2: "b"}, "has": {1: "a", 2: "c"}}),
    "two series, from a row on": lambda pd: pd.DataFrame({"got": pd.Series({45: "a", 44: "b"}), "log": pd.Series({44: "a"})})
        .loc[45:].rename_axis("offset"),
    "a range": lambda pd: pd.DataFrame([("k", 1), ("l", 2)], columns=["key", "n"], index=pd.RangeIndex(1, 3, name="batch")),
    "some rows": lambda pd: pd.DataFrame([("k", 1), ("l", 2), ("m", 3)], columns=["key", "n"]).loc[[0, 2]],
    "without a column": lambda pd: pd.DataFrame(ROWS).drop(columns="lag"),
    "one more column": lambda pd: pd.DataFrame(ROWS).assign(**{"in sync": [True, False, True]}),
    "rows that fit": lambda pd: pd.DataFrame(ROWS)[pd.DataFrame(ROWS)["log end"] == 12],
    "whole numbers": lambda pd: pd.DataFrame.from_dict({"0, 5": [1.9, 3]}, orient="index", columns=["99 %", "lost"]).astype(int)
        .rename_axis("acks, linger.ms"),
    "by value": lambda pd: pd.DataFrame(ROWS).sort_values("lag", ascending=False),
    "a named index": lambda pd: pd.DataFrame([(1, 2)], columns=["away", "alone"], index=pd.Index(["1, true"], name="min.insync")),
    "a series": lambda pd: pd.Series({"x": 1, "y": 2}, name="frozen").to_frame(),
    "the index as a column": lambda pd: pd.DataFrame(ROWS).set_index("broker").reset_index(),
    "objects with fields": lambda pd: pd.DataFrame([Help(1, 0.5), Help(10, 1.5)]).set_index("prefetch"),
    "tuples with names": lambda pd: pd.DataFrame([Lag(0, 3), Lag(1, 0)]),
    "lists in cells": lambda pd: pd.DataFrame([{"p": 0, "in sync": [1, 2]}, {"p": 1, "in sync": [2]}]).set_index("p"),
}


def lines(made):
    return [line.rstrip() for line in made.to_string().splitlines()]


@pytest.mark.parametrize("use", USES)
def test_a_table_has_the_text_of_pandas(use):
    """I-TABLE-1: fails if a value, its place or its decimals differ from what the same lines show with pandas."""
    ours, theirs = USES[use](table), USES[use](pandas)
    assert lines(ours) == lines(theirs)
    assert repr([tuple(row) for row in ours.itertuples()]) == repr([tuple(row) for row in theirs.itertuples()])


ROW = st.tuples(st.integers(-9999, 9999).map(lambda n: n / 1000), st.integers(-999, 9999),
                st.sampled_from(["P0", "P0, P1", ""]), st.booleans())


@given(st.lists(ROW, min_size=1, max_size=5), st.lists(st.sampled_from("abcd"), min_size=1, max_size=4, unique=True))
def test_cells_are_written_as_pandas_writes_them(rows, names):
    """I-TABLE-1: fails if a column has other decimals, or another width, also where rows have become columns."""
    ours, theirs = (pd.DataFrame(rows, columns=list("abcd"))[names] for pd in (table, pandas))
    assert (ours.to_string(), ours.T.to_string()) == (theirs.to_string(), theirs.T.to_string())


def test_a_cell_is_found_by_its_labels():
    """Fails if `loc` finds another cell or row, or if a label that is not there is no KeyError."""
    for pd in (table, pandas):
        made = pd.DataFrame(ROWS).set_index("broker")
        assert made.loc[1, "log end"] == 7 and made.loc[3]["lag"] == 0.25
        with pytest.raises(KeyError):
            made.loc[9]
        with pytest.raises(KeyError):
            made["nothing"]
