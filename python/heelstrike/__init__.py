"""Heelstrike: deformable contact inside multibody dynamics.

    import heelstrike as hs

    run = hs.run("examples/bouncing_ball.yaml", backend="flores", set={"contact.restitution": 0.6})
    run.timeseries["ball.z_m"]                                  # pandas, or numpy without it; units in the names

    run.plot()                                                  # contact forces and gaps
    hs.sweep("examples/bouncing_ball.yaml", {"contact.restitution": "0.2:1:0.2"}).table

    contact = hs.Contact.open(hs.Pair.from_yaml("foot.yaml"))   # or server="host:50051"
    F, dF_dX, dF_dV = contact.evaluate(X_AB, V_AB, t=0.0)       # for any multibody code

    sim = hs.Simulation("gait.yaml")                            # stepped by an external master
    sim["ball.fx_N"] = 2.0
    sim.advance_to(0.01)

SI units throughout: m, kg, s, N, Pa, rad. X_AB is the pose of the partner B in the main body A as a homogeneous 4 x 4
matrix, V_AB its twist (angular, then linear, in A's axes), F the wrench on A (torque, then force, about A's origin).
"""
from __future__ import annotations

from collections.abc import Iterable

from ._interpreters import explain

try:
    import numpy as _numpy  # noqa: F401
    from . import _core
except ImportError as _problem:
    raise explain(_problem) from None

from ._core import (Contact, Pair, RegionLoad, RegionLoads, Response, Responses, Simulation, __version__, backends)
from ._compare import Comparison, compare
from ._errors import (Cancelled, Error, FileError, HeelstrikeWarning, InputError, LimitReached, MissingPackage,
                      NotImplementedByBackend, OutOfOrder, Recoverable, RunFailed, SolverFailed, Unavailable, UnknownName, VersionMismatch,
                      expected)
from ._fields import Fields, parse_vtu, read_vtu
from ._functions import WrenchFunction, pose, rotation
from ._run import Run, open_run, run
from ._scenario import pair_from_dict
from ._study import Study
from ._sweep import Sweep, open_sweep, sweep
from ._tables import Table
from ._types import ArrayLike


def _contact_fields(self: Contact, X_AB: ArrayLike, V_AB: ArrayLike | None = None, t: float = 0.0, *, volume: bool = False,
                    quantities: str | Iterable[str] = ()) -> Fields:
    """Pressure, traction, displacement and stress at a state, as arrays in A's frame (Fields).

    volume      tetrahedra instead of the surface
    quantities  one or several names; empty = all

    Raises NotImplementedByBackend when the back-end has no fields.
    """
    if not isinstance(quantities, Iterable):
        raise expected("quantities", "one or several names", quantities)
    names = [quantities] if isinstance(quantities, str) else list(quantities)
    return parse_vtu(getattr(self, "_vtu")(X_AB, V_AB, t, volume, names))


# Methods in Python of classes that are bound from C++.
_contact_fields.__name__ = "fields"
setattr(Contact, "fields", _contact_fields)
pair_from_dict.__name__ = "from_dict"
setattr(Pair, "from_dict", staticmethod(pair_from_dict))

__all__ = ["Cancelled", "Comparison", "Contact", "Error", "Fields", "FileError", "HeelstrikeWarning", "InputError",
           "LimitReached", "MissingPackage", "NotImplementedByBackend", "OutOfOrder", "Pair", "Recoverable", "RegionLoad",
           "RegionLoads", "Response", "Responses", "Run", "RunFailed", "Simulation", "SolverFailed", "Study", "Sweep", "Table",
           "Unavailable", "UnknownName", "VersionMismatch", "WrenchFunction", "__version__", "backends", "compare", "open_run", "open_sweep",
           "parse_vtu", "pose", "read_vtu", "rotation", "run", "sweep"]
