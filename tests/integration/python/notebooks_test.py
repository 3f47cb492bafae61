"""Executes every notebook of examples/notebooks completely, and checks the displayed numbers.

Usage: notebooks_test.py SOURCES FOLDER          executed notebooks are written to FOLDER
"""
import math
import os
import pathlib
import re
import shutil
import sys

try:
    import nbformat
    from nbconvert.preprocessors import CellExecutionError, ExecutePreprocessor
    from traitlets.config import Config
except ImportError:
    print("SKIPPED: python3-nbconvert or python3-ipykernel is not installed: scripts/setup")
    sys.exit(77)


NUMBER = r"(-?[\d.]+(?:e[-+]?\d+)?)"


class Executor(ExecutePreprocessor):
    """Keeps intermediate contents of displays, which the final outputs do not contain."""

    def __init__(self, **options):
        # Sockets in the folder: another process may take a free port before the kernel does.
        super().__init__(timeout=300, startup_timeout=300, kernel_name="python3",
                         config=Config(KernelManager={"transport": "ipc"}), **options)
        self.rewritten = []

    def process_message(self, message, cell, cell_index):
        if message["msg_type"] == "update_display_data":
            self.rewritten.append(message["content"]["data"]["text/plain"])
        return super().process_message(message, cell, cell_index)


def texts(notebook):
    """Text of all its outputs."""
    return "\n".join(output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in outputs(notebook))


def first_run(said, bars):
    restitution, balance = map(float, re.search(rf"\({NUMBER}, {NUMBER}\)", said).groups())
    yield "the law of Flores reproduces its restitution, 0.5, to a tenth", 0.45 < restitution < 0.55
    yield "the energy of 9 J is conserved to a millionth", abs(balance) < 9e-6
    yield "an error is reported with its key", "restitutoin: unknown key" in said
    # A fast machine shows only some of its stages and times.
    yield "a bar shows how far a run is", any(re.fullmatch(r"bouncing_ball \[[# ]{20}\] +\d+ %  .+", bar) for bar in bars)
    yield "and is removed at the end", bars[-1] == "" and " % " not in said


def compare_backends(said, bars):
    forces = {name: float(force) for name, force in re.findall(rf"^(flores|hunt_crossley|hertz) +completed +{NUMBER}", said, re.M)}
    yield "three laws ran to their end", len(forces) == 3
# The same sphere of the same stiffness reaches the ground with the same energy; dashpots change the peak by less than 1/3.
    yield "their peaks are alike", max(forces.values()) < 1.3 * min(forces.values())
    # Energy: m g h = 2/5 K d^2.5 and F = K d^1.5.
    depth = (2.5 * 9.81 * 0.9 / 1.4e8) ** 0.4
    yield "Hertz' law has the peak of its energy", math.isclose(forces["hertz"], 1.4e8 * depth**1.5, rel_tol=1e-2)
    yield "the fields have a pressure", re.search(r"Fields\(\d+ points.*contact_pressure", said)


def fit_modulus(said, bars):
    modulus = float(re.search(rf"E = {NUMBER} MPa", said)[1])
    yield "the modulus is a few per cent below the true 2 MPa", 0.9 * 2 < modulus < 2
    depth = float(re.search(rf"{NUMBER} mm after \d+ evaluations", said)[1])
    hertz = (50 / (4 / 3 * modulus * 1e6 / (1 - 0.3**2) * math.sqrt(0.1))) ** (2 / 3)
    yield "the depth under 50 N is Hertz' to the same few per cent", math.isclose(depth, 1000 * hertz, rel_tol=0.1)


def your_own_simulator(said, bars):
    yield "two or three evaluations a step", 2 <= float(re.search(rf"{NUMBER} evaluations a step", said)[1]) <= 3


def gait_from_trc(said, bars):
    yield "the run has rows", int(re.search(r"(\d+) rows", said)[1]) > 10


def needs_data(notebook):
    return "HEELSTRIKE_DATA" in "".join(cell.source for cell in notebook.cells)


def outputs(notebook):
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def main(sources, folder):
    os.environ.pop("MPLBACKEND", None)  # the kernel's own, which stores figures
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    examples, folder = pathlib.Path(sources, "examples"), pathlib.Path(folder)
    # A copy: no file is written beside the examples.
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(examples, folder)
    failures = 0
    for path in sorted((folder / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        if needs_data(notebook) and not pathlib.Path(os.environ.get("HEELSTRIKE_DATA", ""), "gait_subject01").is_dir():
            print(f"{path.name}: skipped, HEELSTRIKE_DATA names no folder with gait_subject01")
            continue
        os.chdir(path.parent)
        executor = Executor()
        try:
            executor.preprocess(notebook, {"metadata": {"path": str(path.parent)}})
        except CellExecutionError as error:
            print(f"{path.name}: {error}")
            failures += 1
            continue
        nbformat.write(notebook, path)
        # Figures and numbers are the purpose of a notebook. Each has its checks above, under its name.
        said = texts(notebook)
        wrong = [what for what, holds in globals()[path.stem](said, executor.rewritten) if not holds]
        wrong += [f"an output is an error: {output}" for output in outputs(notebook)
                  if output.output_type == "error" or "Traceback" in output.get("text", "")]
        for what in wrong:
            print(f"{path.name}: failed: {what}\n{said}\n{executor.rewritten}")
        pictures = sum("image/png" in output.get("data", {}) for output in outputs(notebook))
        print(f"{path.name}: {len(outputs(notebook))} outputs, {pictures} pictures")
        failures += pictures == 0 or bool(wrong)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
