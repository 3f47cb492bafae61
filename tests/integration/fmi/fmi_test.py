"""Units of FMI 2.0 and 3.0: made by the program, described by the rules, stepped by masters."""
import csv
import ctypes as c
import os
import pathlib
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as xml
import zipfile

SOURCES = pathlib.Path(os.environ["HEELSTRIKE_SOURCE_DIR"])
BINARIES = pathlib.Path(os.environ["HEELSTRIKE_BIN_DIR"])
BALL = SOURCES / "examples/bouncing_ball.yaml"
OK, ERROR = 0, 3

LOG3 = c.CFUNCTYPE(None, c.c_void_p, c.c_int, c.c_char_p, c.c_char_p)
LOG2 = c.CFUNCTYPE(None, c.c_void_p, c.c_char_p, c.c_int, c.c_char_p, c.c_char_p, c.c_char_p)


class Callbacks2(c.Structure):
    _fields_ = [("logger", LOG2), ("allocate", c.c_void_p), ("free", c.c_void_p), ("finished", c.c_void_p),
                ("environment", c.c_void_p)]


class Made:
    """A unit that the program has made, unpacked."""

    def __init__(self, folder, scenario, version, *options):
        self.version = version
        file = folder / f"{pathlib.Path(scenario).stem}{version}.fmu"
        subprocess.run([BINARIES / "heelstrike", "fmu", scenario, "-o", file, "--fmi", str(version), *options], check=True,
                       stdout=subprocess.DEVNULL)
        self.folder = folder / file.stem
        zipfile.ZipFile(file).extractall(self.folder)
        self.root = xml.parse(self.folder / "modelDescription.xml").getroot()
        self.identifier = self.root.find("CoSimulation").get("modelIdentifier")
        self.token = self.root.get("guid" if version == 2 else "instantiationToken")
        place = "linux64" if version == 2 else "x86_64-linux"
        self.binary = self.folder / "binaries" / place / f"{self.identifier}.so"
        self.variables = {v.get("name"): v for v in self.root.find("ModelVariables")}

    def reference(self, name):
        return int(self.variables[name].get("valueReference"))


class Instance:
    """One instance through either version of the interface."""

    def __init__(self, made, token=None, resources=None):
        self.made, self.said = made, []
        self.library = c.CDLL(str(made.binary))
        token = (token or made.token).encode()
        resources = resources or made.folder / "resources"
        if made.version == 3:
            self.log = LOG3(lambda _, status, category, text: self.said.append(text.decode()))
            start = self.library.fmi3InstantiateCoSimulation
            start.restype = c.c_void_p
            self.handle = start(b"unit", token, str(resources).encode(), False, True, False, False, None, c.c_size_t(0),
                                None, self.log, None)
        else:
            self.log = LOG2(lambda _, who, status, category, form, text: self.said.append(text.decode()))
            self.callbacks = Callbacks2(self.log, None, None, None, None)
            start = self.library.fmi2Instantiate
            start.restype = c.c_void_p
            self.handle = start(b"unit", 1, token, resources.as_uri().encode(), c.byref(self.callbacks), 0, 1)

    def call(self, name, *arguments):
        return getattr(self.library, f"fmi{self.made.version}{name}")(c.c_void_p(self.handle), *arguments)

    def start(self, **parameters):
        if self.made.version == 2:
            assert self.call("SetupExperiment", 0, c.c_double(0), c.c_double(0), 0, c.c_double(0)) == OK, self.said
        for name, value in parameters.items():
            assert self.set(name.replace("__", "."), value) == OK, self.said
        if self.made.version == 2:
            assert self.call("EnterInitializationMode") == OK, self.said
        else:
            assert self.call("EnterInitializationMode", False, c.c_double(0), c.c_double(0), False, c.c_double(0)) == OK
        assert self.call("ExitInitializationMode") == OK, self.said
        return self

    def numbers(self, verb, references, values):
        n = len(references)
        arguments = [(c.c_uint32 * n)(*references), c.c_size_t(n), values]
        return self.call(f"{verb}Real", *arguments) if self.made.version == 2 else self.call(
            f"{verb}Float64", *arguments, c.c_size_t(n))

    def set(self, name, value):
        return self.numbers("Set", [self.made.reference(name)], (c.c_double * 1)(value))

    def get(self, *names):
        values = (c.c_double * len(names))()
        status = self.numbers("Get", [self.made.reference(name) for name in names], values)
        assert status == OK, self.said
        return list(values)

    def step(self, t, h):
        if self.made.version == 2:
            return self.call("DoStep", c.c_double(t), c.c_double(h), 1)
        flags = [c.c_bool() for _ in range(3)]
        reached = c.c_double()
        return self.call("DoStep", c.c_double(t), c.c_double(h), True, *map(c.byref, flags), c.byref(reached))

    def state_bytes(self):
        word = "state" if self.made.version == 2 else "State"
        state, size = c.c_void_p(), c.c_size_t()
        assert self.call(f"GetFMU{word}", c.byref(state)) == OK, self.said
        assert self.call(f"SerializedFMU{word}Size", state, c.byref(size)) == OK
        buffer = c.create_string_buffer(size.value)
        assert self.call(f"SerializeFMU{word}", state, buffer, size) == OK
        assert self.call(f"FreeFMU{word}", c.byref(state)) == OK
        return buffer.raw

    def restore_bytes(self, raw):
        word = "state" if self.made.version == 2 else "State"
        state = c.c_void_p()
        name = "DeSerializeFMUstate" if self.made.version == 2 else "DeserializeFMUState"
        assert self.call(name, raw, c.c_size_t(len(raw)), c.byref(state)) == OK
        status = self.call(f"SetFMU{word}", state)
        assert self.call(f"FreeFMU{word}", c.byref(state)) == OK
        return status

    def free(self):
        getattr(self.library, f"fmi{self.made.version}FreeInstance")(c.c_void_p(self.handle))


