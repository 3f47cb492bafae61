"""Cost of the queue of a sweep: time of a worker beside its runs, efficiency of two workers, bytes of bookkeeping.

Usage: bench_sweep.py HEELSTRIKE SCENARIO [RUNS]

Prints, for one and for two workers, the wall time from the first to the last result, the sum of the times of the runs, the
overhead of a run (both with the same clock in one sweep) and their ratio; then bytes of plan, results and workers for a run.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile


def events(folder):
    found = []
    for log in glob.glob(folder + "/results/*.jsonl"):
        with open(log, encoding="utf-8") as lines:
            found += [json.loads(line) for line in lines]
    return [event for event in found if event["event"] == "ended"]


def main(heelstrike, scenario, n="1000"):
    step = 0.5 / (int(n) - 1)
    print(f"{'workers':>8} {'runs':>6} {'wall s':>8} {'runs s':>8} {'overhead ms':>12} {'efficiency':>11} {'bytes a run':>12}")
    for workers in (1, 2):
        with tempfile.TemporaryDirectory() as scratch:
            folder = scratch + "/sweep"
            subprocess.run([heelstrike, "sweep", scenario, "--vary", f"contact.restitution=0.3:0.8:{step:.12g}", "--set",
                            "analysis.end_time=0.5", "--set", "output.interval=0.1", "--quiet", "--jobs", str(workers), "-o", folder],
                           check=True, stdout=subprocess.DEVNULL)
            ended = events(folder)
            begin = min(event["time"] - event["seconds"] for event in ended)
            wall = max(event["time"] for event in ended) - begin
            busy = sum(event["seconds"] for event in ended)
            overhead = (workers * wall - busy) / len(ended)
            size = sum(os.path.getsize(file) for place in ("plan.jsonl", "results/*", "workers/*")
                       for file in glob.glob(os.path.join(folder, place)))
            print(f"{workers:8} {len(ended):6} {wall:8.2f} {busy:8.2f} {1e3 * overhead:12.2f} {busy / (workers * wall):11.3f} "
                  f"{size / len(ended):12.0f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
