"""`heelstrike hdf5` and `run --hdf5`, read by h5py: the numbers of the run folder, bit for bit; and rejected input.

Usage: read_hdf5.py HEELSTRIKE EXAMPLES SCRATCH
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np

try:
    import h5py
except ImportError:
    print("SKIPPED: python3-h5py is not installed: scripts/setup")
    sys.exit(77)


def refused(code, words, *command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == code and words in done.stderr, (command, done.returncode, done.stderr)


def columns_and_rows(csv):
    with open(csv) as table:
        columns = table.readline().strip().split(",")
        return columns, np.array([[float(x) if x else np.nan for x in line.split(",")] for line in table])


def killed_after_a_checkpoint(run, *command):
    """Whether the run had not ended before."""
    shutil.rmtree(run, ignore_errors=True)
    process = subprocess.Popen(command)
    while not list(run.glob("checkpoints/*.ckpt")) and process.poll() is None:
        os.sched_yield()
    process.kill()
    process.wait()
    return (run / "INCOMPLETE").exists()


def in_place_of_the_csv(heelstrike, examples, scratch):
    """run --hdf5: one table replaces another, once the run is complete and not before."""
    ball = [f"{examples}/bouncing_ball.yaml", "--in-process", "--quiet", "--set", "output.checkpoint_interval=0.01"]
    run = scratch / "ball"
    subprocess.run([heelstrike, "run", *ball, "-o", run], check=True)
    columns, rows = columns_and_rows(run / "timeseries.csv")
    subprocess.run([heelstrike, "run", *ball, "-o", run, "--force", "--hdf5"], check=True)
    assert not (run / "timeseries.csv").exists()
    with h5py.File(run / "timeseries.h5") as file:
        assert list(file.attrs) == ["format", "format_version", "heelstrike", "scenario", "summary"] and list(file) == ["timeseries"]
        assert list(file["timeseries"].attrs["columns"]) == columns
        np.testing.assert_array_equal(file["timeseries"], rows)
    page = (run / "report.html").read_text()
    assert 'href="timeseries.h5"' in page and 'href="timeseries.csv"' not in page
    refused(5, "found timeseries.h5", heelstrike, "report", run)
    assert (run / "report.html").read_text() == page, "the page was made anew without its rows"
    refused(5, "neither timeseries.csv", heelstrike, "hdf5", run)

    cut = scratch / "cut"
    command = [heelstrike, "run", *ball, "-o", cut, "--hdf5"]
    assert any(killed_after_a_checkpoint(cut, *command) for _ in range(10)), "the run always ended before it was killed"
    assert (cut / "timeseries.csv").exists() and not (cut / "timeseries.h5").exists()
    subprocess.run([heelstrike, "resume", cut, "--quiet", "--in-process", "--hdf5"], check=True)
    with h5py.File(cut / "timeseries.h5") as file:
        np.testing.assert_array_equal(file["timeseries"], rows)
    assert not (cut / "timeseries.csv").exists() and not (cut / "INCOMPLETE").exists()

    failing = [heelstrike, "run", *ball, "-o", run, "--force", "--hdf5", "--set", "analysis.budget.steps=100"]
    assert subprocess.run(failing, stderr=subprocess.DEVNULL).returncode != 0
    assert (run / "timeseries.csv").exists() and not (run / "timeseries.h5").exists()


def table_of_a_sweep(heelstrike, examples, scratch):
    """The table of a sweep as columns; a failed run has NaN and its reason."""
    folder = scratch / "sweep"
    done = subprocess.run([heelstrike, "sweep", pathlib.Path(examples) / "bouncing_ball.yaml", "--vary", "contact.restitution=0.4,0.6",
                           "--vary", "analysis.budget.steps=10,100000", "--set", "analysis.end_time=0.5", "--quiet", "-o", folder],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    subprocess.run([heelstrike, "hdf5", folder], check=True, stdout=subprocess.DEVNULL)
    rows = json.loads((folder / "comparison.json").read_text())["rows"]
    with h5py.File(scratch / "sweep.h5") as file:
        assert file.attrs["format"] == "heelstrike comparison"
        table = file["table"]
        assert set(table.attrs["columns"]) == set(table)
        assert list(table["contact.restitution"]) == [0.4, 0.4, 0.6, 0.6]
        assert [text.decode() for text in table["status"]] == [row["status"] for row in rows]
        np.testing.assert_array_equal(table["max_force_N"], [np.nan if row["max_force_N"] is None else row["max_force_N"] for row in rows])
        assert np.isnan(table["max_force_N"][0]) and table["failure"][0].decode().startswith("the run took 10 steps"), table["failure"][0]


def main(heelstrike, examples, scratch):
    scratch = pathlib.Path(scratch)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    run = scratch / "run"
    subprocess.run([heelstrike, "run", f"{examples}/pressed_ball.yaml", "--in-process", "--quiet", "-o", run,
                    "--set", "analysis.end_time=0.3"], check=True)
    subprocess.run([heelstrike, "hdf5", f"{run}/"], check=True, stdout=subprocess.DEVNULL)
    with h5py.File(scratch / "run.h5") as file:
        assert file.attrs["format"] == "heelstrike run" and file.attrs["format_version"] == 1
        assert json.loads(file.attrs["summary"]) == json.loads((run / "summary.json").read_text())
        assert file.attrs["scenario"] == (run / "scenario.yaml").read_text()
        columns, rows = columns_and_rows(run / "timeseries.csv")
        assert list(file["timeseries"].attrs["columns"]) == columns
        np.testing.assert_array_equal(file["timeseries"], rows)
        ball, ground = file["fields/ball-ground_ball"], file["fields/ball-ground_ground_partner"]
        np.testing.assert_allclose(ball["time"], [0, 0.1, 0.2, 0.3])
        assert list(ball["frame"]) == [0, 1, 2, 3]
        assert len(ground["points"]) == 1 and list(ground["frame"]) == [0, 0, 0, 0]  # it does not change
        n = ball["points"].shape[1]
        assert ball["displacement"].shape == (4, n, 3) and ball["contact_pressure"].shape == (4, n)
        assert ball["contact_pressure"].attrs["unit"] == "Pa" and ball["triangles"][()].max() < n
        # Deeper is harder.
        assert np.all(np.diff(ball["contact_pressure"][()].max(axis=1)) > 0)
    refused(5, "exists", heelstrike, "hdf5", run)
    subprocess.run([heelstrike, "hdf5", run, "--force"], check=True, stdout=subprocess.DEVNULL)
    refused(5, "neither timeseries.csv nor comparison.json", heelstrike, "hdf5", scratch)
    table_of_a_sweep(heelstrike, examples, scratch)
    refused(5, "cannot be written", heelstrike, "hdf5", run, "-o", scratch / "nowhere/run.h5")
    (run / "fields/ball-ground_ball_00002.vtu").write_text("<VTKFile>")
    refused(5, "ball-ground_ball_00002.vtu", heelstrike, "hdf5", run, "--force")
    assert not list(scratch.glob("*.tmp")), "something is left behind"
    in_place_of_the_csv(heelstrike, examples, scratch)
    print("hdf5: table, fields and errors are as documented")


if __name__ == "__main__":
    main(*sys.argv[1:])
