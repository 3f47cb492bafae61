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
    beside: hs.Run = hs.run("ball.yaml", folder / "beside")
    both = hs.compare("ball.yaml", ["flores", "hertz"])
    return float(z.min() + peak.max() + len(beside.columns) + len(both.runs) + len(again.summary["contacts"]))


def contacts(observe: Callable[[str, float, float, float, float], None]) -> NDArray[np.float64]:
    with hs.Contact.open(hs.Pair.from_yaml("ball.yaml"), server="host:50051", progress=observe, tls={"ca_file": "ca"}) as contact:
        X = hs.pose(p=(0, 0, -0.0999))
        F, dF_dX, dF_dV = contact.evaluate(X, np.zeros(6), t=0.1)
        many = contact.evaluate_many([X, X], tangents=True)
        reasons: dict[int, str] = many.rejected
        some: hs.Responses = many[[0, 1]]
        masked: hs.Responses = many[many.gap < 0.0]
        deepest: float = min(response.gap for response in many[1:]) + many[0].gap
        other: hs.Contact = contact.clone()
        other.close()
        contact.restore(bytearray(contact.save()))
        fields: hs.Fields = contact.fields(X, quantities=["contact_pressure"])
        f = hs.WrenchFunction(contact, X)
        Jx, Jv = f.jacobians(np.zeros(6), np.zeros(6))
        assert not reasons and len(some) + len(masked) and fields.units and deepest
        total: NDArray[np.float64] = F + dF_dX @ Jx @ Jv @ dF_dV @ many.F[0] + f(np.zeros(6))
        return total


def steps() -> float:
    simulation = hs.Simulation("ball.yaml", set=["analysis.end_time=2"])
    while simulation.time < simulation.end_time:
        simulation["ball.force"] = [0.0, 0.0, -simulation["ball.vz_m_s"]]
        simulation.advance_to(simulation.time + 0.01)
    return simulation.state()["ball.z_m"]


def mappings() -> hs.Pair:
    hs.run({"heelstrike": 1, "gravity": np.zeros(3)})
    return hs.Pair.from_dict({"main": {"surface": {"sphere": {"radius": 0.1}}}}, name="pair")


def studies(folder: pathlib.Path) -> list[str]:
    sweep: hs.Sweep = hs.sweep("ball.yaml", {"contact.restitution": [0.4, 0.6], "contact.stiffness": "1e8:2e8:1e8"}, backend="flores",
                               set={"analysis.end_time": 1}, output=folder, jobs=2, progress=False)
    again = hs.open_sweep(folder)
    both: hs.Study = hs.compare("ball.yaml", ["flores", "hertz"], set=["analysis.end_time=2"])
    comparison: hs.Comparison = hs.compare("ball.yaml", "flores")
    time, force = comparison.force("flores", comparison.pairs[0])
    for study in (sweep, again, both, comparison):
        study.to_dataframe()
        study.to_xarray()
        run: hs.Run = study[next(iter(study))]
        run.plot("ball.z_m", x="time_s", axes=None)
    comparison.plot("ball-ground").savefig("comparison.png")
    sweep.plot("peak_pressure_Pa", x="contact.stiffness").savefig("sweep.png")
    return [*sweep.index, *sweep.rows[0], *sweep.failures, sweep.scenario, str(sweep.folder / sweep.report), str(sweep.table),
            str(time + force), repr(comparison.runs)]


def results(folder: pathlib.Path) -> list[object]:
    run = hs.open_run(folder)
    table: hs.Table = run.columns
    fields: hs.Fields = run.fields(partner=True)
    again = hs.read_vtu(folder / "a.vtu")
    same: hs.Fields = hs.parse_vtu(b"<VTKFile/>")
    run.to_dataframe()
    table.to_dataframe()
    run.to_xarray()
    table.to_xarray()
    return [*table.columns, run.timeseries, run.timing["wall_time_s"], run.status, run.contacts, run.report, run.folder, run.field_times(),
            fields.points, fields.cells, fields.arrays, fields.cell_arrays, fields.keys(), again.time, same.file]


def members(pair: hs.Pair, contact: hs.Contact, simulation: hs.Simulation) -> list[object]:
    with contact:
        response: hs.Response = contact.commit(np.eye(4))
        many: hs.Responses = contact.evaluate_many([np.eye(4)])
        load: hs.RegionLoad = response.regions["medial"]
        loads: hs.RegionLoads = many.regions["medial"]
        f = hs.WrenchFunction(contact, np.eye(4), 0.1)
        f.pose(np.zeros(6)) @ hs.pose(np.zeros(3)) @ np.eye(4)
        assert f.response(np.zeros(6)).gap > f.jacobian(np.zeros(6))[0, 0]
    simulation.set("ball.fx_N", 1.0, rate=2.0)
    simulation.restore(simulation.save())
    other = simulation.clone()
    other.close()
    return [pair.name, pair.backend, pair.parameters, contact.name, contact.backend, contact.parameters, contact.regions, contact.is_open,
            load.force, load.area, load.mean_pressure, load.peak_pressure, load.p_cop, loads.force + loads.area, loads.mean_pressure,
            loads.peak_pressure, loads.p_cop, simulation.values(), simulation.describe("ball.z_m"), simulation.keys(), simulation.inputs,
            simulation.outputs, simulation.is_open, hs.rotation(np.zeros(3)), hs.__version__, hs.backends()["flores"]]


def errors() -> str:
    try:
        hs.run("ball.yaml")
    except hs.UnknownName as error:
        by_name: KeyError = error
        return str(by_name)
    except (hs.InputError, hs.FileError) as error:
        return f"{error.file}:{error.line}: {error.key} {error.code}"
    except (hs.Recoverable, hs.SolverFailed, hs.LimitReached, hs.NotImplementedByBackend, hs.OutOfOrder, hs.Cancelled) as error:
        return str(error)
    except (hs.Unavailable, hs.VersionMismatch, hs.MissingPackage) as error:
        return "again" if error.retryable else ""
    except hs.RunFailed as failed:
        return str(failed.run)
    except hs.Error as error:
        return str(error)
    return hs.HeelstrikeWarning.__name__


def wrong(contact: hs.Contact, simulation: hs.Simulation) -> None:
    contact.evaluate(np.eye(4), t="a")  # wrong
    contact.restore("abc")  # wrong
    contact.evaluate_many([np.eye(4)])["a"]  # wrong
    simulation.advance_to("x")  # wrong
    simulation[3]  # wrong
    simulation["ball.fx_N"] = object  # wrong
    hs.run(5)  # wrong
    hs.sweep("ball.yaml", 5)  # wrong
    hs.sweep("ball.yaml", {}, jobs="two")  # wrong
    hs.Simulation("ball.yaml", tls=5)  # wrong
    contact.evaluate(np.eye(4)).force  # wrong
