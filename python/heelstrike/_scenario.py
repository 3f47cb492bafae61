"""Scenarios and pairs as mappings of Python, with arrays of numpy."""
from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, KeysView, Mapping, Set
from typing import Any

import numpy as np

from ._core import Pair
from ._errors import InputError, expected, mapping_name


def _rejected(key: str, what: str, found: object) -> InputError:
    problem = expected(key or "scenario", what, found)
    problem.key = key
    return problem


def _mesh_text(mesh: Mapping[str, Any], key: str) -> str:
    """A mesh as the text of a file: Wavefront OBJ of triangles, Gmsh 2.2 of tetrahedra; numbers are exact to the last bit."""
    points = np.asarray(mesh["vertices"])
    kind = "tetrahedra" if "tetrahedra" in mesh else "triangles"
    if points.ndim != 2 or points.shape[1] != 3 or points.dtype.kind not in "fiu":
        raise _rejected(f"{key}.vertices", "real numbers of shape (n, 3)", mesh["vertices"])
    corners = 4 if kind == "tetrahedra" else 3
    cells = np.asarray(mesh.get(kind))
    if cells.ndim != 2 or cells.shape[1] != corners or cells.dtype.kind not in "iu":
        raise _rejected(f"{key}.{kind}", f"whole numbers of shape (m, {corners}), indices of vertices from 0", mesh.get(kind))
    if cells.size and not 0 <= cells.min() <= cells.max() < len(points):
        raise InputError(f"{key}.{kind}: expected indices from 0 to {len(points) - 1}, found {cells.min()} to {cells.max()}",
                         code="invalid input", key=f"{key}.{kind}")
    places = [" ".join(map(repr, row)) for row in points.astype(float).tolist()]
    indices = [" ".join(str(i + 1) for i in row) for row in cells.tolist()]
    if kind == "triangles":
        return "".join(f"v {place}\n" for place in places) + "".join(f"f {row}\n" for row in indices)
    nodes = "".join(f"{i} {place}\n" for i, place in enumerate(places, 1))
    elements = "".join(f"{i} 4 2 1 1 {row}\n" for i, row in enumerate(indices, 1))
    return (f"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{len(places)}\n{nodes}$EndNodes\n"
            f"$Elements\n{len(indices)}\n{elements}$EndElements\n")


class _Writer:
    """Converts values to JSON values, and meshes of arrays to files. Names of existing files become absolute on request."""

    def __init__(self, absolute: bool = False) -> None:
        self.files: dict[str, bytes] = {}
        self.absolute = absolute

    def plain(self, value: Any, key: str) -> Any:
        if isinstance(value, Mapping):
            if "vertices" in value:
                return self.mesh(value, key)
            for name in value:
                if not isinstance(name, str):
                    raise _rejected(key, "keys that are texts", name)
            return {name: self.plain(entry, f"{key}.{name}" if key else name) for name, entry in value.items()}
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        if self.absolute and isinstance(value, str) and os.path.isfile(value):
            return os.path.abspath(value)
        if isinstance(value, (np.ndarray, np.generic)):
            value = value.tolist()
        if value is None or isinstance(value, (str, bool, int)):
            return value
        if isinstance(value, float):
            if not math.isfinite(value):
                raise InputError(f"{key}: expected a finite number, found {value}", code="invalid input", key=key)
            return value
        if isinstance(value, Set) and not isinstance(value, KeysView):
            raise _rejected(key, "values in order (a list, tuple or array)", value)
        if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
            return [self.plain(entry, f"{key}[{i}]") for i, entry in enumerate(value)]
        raise _rejected(key, "a number, text, flag, list, array or mapping of these", value)

    def mesh(self, mesh: Mapping[str, Any], key: str) -> dict[str, Any]:
        name = f"arrays/{key}.{'msh' if 'tetrahedra' in mesh else 'obj'}"
        self.files[name] = _mesh_text(mesh, key).encode()
        others = {k: v for k, v in mesh.items() if k not in ("vertices", "triangles", "tetrahedra")}
        return {"file": name, **{k: self.plain(v, f"{key}.{k}") for k, v in others.items()}}


def written(scenario: Mapping[str, Any], absolute: bool = False) -> tuple[str, str, dict[str, bytes]]:
    """Name, text and files of a scenario that is a mapping. Named files are searched in the current folder.

    absolute  write the names of existing files as absolute paths, for a text that is stored in another folder
    """
    writer = _Writer(absolute)
    # YAML reads JSON; its shortest numbers read back to the same bits.
    return mapping_name, json.dumps(writer.plain(scenario, ""), indent=1, allow_nan=False), writer.files


def _around(pair: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A scenario of a single pair, with the bodies that the pair names."""
    sides = {}
    for side in ("main", "partner"):
        if not isinstance(pair.get(side), Mapping):
            raise _rejected(side, "a mapping with the surface, as {'surface': {'sphere': {'radius': 0.1}}}", pair.get(side))
        sides[side] = {"body": side, **pair[side]}
    bodies = sorted({side["body"] for side in sides.values()} - {"ground"})
    # Placeholder masses: the caller of the contact prescribes the motion.
    return {"heelstrike": 1, "gravity": [0.0, 0.0, 0.0], "output": {"interval": 1.0}, "bodies": {body: {"mass": 1.0, "inertia": [1.0, 1.0, 1.0], "position": [0.0, 0.0, 0.0]} for body in bodies},
            "contact": {name: {**pair, **sides}}, "analysis": {"type": "forward", "end_time": 1.0}}


def pair_from_dict(content: Mapping[str, Any], name: str | None = None, backend: str | None = None,
                   set: Mapping[str, Any] | Iterable[str] | None = None) -> Pair:
    """One contact pair from a mapping: a scenario, or the content of `contact.NAME` in a scenario.

        hs.Pair.from_dict({"main": {"surface": {"mesh": {"vertices": V, "triangles": T}}},
                           "partner": {"surface": {"plane": {"normal": [0, 0, 1]}}},
                           "backend": "elastic_foundation", "parameters": {...}})

    content  as in the file, with numbers, lists or arrays; a mesh may be {"vertices": (n, 3) [m], "triangles": (m, 3)} or
             {"vertices": ..., "tetrahedra": (m, 4)} instead of a file
    name     of the pair; required when a scenario has several, else its name (default "pair")
    backend, set  changes as in run()
    """
    if not isinstance(content, Mapping):
        raise expected("content", "a mapping, as {'main': ..., 'partner': ..., 'backend': ...}", content)
    is_scenario = "contact" in content or "main" not in content
    return Pair.from_yaml(content if is_scenario else _around(content, name or "pair"), name, backend, set)
