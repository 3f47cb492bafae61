"""What a call of Contact.evaluate costs from Python over the same call from C++: ratio and difference.

Usage: bench_python.py BUILD_FOLDER          with PYTHONPATH=BUILD_FOLDER/python
"""
import pathlib
import subprocess
import sys
import time

import numpy as np

import heelstrike as hs

CALLS, ROUNDS = 20_000, 7


def from_cpp(build, scenario):
    """[us] per call; the minimum of the rounds, least affected by machine load."""
    said = [subprocess.run([build / "bin/bench_library", scenario, str(CALLS)], check=True, capture_output=True, text=True).stdout
            for _ in range(ROUNDS)]
    return min(float(s.split()[0]) for s in said) / 1000


def from_python(scenario):
    contact = hs.Contact.open(hs.Pair.from_yaml(scenario))
    X, V = hs.pose(p=(0, 0, -0.0999)), np.zeros(6)

    def one_round():
        start = time.perf_counter()
        for _ in range(CALLS):
            F, dF_dX, dF_dV = contact.evaluate(X, V, 0.0)
        return (time.perf_counter() - start) / CALLS * 1e6

    return min(one_round() for _ in range(ROUNDS))


def main(build):
    scenario = pathlib.Path(__file__).resolve().parent.parent / "examples/bouncing_ball.yaml"
    cpp, python = from_cpp(pathlib.Path(build), scenario), from_python(scenario)
    print(f"evaluate of a point law: C++ {cpp:.2f} us, Python with three arrays {python:.2f} us, "
          f"ratio {python / cpp:.1f}, difference {python - cpp:.2f} us (target: at most 20 us)")


if __name__ == "__main__":
    main(sys.argv[1])
