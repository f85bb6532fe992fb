"""Runs in the page, under the name of pandas: the tables that the labs show, and no more of pandas than they use.

Natively nothing imports this but tests, which compare its tables with those of pandas.

Owns: Series, DataFrame, Index, RangeIndex.
Invariants
  I-TABLE-1  what the labs do with a table gives the values and the text of pandas
What differs: a column is a list, so there is no arithmetic of types, and no copy is a view.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from html import escape
from typing import Any

NAN = float("nan")
MISSING = "the page's small table has no {!r}: pandas itself comes with `make lab`, on a machine"


def __getattr__(name: str) -> Any:
    raise AttributeError(MISSING.format(name))


class Index(list[Any]):
    def __init__(self, labels: Any = (), name: Any = None) -> None:
        super().__init__(labels)
        self.name = name if name is not None else getattr(labels, "name", None)

    def tolist(self) -> list[Any]:
        return list(self)


def RangeIndex(start: int, stop: int | None = None, name: Any = None) -> Index:  # noqa: N802 - pandas' name
    return Index(range(start) if stop is None else range(start, stop), name)


def numbers(values: list[Any]) -> bool:
    return all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in values)


def truths(values: list[Any]) -> bool:
    return all(isinstance(each, bool) for each in values)


def texts(values: list[Any], objects: bool = False) -> list[str]:
    """Return a column's cells as pandas writes them: one number of decimals for all floats, `NaN` for what is missing.

    `objects`: each cell is written for itself, as in a column that has been a row of cells of several kinds.
    """
    if objects:
        return [texts([each])[0] for each in values]
    if not values or not numbers(values) or not any(isinstance(v, float) for v in values):
        return ["NaN" if isinstance(v, float) and v != v else str(v) for v in values]
    cells = ["NaN" if v != v else f"{v:.6f}" for v in values]
    there = [cell for cell in cells if cell != "NaN"]
    while there and all(cell.endswith("0") and not cell.endswith(".0") for cell in there):
        cells = [cell if cell == "NaN" else cell[:-1] for cell in cells]
        there = [cell[:-1] for cell in there]
    return cells


class Series:
    def __init__(self, data: Any = (), index: Any = None, name: Any = None) -> None:
        if isinstance(data, dict):
            index, data = (list(data), list(data.values())) if index is None else (index, [data.get(k, NAN) for k in index])
        self.values = list(data)
        self.index = Index(range(len(self.values)) if index is None else index)
        self.name = name

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, label: Any) -> Any:
        return self.values[self.index.index(label)]

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self.index:
            return self[name]
        raise AttributeError(MISSING.format(name))

    def _each(self, other: Any, do: Callable[[Any, Any], Any]) -> Series:
        others = other.values if isinstance(other, Series) else [other] * len(self)
        return Series([do(a, b) for a, b in zip(self.values, others)], self.index, self.name)

    def __eq__(self, other: object) -> Series:  # type: ignore[override]
        return self._each(other, lambda a, b: a == b)

    def __ne__(self, other: object) -> Series:  # type: ignore[override]
        return self._each(other, lambda a, b: a != b)

    def __gt__(self, other: Any) -> Series:
        return self._each(other, lambda a, b: a > b)

    def __lt__(self, other: Any) -> Series:
        return self._each(other, lambda a, b: a < b)

    def __add__(self, other: Any) -> Series:
        return self._each(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Series:
        return self._each(other, lambda a, b: a - b)

    def sum(self) -> Any:
        return sum(self.values)

    def max(self) -> Any:
        return max(self.values)

    def min(self) -> Any:
        return min(self.values)

    def mean(self) -> float:
        return sum(self.values) / len(self.values)

    def any(self) -> bool:
        return any(self.values)

    def all(self) -> bool:
        return all(self.values)

    def tolist(self) -> list[Any]:
        return list(self.values)

    def items(self) -> Iterator[tuple[Any, Any]]:
        return zip(self.index, self.values)

    def to_dict(self) -> dict[Any, Any]:
        return dict(self.items())

    def to_frame(self) -> DataFrame:
        return DataFrame({0 if self.name is None else self.name: self.values}, index=self.index)

    def __repr__(self) -> str:
        rows = [(str(label), cell) for label, cell in zip(self.index, texts(self.values))]
        wide = [max((len(row[side]) for row in rows), default=0) for side in (0, 1)]
        return "\n".join(f"{label.ljust(wide[0])}    {cell.rjust(wide[1])}" for label, cell in rows)


class DataFrame:
    _objects = False  # its columns have been rows of cells of several kinds

    def __init__(self, data: Any = None, index: Any = None, columns: Any = None) -> None:
        self.columns, self._data, labels = _columns(data, index, columns)
        self.index = index if isinstance(index, Index) else Index(labels)

    @classmethod
    def from_dict(cls, data: dict[Any, Any], orient: str = "columns", columns: Any = None) -> DataFrame:
        if orient == "columns":
            return cls(data, columns=columns)
        return cls(list(data.values()), index=list(data), columns=columns)

    def _like(self, columns: Any, data: list[list[Any]], index: Any) -> DataFrame:
        made = DataFrame.__new__(DataFrame)
        made.columns, made._data = Index(columns, getattr(columns, "name", self.columns.name)), [list(each) for each in data]
        made.index = Index(index, getattr(index, "name", self.index.name))
        made._objects = self._objects
        return made

    def _rows(self, numbers: list[int]) -> DataFrame:
        return self._like(self.columns, [[each[n] for n in numbers] for each in self._data], [self.index[n] for n in numbers])

    @property
    def T(self) -> DataFrame:  # noqa: N802 - pandas' name
        made = self._like(self.index, [[each[n] for each in self._data] for n in range(len(self.index))], self.columns)
        made.columns.name, made.index.name = self.index.name, self.columns.name
        made._objects = self._objects or not (all(map(numbers, self._data)) or all(map(truths, self._data)))
        return made

    @property
    def loc(self) -> _Loc:
        return _Loc(self)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.index), len(self.columns)

    @property
    def empty(self) -> bool:
        return 0 in self.shape

    def __len__(self) -> int:
        return len(self.index)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.columns)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, Series):
            return self.loc[key]
        if isinstance(key, list):
            return self._like(key, [self._data[self.columns.index(each)] for each in key], self.index)
        if key not in self.columns:
            raise KeyError(key)
        return Series(self._data[self.columns.index(key)], self.index, key)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self.__dict__.get("columns", ()):
            return self[name]
        raise AttributeError(MISSING.format(name))

    def __setitem__(self, key: Any, value: Any) -> None:
        values = list(value) if hasattr(value, "__iter__") and not isinstance(value, str) else [value] * len(self)
        if key in self.columns:
            self._data[self.columns.index(key)] = values
        else:
            self.columns.append(key)
            self._data.append(values)

    def assign(self, **columns: Any) -> DataFrame:
        made = self._like(self.columns, self._data, self.index)
        for name, value in columns.items():
            made[name] = value(made) if callable(value) else value
        return made

    def drop(self, columns: Any) -> DataFrame:
        gone = [columns] if isinstance(columns, str) else columns
        return self[[each for each in self.columns if each not in gone]]

    def set_index(self, key: Any) -> DataFrame:
        keys = key if isinstance(key, list) else [key]
        labels = [self._data[self.columns.index(each)] for each in keys]
        made = self.drop(keys)
        made.index = Index(zip(*labels), tuple(keys)) if len(keys) > 1 else Index(labels[0], keys[0])
        return made

    def reset_index(self) -> DataFrame:
        name = "index" if self.index.name is None else self.index.name
        return self._like([name, *self.columns], [list(self.index), *self._data], Index(range(len(self))))

    def rename_axis(self, index: Any = None, columns: Any = None) -> DataFrame:
        made = self._like(self.columns, self._data, self.index)
        made.index.name = index if index is not None else self.index.name
        made.columns.name = columns if columns is not None else self.columns.name
        return made

    def astype(self, kind: Callable[[Any], Any]) -> DataFrame:
        made = self._like(self.columns, [[kind(value) for value in column] for column in self._data], self.index)
        made._objects = False
        return made

    def sort_index(self) -> DataFrame:
        return self._rows(sorted(range(len(self)), key=lambda n: self.index[n]))

    def sort_values(self, by: Any, ascending: bool = True) -> DataFrame:
        column = self[by].values
        return self._rows(sorted(range(len(self)), key=lambda n: column[n], reverse=not ascending))

    def head(self, count: int = 5) -> DataFrame:
        return self._rows(list(range(len(self)))[:count])

    def tail(self, count: int = 5) -> DataFrame:
        return self._rows(list(range(len(self)))[-count:])

    def itertuples(self, index: bool = True) -> Iterator[tuple[Any, ...]]:
        return (((label,) if index else ()) + row for label, row in zip(self.index, self._tuples()))

    def iterrows(self) -> Iterator[tuple[Any, Series]]:
        return ((label, Series(row, self.columns, label)) for label, row in zip(self.index, self._tuples()))

    def sum(self) -> Series:
        return Series([sum(each) for each in self._data], self.columns)

    def to_dict(self, orient: str = "dict") -> Any:
        if orient == "records":
            return [dict(zip(self.columns, row)) for row in self._tuples()]
        return {column: dict(zip(self.index, each)) for column, each in zip(self.columns, self._data)}

    def equals(self, other: DataFrame) -> bool:
        return (self.columns, self.index, self._data) == (other.columns, other.index, other._data)

    def _tuples(self) -> Iterator[tuple[Any, ...]]:
        return (tuple(each[n] for each in self._data) for n in range(len(self)))

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """Return the cells of the index, its names on top, and those of each column, its name on top."""
        on_top = [str(self.columns.name) if self.columns.name is not None else ""]
        if self.index.name is not None:
            name = self.index.name
            on_top.append(" ".join(map(str, name)) if isinstance(name, tuple) else str(name))
        labels = [" ".join(map(str, each)) if isinstance(each, tuple) else each for each in self.index]
        below = [""] * (len(on_top) - 1)
        return [*on_top, *texts(labels)], [[str(c), *below, *texts(each, self._objects)]
                                             for c, each in zip(self.columns, self._data)]

    def _signed(self) -> list[list[str]]:
        """Return the cells of the columns with room for a sign, as pandas leaves it."""
        _, columns = self._cells()
        heads = len(columns[0]) - len(self)
        for cells, values in zip(columns, self._data):
            if not self._objects and (numbers(values) or truths(values)):
                cells[0] = f" {cells[0]}"
            signs = [isinstance(each, float) for each in values] if self._objects else [numbers(values)] * len(values)
            cells[heads:] = [cell if sign and cell.startswith("-") else f" {cell}" for sign, cell in zip(signs, cells[heads:])]
        return columns

    def to_string(self) -> str:
        if self.empty:
            return f"Empty DataFrame\nColumns: {list(self.columns)}\nIndex: {list(self.index)}"
        labels, columns = self._cells()[0], self._signed()
        wide = max(map(len, labels))
        lines = [label.ljust(wide) for label in labels]
        for column in columns:
            wide = max(map(len, column))
            lines = [f"{line} {cell.rjust(wide)}" for line, cell in zip(lines, column)]
        return "\n".join(lines)

    __repr__ = to_string

    def _repr_html_(self) -> str:
        labels, columns = self._cells()
        heads = len(labels) - len(self)
        rows = []
        for n, label in enumerate(labels):
            kind = "th" if n < heads else "td"
            cells = "".join(f"<{kind}>{escape(each[n])}</{kind}>" for each in columns)
            rows.append(f"<tr><th>{escape(label)}</th>{cells}</tr>")
        head, body = "".join(rows[:heads]), "".join(rows[heads:])
        return f'<table border="1" class="dataframe"><thead>{head}</thead><tbody>{body}</tbody></table>'


class _Loc:
    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame

    def __getitem__(self, key: Any) -> Any:
        frame = self._frame
        if isinstance(key, Series):
            return frame._rows([n for n, yes in enumerate(key) if yes])
        if isinstance(key, slice):
            first = 0 if key.start is None else frame.index.index(key.start)
            last = len(frame) if key.stop is None else frame.index.index(key.stop) + 1
            return frame._rows(list(range(first, last)))
        if isinstance(key, list):
            return frame._rows([frame.index.index(each) for each in key])
        if isinstance(key, tuple) and len(key) == 2 and key not in frame.index:
            return frame[key[1]][key[0]]
        if key not in frame.index:
            raise KeyError(key)
        at = frame.index.index(key)
        return Series([each[at] for each in frame._data], frame.columns, key)


def _columns(data: Any, index: Any, columns: Any) -> tuple[Index, list[list[Any]], Any]:
    """Return the names of the columns, the columns, and the labels of the rows, from whatever a table is made from."""
    if isinstance(data, dict):
        return _from_columns(data, index)
    rows = list(data if data is not None else ())
    if rows and is_dataclass(rows[0]):
        rows = [{field.name: getattr(row, field.name) for field in fields(row)} for row in rows]
    if rows and isinstance(rows[0], dict):
        names = list(columns) if columns is not None else list(dict.fromkeys(key for row in rows for key in row))
        rows = [[row.get(name, NAN) for name in names] for row in rows]
    else:
        columns = getattr(rows[0], "_fields", None) if rows and columns is None else columns
        rows = [list(row) if isinstance(row, (list, tuple)) else [row] for row in rows]
        names = list(columns) if columns is not None else list(range(len(rows[0]) if rows else 0))
    return Index(names), [list(each) for each in zip(*rows)] or [[] for _ in names], range(len(rows)) if index is None else index


def _from_columns(data: dict[Any, Any], index: Any) -> tuple[Index, list[list[Any]], Any]:
    labelled = [dict(zip(each.index, each.values)) if isinstance(each, Series) else each for each in data.values()]
    if labelled and all(isinstance(each, dict) for each in labelled):
        labels = list(index) if index is not None else list(dict.fromkeys(key for each in labelled for key in each))
        if index is None and any(isinstance(each, Series) for each in data.values()):
            labels.sort()
        return Index(data), [[each.get(label, NAN) for label in labels] for each in labelled], labels
    columns = [list(each) if hasattr(each, "__iter__") and not isinstance(each, str) else each for each in data.values()]
    long = len(index) if index is not None else max((len(each) for each in columns if isinstance(each, list)), default=0)
    columns = [each if isinstance(each, list) else [each] * long for each in columns]
    return Index(data), columns, range(long) if index is None else index
