"""The Python package: correct and incorrect use."""
import concurrent.futures
import contextlib
import importlib.metadata
import importlib.util
import inspect
import io
import json
import multiprocessing
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

import numpy as np

import heelstrike as hs

SOURCES = pathlib.Path(os.environ["HEELSTRIKE_SOURCE_DIR"])
BINARIES = pathlib.Path(os.environ["HEELSTRIKE_BIN_DIR"])
BALL = SOURCES / "examples/bouncing_ball.yaml"
PRESSED = SOURCES / "examples/pressed_ball.yaml"
KNEE = SOURCES / "examples/knee_press.yaml"
SHORT = {"analysis.end_time": 0.5}


def touching(depth=1e-4):
    """The ground as seen from the ball of BALL, `depth` deep in it."""
    return hs.pose(p=(0, 0, -0.1 + depth))


def ball():
    return hs.Contact.open(hs.Pair.from_yaml(BALL))


class Address(str):
    """Of a server, with its process."""
    process = 0


@contextlib.contextmanager
def served(program="fem_server", *options):
    """A separate server; returns its address."""
    with tempfile.TemporaryDirectory() as folder:
        address = Address(f"unix:{folder}/{program}.sock")
        reader, writer = os.pipe()
        server = subprocess.Popen([BINARIES / program, "--listen", address, *options, "--ready-fd", str(writer)],
                                  pass_fds=[writer], stderr=subprocess.DEVNULL, cwd=folder)
        os.close(writer)
        with open(reader) as ready:
            ready.readline()
        address.process = server.pid
        try:
            yield address
        finally:
            server.terminate()
            server.wait()


def octahedron(size=0.1):
    """Vertices and triangles with outward normals."""
    V = size * np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])
    T = np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]])
    return V, T


def mapping():
    """The scenario of BALL, with arrays where it has lists."""
    return {"heelstrike": 1, "gravity": np.array([0, 0, -9.81]),
            "bodies": {"ball": {"mass": np.float64(1), "inertia": (0.1, 0.1, 0.1), "position": np.array([0, 0, 1])}},
            "contact": {"ball-ground": {"main": {"body": "ball", "surface": {"sphere": {"radius": 0.1}}},
                                        "partner": {"body": "ground", "surface": {"plane": {"normal": np.array([0, 0, 1])}}},
                                        "backend": "hertz", "parameters": {"stiffness": np.float32(1.4e8)}}},
            "analysis": {"end_time": 0.5}, "output": {"interval": 0.01}}


def continued(opened):
    """In another process: continues from pickled objects."""
    if isinstance(opened, hs.Contact):
        return opened.evaluate(touching(), (0, 0, 0, 0, 0, 0.05)).F.copy()
    opened.advance_to(0.6)
    return opened.values()


def rebound(restitution):
    """In this process or another one."""
    run = hs.run(BALL, set={"contact.restitution": restitution, **SHORT})
    return run.summary["contacts"][0]["separation_velocity_m_s"]


def short_run(restitution):
    """In another process, which has ended before its results are read."""
    return hs.run(BALL, set={"contact.restitution": restitution, **SHORT})


def failing_run(steps):
    hs.run(BALL, set={"analysis.budget.steps": steps})


with_finite_elements = unittest.skipUnless("fem_condensed" in hs.backends(), "built without finite elements")