class Units(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.ball = {version: Made(cls.folder, BALL, version) for version in (2, 3)}

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_description_follows_the_rules_of_the_standard(self):
        """What the schema files and the tables of causality, variability and initial say, for what units contain."""
        for version, made in self.ball.items():
            order = [child.tag for child in made.root]
            known = ["CoSimulation", "UnitDefinitions", "LogCategories", "DefaultExperiment", "ModelVariables",
                     "ModelStructure"]
            self.assertEqual(order, known)
            self.assertEqual(made.root.get("fmiVersion"), f"{version}.0")
            self.assertTrue(made.root.get("modelName"))
            self.assertRegex(made.identifier, "^[A-Za-z_][A-Za-z0-9_]*$")
            units = {unit.get("name") for unit in made.root.find("UnitDefinitions")}
            references = [int(v.get("valueReference")) for v in made.root.find("ModelVariables")]
            self.assertEqual(references, list(range(len(references))))
            self.assertEqual(len(made.variables), len(references), "names are unique")
            outputs = []
            for position, variable in enumerate(made.root.find("ModelVariables")):
                value = variable.find("Real") if version == 2 else variable
                if version == 3:
                    self.assertEqual(variable.tag, "Float64")
                causality, initial = variable.get("causality"), variable.get("initial")
                self.assertEqual(variable.get("variability"), "fixed" if causality == "parameter" else "continuous")
                # Inputs and parameters have a start value and no `initial` but exact; calculated outputs have none.
                self.assertEqual(value.get("start") is not None, causality in ("input", "parameter"))
                self.assertEqual(initial, "calculated" if causality == "output" else None)
                self.assertIn(value.get("unit"), units | {None})
                if causality == "output":
                    outputs.append(position + 1 if version == 2 else position)
            self.assertEqual([v.get("causality") for v in made.variables.values()].count("independent"), 1)
            structure = made.root.find("ModelStructure")
            if version == 2:
                listed = {part.tag: [int(u.get("index")) for u in part] for part in structure}
                self.assertEqual(listed, {"Outputs": outputs, "InitialUnknowns": outputs})
            else:
                for tag in ("Output", "InitialUnknown"):
                    self.assertEqual([int(u.get("valueReference")) for u in structure.findall(tag)], outputs)

    def test_master_in_c_gives_the_rows_of_a_run(self):
        run = self.folder / "run"
        subprocess.run([BINARIES / "heelstrike", "run", BALL, "--in-process", "--set", "output.steps=none", "-o", run],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(run / "timeseries.csv") as file:
            rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
        names = ["ball.z_m", "ball.vz_m_s", "ball-ground.fz_N", "energy.dissipated_J"]
        made = self.ball[3]
        printed = subprocess.run([BINARIES / "fmi_master", made.folder, made.identifier, made.token, "0.001", "2000",
                                  *(str(made.reference(name)) for name in names)], check=True, capture_output=True, text=True)
        stepped = [[float(x) for x in line.split(",")] for line in printed.stdout.splitlines()]
        self.assertEqual(len(stepped), 2001)
        expected = [[float(row[name]) for name in ["time_s"] + names] for row in rows]
        self.assertEqual(stepped, expected)

    def test_both_versions_give_the_same_bits(self):
        courses = []
        for made in self.ball.values():
            unit = Instance(made).start()
            course = []
            for k in range(100):
                self.assertEqual(unit.step(0.01 * k, 0.01), OK, unit.said)
                course.append(unit.get("ball.z_m", "ball.vz_m_s"))
            courses.append(course)
            unit.free()
        self.assertEqual(*courses)

    def test_inputs_act_and_parameters_are_taken(self):
        for made in self.ball.values():
            unit = Instance(made).start()
            self.assertEqual(unit.set("ball.fz_N", 9.81 + 2.0), OK)
            for k in range(10):
                self.assertEqual(unit.set("ball.fz_N", 9.81 + 2.0), OK)
                self.assertEqual(unit.step(0.01 * k, 0.01), OK, unit.said)
            z, = unit.get("ball.z_m")
            self.assertAlmostEqual(z, 1.0 + 0.5 * 2.0 * 0.1**2, delta=1e-9)
            self.assertEqual(unit.get("ball.fz_N"), [9.81 + 2.0])
            self.assertAlmostEqual(unit.get("time")[0], 0.1, delta=1e-15)
            unit.free()
            name = next(name for name in made.variables if name.endswith(".restitution"))
            heights = []
            for restitution in (0.3, 0.9):
                unit = Instance(made).start(**{name.replace(".", "__"): restitution})
                self.assertEqual(unit.get(name), [restitution])
                highest = 0.0
                for k in range(20):
                    self.assertEqual(unit.step(0.05 * k, 0.05), OK, unit.said)
                    if k >= 9:
                        highest = max(highest, unit.get("ball.z_m")[0])
                heights.append(highest)
                unit.free()
            self.assertLess(heights[0], heights[1])

    def test_states_travel_between_instances(self):
        """Serialise, restore elsewhere and step: the same bits, in flight and in contact."""
        made = self.ball[3]
        first, second = Instance(made).start(), Instance(made).start()
        h, t, n = 1e-4, 0.42, 300
        self.assertEqual(first.step(0.0, t), OK)
        for _ in range(n):
            raw = first.state_bytes()
            self.assertEqual(second.restore_bytes(raw), OK, second.said)
            for unit in (first, second):
                self.assertEqual(unit.step(t, h), OK, unit.said)
            values = [unit.get("ball.z_m", "ball.vz_m_s", "ball-ground.fz_N") for unit in (first, second)]
            self.assertEqual(*values)
            t += h
        self.assertNotEqual(second.restore_bytes(raw[:-5]), OK)
        self.assertIn("checkpoint", second.said[-1] + "checkpoint" * ("state" in second.said[-1]))
        first.free()
        second.free()

    def refused(self, unit, status, *words):
        self.assertGreaterEqual(status, ERROR)
        for word in words:
            self.assertIn(word, unit.said[-1])

    def test_mistakes_are_told_in_a_sentence(self):
        for version, made in self.ball.items():
            foreign = Instance(made, token="{0}")
            self.assertFalse(foreign.handle)
            self.assertIn("token", foreign.said[-1])
            nowhere = Instance(made, resources=self.folder)
            self.assertFalse(nowhere.handle)
            self.assertIn("scenario.yaml", nowhere.said[-1])
            unit = Instance(made)
            self.refused(unit, unit.step(0.0, 0.1), "not allowed")
            unit.start()
            self.refused(unit, unit.numbers("Get", [4711], (c.c_double * 1)()), "4711")
            self.refused(unit, unit.set("ball.z_m", 1.0), "ball.z_m", "calculated")
            self.refused(unit, unit.set("ball.fz_N", float("nan")), "ball.fz_N", "finite")
            parameter = next(name for name, v in made.variables.items() if v.get("causality") == "parameter")
            self.refused(unit, unit.set(parameter, 0.5), "fixed parameter")
            self.refused(unit, unit.step(0.5, 0.1), "stands at 0 s")
            self.refused(unit, unit.step(0.0, -0.1), "positive")
            self.refused(unit, unit.step(0.0, 100.0), "2 s")
            self.refused(unit, unit.call("GetInteger" if version == 2 else "GetInt32", None, c.c_size_t(1), None,
                                         c.c_size_t(1)), "nothing of that kind")
            self.assertEqual(unit.step(0.0, 0.1), OK, "refusals change nothing")
            unit.free()
        bad = subprocess.run([BINARIES / "heelstrike", "fmu", BALL, "--fmi", "4"], capture_output=True, text=True)
        self.assertEqual(bad.returncode, 2)


@unittest.skipUnless((BINARIES / "heelstrike-mesher").exists(), "built without finite elements")
class FiniteElements(unittest.TestCase):
    def test_unit_brings_its_compliance(self):
        with tempfile.TemporaryDirectory() as scratch:
            made = Made(pathlib.Path(scratch), SOURCES / "examples/fem_ball.yaml", 3, "--set", "contact.element_size=0.05",
                        "--set", "contact.contact_size=0.02", "--set", "analysis.end_time=0.5")
            self.assertTrue(list((made.folder / "resources/cache").glob("*.compliance")))
            unit = Instance(made).start()
            name = next(name for name in made.variables if name.endswith("peak_pressure_Pa"))
            pressures = []
            for k in range(4):
                self.assertEqual(unit.step(0.1 * k, 0.1), OK, unit.said)
            for k in range(100):  # it touches down at 0.43 s
                self.assertEqual(unit.step(0.4 + 0.001 * k, 0.001), OK, unit.said)
                pressures += unit.get(name)
            self.assertGreater(max(pressures), 0.0)
            unit.free()


if __name__ == "__main__":
    unittest.main()
