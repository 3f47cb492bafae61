"""Hosts with other libraries under the same names: another library of the family, or another build."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCES = pathlib.Path(os.environ["HEELSTRIKE_SOURCE_DIR"])
BINARIES = pathlib.Path(os.environ["HEELSTRIKE_BIN_DIR"])
LIBRARIES = BINARIES.parent / "lib"
PYTHON = BINARIES.parent / "python"

# Files that define functions with the names of the libraries that Heelstrike uses, but differ: libsundials_cvode differs
# from libsundials_cvodes. Libraries that are not installed are skipped.
TWINS = ["libsundials_cvode.so.6", "libsundials_ida.so.6", "libsundials_cvodes.so.6", "libsundials_idas.so.5",
         "libsundials_arkode.so.5", "libsundials_kinsol.so.6", "libklu.so.1", "libyaml-cpp.so.0.7", "libpugixml.so.1",
         "libgrpc_unsecure.so.29", "libprotobuf.so.32", "libhdf5_serial.so.103", "libdmumps_seq-5.5.so", "libminizip.so.1",
         # The versions of Debian 13.
         "libsundials_cvode.so.7", "libsundials_ida.so.7", "libsundials_cvodes.so.7", "libsundials_idas.so.6",
         "libsundials_arkode.so.6", "libsundials_kinsol.so.7", "libsundials_core.so.7", "libklu.so.2", "libyaml-cpp.so.0.8",
         "libhdf5_serial.so.310",
         "libopenblas.so.0", "libblas.so.3", "liblapack.so.3"]
ARKODE = """heelstrike: 1
gravity: [0, 0, -9.81]
bodies: {ball: {mass: 1, inertia: [1, 1, 1], position: [0, 0, 1]}}
analysis: {end_time: 1, integrator: {name: arkode_dirk}}
output: {interval: 0.1}
"""


def run_host(libraries, scenario, t, output, server=""):
    return subprocess.run([BINARIES / "clash_host", *libraries, "--", LIBRARIES / "libheelstrike.so", scenario, str(t), output, server],
                          capture_output=True, text=True)


class Hosts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "dirk.yaml").write_text(ARKODE)
        self.scenarios = {"cvode": (SOURCES / "examples/bouncing_ball.yaml", 0.5, "ball.z_m"),
                          "ida": (SOURCES / "examples/slider_crank_ida.yaml", 0.1, "crank.qw"),
                          "arkode": (self.folder / "dirk.yaml", 0.5, "ball.z_m")}
        if (LIBRARIES / "libheelstrike_elements.so").exists():
            self.scenarios["elements"] = (SOURCES / "examples/fem_ball.yaml", 0.002, "ball.z_m")

    def test_functions_of_the_host_are_not_called(self):
        plain = {name: run_host([], *scenario) for name, scenario in self.scenarios.items()}
        for name, done in plain.items():
            self.assertEqual(done.returncode, 0, f"{name}: {done.stderr}")
        checked = 0
        for twin in TWINS:
            # deal.II's module loads the other versions.
            names = {"cvode", "ida", "arkode"} if "sundials" in twin else {"cvode"} if re.search("klu|yaml|pugi|grpc|proto|zip", twin) else {"elements"}
            for name in sorted(names & set(self.scenarios)):
                done = run_host([twin], *self.scenarios[name])
                if done.returncode == 77:
                    continue
                self.assertEqual((done.returncode, done.stdout), (0, plain[name].stdout), f"{name} beside {twin}: {done.stderr}")
                checked += 1
        self.assertGreater(checked, 15)

    def test_all_of_them_at_once(self):
        there = [twin for twin in TWINS if run_host([twin], *self.scenarios["cvode"]).returncode != 77]
        for name, scenario in self.scenarios.items():
            done = run_host(there, *scenario)
            self.assertEqual((done.returncode, done.stdout), (0, run_host([], *scenario).stdout), f"{name}: {done.stderr}")

    @unittest.skipUnless(PYTHON.exists(), "without the Python package")
    def test_python_after_a_global_load(self):
        other = "libsundials_cvode.so." + os.environ["HEELSTRIKE_SUNDIALS"].split(".")[0]
        program = (f"import ctypes, sys; ctypes.CDLL('{other}', ctypes.RTLD_GLOBAL); "
                   "import heelstrike as hs; sim = hs.Simulation(sys.argv[1]); sim.advance_to(0.25); print(sim['ball.z_m'])")
        done = subprocess.run(["/usr/bin/python3", "-c", program, self.scenarios["cvode"][0]], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(PYTHON)})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertAlmostEqual(float(done.stdout), 1 - 9.81 * 0.25**2 / 2, delta=1e-6)

    def test_exported_and_imported_symbols(self):
        """Only the library's own names are exported, and none of SUNDIALS, KLU and pugixml is imported."""
        shown = {"libheelstrike.so": r"hs_|hs::|(typeinfo|typeinfo name|vtable) for hs::", "libheelstrike_fmu.so": "fmi[23]",
                 "libheelstrike_remote.so": "heelstrike_remote_library$"}
        for library, ours in shown.items():
            lines = subprocess.run(["nm", "-DC", LIBRARIES / library], check=True, capture_output=True, text=True).stdout.splitlines()
            defined = [line.split(maxsplit=2)[2] for line in lines if re.match(r"[0-9a-f]+ [A-Zui] ", line)]
            self.assertTrue(defined)
            self.assertEqual([name for name in defined if not re.match(ours, name)], [], library)
            wanted = [line.split(maxsplit=1)[1] for line in lines if line.strip().startswith("U ")]
            hidden = r"(CV|IDA|ARK|KIN|SUN|N_V|klu_|amd_|btf_|colamd)|pugi::"
            self.assertEqual([name for name in wanted if re.match(hidden, name)], [], library)
        # An FMU imports from its process only libraries that every process has, and versioned names.
        wanted = subprocess.run(["nm", "-DC", "--undefined-only", LIBRARIES / "libheelstrike_fmu.so"], check=True, capture_output=True,
                                text=True).stdout.splitlines()
        versioned = re.compile(r"@(GLIBC|GLIBCXX|CXXABI|GCC|OMP|OPENSSL|ZLIB|XZ)_|fmt::v\d+::|YAML::| w ")
        rest = sorted({line.split(maxsplit=1)[1] for line in wanted if not versioned.search(line)})
        self.assertEqual([name for name in rest if not re.match(r"(zlib|crc32|get_crc_table|adler32|inflate|deflate|compress|uncompress|LZ4_)", name)], [])


if __name__ == "__main__":
    sys.exit(unittest.main())