class Runs(unittest.TestCase):
    def test_results_are_those_of_the_command_line(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([BINARIES / "heelstrike", "run", BALL, "--in-process", "--quiet", "--set", "contact.restitution=0.6",
                            "--set", "analysis.end_time=0.5", "-o", f"{folder}/cli"], check=True)
            ours = hs.run(BALL, backend="flores", set={"contact.restitution": 0.6, **SHORT}, output=f"{folder}/ours")
            self.assertEqual((ours.folder / "timeseries.csv").read_bytes(), pathlib.Path(folder, "cli/timeseries.csv").read_bytes())
            self.assertTrue(ours.report.exists())
            # All except the digests: the scenario contains its overrides and their author.
            cli = hs.open_run(f"{folder}/cli").summary
            self.assertEqual({**cli, "files": {}, "sha256": ""}, {**ours.summary, "files": {}, "sha256": ""})
            self.assertEqual({name for name in cli["files"] if cli["files"][name] != ours.summary["files"][name]}, {"scenario.yaml"})

    def test_the_folder_is_the_second_argument(self):
        with tempfile.TemporaryDirectory() as folder:
            run = hs.run(BALL, f"{folder}/run", set=SHORT)
            self.assertEqual(run.folder, pathlib.Path(folder, "run"))
            self.assertEqual(hs.run(BALL, set=SHORT, output=f"{folder}/again").summary["status"], run.summary["status"])
        # As the second argument of compare() is a back-end, a folder of such a name may be a mistake.
        with self.assertRaisesRegex(hs.InputError, "name of a back-end, 'hertz'; use backend='hertz', or output='./hertz'"):
            hs.run(BALL, "hertz")
        self.assertRaises(TypeError, hs.run, BALL, "run", "hertz")

    def test_an_unknown_table_is_an_unknown_argument(self):
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'hdf6'"):
            hs.run(BALL, set=SHORT, hdf6=True)

    def test_a_table_in_hdf5(self):
        if importlib.util.find_spec("h5py") is None:
            self.skipTest("python3-h5py is not installed: scripts/setup")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([BINARIES / "heelstrike", "run", BALL, "--in-process", "--quiet", "--set", "analysis.end_time=0.5",
                            "--hdf5", "-o", f"{folder}/run"], check=True)
            here, table = hs.run(BALL, set=SHORT), hs.run(BALL, set=SHORT, hdf5=True)
            self.assertEqual({file.name for file in table.folder.glob("timeseries.*")}, {"timeseries.h5"})
            self.assertTrue(here.folder.joinpath("timeseries.csv").exists() and table.report.exists())
            for run in (hs.open_run(f"{folder}/run"), table):
                self.assertEqual(run.columns.columns, here.columns.columns)
                for name, column in here.columns.items():
                    np.testing.assert_array_equal(run.columns[name], column)
            self.assertFalse(run.columns["time_s"].flags.writeable)
            self.assertEqual(len(run.timeseries["time_s"]), len(here.timeseries["time_s"]))

    def test_columns_are_views_of_one_array(self):
        run = hs.run(BALL, set=SHORT)
        self.assertEqual(run.columns.columns[0], "time_s")
        self.assertAlmostEqual(run.columns["ball.z_m"][0], 1.0)
        self.assertIs(run.columns["ball.z_m"].base, run.columns["time_s"].base)
        self.assertEqual(len(run.timeseries["ball.z_m"]), len(run.columns["ball.z_m"]))
        self.assertEqual(run.status, "completed")
        self.assertEqual(len(run.contacts), 1)
        for kind in (hs.InputError, KeyError, hs.UnknownName):
            self.assertRaisesRegex(kind, "^there is no column 'ball.q'", lambda: run.columns["ball.q"])
        self.assertRaisesRegex(KeyError, "did you mean ball-ground.fz_N", lambda: run.columns["fz_N"])

    def test_temporary_folder_is_removed_with_its_run(self):
        run = hs.run(BALL, set=SHORT)
        folder = run.folder
        self.assertTrue(folder.exists())
        del run
        self.assertFalse(folder.exists())

    @with_finite_elements
    def test_fields_are_arrays_with_units(self):
        run = hs.run(PRESSED, set={"contact.element_size": 0.03, "analysis.end_time": 0.2, "output.fields": {"interval": 0.1}})
        fields = run.fields("ball-ground", t=0.19)
        self.assertEqual(fields.time, 0.2)
        self.assertEqual(fields["displacement"].shape, (len(fields.points), 3))
        self.assertEqual(fields.units["contact_pressure"], "Pa")
        self.assertLess(fields.cells.max(), len(fields.points))
        self.assertGreater(fields["contact_pressure"].max(), 0.0)
        np.testing.assert_allclose(run.field_times(), [0, 0.1, 0.2])
        with self.assertRaisesRegex(hs.InputError, "name of one pair"):
            run.fields("knee")

    def test_comparison_drops_parameters_unknown_to_a_backend(self):
        with warnings.catch_warnings(record=True) as expected_text:
            warnings.simplefilter("always")
            both = hs.compare(BALL, ["flores", "hertz"], set={"contact.restitution": 0.6, **SHORT})
        self.assertTrue(any("restitution" in str(w.message) for w in expected_text))
        self.assertEqual(list(both.runs), ["flores", "hertz"])
        self.assertGreater(both.force("hertz")[1].max(), 1.0)
        try:
            import matplotlib
        except ImportError:
            return
        matplotlib.use("Agg")
        self.assertEqual(len(both.plot().axes), 2)

    def test_table_of_a_comparison_has_the_form_of_that_of_a_sweep(self):
        both = hs.compare(BALL, ["flores", "no_such_backend", "hertz"], set=SHORT)
        self.assertEqual([row["backend"] for row in both.rows], ["flores", "hertz", "no_such_backend"])
        self.assertEqual([row["status"] for row in both.rows], ["completed", "completed", "failed"])
        self.assertEqual(len({tuple(row) for row in both.rows}), 1, "all rows have the same columns")
        self.assertIsNone(both.rows[-1]["ball-ground.max_force_N"])
        self.assertGreater(both.rows[0]["ball-ground.max_force_N"], 1.0)
        if importlib.util.find_spec("pandas") is None:
            self.assertEqual(both.table, both.rows)
            return
        self.assertEqual(both.table.index.name, "backend")
        self.assertEqual(both.table.loc["hertz", "ball-ground.max_force_N"], both.rows[1]["ball-ground.max_force_N"])

    def test_studies_in_processes_and_threads(self):
        restitutions = [0.5, 0.7]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            by_threads = list(pool.map(rebound, restitutions))
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
            by_processes = list(pool.map(rebound, restitutions))
        self.assertLess(by_threads[0], by_threads[1])
        self.assertEqual(by_processes, by_threads)

    def test_runs_are_returned_from_processes(self):
        for method in ("spawn", "fork"):
            with self.subTest(method):
                with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
                    run = list(pool.map(short_run, [0.4]))[0]
                    failure = pool.submit(failing_run, 100).exception()
                here = short_run(0.4)
                self.assertEqual(run.summary, here.summary)
                np.testing.assert_array_equal(run.columns["ball.z_m"], here.columns["ball.z_m"])
                self.assertTrue(run.report.exists())
                self.assertEqual(failure.run.summary["status"], "failed")
                folder = run.folder
                del run
                self.assertFalse(folder.exists())

    def test_child_keeps_the_folder_of_its_parent(self):
        run = hs.run(BALL, set=SHORT)
        child = os.fork()
        if child == 0:
            del run
            os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(run.status, "completed")

    def test_run_is_pickled_with_its_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            run = hs.run(BALL, set=SHORT, output=f"{folder}/run")
            self.assertEqual(pickle.loads(pickle.dumps(run)).folder, run.folder)

    def test_missing_fields_have_a_reason(self):
        self.assertRaisesRegex(hs.InputError, r"request them with `output: \{fields: \{interval: 0.01\}\}` in",
                               hs.run(BALL, set=SHORT).fields)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = hs.run(BALL, set={"output.fields": {"interval": 0.1}, **SHORT})
        with self.assertRaisesRegex(hs.InputError, "no fields: 'ball-ground' .*no pressure field") as caught:
            run.fields()
        self.assertNotIn("request them", str(caught.exception))

    def test_servers_give_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as folder, served() as fem, served("mbs_server", "--fem", fem) as mbs:
            here, there, half = (hs.run(BALL, set=SHORT, output=f"{folder}/{name}", **where) for name, where in
                                 [("here", {}), ("there", {"mbs": mbs}), ("half", {"server": fem})])
            for name in ("timeseries.csv", "summary.json"):
                self.assertEqual((here.folder / name).read_bytes(), (there.folder / name).read_bytes(), name)
                self.assertEqual((here.folder / name).read_bytes(), (half.folder / name).read_bytes(), name)


GRID = {"contact.restitution": [0.4, np.float64(0.6)], "contact.stiffness": "1e8:2e8:1e8"}


class Sweeps(unittest.TestCase):
    def test_results_are_those_of_the_command_line(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([BINARIES / "heelstrike", "sweep", BALL, "--vary", "contact.restitution=0.4,0.6", "--vary",
                            "contact.stiffness=1e8:2e8:1e8", "--set", "analysis.end_time=0.5", "--quiet", "--jobs", "2", "-o",
                            f"{folder}/cli"], check=True, capture_output=True)
            news = []
            ours = hs.sweep(BALL, GRID, set=SHORT, output=f"{folder}/ours", jobs=2, progress=lambda *state: news.append(state))
            theirs = hs.open_sweep(f"{folder}/cli")
            for ours_row, row in zip(ours.rows, theirs.rows, strict=True):
                self.assertEqual({**ours_row, "wall_time_s": 0}, {**row, "wall_time_s": 0})
            for point, run in theirs.runs.items():
                self.assertEqual((ours[point].folder / "timeseries.csv").read_bytes(), (run.folder / "timeseries.csv").read_bytes())
            self.assertEqual(ours.index, list(GRID))
            self.assertEqual([(row["contact.restitution"], row["contact.stiffness"]) for row in ours.rows],
                             [(0.4, 1e8), (0.4, 2e8), (0.6, 1e8), (0.6, 2e8)])
            self.assertTrue(ours.report.exists())
            self.assertEqual(news[-1][1:4], (1.0, 4.0, 4.0))  # fraction, ended and all runs

    def test_a_sweep_keeps_complete_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            first = hs.sweep(BALL, {"contact.restitution": [0.4]}, set=SHORT, output=folder)
            before = {file: file.stat().st_mtime_ns for file in first.folder.rglob("timeseries.csv")}
            again = hs.sweep(BALL, {"contact.restitution": [0.4, 0.6]}, set=SHORT, output=folder)
            self.assertEqual(len(again), 2)
            self.assertEqual({file: file.stat().st_mtime_ns for file in before}, before)

    def test_a_temporary_folder_is_kept_by_its_runs(self):
        sweep = hs.sweep(BALL, {"contact.restitution": [0.4]}, set=SHORT)
        run, folder = next(iter(sweep.runs.values())), sweep.folder
        del sweep
        self.assertGreater(len(run.columns), 10)
        del run
        self.assertFalse(folder.exists())

    def test_a_failed_run_is_a_failure_of_its_point(self):
        sweep = hs.sweep(BALL, {"analysis.budget.steps": [10, 100000]}, set=SHORT)
        self.assertEqual(list(sweep), ["steps=100000"])
        failure = sweep.failures["steps=10"]
        self.assertIsInstance(failure, hs.RunFailed)
        self.assertLess(failure.run.columns["time_s"][-1], 0.5)
        self.assertEqual([row["status"] for row in sweep.rows], ["failed", "completed"])
        with self.assertRaisesRegex(hs.RunFailed, "10"):
            hs.sweep(BALL, {"analysis.budget.steps": [10]})

    def test_a_mapping_is_swept_with_its_arrays_and_files(self):
        V, T = octahedron()
        scenario = mapping()
        side = scenario["contact"]["ball-ground"]["main"]
        side["surface"] = {"mesh": {"vertices": V, "triangles": T}}
        side["material"] = {"youngs_modulus": 5e6, "poissons_ratio": 0.45}
        scenario["contact"]["ball-ground"].update(backend="elastic_foundation", parameters={"thickness": 5e-3})
        vary = {"contact.thickness": [5e-3, 1e-2]}
        by_arrays = hs.sweep(scenario, vary, set={"analysis.end_time": 0.02})
        with tempfile.TemporaryDirectory() as folder:
            lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in V.tolist()] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in T.tolist()]
            pathlib.Path(folder, "ball.obj").write_text("\n".join(lines))
            side["surface"] = {"mesh": {"file": "ball.obj"}}
            with contextlib.chdir(folder):
                by_file = hs.sweep(scenario, vary, set={"analysis.end_time": 0.02})
        for point in by_arrays:
            np.testing.assert_array_equal(by_file[point].columns["ball.z_m"], by_arrays[point].columns["ball.z_m"])

    def test_incorrect_use(self):
        for vary, key, message in (({"contact.restitutoin": [0.4]}, None, "did you mean 'restitution'"),
                                   ({"contact.restitution": 0.4}, "vary", "expected values, or a text FROM:TO:STEP"),
                                   ({"contact.restitution": "1:2:-1"}, "vary", "a step that leads from FROM to TO"),
                                   ({"contact.restitution": ["a,b"]}, None, "without commas"), ({}, "vary", "at least one key"),
                                   ("contact.restitution", "vary", "vary: expected")):
            with self.subTest(vary=vary), self.assertRaisesRegex(hs.InputError, message) as caught:
                hs.sweep(BALL, vary)
            self.assertNotIn("--", str(caught.exception))
            if key is not None:
                self.assertTrue(caught.exception.key.startswith(key), caught.exception.key)
        for jobs in (0, -1, 1.5, True, "2"):
            with self.subTest(jobs=jobs), self.assertRaisesRegex(hs.InputError, "jobs: expected a whole number from 1"):
                hs.sweep(BALL, GRID, jobs=jobs)
        with self.assertRaisesRegex(hs.FileError, "expected the folder of a sweep"):
            hs.open_sweep("/nonexistent")
        with self.assertRaises(hs.InputError) as caught:
            hs.sweep("/nonexistent.yaml", GRID)
        self.assertEqual(caught.exception.file, "/nonexistent.yaml")

    @unittest.skipUnless(importlib.util.find_spec("distributed"), "dask.distributed is not installed")
    def test_workers_of_dask_give_the_same_bits(self):
        with tempfile.TemporaryDirectory() as folder:
            program = f"""
import distributed, heelstrike as hs
if __name__ == "__main__":
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            print(len(hs.sweep({str(BALL)!r}, {GRID!r}, set={SHORT!r}, output={folder + "/dask"!r}, client=client)))"""
            file = pathlib.Path(folder, "by_dask.py")
            file.write_text(program.replace("np.float64(0.6)", "0.6"))
            done = subprocess.run([sys.executable, file], capture_output=True, text=True)
            self.assertEqual(done.stdout, "4\n", done.stderr)
            here = hs.sweep(BALL, GRID, set=SHORT, output=f"{folder}/here")
            workers = {json.loads(line)["worker"] for line in pathlib.Path(folder, "dask/results/0.jsonl").read_text().splitlines()}
            self.assertGreater(len(workers), 0)
            for point, run in hs.open_sweep(f"{folder}/dask").runs.items():
                self.assertEqual((here[point].folder / "timeseries.csv").read_bytes(), (run.folder / "timeseries.csv").read_bytes())

    def test_ctrl_c_stops_the_runs_and_the_same_call_continues(self):
        with tempfile.TemporaryDirectory() as folder:
            program = f"""
import os, signal, heelstrike as hs
def interrupt(stage, fraction, time, end_time, wall_time):
    if "1 running" in stage: os.kill(os.getpid(), signal.SIGINT)
try:
    hs.sweep({str(BALL)!r}, {{"analysis.end_time": [1000.0, 0.2]}}, output={folder!r}, jobs=1, progress=interrupt)
except KeyboardInterrupt:
    print("stopped")"""
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
            self.assertEqual(done.stdout, "stopped\n", done.stderr)
            sweep = hs.sweep(BALL, {"analysis.end_time": [0.3, 0.2]}, output=folder)
            self.assertEqual(len(sweep), 2)
            with self.assertRaisesRegex(hs.FileError, "found one with 2 runs in it; open one of them"):
                hs.open_run(folder)


