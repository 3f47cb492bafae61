"""Tables of results: columns as arrays of numpy and, by choice, as a pandas.DataFrame or an xarray.Dataset."""
from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import _core
from ._errors import missing, unknown
from ._types import Array


def optional(package: str, user: str) -> Any:
    """A package that only some functions need. Raises MissingPackage."""
    try:
        return importlib.import_module(package)
    except ImportError as problem:
        raise missing(package.partition(".")[0], user) from problem


def is_installed(package: str) -> bool:
    try:
        importlib.import_module(package)
    except ImportError:
        return False
    return True


def _attributes(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """{name: {"units": unit}} of the columns whose name has a unit."""
    given = list(names)
    return {name: {} if unit == "-" else {"units": unit}
            for name, (_, _, unit, _) in zip(given, _core.column_names(given))}


def quantities_label(quantities: Iterable[str], unit: str) -> str:
    """Label of an axis: "fx, fy, fz [N]"; more than three different quantities have their unit alone."""
    different = [quantity.replace("_", " ") for quantity in dict.fromkeys(quantities)]
    return f"{', '.join(different)} [{unit}]" if len(different) <= 3 else f"[{unit}]"


def axis_label(names: Iterable[str]) -> str:
    """Label of an axis for columns of one unit: "time [s]"."""
    meanings = _core.column_names(list(names))
    return quantities_label((short for _, short, _, _ in meanings), meanings[0][2])


class Table(dict[str, Array]):
    """Columns by name, as arrays of equal length; units are in the names. The first column identifies the rows: the time."""

    def __missing__(self, name: str) -> Array:
        raise unknown("column", name, self)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self)

    def to_dataframe(self) -> Any:
        """A pandas.DataFrame with the same columns. Raises MissingPackage without pandas."""
        return optional("pandas", "Table.to_dataframe()").DataFrame(dict(self))

    def to_xarray(self) -> Any:
        """An xarray.Dataset: the first column is the coordinate and dimension of the others, and each has its unit as the
        attribute `units` ("N", "m/s"). Raises MissingPackage without xarray.
        """
        xarray = optional("xarray", "Table.to_xarray()")
        attributes = _attributes(self)
        first = next(iter(self), "")
        variables = {name: (first, column, attributes[name]) for name, column in self.items()}
        return xarray.Dataset({name: variables[name] for name in list(self)[1:]},
                              coords={first: variables[first]} if self.keys() else {})

    def __len__(self) -> int:
        return len(next(iter(self.values()))) if self.keys() else 0

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(self)})"


def _array(values: list[Any]) -> Any:
    """Numbers with NaN for missing ones, or texts."""
    is_text = any(isinstance(value, str) for value in values)
    if is_text:
        return np.array(["" if value is None else str(value) for value in values])
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def dataframe(rows: list[dict[str, Any]], index: list[str], user: str) -> Any:
    """Rows as a pandas.DataFrame whose index are some of their keys."""
    frame = optional("pandas", user).DataFrame(rows)
    return frame.set_index(index if len(index) > 1 else index[0]) if rows else frame


def dataset(rows: list[dict[str, Any]], index: list[str], user: str) -> Any:
    """Rows as an xarray.Dataset with one dimension for each key of the index; NaN or "" where a combination has no row."""
    xarray = optional("xarray", user)
    values: dict[str, list[Any]] = {key: list(dict.fromkeys(row[key] for row in rows)) for key in index}
    shape = [len(values[key]) for key in index]
    names = list(dict.fromkeys(name for row in rows for name in row if name not in index))
    attributes = _attributes([*index, *names])
    places = [tuple(values[key].index(row[key]) for key in index) for row in rows]
    variables: dict[str, Any] = {}
    for name in names:
        column = np.full(shape, None, dtype=object)
        for place, row in zip(places, rows):
            column[place] = row.get(name)
        variables[name] = (index, _array(column.ravel().tolist()).reshape(shape), attributes[name])
    return xarray.Dataset(variables, coords={key: (key, values[key], attributes[key]) for key in index})
