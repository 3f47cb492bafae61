"""A grid of variations of one scenario: the sweep of the command line."""
from __future__ import annotations

import json
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from ._changes import assignments
from ._errors import Error, FileError, HeelstrikeWarning, InputError, RunFailed, expected, in_python, made
from ._plots import pyplot
from ._program import program
from ._progress import Progress, display
from ._run import Run, TemporaryFolder
from ._scenario import written
from ._study import Study
from ._tables import axis_label
from ._types import Path, Scenario


class Sweep(Study):
    """Runs of one scenario over a grid of values, from their folder.

    folder    of the sweep, with report.html and comparison.csv
    runs      {point: Run}, e.g. sweep.runs["restitution=0.6 stiffness=1e8"]; also those without some of their frames
    failures  {point: Error} of runs that failed; RunFailed has the partial results as `run`
    """

    def __init__(self, folder: Path) -> None:
        self.folder = pathlib.Path(folder)
        try:
            content = json.loads((self.folder / "comparison.json").read_text())
            self._rows: list[dict[str, Any]] = [_flat(row) for row in content["rows"]]
            self._index = list(content["rows"][0]["parameters"])
        except OSError as problem:
            raise FileError(f"{self.folder}: expected the folder of a sweep, found no comparison.json in it "
                            f"({problem.strerror})", code="file", file=str(folder)) from None
        except (KeyError, IndexError, TypeError, ValueError):
            raise FileError(f"{self.folder}: expected the folder of a sweep, found another comparison.json in it",
                            code="file", file=str(folder)) from None
        self._kept: TemporaryFolder | None = None  # keeps a temporary folder during the lifetime of the sweep
        super().__init__(str(content["scenario"]), {}, {})
        for row in content["rows"]:
            run = Run(self.folder / row["folder"]) if row["folder"] else None
            if run is not None and (row["failure"] is None or row["status"] == "incomplete"):
                self.runs[row["backend"]] = run
            else:
                failure = RunFailed(in_python(row["failure"] or "not started"), code="solver failed")
                failure.run = run
                self.failures[row["backend"]] = failure

    @property
    def index(self) -> list[str]:
        """Columns of the table that identify its rows: the varied keys."""
        return list(self._index)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """For each point: values of the varied keys, status, and the quantities of comparison.csv. Force, indentation, duration,
        velocity and restitution are those of the first contact; pressure and area are the peak values of the run.
        """
        return [dict(row) for row in self._rows]

    @property
    def report(self) -> pathlib.Path:
        """The page of the sweep."""
        return self.folder / "report.html"

    def plot(self, quantity: str = "max_force_N", x: str | None = None, axes: Any = None) -> Any:
        """A quantity over a varied key, one curve for each combination of the others. Returns the figure.

        quantity  key of `rows`, e.g. "peak_pressure_Pa"
        x         varied key of the horizontal axis; default: the first one
        axes      of matplotlib; default: a new figure

        Raises MissingPackage without matplotlib, and InputError for another name.
        """
        plots = pyplot("Sweep.plot()")
        x = self._index[0] if x is None else x
        for argument, name, known in (("quantity", quantity, [k for k in self._rows[0] if k not in self._index]),
                                      ("x", x, self._index)):
            if name not in known:
                raise InputError(f"{argument}: expected one of {', '.join(known)}, found {name!r}", code="invalid input",
                                 key=argument)
        others = [key for key in self._index if key != x]
        curves: dict[str, list[tuple[Any, Any]]] = {}
        for row in self._rows:
            label = ", ".join(f"{key.rpartition('.')[2]} {row[key]:g}" if isinstance(row[key], float) else str(row[key])
                              for key in others)
            curves.setdefault(label, []).append((row[x], float("nan") if row[quantity] is None else row[quantity]))
        if axes is None:
            _, axes = plots.subplots(constrained_layout=True)
        for label, points in curves.items():
            axes.plot(*zip(*points), marker="o", label=label)
        axes.set(xlabel=x, ylabel=axis_label([quantity]), title=self.scenario)
        if others:
            axes.legend()
        return axes.figure


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of comparison.json as a row of the table; name, folder and failure are those of its Run."""
    return {**row["parameters"], **{key: value for key, value in row.items()
                                    if key not in ("parameters", "backend", "folder", "failure")}}


def _variations(vary: Any) -> list[str]:
    """["KEY=VALUE,VALUE", ...] or ["KEY=FROM:TO:STEP", ...], as for --vary."""
    if not isinstance(vary, Mapping):
        return assignments(vary, "vary")
    texts = []
    for key, values in vary.items():
        if isinstance(values, str):
            texts.append(f"{key}={values}")
            continue
        if not isinstance(values, Iterable):
            raise expected(f"vary: {key}", "values, or a text FROM:TO:STEP", values)
        # Each value as in `set`; those of lists and mappings would contain the separator.
        texts_of_key = [text.partition("=")[2] for value in values for text in assignments({key: value}, "vary")]
        for text in texts_of_key:
            if "," in text:
                raise InputError(f"vary: {key}: expected numbers, flags or texts without commas, found {text}",
                                 code="invalid input", key=str(key))
        texts.append(f"{key}={','.join(texts_of_key)}")
    return texts


class _Process:
    """The command `heelstrike sweep`, with its progress and its warnings. Ctrl-C is forwarded once: it stops the runs with
    checkpoints, from which the same call continues.
    """

    def __init__(self, arguments: list[str], bar: Any) -> None:
        self.arguments, self.bar, self.messages = arguments, bar, []  # type: list[str], Any, list[str]
        self.started = time.monotonic()

    def run(self) -> tuple[int, str]:
        """Exit code and standard output."""
        with tempfile.TemporaryFile("w+") as out:
            # A session of its own: a terminal sends Ctrl-C to all processes of this one.
            with subprocess.Popen([str(program()), "sweep", *self.arguments, "--json"], stdout=out, stderr=subprocess.PIPE,
                                  text=True, errors="replace", start_new_session=True) as process:
                try:
                    self._read(process)
                except BaseException:
                    process.send_signal(signal.SIGINT)
                    process.communicate()
                    raise
            out.seek(0)
            return process.returncode, out.read()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        for line in process.stderr:
            state = re.match(r"(\d+) of (\d+) runs", line)
            if state is None:
                self._message(line.strip())
            elif self.bar is not None:
                done, of = map(float, state.groups())
                self.bar(line.strip(), done / of, done, of, time.monotonic() - self.started)

    def _message(self, line: str) -> None:
        self.messages.append(line)
        level, _, text = line.removeprefix("heelstrike: ").partition(": ")
        if level == "warning":
            warnings.warn(in_python(text), HeelstrikeWarning, stacklevel=5)

    def error(self, code: int, out: str, scenario: str) -> Error:
        """The error of a command that gave no results."""
        try:
            found = json.loads(out)["error"]
        except (KeyError, TypeError, ValueError):
            found = {"code": "invalid input" if code == 2 else "internal",
                     "message": "\n".join(self.messages) or f"the sweep ended with exit code {code}", "field": ""}
        key = "" if found["field"] == scenario else found["field"]
        return made(found["code"], found["message"], scenario, 0, key, False)


def sweep(scenario: Scenario, vary: Mapping[str, Any] | Iterable[str], *, backend: str | None = None,
          set: Mapping[str, Any] | Iterable[str] | None = None, output: Path | None = None, jobs: int | None = None,
          progress: bool | Progress | None = None, client: Any = None) -> Sweep:
    """Runs a scenario for every combination of the values of some keys, several runs at a time.

        sweep = hs.sweep("ball.yaml", {"contact.restitution": [0.4, 0.6, 0.8], "contact.stiffness": "1e8:3e8:1e8"})
        sweep.table                                   # one row for each run
        sweep.to_xarray()["max_force_N"]              # a grid with the dimensions of the keys

    scenario   as in run(). In a mapping, names of existing files are relative to the current folder
    vary       {"KEY": values}, values as in `set` or the text "FROM:TO:STEP"; or texts "KEY=FROM:TO:STEP", "KEY=VALUE,VALUE"
    backend, set  changes of all runs, as in run()
    output     folder of the sweep; default: a temporary folder that is removed with the Sweep. The same call with the folder
               of an earlier sweep keeps its complete runs, resumes interrupted ones, and repeats those that failed
    jobs       number of workers; default: one for each processor, with a client one for each of its workers
    progress   as in run(); the stage is the number of runs, time and end_time are the numbers of ended runs and of all runs
    client     dask.distributed.Client whose workers compute the runs: this package is installed there too, and they see
               the scenario and `output` at the same paths

    The command `heelstrike sweep` computes it: folder, table and bits of the results are the same, and `heelstrike resume`
    continues it. Ctrl-C stops the runs cleanly. A run that fails is in `failures`. Raises its error when all fail;
    InputError for a key, a value or the scenario.
    """
    if jobs is not None and (not isinstance(jobs, int) or isinstance(jobs, bool) or jobs < 1):
        raise InputError(f"jobs: expected a whole number from 1, found {jobs!r}", code="invalid input", key="jobs")
    variations = _variations(vary)
    if not variations:
        raise InputError("vary: expected at least one key with its values, found none", code="invalid input", key="vary")
    kept = TemporaryFolder() if output is None else None
    folder = pathlib.Path(output) if kept is None else kept.path / "sweep"  # type: ignore[arg-type]
    arguments = [str(_file(scenario, folder)), "-o", str(folder)]
    for text in variations:
        arguments += ["--vary", text]
    for text in assignments(set):
        arguments += ["--set", text]
    arguments += [] if backend is None else ["--backend", backend]
    arguments += [] if jobs is None else ["--jobs", str(jobs)]
    bar = display(progress, "sweep")
    process = _Process(arguments, bar)
    try:
        if client is not None:
            _compute_by_dask(client, arguments, folder, jobs)
        code, out = process.run()  # after a client: what its workers left, and the tables
    finally:
        if bar is not None:
            bar.close()
    if code not in (0, 3, 7) or '"rows"' not in out:
        if code == 130:
            raise KeyboardInterrupt
        raise process.error(code, out, "" if isinstance(scenario, Mapping) else str(scenario))
    done = Sweep(folder)
    done._kept = kept
    for run in (*done.runs.values(), *(error.run for error in done.failures.values() if isinstance(error, RunFailed))):
        if run is not None:
            run._kept = kept
    if not done.runs:
        raise next(iter(done.failures.values()))
    return done


def _work(folder: str) -> int:
    """A worker of the sweep on this machine, until all runs have ended. Returns its exit code."""
    return subprocess.run([str(program()), "sweep", "--worker", folder], check=False).returncode


def _compute_by_dask(client: Any, arguments: list[str], folder: pathlib.Path, jobs: int | None) -> None:
    process = _Process([*arguments, "--on", "none"], None)
    code, _ = process.run()
    if code != 0:
        return  # the command without a client reports the error
    n_workers = jobs or max(1, len(client.scheduler_info()["workers"]))
    futures = [client.submit(_work, str(folder.resolve()), pure=False) for _ in range(n_workers)]
    try:
        client.gather(futures, errors="skip")
    except BaseException:
        client.cancel(futures)
        raise


def _file(scenario: Scenario, folder: pathlib.Path) -> pathlib.Path:
    """The file of a scenario; that of a mapping is written into the folder."""
    if not isinstance(scenario, Mapping):
        try:
            return pathlib.Path(scenario)
        except TypeError:
            raise expected("scenario", "the path of a file, or a mapping", scenario) from None
    _, text, files = written(scenario, absolute=True)
    file = folder / "scenario.yaml"
    for name, content in {"scenario.yaml": text.encode(), **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return file


def open_sweep(folder: Path) -> Sweep:
    """The results of an existing sweep, e.g. of `heelstrike sweep` in a terminal. Raises FileError."""
    return Sweep(folder)
