"""Fields (VTU files) as arrays of numpy."""
from __future__ import annotations

import base64
import os
import xml.etree.ElementTree as xml
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._errors import FileError, unknown
from ._types import Array, Path

_TYPES = {"Float64": "<f8", "Float32": "<f4", "Int64": "<i8", "Int32": "<i4", "UInt8": "u1"}


@dataclass
class Fields:
    """A mesh with quantities, in SI units.

    points      (n, 3) [m]: in the world for fields of a run, in A's frame for those of a contact
    cells       (m, k) indices of points: triangles, tetrahedra, prisms, hexahedra, or single points
    time        [s]; None when the fields are not those of a run
    arrays      {name: (n,) or (n, 3)}; units in `units`
    cell_arrays the same per cell
    """

    points: Array
    cells: NDArray[np.int64]
    arrays: dict[str, Array]
    cell_arrays: dict[str, Array]
    units: dict[str, str]
    time: float | None = None
    file: str | None = None

    def __getitem__(self, name: str) -> Array:
        """A quantity of the points or, if there is none, of the cells."""
        if name not in self:
            raise unknown("quantity", name, self.keys())
        return self.arrays[name] if name in self.arrays else self.cell_arrays[name]

    def __contains__(self, name: str) -> bool:
        return name in self.arrays or name in self.cell_arrays

    def keys(self) -> list[str]:
        return list({**self.arrays, **self.cell_arrays})

    def __repr__(self) -> str:
        when = "" if self.time is None else f", t={self.time:g} s"
        return f"Fields({len(self.points)} points, {len(self.cells)} cells{when}: {', '.join(self.keys())})"


def _array(element: xml.Element) -> NDArray[Any]:
    # Format of Heelstrike: a count of bytes, then the numbers (binary, not compressed).
    content = base64.b64decode("".join((element.text or "").split()))
    numbers: NDArray[Any] = np.frombuffer(content, _TYPES[element.get("type", "")], offset=8)
    width = int(element.get("NumberOfComponents", "1"))
    return numbers.reshape(-1, width) if width > 1 else numbers


def _named(parent: xml.Element | None) -> tuple[dict[str, Array], dict[str, str]]:
    arrays: dict[str, Array] = {}
    units: dict[str, str] = {}
    for element in [] if parent is None else list(parent):
        name = element.get("Name", "")
        arrays[name] = _array(element)
        for information in element.iter("InformationKey"):
            if information.get("name") == "UNITS_LABEL":
                units[name] = (information.text or "").strip()
    return arrays, units


def _part(element: xml.Element, name: str) -> xml.Element:
    found = element.find(name)
    if found is None:
        raise KeyError(name)
    return found


def parse_vtu(content: bytes, file: str | None = None, time: float | None = None) -> Fields:
    """Fields from the bytes of a VTU file of Heelstrike. @raises FileError for other files"""
    try:
        piece = _part(xml.fromstring(content), ".//Piece")
        points = _array(_part(piece, "Points/DataArray"))
        cells = {e.get("Name"): _array(e) for e in _part(piece, "Cells")}
        count = int(piece.get("NumberOfCells", ""))
        arrays, units = _named(piece.find("PointData"))
        cell_arrays, cell_units = _named(piece.find("CellData"))
    except (xml.ParseError, AttributeError, KeyError, ValueError) as problem:
        raise FileError(f"{file or 'fields'}: expected a VTU file that Heelstrike wrote, found something else: {problem}",
                        code="file", file=file) from None
    corners = cells["connectivity"].reshape(count, -1) if count else np.empty((0, 3), np.int64)
    return Fields(points=points, cells=corners, arrays=arrays, cell_arrays=cell_arrays, units={**units, **cell_units},
                  time=time, file=file)


def read_vtu(file: Path, time: float | None = None) -> Fields:
    """Fields from a VTU file of Heelstrike. @raises FileError"""
    try:
        with open(file, "rb") as opened:
            content = opened.read()
    except OSError as problem:
        raise FileError(f"{os.fspath(file)}: {problem.strerror}", code="file", file=os.fspath(file)) from None
    return parse_vtu(content, os.fspath(file), time)