class TablesAndCharts(unittest.TestCase):
    def test_tables_by_choice(self):
        run = hs.run(BALL, set=SHORT)
        table = run.columns
        if importlib.util.find_spec("pandas") is not None:
            frame = run.to_dataframe()
            self.assertEqual(list(frame.columns), table.columns)
            np.testing.assert_array_equal(frame["ball.z_m"], table["ball.z_m"])
        if importlib.util.find_spec("xarray") is None:
            with self.assertRaisesRegex(hs.MissingPackage, "apt-get install python3-xarray, or .* -m pip install xarray"):
                run.to_xarray()
            self.skipTest("python3-xarray is not installed: scripts/setup")
        data = run.to_xarray()
        self.assertEqual(list(data.sizes), ["time_s"])
        units = {name: data[name].attrs.get("units") for name in ("time_s", "ball.z_m", "ball.vz_m_s", "ball-ground.fz_N", "ball.qw")}
        self.assertEqual(units, {"time_s": "s", "ball.z_m": "m", "ball.vz_m_s": "m/s", "ball-ground.fz_N": "N", "ball.qw": None})
        np.testing.assert_array_equal(data["ball.z_m"].sel(time_s=slice(0.1, 0.2)),
                                      table["ball.z_m"][(table["time_s"] >= 0.1) & (table["time_s"] <= 0.2)])
        grid = hs.sweep(BALL, GRID, set=SHORT).to_xarray()
        self.assertEqual(dict(grid.sizes), {"contact.restitution": 2, "contact.stiffness": 2})
        self.assertEqual(grid["max_force_N"].attrs, {"units": "N"})
        stiff = grid["max_force_N"].sel({"contact.restitution": 0.4}).values
        self.assertGreater(stiff[1], stiff[0])
        both = hs.compare(BALL, ["flores", "hunt_crossley"], set=SHORT).to_xarray()
        self.assertEqual(both["ball-ground.max_force_N"].dims, ("backend",))

    def test_charts_have_the_units_of_their_columns(self):
        if importlib.util.find_spec("matplotlib") is None:
            self.skipTest("python3-matplotlib is not installed: scripts/setup")
        run = hs.run(BALL, set=SHORT)
        labels = [chart.get_ylabel() for chart in run.plot().axes]
        self.assertEqual(labels, ["contact force [N]", "gap [m]"])
        figure = run.plot("ball.vz_m_s", "ball-ground.f?_N", "ball.vz_m_s")
        self.assertEqual([chart.get_ylabel() for chart in figure.axes], ["vz [m/s]", "fx, fy, fz [N]"])
        self.assertEqual(figure.axes[-1].get_xlabel(), "time [s]")
        self.assertEqual([len(chart.lines) for chart in figure.axes], [1, 3])
        np.testing.assert_array_equal(figure.axes[0].lines[0].get_ydata(), run.columns["ball.vz_m_s"])
        loop = run.plot("ball-ground.fz_N", x="ball-ground.indentation_m")
        self.assertEqual(loop.axes[0].get_xlabel(), "indentation [m]")
        for wrong, message in ((lambda: run.plot("ball.w_m"), "no column 'ball.w_m'"), (lambda: run.plot(x="t"), "no column 't'"),
                               (lambda: run.plot(3), "expected names of columns"),
                               (lambda: run.plot(axes=figure.axes[0]), "axes: expected 2, one for each unit")):
            with self.assertRaisesRegex(hs.InputError, message):
                wrong()
        free = hs.run(SOURCES / "examples/double_pendulum.yaml", set={"analysis.end_time": 0.1}).plot()
        self.assertEqual([chart.get_ylabel() for chart in free.axes], ["x, y, z [m]"])
        sweep = hs.sweep(BALL, GRID, set=SHORT)
        self.assertEqual(sweep.plot().axes[0].get_ylabel(), "max force [N]")
        self.assertEqual(len(sweep.plot("effective_restitution", x="contact.stiffness").axes[0].lines), 2)
        with self.assertRaisesRegex(hs.InputError, "quantity: expected one of status, max_force_N"):
            sweep.plot("force")

    def test_missing_packages_are_named_with_the_interpreter(self):
        # Packages that only some functions need are absent in this interpreter.
        program = f"""
import sys
for name in ("pandas", "matplotlib", "xarray"): sys.modules[name] = None
import heelstrike as hs
run = hs.run({str(BALL)!r}, set={{"analysis.end_time": 0.1}})
assert isinstance(run.timeseries, hs.Table) and isinstance(run.contacts, list)
for call in (run.plot, run.columns.to_dataframe, run.columns.to_xarray):
    try: call()
    except hs.MissingPackage as problem: print(problem)"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 3, done.stderr)
        for name, line in zip(("matplotlib", "pandas", "xarray"), lines):
            self.assertIn(f"requires {name}, which {sys.executable} does not have; install it: apt-get install python3-{name}", line)


class Interpreters(unittest.TestCase):
    """`import heelstrike` where it cannot work says what to type instead."""

    def interpreter(self, folder, name, version, numpy):
        """A stand-in that answers as an interpreter with or without numpy."""
        file = pathlib.Path(folder, name)
        file.write_text(f"#!/bin/sh\nprintf '%s\\n%s\\n%s\\n' '{file} {folder}' '{version}' '{numpy}'\n")
        file.chmod(0o755)
        return file

    def imported(self, before, path):
        return subprocess.run([sys.executable, "-c", f"import sys\n{before}\nimport heelstrike"], capture_output=True, text=True,
                              env={**os.environ, "PATH": str(path)}).stderr.splitlines()[-1]

    def test_without_numpy(self):
        mine = f"{sys.version_info[0]}.{sys.version_info[1]}"
        with tempfile.TemporaryDirectory() as folder:
            self.interpreter(folder, "python3", mine, "")
            has_it = self.interpreter(folder, f"python{mine}", mine, "9.8.7")
            self.interpreter(folder, "python3.4", "3.4", "1.0")
            # /usr/bin is searched last.
            self.assertEqual(self.imported("sys.modules['numpy'] = None", folder),
                             f"ImportError: heelstrike requires numpy, and this interpreter, {sys.executable} (Python {mine}), does not "
                             f"have it; {has_it} has numpy 9.8.7: type {has_it} PROGRAM.py")

    def test_of_another_version(self):
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(folder, "heelstrike")
            package.mkdir()
            for file in pathlib.Path(hs.__file__).parent.glob("*.py"):
                (package / file.name).write_bytes(file.read_bytes())
            (package / "_core.cpython-34-x86_64-linux-gnu.so").touch()
            other = self.interpreter(folder, "python3.4", "3.4", "1.2.3")
            said = self.imported(f"sys.path.insert(0, {folder!r})", folder)
            self.assertIn("this package heelstrike is built for Python 3.4", said)
            self.assertIn(f"type {other} PROGRAM.py", said)
            other.unlink()
            self.assertIn("no Python 3.4 with numpy is on the PATH", self.imported(f"sys.path.insert(0, {folder!r})", folder))


class Errors(unittest.TestCase):
    def test_scenario_error_has_file_line_and_key(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "ball.yaml")
            file.write_text(BALL.read_text().replace("mass: 1.0", "mass: -1.0"))
            with self.assertRaises(hs.InputError) as caught:
                hs.run(file)
        line = 1 + BALL.read_text().splitlines().index("    mass: 1.0")
        self.assertEqual((caught.exception.file, caught.exception.line, caught.exception.key),
                         (str(file), line, "bodies.ball.mass"))
        self.assertIn("expected", str(caught.exception))

    def test_set(self):
        self.assertRaisesRegex(hs.InputError, "restitution", hs.run, BALL, set={"contact.restitutoin": 0.5})
        self.assertRaisesRegex(hs.InputError, "KEY=VALUE", hs.run, BALL, set=["contact"])
        self.assertRaisesRegex(hs.InputError, "contact.restitution", hs.run, BALL, set={"contact.restitution": float("nan")})
        self.assertRaisesRegex(hs.InputError, "did you mean", hs.run, BALL, backend="floress")

    def test_missing_files_and_folders(self):
        self.assertRaisesRegex(hs.InputError, "nowhere.yaml", hs.run, "nowhere.yaml")
        self.assertRaisesRegex(hs.FileError, "nowhere", hs.open_run, "nowhere")
        with tempfile.TemporaryDirectory() as folder:
            self.assertRaisesRegex(hs.FileError, "existing", hs.run, BALL, output=folder)
            self.assertRaisesRegex(hs.FileError, "VTU", hs.read_vtu, BALL)

    def test_invalid_table(self):
        if importlib.util.find_spec("h5py") is None:
            self.skipTest("python3-h5py is not installed: scripts/setup")
        with tempfile.TemporaryDirectory() as folder:
            run = hs.run(BALL, set=SHORT, output=f"{folder}/run")
            (run.folder / "timeseries.csv").rename(run.folder / "timeseries.h5")
            with self.assertRaisesRegex(hs.FileError, "timeseries.h5: expected the table of a run"):
                _ = hs.open_run(run.folder).columns

    def test_failed_run_keeps_its_results(self):
        with self.assertRaises(hs.RunFailed) as caught:
            hs.run(BALL, set={"analysis.budget.steps": 100})
        self.assertGreater(len(caught.exception.run.columns), 10)
        self.assertEqual(caught.exception.run.summary["status"], "failed")

    def test_arrays(self):
        contact = ball()
        X = touching()
        for given, sentence in [
            (np.eye(3), r"X_AB: expected real numbers of shape \(4, 4\), found the shape \(3, 3\)"),
            (np.eye(4, dtype=complex), "found an array of complex128"),
            (np.full((4, 4), "a"), "found an array of <U1"),
            (np.eye(4, dtype=bool), "found an array of bool"),
            (X.T, "last row"),
            (object(), "found"),
            ([[1, 2], [3]], "found"),
            (np.full((4, 4), np.nan), "last row"),
            (np.diag([1.001, 1, 1, 1]), r"R\^T R differs from the identity by 0.002"),
            (np.diag([1, 1, -1, 1]), "reflection"),
        ]:
            with self.subTest(sentence), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of numpy, for ragged lists
                self.assertRaisesRegex(hs.InputError, sentence, contact.evaluate, given)
                self.assertRaises(ValueError, contact.evaluate, given)
        nowhere = X.copy()
        nowhere[0, 3] = np.inf
        self.assertRaisesRegex(hs.InputError, r"finite numbers \[m\], found inf", contact.evaluate, nowhere)
        self.assertRaisesRegex(hs.InputError, r"V_AB: .*\(6,\), found the shape \(3,\)", contact.evaluate, X, np.zeros(3))
        self.assertRaisesRegex(hs.InputError, "finite time", contact.evaluate, X, None, float("inf"))
        self.assertRaisesRegex(hs.InputError, r"\(n, 4, 4\)", contact.evaluate_many, X)
        self.assertRaisesRegex(hs.InputError, "state 1: X_AB: .*a reflection", contact.evaluate_many, [X, np.diag([1, 1, -1, 1])])
        self.assertRaisesRegex(hs.InputError, r"V_AB: .*\(2, 6\)", contact.evaluate_many, [X, X], np.zeros((3, 6)))
        np.testing.assert_array_equal(contact.evaluate(X.astype(np.float32).astype(float)).F,
                                      contact.evaluate(np.asfortranarray(X.astype(np.float32))).F)

    def test_types(self):
        contact, simulation, X = ball(), hs.Simulation(BALL), touching()
        f = hs.WrenchFunction(contact, X)
        for call, sentence in [
            (lambda: contact.evaluate(X, t="a"), "t: expected a real number, found a value of type str"),
            (lambda: contact.evaluate(X, t=None), "t: expected a real number, found None"),
            (lambda: contact.commit(X, t="a"), "t: expected a real number"),
            (lambda: contact.fields(X, t="a"), "t: expected a real number"),
            (lambda: contact.restore("abc"), r"state: expected the bytes of save\(\), found a value of type str"),
            (lambda: contact.restore(None), "state: .* found None"),
            (lambda: simulation.restore("abc"), "state: .* found a value of type str"),
            (lambda: simulation.advance_to("x"), "t: expected a real number"),
            (lambda: simulation[3], "name: expected a text, found a value of type int"),
            (lambda: simulation.describe(3), "name: expected a text"),
            (lambda: simulation.set(3, 1.0), "name: expected a text"),
            (lambda: simulation.set("ball.fx_N", 1.0, rate="x"), "rate: expected a real number"),
            (lambda: hs.run(5), "scenario: expected the path of a file or folder, found a value of type int"),
            (lambda: hs.run(BALL, output=5), "output: expected the path"),
            (lambda: hs.run(BALL, set=5), "set: expected .*, found a value of type int"),
            (lambda: hs.run(BALL, backend=5), "backend: expected a text"),
            (lambda: hs.run(BALL, tls=5), "tls: expected None or a mapping"),
            (lambda: hs.run(BALL, mbs=5), "mbs: expected a text"),
            (lambda: hs.open_run(5), "folder: expected the path"),
            (lambda: hs.Simulation(5), "scenario: expected the path"),
            (lambda: hs.Pair.from_yaml(5), "file: expected the path"),
            (lambda: hs.Pair.from_yaml(BALL, 5), "name: expected a text"),
            (lambda: hs.Contact.open(hs.Pair.from_yaml(BALL), reconnect_timeout="x"), "reconnect_timeout: expected a real number"),
            (lambda: f(np.zeros(5)), r"x: expected real numbers of shape \(6,\), found the shape \(5,\)"),
            (lambda: f.jacobian(["a"] * 6), "x: expected real numbers"),
            (lambda: f(np.zeros(6), np.zeros(3)), "v: expected real numbers of shape"),
            (lambda: hs.WrenchFunction(contact, np.eye(3)), "X0: expected real numbers"),
            (lambda: hs.pose((1, 2)), "theta: expected real numbers"),
            (lambda: hs.Contact.open(BALL), r"pair: expected a Pair, as Pair.from_yaml\(FILE\) makes it, found a value of type PosixPath"),
            (lambda: contact.fields(X, quantities=5), "quantities: expected one or several names, found a value of type int"),
            (lambda: hs.pose(p=(1, 2)), "p: expected real numbers"),
        ]:
            with self.subTest(sentence):
                self.assertRaisesRegex(hs.InputError, sentence, call)
        saved = contact.save()
        for memory in (bytearray(saved), memoryview(saved), np.frombuffer(saved, np.uint8)):
            contact.restore(memory)
        hs.Simulation(BALL, server=None, backend=None)
        contact.evaluate(X, t=np.float32(0.5))
        contact.evaluate(X, t=1)

    def test_calls_after_close(self):
        contact, simulation = ball(), hs.Simulation(BALL)
        with contact:
            pass
        simulation.close()
        simulation.close()
        for call in (lambda: contact.evaluate(touching()), lambda: contact.commit(touching()), contact.save,
                     lambda: contact.restore(b""), lambda: simulation.advance_to(0.1), simulation.save, simulation.state,
                     lambda: simulation.set("ball.fx_N", 1.0), lambda: simulation["ball.z_m"]):
            self.assertRaisesRegex(hs.OutOfOrder, r"after close\(\)", call)
        self.assertFalse(contact.is_open or simulation.is_open)

    @with_finite_elements
    def test_two_threads_at_once(self):
        with hs.Contact.open(hs.Pair.from_yaml(PRESSED, set={"contact.element_size": 0.02})) as contact:
            X = np.repeat(hs.pose(p=(0, 0, -0.0985))[None], 50, axis=0)
            refusals, answers = [], []

            def evaluate():
                while not refusals:
                    try:
                        answers.append(contact.evaluate_many(X).F[0])
                    except hs.OutOfOrder as error:
                        refusals.append(str(error))

            both = [threading.Thread(target=evaluate) for _ in range(2)]
            for one in both:
                one.start()
            for one in both:
                one.join()
            self.assertIn("another thread", refusals[0])
            # A rejected call has disturbed no other.
            single = contact.evaluate_many(X).F[0]
            for F in answers:
                np.testing.assert_array_equal(F, single)

    def test_fork_between_calls(self):
        contact, simulation = ball(), hs.Simulation(BALL)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            said = []
            for call in (lambda: contact.evaluate(touching()), lambda: simulation.advance_to(0.1)):
                try:
                    call()
                except hs.OutOfOrder as error:
                    said.append(str(error))
            os.write(writer, "\n".join(said).encode())
            os._exit(0)
        os.close(writer)
        with open(reader) as said:
            sentences = said.read().splitlines()
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(len(sentences), 2)
        self.assertTrue(all("child process" in sentence for sentence in sentences))
        contact.evaluate(touching())

    def test_servers(self):
        pair = hs.Pair.from_yaml(BALL)
        with self.assertRaisesRegex(hs.Unavailable, "nothing.sock"):
            hs.Contact.open(pair, server="unix:/nowhere/nothing.sock", reconnect_timeout=0)
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):  # the same call can be repeated
                with self.assertRaises(hs.Unavailable) as away:
                    hs.run(BALL, output=f"{folder}/out", server="unix:/nowhere/nothing.sock", reconnect_timeout=0)
                self.assertTrue(away.exception.retryable)
        self.assertRaises(hs.InputError, hs.Contact.open, pair, server="no address")
        self.assertRaisesRegex(hs.InputError, "reconnect_timeout", hs.Contact.open, pair, server="unix:/x", reconnect_timeout=-1)
        self.assertRaisesRegex(hs.InputError, "tls: .*'ca'", hs.Contact.open, pair, tls={"ca": "x"})

    def test_a_server_of_another_version(self):
        with tempfile.TemporaryDirectory() as folder:
            address = f"unix:{folder}/other.sock"
            server = subprocess.Popen([BINARIES / "other_version_server", address], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            try:
                self.assertEqual(server.stdout.readline(), b"ready\n")
                with self.assertRaisesRegex(hs.VersionMismatch, r"99\.0\.0"):
                    hs.Contact.open(hs.Pair.from_yaml(BALL), server=address)
                self.assertRaises(hs.VersionMismatch, hs.Simulation, BALL, server=address)
                self.assertRaises(hs.VersionMismatch, hs.run, BALL, server=address)
            finally:
                server.communicate()

    def test_names(self):
        self.assertRaisesRegex(hs.InputError, "ball-ground", hs.Pair.from_yaml, BALL, "knee")
        simulation = hs.Simulation(BALL)
        self.assertRaisesRegex(hs.InputError, "name of an input.*found 'ball.fx'", simulation.set, "ball.fx", 1.0)
        self.assertRaisesRegex(hs.InputError, "name of an output.*found 'ball.q_m'", lambda: simulation["ball.q_m"])
        self.assertRaisesRegex(hs.InputError, r"did you mean 'ball\.fx_N'\?", simulation.set, "ball.fx", 1.0)
        self.assertRaisesRegex(hs.InputError, r"did you mean 'ball\.vz_m_s'\?", lambda: simulation["ball.vz_ms"])
        self.assertRaisesRegex(hs.InputError, "rate", simulation.set, "ball.force", [0, 0, 1], 2.0)
        self.assertRaises(hs.InputError, simulation.set, "ball.fx_N", float("nan"))
        self.assertRaisesRegex(hs.InputError, "ball.force: .*finite.*found nan", simulation.set, "ball.force", [5, 0, float("nan")])
        simulation.advance_to(0.1)
        self.assertEqual(simulation["ball.vx_m_s"], 0.0)  # all three or none
        self.assertRaises(hs.InputError, simulation.advance_to, -1.0)
        self.assertRaises(hs.InputError, simulation.advance_to, 99.0)

    def test_unknown_names_of_mappings_are_key_errors(self):
        simulation, run = hs.Simulation(BALL), hs.run(BALL, set=SHORT)
        for call in (lambda: simulation["ball.q_m"], lambda: simulation.__setitem__("ball.f", 1.0), lambda: simulation.set("ball.f", 1.0),
                     lambda: simulation.__setitem__("bal.force", [0, 0, 1]), lambda: simulation.__setitem__("ball.forc", [0, 0, 1]), lambda: run.columns["ball.q_m"],
                     lambda: hs.Fields(np.zeros((0, 3)), np.zeros((0, 3), np.int64), {}, {}, {})["pressure"]):
            with self.assertRaises(KeyError) as caught:
                call()
            error = caught.exception
            self.assertIs(type(error), hs.UnknownName)
            self.assertIsInstance(error, ValueError)
            self.assertRegex(str(error), "^(expected|there is no)")  # a sentence, not in quotes
            self.assertNotIn("::", str(error))
            again = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(again), str(again), again.key), (hs.UnknownName, str(error), error.key))
        # Other errors of the same calls are about values and states.
        for call in (lambda: simulation.set("ball.fx_N", float("nan")), lambda: simulation[3], lambda: simulation.set("ball.fx_N", "a")):
            with self.assertRaises(hs.InputError) as caught:
                call()
            self.assertNotIsInstance(caught.exception, KeyError)
        simulation.close()
        self.assertRaises(hs.OutOfOrder, lambda: simulation["ball.q_m"])

    def test_errors_cross_processes(self):
        with self.assertRaises(hs.InputError) as caught:
            hs.Pair.from_yaml(BALL, "knee")
        error = caught.exception
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(again), str(again), again.key, again.file), (hs.InputError, str(error), "name", str(BALL)))


class Mappings(unittest.TestCase):
    def test_a_scenario_is_a_mapping(self):
        run, simulation = hs.run(mapping()), hs.Simulation(mapping(), set={"analysis.end_time": 1})
        pair = hs.Pair.from_dict(mapping())
        self.assertEqual((pair.name, pair.backend, pair.parameters["stiffness"]), ("ball-ground", "hertz", 1.4e8))
        simulation.advance_to(0.3)
        row = np.argmin(abs(run.columns["time_s"] - 0.3))
        self.assertAlmostEqual(simulation["ball.z_m"], run.columns["ball.z_m"][row], delta=1e-9)
        self.assertEqual(sorted(hs.compare(mapping(), ["hertz", "flores"]).runs), ["flores", "hertz"])
        with tempfile.TemporaryDirectory() as folder:
            again = hs.run(mapping(), output=pathlib.Path(folder) / "run")
            np.testing.assert_array_equal(again.columns["ball.z_m"], run.columns["ball.z_m"])

    def test_a_pair_is_a_mapping(self):
        surfaces = {"main": {"surface": {"sphere": {"radius": 0.1}}}, "partner": {"surface": {"plane": {"normal": [0, 0, 1]}}}}
        pair = hs.Pair.from_dict({**surfaces, "backend": "hertz", "parameters": {"stiffness": 1.4e8}}, name="mine")
        self.assertEqual(pair.name, "mine")
        self.assertAlmostEqual(hs.Contact.open(pair).evaluate(touching()).F[5], 1.4e8 * 1e-4**1.5, delta=1e-6)
        V, T = octahedron()
        foundation = {"main": {"surface": {"mesh": {"vertices": V, "triangles": T}},
                               "material": {"youngs_modulus": 5e6, "poissons_ratio": 0.45}}, "partner": surfaces["partner"],
                      "backend": "elastic_foundation", "parameters": {"thickness": 5e-3}}
        with tempfile.TemporaryDirectory() as folder:  # the same as of a file
            lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in V.tolist()] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in T.tolist()]
            file = pathlib.Path(folder, "octahedron.obj")
            file.write_text("\n".join(lines))
            by_file = {**foundation, "main": {**foundation["main"], "surface": {"mesh": {"file": file}}}}
            expected = hs.Contact.open(hs.Pair.from_dict(by_file)).evaluate(touching(2e-3))
        got = hs.Contact.open(hs.Pair.from_dict(foundation)).evaluate(touching(2e-3))
        np.testing.assert_array_equal(got.F, expected.F)
        self.assertGreater(got.F[5], 0.01)

    def test_tetrahedra_are_arrays(self):
        V, T = octahedron()
        around = [[5, 4, 0, 2], [5, 4, 2, 1], [5, 4, 1, 3], [5, 4, 3, 0]]
        forces = []
        for mesh in ({"vertices": V, "triangles": T}, {"vertices": V, "tetrahedra": around}):
            pair = hs.Pair.from_dict({"main": {"surface": {"mesh": mesh}, "material": {"youngs_modulus": 5e6, "poissons_ratio": 0.45}},
                                      "partner": {"surface": {"plane": {"normal": [0, 0, 1]}}}, "backend": "elastic_foundation",
                                      "parameters": {"thickness": 5e-3}})
            forces.append(hs.Contact.open(pair).evaluate(touching(2e-3)).F[5])
        self.assertAlmostEqual(forces[0], forces[1], delta=1e-9 * forces[0])
        self.assertGreater(forces[0], 0.0)

    def test_errors_are_reported_by_their_keys(self):
        def changed(path, value):
            scenario = mapping()
            *keys, last = path.split("/")
            part = scenario
            for key in keys:
                part = part[key]
            part[last] = value
            return scenario

        V, T = octahedron()
        for path, value, words in (("bodies/ball/mass", -1.0, "bodies.ball.mass"), ("bodies/ball/mass", float("nan"), "bodies.ball.mass.*finite"),
                                   ("gravity", {1: 2}, "gravity.*texts"), ("gravity", object(), "gravity.*type object"),
                                   ("gravity", {0.5, -9.81, 0.25}, "gravity.*in order"),
                                   ("bodies/ball/position", [0, 0, None], "bodies.ball.position"),
                                   ("contact/ball-ground/main/surface", {"mesh": {"vertices": V[:, :2], "triangles": T}}, r"surface.mesh.vertices.*\(n, 3\)"),
                                   ("contact/ball-ground/main/surface", {"mesh": {"vertices": V, "triangles": T + 1}}, "triangles.*from 0 to 5, found 1 to 6"),
                                   ("contact/ball-ground/main/surface", {"mesh": {"vertices": V}}, "triangles.*found None")):
            with self.assertRaisesRegex(hs.InputError, words) as caught:
                hs.Simulation(changed(path, value))
            self.assertIsNone(caught.exception.file)
            self.assertIsNone(caught.exception.line)
            self.assertNotIn("<", str(caught.exception))
        self.assertRaisesRegex(hs.InputError, "content: expected a mapping", hs.Pair.from_dict, 5)
        self.assertRaisesRegex(hs.InputError, "partner", hs.Pair.from_dict, {"main": {}})

    def test_rigid_pairs_have_no_force_law(self):
        with self.assertRaisesRegex(hs.InputError, "returns a wrench for a pose, found 'rigid'"):
            hs.Contact.open(hs.Pair.from_yaml(SOURCES / "examples/bar_on_three.yaml", "left"))

    def test_messages_use_the_terms_of_python(self):
        with tempfile.TemporaryDirectory() as folder:
            hs.run(BALL, set=SHORT, output=pathlib.Path(folder) / "run")
            with self.assertRaisesRegex(hs.FileError, "overwrite=True") as caught:
                hs.run(BALL, set=SHORT, output=pathlib.Path(folder) / "run")
            self.assertNotIn("--", str(caught.exception))
            hs.run(BALL, set=SHORT, output=pathlib.Path(folder) / "run", overwrite=True)
        for changes in ({"set": {"contact.restitutio": 3}}, {"set": ["nothing"]}, {"set": {"contact.restitution": -3}}, {"backend": "herz"}):
            with self.assertRaises(hs.InputError) as caught:
                hs.run(BALL, **changes)
            self.assertNotRegex(str(caught.exception), r"(^|\s)--[a-z]")


class Contacts(unittest.TestCase):
    def test_responses_are_a_sequence(self):
        X = [touching(d) for d in (1e-4, -1e-4, 0.15, 2e-4)]
        many = ball().evaluate_many(X, tangents=True)
        self.assertEqual([type(r) for r in many], [hs.Response] * 4)
        for i in range(4):
            for got, expected in ((many[i].F, many.F[i]), (many[i - 4].dF_dX, many.dF_dX[i]), (many[np.int64(i)].gap, many.gap[i])):
                np.testing.assert_array_equal(got, expected)
        self.assertEqual(list(many.rejected), [2])
        self.assertTrue(np.isnan(many[2].F).all())
        np.testing.assert_array_equal(many[::-2].F, many.F[::-2])
        self.assertEqual(list(many[2:].rejected), [0])
        self.assertEqual(len(many[5:]), 0)
        for index in (4, -5):
            self.assertRaises(IndexError, lambda index=index: many[index])
        self.assertRaises(TypeError, lambda: many["a"])
        self.assertRegex(repr(many), r"Responses\(4 states, 1 rejected, largest force 395.98 N, smallest gap -0.0002 m\)")
        with self.assertRaisesRegex(hs.InputError, "tangents=True"):
            _ = ball().evaluate_many(X)[0].dF_dX

    def test_responses_are_selected_as_by_numpy(self):
        X = [touching(d) for d in (1e-4, -1e-4, 0.15, 2e-4)]
        many = ball().evaluate_many(X, tangents=True)
        selections = [[0, 1], [3, -4, 3], [], np.array([2, 0]), np.array([1], np.uint8), np.array([], int), many.gap < 0.0,
                      [True, False, False, True], np.zeros(4, bool), np.flatnonzero(many.F[:, 5] > 0.0), slice(None, None, -1)]
        for selection in selections:
            with self.subTest(selection):
                some, rows = many[selection], np.arange(4)[selection]
                self.assertIs(type(some), hs.Responses)
                self.assertEqual(len(some), len(rows))
                np.testing.assert_array_equal(some.F, many.F[rows])
                np.testing.assert_array_equal(some.dF_dX, many.dF_dX[rows])
                self.assertEqual([*some.rejected], [i for i, row in enumerate(rows) if row == 2])
        for index, kind, sentence in ((([0, 4]), IndexError, "below 4, found 4"), (np.array([-5]), IndexError, "found -5"),
                                      (np.array([2**64 - 1], np.uint64), IndexError, ""),
                                      ([True, False], IndexError, "a flag for each of 4 states, found 2 flags"),
                                      ([0.5], TypeError, "found an array of float64 with 1 dimensions"),
                                      ([[0, 1], [1, 2]], TypeError, "with 2 dimensions"), ("a", TypeError, "found a value of type str"),
                                      ((0, 1), TypeError, "found a value of type tuple"), (None, TypeError, "found None")):
            self.assertRaisesRegex(kind, sentence, lambda index=index: many[index])

    def test_responses_without_tangents_are_a_sequence(self):
        many = ball().evaluate_many([touching(d) for d in (1e-4, 0.15, 2e-4)])
        np.testing.assert_array_equal([response.F for response in many], many.F)
        np.testing.assert_array_equal([response.gap for response in many[[2, 0]]], many.gap[[2, 0]])
        self.assertEqual(len(list(many[many.gap < 0.0])), 2)

    def test_what_can_be_pickled(self):
        contact = ball()
        for depth in (-0.1, 1e-5):
            contact.commit(touching(depth), (0, 0, 0, 0, 0, 0.1))
        response, many = contact.evaluate(touching(), (0, 0, 0, 0, 0, 0.05)), contact.evaluate_many([touching(), touching(0.15)], tangents=True)
        again, those = pickle.loads(pickle.dumps((response, many)))
        for name in ("F", "dF_dX", "dF_dV", "p_cop", "gap", "gap_rate", "area", "peak_pressure", "stored_energy", "iterations", "active_points"):
            np.testing.assert_array_equal(getattr(again, name), getattr(response, name), name)
        for name in ("F", "dF_dX", "gap", "rejected"):
            np.testing.assert_array_equal(getattr(those, name), getattr(many, name), name)
        pair = pickle.loads(pickle.dumps(hs.Pair.from_yaml(BALL, set={"contact.stiffness": 2e8})))
        self.assertEqual((pair.name, pair.parameters["stiffness"]), ("ball-ground", 2e8))
        V, T = octahedron()
        whole = pickle.loads(pickle.dumps(hs.Pair.from_dict(
            {"main": {"surface": {"mesh": {"vertices": V, "triangles": T}}, "material": {"youngs_modulus": 5e6, "poissons_ratio": 0.45}},
             "partner": {"surface": {"plane": {"normal": [0, 0, 1]}}}, "backend": "elastic_foundation",
             "parameters": {"thickness": 5e-3}})))
        self.assertGreater(hs.Contact.open(whole).evaluate(touching(2e-3)).F[5], 0.01)

        clone = contact.clone()
        np.testing.assert_array_equal(clone.evaluate(touching(), (0, 0, 0, 0, 0, 0.05)).F, response.F)
        self.assertNotEqual(ball().evaluate(touching(), (0, 0, 0, 0, 0, 0.05)).F[5], response.F[5], "the history counts")
        clone.close()
        self.assertTrue(contact.is_open)
        simulation, other = hs.Simulation(BALL), hs.Simulation(mapping(), set={"analysis.end_time": 1})
        for each in (simulation, other):
            each.advance_to(0.47)  # in contact
        self.assertEqual(simulation.clone().time, 0.47)
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            there = [pool.submit(continued, each) for each in (contact, simulation, other)]
            for each, result in zip((contact, simulation, other), there):
                np.testing.assert_array_equal(continued(each), result.result())

    def test_numbers_are_views(self):
        response = ball().evaluate(touching(), np.zeros(6), t=0.0)
        F, dF_dX, dF_dV = response
        self.assertEqual((F.shape, dF_dX.shape, dF_dV.shape), ((6,), (6, 6), (6, 6)))
        self.assertTrue(np.shares_memory(F, response.F))
        # Hertz' law of the example; the reaction pushes the ball up.
        self.assertAlmostEqual(F[5], 1.4e8 * 1e-4**1.5, delta=1e-6)
        self.assertAlmostEqual(response.gap, -1e-4, delta=1e-15)
        base = response.F
        del response, F, dF_dX, dF_dV
        self.assertAlmostEqual(base[5], 140.0, delta=1e-6)

    def test_returned_objects_cannot_corrupt_the_state(self):
        contact, X = ball(), touching()
        response, many, run = contact.evaluate(X), contact.evaluate_many([X], tangents=True), hs.run(BALL, set=SHORT)
        for numbers in (response.F, response.dF_dX, response.dF_dV, response.p_cop, many.F, many.gap, many.dF_dX,
                        run.columns["ball.z_m"]):
            with self.assertRaisesRegex(ValueError, "read-only"):
                numbers[...] = 0.0
        f, x = hs.WrenchFunction(contact, X), np.zeros(6)
        target = f(x).copy()
        y, J = f(x), f.jacobian(x)
        y -= target
        J[...] = 0.0
        np.testing.assert_array_equal(f(x), target)
        self.assertGreater(f.jacobian(x)[5, 5], 0.0)
        run.timeseries["ball.z_m"] *= 2.0
        self.assertEqual(run.columns["ball.z_m"][0], 1.0)

    def test_wrench_function_is_notified_of_commits(self):
        contact, approach = ball(), np.array([0, 0, 0, 0, 0, 0.1])
        f, x = hs.WrenchFunction(contact, touching()), np.zeros(6)
        saved, before = contact.save(), f(x, approach / 2)
        contact.commit(touching(-0.1), approach)
        contact.commit(touching(1e-5), approach)
        after = f(x, approach / 2)
        np.testing.assert_array_equal(after, contact.evaluate(touching(), approach / 2).F)
        self.assertLess(after[5], before[5])  # half the approach velocity, which the law has stored now
        contact.restore(saved)
        np.testing.assert_array_equal(f(x, approach / 2), before)

    def test_a_wrench_function_evaluates_a_state_once(self):
        class Counting:
            def __init__(self, contact):
                self.contact, self.calls = contact, 0

            def evaluate(self, *state):
                self.calls += 1
                return self.contact.evaluate(*state)

            def __getattr__(self, name):
                return getattr(self.contact, name)

        counting = Counting(ball())
        f, x = hs.WrenchFunction(counting, touching()), np.zeros(6)
        f(x), f.jacobian(x), f.jacobians(x)
        self.assertEqual(counting.calls, 1)
        f(x, np.ones(6))
        self.assertEqual(counting.calls, 2)

    def test_both_jacobians_are_derivatives(self):
        changes = {"contact.parameters": {"stiffness": 1.4e6, "damping": 100.0, "friction": 0.3, "friction_model": "regularised",
                                          "regularisation_velocity": 0.1}}
        contact = hs.Contact.open(hs.Pair.from_yaml(BALL, backend="kelvin_voigt", set=changes))
        f = hs.WrenchFunction(contact, hs.pose((0.1, -0.2, 0.3), (0, 0, -0.0995)))
        x, v = np.array([0.02, -0.03, 0.01, 1e-5, -2e-5, 3e-5]), np.array([0.1, 0.2, -0.1, 0.05, 0.03, 0.2])
        # Central differences of 1e-6: rounding 1e-13 of the force (700 N) over 1e-6; less truncation, since the law is linear
        # and its nonlinearities, the rotation and the slip velocity, act over 1 rad and 0.1 m/s.
        steps = 1e-6 * np.eye(6)
        Jx, Jv = f.jacobians(x, v)
        np.testing.assert_allclose(Jx, np.column_stack([(f(x + s, v) - f(x - s, v)) / 2e-6 for s in steps]), atol=1e-3)
        np.testing.assert_allclose(Jv, np.column_stack([(f(x, v + s) - f(x, v - s)) / 2e-6 for s in steps]), atol=1e-3)
        self.assertGreater(abs(Jv[5, 5]), 50.0)

    @with_finite_elements
    def test_tangent_is_the_derivative(self):
        contact = hs.Contact.open(hs.Pair.from_yaml(PRESSED, set={"contact.element_size": 0.02}))
        X0 = hs.pose((0.05, -0.03, 0.02), (0, 0, -0.0988))
        f = hs.WrenchFunction(contact, X0)
        x = np.array([0.02, 0.3, -0.01, 1e-4, -5e-5, 1e-4]) * 0.2
        J = f.jacobian(x)
        # Central differences of 1e-6: truncation 1e-12 of the third derivative, which is of order J over a size of the
        # contact patch (5 mm) squared; rounding 1e-10 of the force over 1e-6.
        steps = 1e-6 * np.eye(6)
        D = np.column_stack([(f(x + s) - f(x - s)) / 2e-6 for s in steps])
        np.testing.assert_allclose(J, D, atol=2e-4 * abs(J).max())

    def test_batch_equals_single_evaluations(self):
        contact = ball()
        X = np.array([touching(d) for d in np.linspace(-1e-3, 1e-3, 21)])
        many = contact.evaluate_many(X, t=np.zeros(21))
        self.assertEqual(len(many), 21)
        np.testing.assert_array_equal(many.F, [contact.evaluate(x).F for x in X])
        np.testing.assert_array_equal(many.gap, [contact.evaluate(x).gap for x in X])
        self.assertEqual(many.rejected, {})
        self.assertEqual(contact.evaluate_many(np.empty((0, 4, 4))).F.shape, (0, 6))
        approach = (0, 0, 0, 0, 0, 0.1)
        for depth in (-0.1, 1e-5):  # the law damps once the approach velocity is stored
            contact.commit(touching(depth), approach)
        with_tangents = contact.evaluate_many(X, approach, tangents=True)
        one_by_one = [contact.evaluate(x, approach) for x in X]
        np.testing.assert_array_equal(with_tangents.dF_dX, [r.dF_dX for r in one_by_one])
        np.testing.assert_array_equal(with_tangents.dF_dV, [r.dF_dV for r in one_by_one])
        self.assertGreater(abs(with_tangents.dF_dX[-1]).max(), 1e5)
        self.assertGreater(abs(with_tangents.dF_dV[-1]).max(), 1.0)
        self.assertEqual(contact.evaluate_many(np.empty((0, 4, 4)), tangents=True).dF_dX.shape, (0, 6, 6))
        with self.assertRaisesRegex(hs.InputError, "tangents=True"):
            _ = many.dF_dX

    @with_finite_elements
    def test_many_tangents_of_finite_elements(self):
        contact = hs.Contact.open(hs.Pair.from_yaml(PRESSED, set={"contact.element_size": 0.02}))
        X = np.array([hs.pose((0.05, -0.03, 0.02), (0, 0, -0.0995 + 1e-4 * k)) for k in range(8)])
        many = contact.evaluate_many(X, tangents=True)
        one_by_one = [contact.evaluate(x) for x in X]
        np.testing.assert_array_equal(many.F, [r.F for r in one_by_one])
        np.testing.assert_array_equal(many.dF_dX, [r.dF_dX for r in one_by_one])

    @with_finite_elements
    def test_history_is_saved_and_restored(self):
        changes = {"contact.friction": 0.3, "contact.element_size": 0.03}
        contact = hs.Contact.open(hs.Pair.from_yaml(PRESSED, set=changes))
        path = [hs.pose(p=(1e-4 * k, 0, -0.099)) for k in range(4)]
        for k, X in enumerate(path[:2]):
            contact.commit(X, t=0.1 * k)
        saved = contact.save()
        first = [contact.commit(X, t=0.2 + 0.1 * k).F.copy() for k, X in enumerate(path[2:])]
        contact.restore(saved)
        np.testing.assert_array_equal([contact.commit(X, t=0.2 + 0.1 * k).F for k, X in enumerate(path[2:])], first)
        other = hs.Contact.open(hs.Pair.from_yaml(PRESSED, set=changes))
        other.restore(saved)
        np.testing.assert_array_equal(other.commit(path[2], t=0.2).F, first[0])
        self.assertGreater(abs(first[0][3]), 1.0)
        for bytes_ in (b"", b"nothing", saved[:30], saved[:-3]):
            self.assertRaises(hs.InputError, other.restore, bytes_)
        self.assertRaises(hs.InputError, ball().restore, saved)

    def test_server_gives_the_same_bits(self):
        pair = hs.Pair.from_yaml(BALL)
        with served() as address, hs.Contact.open(pair, server=address) as remote, ball() as local:
            for k in range(3):
                X, V = touching(1e-4 * (k + 1)), np.array([0, 0, 0, 0.1, 0, 0.2])
                for a, b in zip(remote.evaluate(X, V, 0.1 * k), local.evaluate(X, V, 0.1 * k)):
                    np.testing.assert_array_equal(a, b)
                np.testing.assert_array_equal(remote.commit(X, V, 0.1 * k).F, local.commit(X, V, 0.1 * k).F)
            X = np.array([touching(d) for d in (1e-5, 2e-5)])
            np.testing.assert_array_equal(remote.evaluate_many(X).F, local.evaluate_many(X).F)
            np.testing.assert_array_equal(*(c.evaluate_many(X, tangents=True).dF_dX for c in (remote, local)))
            saved = remote.save()
            local.restore(saved)
            simulation, ours = hs.Simulation(BALL, server=address), hs.Simulation(BALL)
            simulation.advance_to(0.5)
            ours.advance_to(0.5)
            np.testing.assert_array_equal(simulation.values(), ours.values())

    def test_regions_of_a_surface(self):
        pair = hs.Pair.from_yaml(KNEE)
        X = np.array([hs.pose(p=(0, -depth, 0)) for depth in (-1e-3, 2e-4, 5e-4, 4.8e-3)])  # of the femur in the tibia
        with served() as address, hs.Contact.open(pair, server=address) as remote, hs.Contact.open(pair) as local:
            for contact in (remote, local):
                self.assertEqual(contact.regions, ["medial", "lateral"])
                response = contact.evaluate(X[2])
                self.assertEqual(list(response.regions), ["medial", "lateral"])
                medial = response.regions["medial"]
                self.assertAlmostEqual(medial.mean_pressure, medial.force / medial.area, delta=1e-6)
                force = sum(r.force for r in response.regions.values())
                self.assertAlmostEqual(response.mean_pressure * response.area, force, delta=1e-9 * force)
                self.assertGreater(response.active_points, 10)
                self.assertGreater(medial.peak_pressure, medial.mean_pressure)
                self.assertLess(medial.p_cop[2], 0.0)  # of a right knee
                self.assertAlmostEqual(sum(r.area for r in response.regions.values()), response.area, delta=1e-12)
                self.assertEqual(contact.commit(X[2]).regions["medial"].force, medial.force)
                apart = contact.evaluate(X[0]).regions["lateral"]
                self.assertEqual((apart.force, apart.area, apart.mean_pressure, apart.peak_pressure), (0, 0, 0, 0))
                self.assertTrue(np.isnan(apart.p_cop).all())
            many, ours = remote.evaluate_many(X), local.evaluate_many(X)
            self.assertEqual(list(many.rejected), [3])
            np.testing.assert_array_equal(many.mean_pressure, ours.mean_pressure)
            self.assertEqual(many.mean_pressure[2], response.mean_pressure)
            self.assertTrue(np.isnan(many.mean_pressure[3]))
            for name in ("force", "area", "mean_pressure", "peak_pressure", "p_cop"):
                arrays = [getattr(answers.regions["medial"], name) for answers in (many, ours)]
                np.testing.assert_array_equal(*arrays)
                self.assertEqual(len(arrays[0]), 4)
                self.assertTrue(np.isnan(arrays[0][3]).all())
            self.assertEqual(many.regions["medial"].force[2], medial.force)
            self.assertEqual(many.regions["medial"].p_cop.shape, (4, 3))
            with self.assertRaises(AttributeError):
                medial.force = 0.0
            cop = local.evaluate(X[2]).regions["medial"].p_cop  # outlives its owners
            np.testing.assert_array_equal(cop, many.regions["medial"].p_cop[2])
        self.assertEqual(ball().evaluate(touching()).regions, {})

    def test_regions_are_columns(self):
        run = hs.run(KNEE, set={"analysis.end_time": 0.5})
        table = run.timeseries
        for ending in ("force_N", "area_m2", "mean_pressure_Pa", "peak_pressure_Pa", "copx_m", "copy_m", "copz_m"):
            self.assertIn(f"cartilage.medial.{ending}", table.columns)
        areas = [np.asarray(table[f"cartilage.{region}.area_m2"]) for region in ("medial", "lateral")]
        np.testing.assert_allclose(sum(areas), np.asarray(table["cartilage.area_m2"]), rtol=1e-12, atol=1e-15)
        self.assertGreater(areas[0][-1], 0.0)

    @with_finite_elements
    def test_fields_of_a_state(self):
        contact = hs.Contact.open(hs.Pair.from_yaml(PRESSED, set={"contact.element_size": 0.03}))
        fields = contact.fields(hs.pose(p=(0, 0, -0.099)), quantities="contact_pressure")
        self.assertEqual(list(fields.arrays), ["contact_pressure"])
        self.assertGreater(fields["contact_pressure"].max(), 0.0)
        self.assertRaisesRegex(hs.Error, "", ball().fields, touching())


class Simulations(unittest.TestCase):
    def test_intervals_equal_the_whole_run(self):
        whole, pieces = hs.Simulation(BALL), hs.Simulation(BALL)
        whole.advance_to(0.6)
        for t in (0.1, 0.45, 0.6):
            pieces.advance_to(t)
        np.testing.assert_array_equal(whole.values(), pieces.values())
        self.assertEqual(whole.state()["ball.z_m"], whole["ball.z_m"])
        self.assertEqual(whole.time, 0.6)
        self.assertIn("ball.fx_N", whole.inputs)
        self.assertTrue("ball.z_m" in whole and "ball.z" not in whole and 3 not in whole)
        self.assertIn("[m]", whole.describe("ball.z_m"))
        self.assertEqual(list(whole), whole.outputs)
        self.assertEqual(repr(dict(whole)), repr(whole.state()))  # nan does not equal itself
        self.assertEqual(len(whole), len(whole.outputs))

    def test_only_analyses_that_a_host_can_advance(self):
        balance = {"step": {"bodies": ["ball"], "force": {"expression": "300"}}}
        for analysis in ({"type": "static"}, {"type": "inverse"}, {"type": "hybrid", "balance": balance}):
            with self.subTest(analysis["type"]):
                with self.assertRaisesRegex(hs.InputError, r"expected an analysis that a host can advance in time \(forward, ") as caught:
                    hs.Simulation(BALL, set={"analysis": {"end_time": 1, **analysis}})
                self.assertRegex(str(caught.exception), f"found '{analysis['type']}'.*heelstrike.run")
                self.assertEqual((caught.exception.key, caught.exception.file), ("analysis.type", str(BALL)))
        with self.assertRaisesRegex(hs.InputError, "found 'muscle_optimization'.*heelstrike.run"):
            hs.Simulation(SOURCES / "examples/elbow_muscles.yaml")
        # The motion of a kinematic analysis follows from the drivers; without them the body would fall.
        kinematic = {"analysis": {"type": "kinematic", "end_time": 0.5}}
        with self.assertRaisesRegex(hs.InputError, "found 6 degrees of freedom"):
            hs.Simulation(mapping(), set=kinematic)
        driven = {**mapping(), **kinematic,
                  "joints": {"guide": {"type": "prismatic", "bodies": ["ground", "ball"], "point": [0, 0, 1], "axis": [0, 0, 1]}},
                  "drivers": {"push": {"joint": "guide", "displacement": {"expression": "-1.802 * t"}}}}
        simulation, run = hs.Simulation(driven), hs.run(driven)
        simulation.advance_to(0.5)
        for name in ("ball.z_m", "ball-ground.fz_N"):
            self.assertAlmostEqual(simulation[name], run.columns[name][-1], delta=1e-6 * (1 + abs(run.columns[name][-1])))

    def test_inputs_and_saved_states(self):
        simulation = hs.Simulation(BALL)
        simulation.advance_to(0.1)
        saved = simulation.save()
        simulation["ball.force"] = [2.0, 0.0, 9.81]
        simulation["ball.fx_N"] = 2.0
        with self.assertRaisesRegex(hs.InputError, "name of an input.*found 'ball.z_m'"):
            simulation["ball.z_m"] = 1.0
        simulation.advance_to(0.2)
        # Constant acceleration of 2 m/s^2 for 0.1 s, and none downwards.
        self.assertAlmostEqual(simulation["ball.vx_m_s"], 0.2, delta=1e-8)
        self.assertAlmostEqual(simulation["ball.vz_m_s"], -0.981, delta=1e-8)
        simulation.restore(saved)
        self.assertEqual(simulation.time, 0.1)
        simulation.advance_to(0.2)
        self.assertAlmostEqual(simulation["ball.vz_m_s"], -1.962, delta=1e-8)
        self.assertRaises(hs.InputError, simulation.restore, b"nothing")
        self.assertRaises(hs.InputError, hs.Simulation(BALL, set=SHORT).restore, saved)


def processor_ticks(process):
    """Hundredths of a second of CPU time of a process."""
    with open(f"/proc/{process}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


class InteractiveUse(unittest.TestCase):
    def test_ctrl_c_stops_a_run_and_keeps_its_results(self):
        """In a separate process: signals reach its main thread."""
        with tempfile.TemporaryDirectory() as folder:
            script = (f"import heelstrike as hs\n"
                      f"def report(stage, fraction, time, *rest):\n"
                      f"    if not stage and time > 2: print('under way', flush=True)\n"
                      f"hs.run({str(BALL)!r}, set={{'analysis.end_time': 1e6, 'output.interval': 1}}, output={folder + '/run'!r},"
                      f" progress=report)\n")
            child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertEqual(child.stdout.readline().strip(), "under way")
            child.send_signal(signal.SIGINT)
            _, complaint = child.communicate()
            self.assertIn("KeyboardInterrupt", complaint)
            run = hs.open_run(f"{folder}/run")
            self.assertEqual(run.status, "cancelled")
            self.assertGreater(len(run.columns), 1)

    def test_ctrl_c_ends_a_preparation_and_an_advance(self):
        for script, expected_text in [
            # Steps of a microsecond for a week, and a mesh of a foot that takes minutes.
            (f"sim = hs.Simulation({str(BALL)!r}, set={{'analysis.integrator.max_step': 1e-6}}); print(1, flush=True)\n"
             "try: sim.advance_to(2.0)\n"
             "finally:\n"
             "    assert 0 <= sim.time < 2.0; sim.save()\n"
             "    try: sim.advance_to(2.0)\n"
             "    except hs.Cancelled as refusal: print(refusal)\n", "restore a saved state"),
            (f"pair = hs.Pair.from_yaml({str(SOURCES / 'examples/foot_press.yaml')!r}, set={{'contact.element_size': 0.0021}})\n"
             "hs.Contact.open(pair, progress=lambda *news: print(*news, flush=True))\n", ""),
        ]:
            if expected_text == "" and "fem_condensed" not in hs.backends():
                continue
            child = subprocess.Popen([sys.executable, "-c", "import heelstrike as hs\n" + script], stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True)
            child.stdout.readline()
            if expected_text:
                # Certainly within the advance: the preceding code takes less than a hundredth of a second.
                before = processor_ticks(child.pid)
                while processor_ticks(child.pid) < before + 5:
                    os.sched_yield()
            child.send_signal(signal.SIGINT)
            said, complaint = child.communicate()
            self.assertIn("KeyboardInterrupt", complaint)
            self.assertIn(expected_text, said)

    def check_interrupted_batch(self, server="", computing=None):
        # Tenths of a second each: many minutes in total.
        script = (f"import heelstrike as hs, numpy as np\n"
                  f"pair = hs.Pair.from_yaml({str(PRESSED)!r}, backend='fem_full', set={{'contact.element_size': 0.03}})\n"
                  f"contact = hs.Contact.open(pair, progress=False, server={str(server)!r})\n"
                  "X = np.broadcast_to(hs.pose(p=(0, 0, -0.0985)), (2000, 4, 4)); print(1, flush=True)\n"
                  "try: contact.evaluate_many(X, tangents=True)\n"
                  "finally: print(contact.evaluate(X[0]))\n")
        child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        child.stdout.readline()
        computing = computing or child.pid
        before = processor_ticks(computing)
        while processor_ticks(computing) < before + 10:  # certainly within the batch
            os.sched_yield()
        child.send_signal(signal.SIGINT)
        said, complaint = child.communicate()
        self.assertIn("KeyboardInterrupt", complaint)
        self.assertIn("Response", said)

    @with_finite_elements
    def test_ctrl_c_ends_a_batch(self):
        self.check_interrupted_batch()

    @with_finite_elements
    def test_ctrl_c_ends_a_batch_at_a_server(self):
        """The contact remains usable for the next request: the server has stopped the batch, too."""
        with served() as address:
            self.check_interrupted_batch(address, address.process)

    def test_a_callback_that_raises_stops_the_run(self):
        def report(*news):
            raise KeyError("mine")
        self.assertRaisesRegex(KeyError, "mine", hs.run, BALL, set={"analysis.end_time": 1e6, "output.interval": 1}, progress=report)

    def test_the_bar(self):
        from heelstrike._progress import bar_text, display
        self.assertEqual(bar_text("flores", "", 0.5, 1, 2), "flores [##########          ]  50 %  1 of 2 s")
        self.assertEqual(bar_text("foot", "mesh", -1, 0, 0), "foot ...  mesh")
        self.assertIsNone(display(False, "x"))
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            self.assertIsNone(display(None, "x"))  # no terminal
            bar = display(True, "x")
            bar("", 0.5, 1.0, 2.0, 0.1)
            bar.clear()
            self.assertTrue(shown.getvalue().endswith(" \r"))  # space for a warning
            bar.close()
        self.assertIn("50 %", shown.getvalue())

    def test_public_names_are_documented_and_typed(self):
        stubs = (pathlib.Path(hs.__file__).parent / "_core.pyi").read_text()
        for kind in (hs.Contact, hs.Pair, hs.RegionLoad, hs.RegionLoads, hs.Response, hs.Responses, hs.Simulation):
            self.assertIn(f"class {kind.__name__}:", stubs)
            for name, member in vars(kind).items():
                if name.startswith("_"):
                    continue
                self.assertTrue(inspect.getdoc(member), f"{kind.__name__}.{name} has no documentation")
                self.assertIn(f"def {name}(", stubs, f"{kind.__name__}.{name} has no type")
                if callable(member) or isinstance(member, staticmethod):
                    self.assertNotIn("args", str(inspect.signature(getattr(kind, name))), name)
        for name in hs.__all__:
            self.assertTrue(inspect.getdoc(getattr(hs, name)), name)
        self.assertEqual(str(inspect.signature(hs.Contact.evaluate)), "(self, X_AB, V_AB=None, t=0.0)")
        self.assertEqual(str(inspect.signature(ball().evaluate)), "(X_AB, V_AB=None, t=0.0)")
        self.assertEqual(list(inspect.signature(hs.Contact.open).parameters), ["pair", "server", "progress", "tls", "reconnect_timeout"])
        self.assertEqual(list(inspect.signature(hs.Simulation).parameters), ["scenario", "backend", "set", "server", "progress", "tls", "reconnect_timeout"])
        self.assertTrue(inspect.getdoc(hs.Simulation).startswith("A scenario that can be stepped"))
        self.assertEqual(importlib.metadata.version("heelstrike"), hs.__version__)
        self.assertIn("rad/s", inspect.getdoc(hs.Contact.evaluate))


if __name__ == "__main__":
    unittest.main()
