"""Integrators of other programs use the contact of Heelstrike: the examples of examples/python."""
import importlib.util
import os
import pathlib
import shutil
import unittest

EXAMPLES = pathlib.Path(os.environ["HEELSTRIKE_SOURCE_DIR"]) / "examples/python"


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class ForeignCodes(unittest.TestCase):
    def test_scipy_integrates_a_ball(self):
        if importlib.util.find_spec("scipy") is None:
            self.skipTest("python3-scipy is not installed: scripts/setup")
        height, velocity = example("scipy_ball").main()
        self.assertLess(height, 1e-6)
        self.assertLess(velocity, 1e-6)

    def test_mujoco_integrates_a_foot(self):
        if not pathlib.Path("/usr/include/mujoco/mujoco.h").exists() or shutil.which("cc") is None:
            self.skipTest("libmujoco-dev or a C compiler is not installed: scripts/setup")
        distance, turn = example("mujoco_foot").main()
        self.assertLess(distance, 1e-6)
        self.assertLess(turn, 1e-6)

    def test_automatic_differentiation_of_a_bounce(self):
        leaves, automatic, by_differences = example("automatic_differentiation").main()
        self.assertTrue(1.0 < leaves < 2.0)  # the dashpot dissipates some of it
        # Differences of 1e-5 of numbers that 400 steps round to 1e-14 each at worst.
        self.assertAlmostEqual(automatic, by_differences, delta=1e-6)


if __name__ == "__main__":
    unittest.main()
