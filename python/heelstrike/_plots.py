"""Charts of a table. matplotlib is imported when a chart is drawn."""
from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import _core
from ._errors import InputError, unknown
from ._tables import Table, axis_label, optional, quantities_label
from ._types import Array


def pyplot(user: str) -> Any:
    """matplotlib.pyplot. Raises MissingPackage."""
    return optional("matplotlib.pyplot", user)


def contact_pairs(table: Table) -> list[str]:
    """Names of the contact pairs of a time series."""
    return [name.removesuffix(".indentation_m") for name in table if name.endswith(".indentation_m")]


def contact_force(table: Table, pair: str) -> Array:
    """(n,) magnitude of the contact force of a pair [N]."""
    force: Array = np.sqrt(sum(table[f"{pair}.f{axis}_N"]**2 for axis in "xyz"))
    return force


def _selected(table: Table, columns: Iterable[str]) -> list[str]:
    """The columns that names and patterns select, each once."""
    selected: dict[str, None] = {}
    for name in columns:
        if not isinstance(name, str):
            raise InputError(f"columns: expected names of columns, found {name!r}", code="invalid input", key="columns")
        # The name itself first: the name of a body may contain brackets.
        matching = [name] if name in table else fnmatch.filter(table, name)
        if not matching:
            raise unknown("column", name, table)
        selected.update(dict.fromkeys(matching))
    return list(selected)


def _curves(table: Table, columns: tuple[str, ...]) -> dict[str, list[tuple[str, str, Array]]]:
    """{unit: [(quantity, label, values), ...]}, in the order of the columns."""
    curves: dict[str, list[tuple[str, str, Array]]] = {}
    pairs = [] if columns else [pair for pair in contact_pairs(table) if f"{pair}.fx_N" in table]
    if pairs:
        curves["N"] = [("contact force", pair, contact_force(table, pair)) for pair in pairs]
    gaps = [f"{pair}.gap_m" for pair in pairs if f"{pair}.gap_m" in table]
    positions = [name for name in table if name.endswith((".x_m", ".y_m", ".z_m"))]
    names = list(table)
    meanings = dict(zip(names, _core.column_names(names)))
    for name in _selected(table, columns) if columns else gaps if pairs else positions:
        owner, short, unit, _ = meanings[name]
        label = owner if gaps else f"{owner}.{short}" if owner else short
        curves.setdefault(unit, []).append((short, label, table[name]))
    return curves


def plot_columns(table: Table, columns: tuple[str, ...], x: str, axes: Any, title: str) -> Any:
    """Draws columns over the column x, one chart for each unit; see Run.plot()."""
    plots = pyplot("plot()")
    abscissa = table[x]
    curves = _curves(table, columns)
    if not curves:
        raise InputError(f"plot: expected columns to draw, found none among: {', '.join(table)}", code="invalid input",
                         key="columns")
    if axes is None:
        figure, axes = plots.subplots(len(curves), 1, sharex=True, squeeze=False, constrained_layout=True,
                                      figsize=(8, 1 + 2.5 * len(curves)))
        figure.suptitle(title)
    charts = np.ravel(axes)
    if len(charts) != len(curves):
        raise InputError(f"axes: expected {len(curves)}, one for each unit ({', '.join(curves)}), found {len(charts)}",
                         code="invalid input", key="axes")
    for chart, (unit, lines) in zip(charts, curves.items()):
        for _, label, values in lines:
            # An infinite gap is that of bodies which are far apart: no point of a curve.
            chart.plot(abscissa, np.where(np.isfinite(values), values, np.nan), label=label)
        chart.set_ylabel(quantities_label((quantity for quantity, _, _ in lines), unit))
        chart.legend()
    charts[-1].set_xlabel(axis_label([x]))
    return charts[0].figure
