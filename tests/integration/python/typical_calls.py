"""Typical user code for a type checker: it is not run. `wrong` contains errors that a checker must find."""
from __future__ import annotations

import pathlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import heelstrike as hs


def runs(folder: pathlib.Path) -> float:
    run = hs.run("ball.yaml", backend="flores", set={"contact.restitution": 0.6}, output=folder, progress=False)
    z: NDArray[np.float64] = run.columns["ball.z_m"]
    again: hs.Run = hs.open_run(str(folder))
    peak: NDArray[np.float64] = again.fields("ball-ground", t=0.5)["contact_pressure"]
    both = hs.compare("ball.yaml", ["flores", "hertz"])
    return float(z.min() + peak.max() + len(both.runs) + len(again.summary["contacts"]))


def contacts(observe: Callable[[str, float, float, float, float], None]) -> NDArray[np.float64]:
    with hs.Contact.open(hs.Pair.from_yaml("ball.yaml"), server="host:50051", progress=observe, tls={"ca_file": "ca"}) as contact:
        X = hs.pose(p=(0, 0, -0.0999))
        F, dF_dX, dF_dV = contact.evaluate(X, np.zeros(6), t=0.1)
        many = contact.evaluate_many([X, X], tangents=True)
        reasons: dict[int, str] = many.refused
        deepest: float = min(response.gap for response in many[1:]) + many[0].gap
        other: hs.Contact = contact.clone()
        other.close()
        contact.restore(bytearray(contact.save()))
        fields: hs.Fields = contact.fields(X, quantities=["contact_pressure"])
        f = hs.WrenchFunction(contact, X)
        Jx, Jv = f.jacobians(np.zeros(6), np.zeros(6))
        assert not reasons and fields.units and deepest
        return F + dF_dX @ Jx @ Jv @ dF_dV @ many.F[0] + f(np.zeros(6))


def steps() -> float:
    simulation = hs.Simulation("ball.yaml", set=["analysis.end_time=2"])
    while simulation.time < simulation.end_time:
        simulation["ball.force"] = [0.0, 0.0, -simulation["ball.vz_m_s"]]
        simulation.advance_to(simulation.time + 0.01)
    return simulation.state()["ball.z_m"]


def mappings() -> hs.Pair:
    hs.run({"heelstrike": 1, "gravity": np.zeros(3)})
    return hs.Pair.from_dict({"main": {"surface": {"sphere": {"radius": 0.1}}}}, name="pair")


def wrong(contact: hs.Contact, simulation: hs.Simulation) -> None:
    contact.evaluate(np.eye(4), t="a")  # wrong
    contact.restore("abc")  # wrong
    simulation.advance_to("x")  # wrong
    simulation[3]  # wrong
    simulation["ball.fx_N"] = object  # wrong
    hs.run(5)  # wrong
    hs.Simulation("ball.yaml", tls=5)  # wrong
    contact.evaluate(np.eye(4)).force  # wrong
