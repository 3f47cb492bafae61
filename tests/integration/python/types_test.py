"""The type stubs of the package: equal to the module, and sufficient to find errors before a program runs.

Usage: types_test.py FOLDER          folder of the checker's cache
"""
import os
import pathlib
import re
import subprocess
import sys
import unittest

CALLS = pathlib.Path(__file__).with_name("typical_calls.py")


def checked(module, *arguments):
    environment = {**os.environ, "MYPYPATH": os.environ["PYTHONPATH"]}
    return subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True, env=environment)


class Types(unittest.TestCase):
    def test_stubs_are_those_of_the_module(self):
        # Attributes that pybind11's classes have by default and users do not use: their metaclass, an inherited __init__.
        allowed = pathlib.Path(FOLDER, "allowed.txt")
        allowed.write_text("heelstrike\\._core\\.[A-Za-z]+(\\.__init__)?\n")
        done = checked("mypy.stubtest", "heelstrike._core", "--ignore-missing-stub", "--allowlist", allowed)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_typical_calls(self):
        done = checked("mypy", "--strict", "--cache-dir", FOLDER, CALLS)
        found = {int(line) for line in re.findall(rf"{CALLS.name}:(\d+): error", done.stdout)}
        marked = {n for n, line in enumerate(CALLS.read_text().splitlines(), 1) if line.endswith("# wrong")}
        self.assertEqual(found, marked, done.stdout + done.stderr)

    def test_typical_calls_use_every_public_name(self):
        # So that each of them is known to a checker.
        members = subprocess.run([sys.executable, "-c", MEMBERS], capture_output=True, text=True, check=True).stdout.split()
        self.assertIn("hs.sweep", members)
        used = set(re.findall(r"\b(hs)?\.(\w+)", CALLS.read_text()))
        names = {name for _, name in used}
        self.assertEqual([m for m in members if m.rpartition(".")[2] not in names], [])


# Public names, and public members of the classes in Python; those of the module are compared with the stubs above.
MEMBERS = """import inspect, heelstrike as hs
for name in hs.__all__:
    print(f"hs.{name}")
    kind = getattr(hs, name)
    if inspect.isclass(kind) and not issubclass(kind, Exception) and not kind.__module__.endswith("._core"):
        inherited = {} if not issubclass(kind, dict) else vars(dict)
        print(*(f"{name}.{member}" for member in vars(kind) if not member.startswith("_") and member not in inherited))
"""


if __name__ == "__main__":
    if subprocess.run([sys.executable, "-c", "import mypy"], capture_output=True).returncode != 0:
        print("SKIPPED: python3-mypy is not installed: scripts/setup")
        sys.exit(77)
    FOLDER = sys.argv.pop()
    os.makedirs(FOLDER, exist_ok=True)
    unittest.main()
