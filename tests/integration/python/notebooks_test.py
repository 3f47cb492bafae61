"""Executes every notebook of examples/notebooks from its first cell to its last.

Usage: notebooks_test.py SOURCES FOLDER          the executed ones go there
"""
import os
import pathlib
import shutil
import sys

try:
    import nbformat
    from nbconvert.preprocessors import CellExecutionError, ExecutePreprocessor
except ImportError:
    print("SKIPPED: python3-nbconvert or python3-ipykernel is not installed: scripts/setup")
    sys.exit(77)


def needs_data(notebook):
    return "HEELSTRIKE_DATA" in "".join(cell.source for cell in notebook.cells)


def outputs(notebook):
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def main(sources, folder):
    examples, folder = pathlib.Path(sources, "examples"), pathlib.Path(folder)
    # A copy: nothing is written beside the examples.
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(examples, folder)
    failures = 0
    for path in sorted((folder / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        if needs_data(notebook) and not pathlib.Path(os.environ.get("HEELSTRIKE_DATA", ""), "gait_subject01").is_dir():
            print(f"{path.name}: skipped, HEELSTRIKE_DATA names no folder with gait_subject01")
            continue
        try:
            ExecutePreprocessor(timeout=300, kernel_name="python3").preprocess(notebook, {"metadata": {"path": str(path.parent)}})
        except CellExecutionError as error:
            print(f"{path.name}: {error}")
            failures += 1
            continue
        nbformat.write(notebook, path)
        # Pictures and numbers are what a notebook is for.
        pictures = sum("image/png" in output.get("data", {}) for output in outputs(notebook))
        print(f"{path.name}: {len(outputs(notebook))} outputs, {pictures} pictures")
        failures += pictures == 0
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
