"""FMUs of FMI 2.0 and 3.0: exported by the program, checked against the rules, stepped by masters."""
import _ctypes
import contextlib
import copy
import csv
import ctypes as c
import math
import multiprocessing
import os
import pathlib
import platform
import shutil
import subprocess
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree as xml
import zipfile

from description_rules import broken_rules

SOURCES = pathlib.Path(os.environ["HEELSTRIKE_SOURCE_DIR"])
BINARIES = pathlib.Path(os.environ["HEELSTRIKE_BIN_DIR"])
BALL = SOURCES / "examples/bouncing_ball.yaml"
OK, ERROR = 0, 3

LOG3 = c.CFUNCTYPE(None, c.c_void_p, c.c_int, c.c_char_p, c.c_char_p)
UPDATE3 = c.CFUNCTYPE(None, c.c_void_p, c.c_double, c.c_bool, c.c_bool, c.c_bool, c.c_bool, c.POINTER(c.c_bool),
                      c.POINTER(c.c_double))
LOG2 = c.CFUNCTYPE(None, c.c_void_p, c.c_char_p, c.c_int, c.c_char_p, c.c_char_p, c.c_char_p)


# 1 kg on a spring of 100 N/m, 0.1 m beyond its natural length.
SPRING = """heelstrike: 1
gravity: [0, 0, 0]
bodies:
  mass: {mass: 1.0, inertia: [1, 1, 1], position: [1.1, 0, 0]}
forces:
  spring: {type: spring_damper, bodies: [ground, mass], points: [[0, 0, 0], [0, 0, 0]], stiffness: 100, length: 1.0}
analysis: {end_time: 1.0, integrator: {name: cvode_index1, rtol: 1.0e-10}}
output: {interval: 0.01}
"""


# Two bars that swing in space, with all kinds of reactions; the ball beside them rests on the ground.
BARS = """heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  upper: {mass: 1.0, inertia: [0.08, 0.09, 0.01], position: [0.5, 0, 0]}
  lower: {mass: 2.0, inertia: [0.18, 0.20, 0.02], position: [1.0, 0.5, 0]}
  ball: {mass: 1.0, inertia: [0.1, 0.1, 0.1], position: [3, 0, 0.0999]}
joints:
  shoulder: {type: spherical, bodies: [ground, upper], point: [0, 0, 0], reactions: true}
  elbow: {type: revolute, bodies: [upper, lower], point: [1, 0, 0], axis: [0, 0, 1], reactions: true}
contact:
  ball-ground:
    main: {body: ball, surface: {sphere: {radius: 0.1}}}
    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}
    backend: hunt_crossley
    parameters: {stiffness: 1.0e7, restitution: 0.5, friction: 0.4}
analysis: {end_time: 1.0, integrator: {name: cvode_index1, rtol: 1.0e-9}}
output: {interval: 0.01, accelerations: true}
"""


# A spinning ball that is pressed into the ground and slips, and a tumbling mass on a relaxing spring.
PRESSED = """heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  ball: {mass: 1.0, inertia: [0.004, 0.005, 0.006], position: [0, 0, 0.0995], velocity: [0.3, 0.1, -0.2], angular_velocity: [3, -2, 1]}
  mass: {mass: 2.0, inertia: [0.03, 0.05, 0.04], position: [2, 0, 0.5], velocity: [0.1, -0.2, 0.3], angular_velocity: [1, 2, -3]}
forces:
  relaxing: {type: viscoelastic_spring, bodies: [ground, mass], point: [1, 0, 0.5], second_point: [1.9, 0.1, 0.6], length: 0.8,
    stiffness: 100, damping: 2, branch_stiffnesses: [50, 30], relaxation_times: [0.1, 0.5]}
contact:
  ball-ground:
    main: {body: ball, surface: {sphere: {radius: 0.1}}}
    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}
    backend: hunt_crossley
    parameters: {stiffness: 1.0e7, restitution: 0.5, friction: 0.4, friction_model: regularised, regularisation_velocity: 0.1}
analysis: {end_time: 1.0, integrator: {name: cvode_index1, rtol: 1.0e-9}}
output: {interval: 0.01, accelerations: true}
"""


# A driven arm presses a ball on a free joint into the ground, and a driven slider keeps its spring.
DRIVEN = """heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  arm: {mass: 1.0, inertia: [0.01, 0.08, 0.09], position: [0.5, 0, 0.2]}
  rod: {mass: 0.5, inertia: [0.004, 0.005, 0.006], position: [1.3, 0, 0.099]}
  slider: {mass: 2.0, inertia: [0.18, 0.20, 0.02], position: [2, 0, 0.5]}
joints:
  shoulder: {type: revolute, bodies: [ground, arm], point: [0, 0, 0.2], axis: [0, 1, 0], reactions: true}
  elbow: {type: revolute, bodies: [arm, rod], point: [1, 0, 0.2], axis: [0, 1, 0], reactions: true}
  guide: {type: prismatic, bodies: [ground, slider], point: [2, 0, 0.5], axis: [1, 0, 0.5], reactions: true}
drivers:
  motor: {joint: shoulder, angle: {polynomial: [0, 0.1]}}
  push: {joint: guide, displacement: {polynomial: [0.02, 0.2]}}
forces:
  spring: {type: spring_damper, bodies: [rod, slider], points: [[0, 0, 0.1], [0, 0, 0]], stiffness: 200, damping: 3, length: 0.7}
contact:
  ball-ground:
    main: {body: rod, surface: {sphere: {radius: 0.1}}}
    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}
    backend: hunt_crossley
    parameters: {stiffness: 3.0e5, restitution: 0.5, friction: 0.4, friction_model: regularised, regularisation_velocity: 0.1}
analysis: {end_time: 1.0, integrator: {name: cvode_index1, rtol: 1.0e-9}}
output: {interval: 0.01, accelerations: true}
"""


# A slider whose position is a function of time.
TIMED = """heelstrike: 1
gravity: [0, 0, 0]
bodies:
  slider: {mass: 2.0, inertia: [0.18, 0.20, 0.02], position: [0, 0, 0]}
joints:
  guide: {type: prismatic, bodies: [ground, slider], point: [0, 0, 0], axis: [1, 0, 0]}
drivers:
  push: {joint: guide, displacement: {expression: "0.02 + 0.01*sin(3*t)"}}
analysis: {end_time: 1.0, integrator: {name: cvode_index1, rtol: 1.0e-9}}
output: {interval: 0.01}
"""


class Callbacks2(c.Structure):
    _fields_ = [("logger", LOG2), ("allocate", c.c_void_p), ("free", c.c_void_p), ("finished", c.c_void_p),
                ("environment", c.c_void_p)]


class Made:
    """An FMU exported by the program, unpacked."""

    def __init__(self, folder, scenario, version, *options):
        self.version = version
        kind = "".join("_" + option[2:] for option in ("--contact", "--model-exchange") if option in options)
        file = folder / f"{pathlib.Path(scenario).stem}{kind}{version}.fmu"
        subprocess.run([BINARIES / "heelstrike", "fmu", scenario, "-o", file, "--fmi", str(version), *options], check=True,
                       stdout=subprocess.DEVNULL)
        self.folder = folder / file.stem
        zipfile.ZipFile(file).extractall(self.folder)
        self.root = xml.parse(self.folder / "modelDescription.xml").getroot()
        assert broken_rules(self.root) == [], broken_rules(self.root)
        self.is_exchange = "--model-exchange" in options
        self.kind = self.root.find("ModelExchange" if self.is_exchange else "CoSimulation")
        self.identifier = self.kind.get("modelIdentifier")
        self.token = self.root.get("guid" if version == 2 else "instantiationToken")
        tuple_of = f"{platform.machine()}-linux"
        place = "linux64" if version == 2 and tuple_of == "x86_64-linux" else tuple_of
        self.binary = self.folder / "binaries" / place / f"{self.identifier}.so"
        self.variables = {v.get("name"): v for v in self.root.find("ModelVariables")}

    def reference(self, name):
        return int(self.variables[name].get("valueReference"))


class Instance:
    """One instance through either version of the interface."""

    def __init__(self, made, token=None, resources=None, event_mode=False, early=False, update=None, intermediate=()):
        """update(t, may_return) is called at steps inside a communication step; its return value is the time to end at."""
        self.made, self.said, self.event_mode = made, [], event_mode
        self.library = c.CDLL(str(made.binary))
        token = (token or made.token).encode()
        resources = resources or made.folder / "resources"
        if made.version == 3:
            self.log = LOG3(lambda _, status, category, text: self.said.append(text.decode()))
            if made.is_exchange:
                start = self.library.fmi3InstantiateModelExchange
                start.restype = c.c_void_p
                self.handle = start(b"unit", token, str(resources).encode(), False, True, None, self.log)
                return
            start = self.library.fmi3InstantiateCoSimulation
            start.restype = c.c_void_p

            def on_update(_, t, set_requested, get_allowed, finished, may_return, early_return, when):
                assert (set_requested, get_allowed, finished) == (False, True, True)
                end = update(t, may_return)
                if end is not None:
                    early_return[0], when[0] = True, end

            self.update = UPDATE3(on_update) if update else None
            references = (c.c_uint32 * len(intermediate))(*intermediate)
            self.handle = start(b"unit", token, str(resources).encode(), False, True, event_mode, early, references,
                                c.c_size_t(len(intermediate)), None, self.log, self.update)
        else:
            self.log = LOG2(lambda _, who, status, category, form, text: self.said.append(text.decode()))
            self.callbacks = Callbacks2(self.log, None, None, None, None)
            start = self.library.fmi2Instantiate
            start.restype = c.c_void_p
            self.handle = start(b"unit", 0 if made.is_exchange else 1, token, resources.as_uri().encode(), c.byref(self.callbacks), 0, 1)

    def call(self, name, *arguments):
        return getattr(self.library, f"fmi{self.made.version}{name}")(c.c_void_p(self.handle), *arguments)

    def experiment(self, start, stop=None):
        """Enters the initialisation; returns the status of the call that sets the times."""
        times = [c.c_double(start), stop is not None, c.c_double(stop or 0.0)]
        if self.made.version == 3:
            return self.call("EnterInitializationMode", False, c.c_double(0), *times)
        return self.call("SetupExperiment", 0, c.c_double(0), *times) or self.call("EnterInitializationMode")

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

    def texts(self, verb, references, values):
        n = len(references)
        count = [c.c_size_t(n)] * (self.made.version == 3)
        return self.call(f"{verb}String", (c.c_uint32 * n)(*references), c.c_size_t(n), (c.c_char_p * n)(*values), *count)

    def at(self, server):
        """Address of the server that computes its contacts."""
        assert self.texts("Set", [self.made.reference("server")], [server.encode()]) == OK, self.said
        return self

    def server(self):
        value, references = (c.c_char_p * 1)(), (c.c_uint32 * 1)(self.made.reference("server"))
        one = c.c_size_t(1)
        assert self.call("GetString", references, one, value, *[one] * (self.made.version == 3)) == OK, self.said
        return value[0].decode()

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

    # Of model exchange.
    def update(self):
        """`restart` is then whether the integrator has to restart."""
        if self.made.version == 2:
            info = (c.c_int * 8)(*[1] * 8)  # five flags, padding, and the time of the next event
            status = self.call("NewDiscreteStates", info)
            flags = [bool(flag) for flag in info[:5]]
        else:
            reported = [c.c_bool(True) for _ in range(5)]
            status = self.call("UpdateDiscreteStates", *map(c.byref, reported), c.byref(c.c_double()))
            flags = [flag.value for flag in reported]
        self.restart = flags.pop(3)  # values of continuous states have changed
        assert status != OK or not any(flags), flags
        return status

    def continuous(self):
        assert self.update() == OK, self.said
        assert self.call("EnterContinuousTimeMode") == OK, self.said
        return self

    def vector(self, name, n):
        values = (c.c_double * n)()
        assert self.call(f"Get{name}", values, c.c_size_t(n)) == OK, self.said
        return list(values)

    def rates(self, t, x):
        assert self.call("SetTime", c.c_double(t)) == OK, self.said
        assert self.call("SetContinuousStates", (c.c_double * len(x))(*x), c.c_size_t(len(x))) == OK, self.said
        return self.vector("Derivatives" if self.made.version == 2 else "ContinuousStateDerivatives", len(x))

    def runge_kutta(self, t, x, h):
        a = self.rates(t, x)
        b = self.rates(t + h / 2, [p + h / 2 * d for p, d in zip(x, a)])
        e = self.rates(t + h / 2, [p + h / 2 * d for p, d in zip(x, b)])
        f = self.rates(t + h, [p + h * d for p, d in zip(x, e)])
        x = [p + h / 6 * (i + 2 * j + 2 * k + m) for p, i, j, k, m in zip(x, a, b, e, f)]
        self.rates(t + h, x)
        return x

    def complete(self):
        flags = (c.c_int(1), c.c_int(1)) if self.made.version == 2 else (c.c_bool(True), c.c_bool(True))
        status = self.call("CompletedIntegratorStep", True, c.byref(flags[0]), c.byref(flags[1]))
        assert not flags[1].value
        self.wants_event = bool(flags[0].value)
        return status

    def early_step(self, t, h):
        """Of FMI 3.0. Returns whether there is an event to handle, whether it was early, and the time reached."""
        event, terminate, early, reached = c.c_bool(), c.c_bool(), c.c_bool(), c.c_double()
        status = self.call("DoStep", c.c_double(t), c.c_double(h), True, c.byref(event), c.byref(terminate),
                           c.byref(early), c.byref(reached))
        assert status == OK and not terminate.value, self.said
        return event.value, early.value, reached.value

    def derivative(self, kind, unknowns, knowns, seed):
        n_result = len(unknowns) if kind == "Directional" else len(knowns)
        result, seed = (c.c_double * n_result)(), (c.c_double * len(seed))(*seed)
        lists = []
        for names in (unknowns, knowns):
            lists += [(c.c_uint32 * len(names))(*map(self.made.reference, names)), c.c_size_t(len(names))]
        counts = self.made.version == 3
        arguments = [*lists, seed] + [c.c_size_t(len(seed))] * counts + [result] + [c.c_size_t(n_result)] * counts
        return self.call(f"Get{kind}Derivative", *arguments), list(result)

    def state_bytes(self):
        word = "state" if self.made.version == 2 else "State"
        state, size = c.c_void_p(), c.c_size_t()
        assert self.call(f"GetFMU{word}", c.byref(state)) == OK, self.said
        assert self.call(f"SerializedFMU{word}Size", state, c.byref(size)) == OK
        buffer = c.create_string_buffer(size.value)
        assert self.call(f"SerializeFMU{word}", state, buffer, size) == OK
        assert self.call(f"FreeFMU{word}", c.byref(state)) == OK
        return buffer.raw

    def deserialize(self, raw):
        """Status and state."""
        state = c.c_void_p()
        name = "DeSerializeFMUstate" if self.made.version == 2 else "DeserializeFMUState"
        return self.call(name, raw, c.c_size_t(len(raw)), c.byref(state)), state

    def restore_bytes(self, raw):
        word = "state" if self.made.version == 2 else "State"
        deserialized, state = self.deserialize(raw)
        if deserialized != OK:
            return deserialized
        status = self.call(f"SetFMU{word}", state)
        assert self.call(f"FreeFMU{word}", c.byref(state)) == OK
        return status

    def free(self):
        getattr(self.library, f"fmi{self.made.version}FreeInstance")(c.c_void_p(self.handle))


@contextlib.contextmanager
def served(*options):
    """A separate fem_server; returns its address."""
    with tempfile.TemporaryDirectory() as folder:
        address = f"unix:{folder}/fem.sock"
        reader, writer = os.pipe()
        server = subprocess.Popen([BINARIES / "fem_server", "--listen", address, "--cache-dir", folder, *options, "--ready-fd",
                                   str(writer)], pass_fds=[writer], stderr=subprocess.DEVNULL, cwd=folder)
        os.close(writer)
        with open(reader) as ready:
            ready.readline()
        try:
            yield address
        finally:
            server.terminate()
            server.wait()


class Units(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.ball = {version: Made(cls.folder, BALL, version) for version in (2, 3)}
        (cls.folder / "spring.yaml").write_text(SPRING)
        cls.spring = {version: Made(cls.folder, cls.folder / "spring.yaml", version) for version in (2, 3)}
        cls.equations = {version: Made(cls.folder, BALL, version, "--model-exchange") for version in (2, 3)}
        cls.contact = {version: Made(cls.folder, BALL, version, "--contact", "ball-ground") for version in (2, 3)}

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_exported_fmus_act_inside_a_scenario(self):
        """Contacts of both versions as forces in one process of the project's programs, checked in process and run by a server:
        both bodies rise to the plane above them alike and rebound, wherever the contact is computed."""
        with served() as address:
            self.check_exported_fmus(address)

    def check_exported_fmus(self, address):
        text = "heelstrike: 1\ngravity: [0, 0, 9.81]\nbodies:\n"
        for version in self.contact:
            text += f"  body{version}: {{mass: 1.0, inertia: [0.1, 0.1, 0.1], position: [{version}, 0, -0.11]}}\n"
        text += "forces:\n"
        for version, made in self.contact.items():
            text += (f"  contact{version}:\n    {{type: fmu, file: {made.folder.name}.fmu, step: 1.0e-4,\n"
                     f"     inputs: [{{variable: z_m, column: body{version}.z_m}}, {{variable: vz_m_s, column: body{version}.vz_m_s}}],\n"
                     f"     outputs: [{{variable: fz_N, body: body{version}, component: fz, scale: -1}}]")
            text += f",\n     parameters: [{{variable: server, value: \"{address}\"}}]}}\n" if version == 3 else "}\n"
        text += "analysis: {type: forward, end_time: 0.1}\noutput: {interval: 1.0e-3}\n"
        scenario = self.folder / "own_units.yaml"
        scenario.write_text(text)
        for command in (["validate", scenario], ["run", scenario, "-o", self.folder / "own_units"]):
            done = subprocess.run([BINARIES / "heelstrike", *command], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.folder / "own_units/timeseries.csv") as table:
            rows = list(csv.DictReader(table))
        for quantity in ("z_m", "vz_m_s"):
            self.assertEqual([row[f"body2.{quantity}"] for row in rows], [row[f"body3.{quantity}"] for row in rows])
        speeds = [float(row["body2.vz_m_s"]) for row in rows]
        self.assertGreater(max(speeds), 0.3)
        self.assertLess(min(speeds), 0.0)

    def test_description_follows_the_rules_of_the_standard(self):
        """Rules of the schema files and of the tables of causality, variability and initial, for the exported content."""
        for version, made in [*self.ball.items(), *self.contact.items(), *self.spring.items(), *self.equations.items()]:
            order = [child.tag for child in made.root]
            known = [made.kind.tag, "UnitDefinitions", "TypeDefinitions", "LogCategories", "DefaultExperiment",
                     "ModelVariables", "ModelStructure"]
            self.assertEqual(order, known)
            self.assertEqual(made.root.get("fmiVersion"), f"{version}.0")
            self.assertTrue(made.root.get("modelName"))
            self.assertRegex(made.identifier, "^[A-Za-z_][A-Za-z0-9_]*$")
            units = {unit.get("name"): unit.find("BaseUnit").attrib for unit in made.root.find("UnitDefinitions")}
            for name, powers in [("N", "kg m s-2"), ("J", "kg m2 s-2"), ("W", "kg m2 s-3"), ("Pa", "kg m-1 s-2"),
                                 ("m/s^2", "m s-2"), ("rad/s", "rad s-1"), ("N m", "kg m2 s-2"), ("N s/m", "kg s-1")]:
                if name in units:
                    self.assertEqual({k + v.replace("1", "", v == "1") for k, v in units[name].items()}, set(powers.split()))
            references = [int(v.get("valueReference")) for v in made.root.find("ModelVariables")]
            self.assertEqual(references, list(range(len(references))))
            self.assertEqual(len(made.variables), len(references), "names are unique")
            types = {}  # their units, by name
            for declared in made.root.find("TypeDefinitions"):
                self.assertEqual(declared.tag, "SimpleType" if version == 2 else "Float64Type")
                types[declared.get("name")] = (declared.find("Real") if version == 2 else declared).get("unit")
            self.assertTrue(set(types.values()) <= set(units))
            self.assertFalse(set(types) & set(made.variables), "names of types are not those of variables")
            outputs = []
            for position, variable in enumerate(made.root.find("ModelVariables")):
                if variable.get("name") == "server":
                    text = variable.find("String") if version == 2 else variable
                    start = text.get("start") if version == 2 else text.find("Start").get("value")
                    self.assertEqual((text.tag, start), ("String", ""))
                    self.assertEqual([variable.get(k) for k in ("causality", "variability", "initial")], ["parameter", "fixed", None])
                    continue
                value = variable.find("Real") if version == 2 else variable
                if version == 3:
                    self.assertEqual(variable.tag, "Float64")
                causality, initial = variable.get("causality"), variable.get("initial")
                self.assertIn(variable.get("variability"), ("fixed", "tunable") if causality == "parameter" else ("continuous",))
                # Inputs and parameters have a start value and no `initial` but exact; calculated outputs have none.
                self.assertEqual(value.get("start") is not None, causality in ("input", "parameter"))
                self.assertEqual(initial, "calculated" if causality in ("output", "local") else None)
                self.assertIn(value.get("unit"), {*units, None})
                if variable.get("name") == "contact.ball-ground.stiffness":  # with a fractional power
                    self.assertTrue(variable.get("description").endswith("[N/m^n]") and value.get("unit") is None)
                elif causality != "parameter":
                    self.assertFalse(variable.get("description").endswith("]"))
                if value.get("declaredType") is not None:
                    self.assertEqual(types[value.get("declaredType")], value.get("unit"))
                if causality == "parameter":
                    start = float(value.get("start"))
                    self.assertLessEqual(float(value.get("min", "-inf")), start)
                    self.assertLessEqual(start, float(value.get("max", "inf")))
                if causality == "output":
                    outputs.append(position + 1 if version == 2 else position)
            self.assertEqual([v.get("causality") for v in made.variables.values()].count("independent"), 1)
            self.assertEqual("server" in made.variables, made not in self.spring.values(), "where there are contacts")
            tunable = [v.get("name") for v in made.variables.values() if v.get("variability") == "tunable"]
            is_spring = made in self.spring.values()
            self.assertEqual("forces.spring.stiffness" in tunable, is_spring, tunable)
            self.assertEqual("contact.ball-ground.restitution" in tunable, not is_spring, tunable)
            # Derived parameters are not included: flores derives both from `restitution`.
            self.assertFalse([name for name in made.variables if name.endswith(("_factor", ".effective_restitution"))])
            is_contact = made in self.contact.values()
            flags = {name: value == "true" for name, value in made.kind.attrib.items()}
            self.assertTrue(flags["canSerializeFMUState" if version == 3 else "canSerializeFMUstate"])
            structure = made.root.find("ModelStructure")
            if made.is_exchange:
                self.check_equations(made, flags, outputs)
                continue
            if version == 2:
                self.assertTrue(flags["providesDirectionalDerivative"])
                self.assertEqual(flags["canInterpolateInputs"], not is_contact)
            else:
                for name in ("providesDirectionalDerivatives", "providesAdjointDerivatives"):
                    self.assertTrue(flags[name])
                for name in ("hasEventMode", "mightReturnEarlyFromDoStep", "providesIntermediateUpdate",
                             "canReturnEarlyAfterIntermediateUpdate"):
                    self.assertEqual(flags[name], not is_contact)
                inside = [v.get("name") for v in made.variables.values() if v.get("intermediateUpdate") == "true"]
                self.assertEqual(inside, [] if is_contact else [v.get("name") for v in made.variables.values()
                                                                if v.get("causality") == "output"])
            if version == 2:
                listed = {part.tag: [int(u.get("index")) for u in part] for part in structure}
                self.assertEqual(listed, {"Outputs": outputs, "InitialUnknowns": outputs})
            else:
                for tag in ("Output", "InitialUnknown"):
                    self.assertEqual([int(u.get("valueReference")) for u in structure.findall(tag)], outputs)

    def test_rules_find_violations(self):
        """Exported descriptions with one error each, and a word of the expected message."""
        def variable(root, name):
            return next(v for v in root.find("ModelVariables") if v.get("name") == name)

        def attribute(path, name, value):
            def change(root, _):
                element = root.find(path)
                element.attrib.pop(name, None) if value is None else element.set(name, value)
            return change

        def of_variable(which, name, value):
            def change(root, version):
                element = variable(root, which)
                inner = element[0] if version == 2 and name not in ("causality", "variability", "initial", "name", "clocks") else element
                inner.attrib.pop(name, None) if value is None else inner.set(name, value)
            return change

        def swapped(path):
            def change(root, _):
                parent = root.find(path)
                first = parent[0]
                parent.remove(first)
                parent.insert(1, first)
            return change

        def first_initial(root, version):
            return root.find("ModelStructure/InitialUnknowns" + "/Unknown" if version == 2 else "ModelStructure/InitialUnknown")

        def without_initial(root, version):
            parent = root.find("ModelStructure/InitialUnknowns" if version == 2 else "ModelStructure")
            parent.remove(first_initial(root, version))

        def depends(text, kinds=None):
            def change(root, version):
                first_initial(root, version).set("dependencies", text)
                if kinds:
                    first_initial(root, version).set("dependenciesKind", kinds)
            return change

        def renumbered(root, version):
            variable(root, "ball.z_m").set("valueReference", variable(root, "ball.fx_N").get("valueReference"))

        def dimension(start):
            def change(root, _):
                element = xml.SubElement(variable(root, "ball.z_m"), "Dimension")
                if start:
                    element.set("start", start)
            return change

        either, second, third = (2, 3), (2,), (3,)
        mistakes = [
            (either, swapped("."), "in order"), (third, attribute(".", "instantiationToken", ""), "instantiationToken"),
            (second, attribute(".", "guid", None), "guid"), (third, attribute("CoSimulation", "canSerializeFMUstate", "true"), "attributes of CoSimulation"),
            (third, attribute("CoSimulation", "canGetAndSetFMUState", "false"), "serialised"),
            (either, attribute("CoSimulation", "modelIdentifier", "1ball"), "identifier of C"),
            (either, attribute("DefaultExperiment", "stepSize", "0"), "forward in time"),
            (either, attribute("UnitDefinitions/Unit/BaseUnit", "m", "0.5"), "whole"),
            (either, of_variable("ball.z_m", "name", "ball.y_m"), "unique"), (third, renumbered, "unique"),
            (either, of_variable("ball.z_m", "variability", "fixed"), "output is not fixed"),
            (either, of_variable("ball.fx_N", "initial", "exact"), "input has no initial"),
            (either, of_variable("ball.fx_N", "start", None), "start value"),
            (either, of_variable("ball.z_m", "start", "1"), "start value"),
            (either, of_variable("bodies.ball.mass", "min", "1e9"), "min <= start"),
            (either, of_variable("bodies.ball.mass", "max", "inf"), "as required by XML"),
            (either, of_variable("ball.z_m", "unit", "furlong"), "unit is defined"),
            (either, of_variable("ball.z_m", "declaredType", "Torque"), "unit is that of its type"),
            (third, of_variable("time", "causality", "local"), "one independent"),
            (third, of_variable("ball.z_m", "clocks", "1"), "are clocks"), (third, dimension(None), "by number or by variable"),
            (third, of_variable("bodies.ball.mass", "intermediateUpdate", "true"), "inside steps"),
            (either, without_initial, "unknowns of the initialisation"), (either, depends("100000"), "are variables"),
            (second, depends("3 2"), "ascending"), (either, depends("2 3", "dependent"), "a kind for each"),
            (either, depends("2", "fixed"), "a kind for each"), (second, swapped("ModelStructure"), "order of the schema"),
            (second, attribute(".", "numberOfEventIndicators", "1"), "model exchange"),
        ]
        for versions, change, word in mistakes:
            for version in versions:
                root = copy.deepcopy(self.ball[version].root)
                change(root, version)
                self.assertTrue(any(word in sentence for sentence in broken_rules(root)), (version, word, broken_rules(root)))
        for version, made in self.equations.items():
            root = copy.deepcopy(made.root)
            of_variable("der(ball.z_m)", "derivative", None)(root, version)
            self.assertTrue(any("derivatives of states" in sentence for sentence in broken_rules(root)), broken_rules(root))

    def check_equations(self, made, flags, outputs):
        """Each derivative names its state; unknowns of the initialisation are listed; so are event indicators."""
        first = 1 if made.version == 2 else 0
        variables = list(made.root.find("ModelVariables"))
        derivative = {}  # of positions in the file
        for i, variable in enumerate(variables):
            of = (variable[0] if made.version == 2 else variable).get("derivative")
            if of is not None:
                derivative[i] = int(of) - first
                self.assertEqual(variable.get("name"), f"der({variables[int(of) - first].get('name')})")
            self.assertIsNone(variable.get("intermediateUpdate"))
        self.assertEqual(len(derivative), 13 + 2)
        rates, states = sorted(derivative), set(derivative.values())
        unknowns = sorted({i - first for i in outputs} | states | set(rates))
        indicators = [i for i, v in enumerate(variables) if v.get("name").endswith(".indicator_m")]
        self.assertEqual(len(indicators), 1)
        structure = made.root.find("ModelStructure")
        if made.version == 2:
            listed = {part.tag: [int(u.get("index")) - 1 for u in part] for part in structure}
            self.assertEqual(listed, {"Outputs": [i - 1 for i in outputs], "Derivatives": rates, "InitialUnknowns": unknowns})
            self.assertEqual([part.tag for part in structure], ["Outputs", "Derivatives", "InitialUnknowns"])
            self.assertEqual(made.root.get("numberOfEventIndicators"), "1")
            self.assertFalse(flags["completedIntegratorStepNotNeeded"])
            self.assertTrue(flags["providesDirectionalDerivative"])
        else:
            tags = [part.tag for part in structure]
            order = ["Output", "ContinuousStateDerivative", "InitialUnknown", "EventIndicator"]
            self.assertEqual(tags, sorted(tags, key=order.index))
            for tag, expected in zip(order, (outputs, rates, unknowns, indicators)):
                self.assertEqual([int(u.get("valueReference")) for u in structure.findall(tag)], expected)
            self.assertTrue(flags["needsCompletedIntegratorStep"])
            self.assertTrue(flags["providesDirectionalDerivatives"] and flags["providesAdjointDerivatives"])

    def test_integrator_in_c_converges_to_a_run(self):
        """A ball that falls 1 cm, spins and is blown at bounces between 0.045 and 0.047 s."""
        changes = []
        for change in ("bodies.ball.position=[0, 0, 0.11]", "bodies.ball.velocity=[0.1, 0.2, 0]",
                       "bodies.ball.angular_velocity=[3, -2, 1]", "bodies.ball.inertia=[0.004, 0.005, 0.006]",
                       "contact.friction=0.3", "contact.friction_model=regularised", "contact.regularisation_velocity=0.1",
                       "analysis.end_time=0.1",
                       "analysis.integrator.rtol=1e-12", "analysis.integrator.atol=1e-14", "output.interval=0.01",
                       "output.steps=none"):
            changes += ["--set", change]
        run = self.folder / "short"
        subprocess.run([BINARIES / "heelstrike", "run", BALL, "--in-process", "-o", run, *changes], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(run / "timeseries.csv") as file:
            rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
        (self.folder / "drop").mkdir()
        made = Made(self.folder / "drop", BALL, 3, "--model-exchange", *changes)
        names = ["ball.x_m", "ball.z_m", "ball.vz_m_s", "ball.qw", "ball.qx", "ball.wy_rad_s", "energy.dissipated_J"]
        errors = []
        for h, per_row in (("4e-5", 250), ("2e-5", 500), ("1e-5", 1000)):
            printed = subprocess.run([BINARIES / "fmi_integrator", made.folder, made.identifier, made.token, h, str(per_row),
                                      "10", *(str(made.reference(name)) for name in names)], check=True,
                                     capture_output=True, text=True)
            stepped = [[float(x) for x in line.split(",")] for line in printed.stdout.splitlines()]
            self.assertEqual(len(stepped), len(rows))
            errors.append(max(abs(a - float(row[name])) for line, row in zip(stepped, rows)
                              for a, name in zip(line[1:], names)))
        print("errors of the Runge-Kutta method for steps of 40, 20, 10 us:", *(f"{e:.2g}" for e in errors))
        # The force begins with the power 1.5 of the indentation, which prevents the fourth order at the onset of contact.
        self.assertLess(errors[2], errors[0] / 30)
        self.assertLess(errors[2], 1e-8)

    def test_an_importer_with_cvode(self):
        """Which restarts only when notified that states have changed, like the reference importer: four contacts."""
        changes = ["--set", "analysis.end_time=100", "--set", "analysis.integrator.rtol=1e-11", "--set",
                   "analysis.integrator.atol=1e-13", "--set", "output.interval=0.05", "--set", "output.steps=none"]
        run = self.folder / "cvode"
        subprocess.run([BINARIES / "heelstrike", "run", BALL, "--in-process", "-o", run, *changes, "--set", "analysis.end_time=1.5"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(run / "timeseries.csv") as file:
            heights = [float(row["ball.z_m"]) for row in csv.DictReader(line for line in file if not line.startswith("#"))]
        for version, start in ((2, 0.0), (3, 0.0), (3, 50.0), (2, -7.0)):
            (self.folder / f"cvode{version}{start}").mkdir()
            made = Made(self.folder / f"cvode{version}{start}", BALL, version, "--model-exchange", *changes)
            errors = []
            for tolerance in ("1e-5", "1e-7", "1e-9"):
                done = subprocess.run([BINARIES / "fmi_cvode_importer", made.binary, str(version), made.token, made.folder / "resources",
                                       "15", "1", tolerance, str(start), "0.05", "30", str(made.reference("ball.z_m"))],
                                      capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                rows = [[float(x) for x in line.split(",")] for line in done.stdout.splitlines()]
                self.assertAlmostEqual(rows[-1][0], start + 1.5, delta=1e-12 * (1 + abs(start)))
                errors.append(max(abs(row[1] - z) for row, z in zip(rows, heights)))
                # Two for each complete contact.
                self.assertGreaterEqual(int(done.stderr.split()[-2]), 4, done.stderr)
            print(f"FMI {version} from {start} s: errors of CVODE for tolerances of 1e-5, 1e-7, 1e-9:", *(f"{e:.2g}" for e in errors))
            # An error of a bounce of 1 m/s is rarely a hundred times the tolerance.
            for error, tolerance in zip(errors, (1e-5, 1e-7, 1e-9)):
                self.assertLess(error, 1e3 * tolerance)

    def test_other_start_times(self):
        """The state of the scenario applies at the importer's start time, and functions of time are evaluated at its times."""
        for version, made in self.ball.items():
            plain = Instance(made).start()
            self.assertEqual(plain.step(0.0, 0.6), OK, plain.said)
            for start in (3.0, -1.25, 1e4):
                unit = Instance(made)
                self.assertEqual(unit.experiment(start), OK, unit.said)
                self.assertEqual(unit.call("ExitInitializationMode"), OK, unit.said)
                self.assertEqual(unit.get("time", "ball.z_m"), [start, 1.0])
                self.refused(unit, unit.step(0.0, 0.1), f"the FMU is at {start:g} s")
                saved = None
                for k in range(6):
                    self.assertEqual(unit.step(start + 0.1 * k, 0.1), OK, unit.said)
                    saved = saved or unit.state_bytes()
                for got, expected in zip(unit.get("ball.z_m", "ball.vz_m_s"), plain.get("ball.z_m", "ball.vz_m_s")):
                    self.assertAlmostEqual(got, expected, delta=1e-6)
                self.assertAlmostEqual(unit.get("time")[0], start + 0.6, delta=1e-12 * abs(start))
                # Its state includes its start time; an instance that has not been started uses that.
                other = Instance(made)
                self.assertEqual(other.restore_bytes(saved), OK, other.said)
                for k in range(1, 6):
                    self.assertEqual(other.step(start + 0.1 * k, 0.1), OK, other.said)
                self.assertEqual(other.get("ball.z_m", "time"), unit.get("ball.z_m", "time"))
                self.refused(plain, plain.restore_bytes(saved), "another")
                self.assertEqual(unit.step(start + 0.6, 1.4), OK, "as long as the scenario")
                self.refused(unit, unit.step(start + 2.0, 0.1), f"{start + 2:g} s")
                for each in (unit, other):
                    each.free()
            for start, stop in ((0.0, -1.0), (0.0, 0.0), (5.0, 4.0), (float("nan"), None), (1.7e9, None), (0.0, float("inf"))):
                unit = Instance(made)
                self.refused(unit, unit.experiment(start, stop), "stopTime" if stop is not None else "startTime")
                unit.free()
            unit = Instance(made)
            self.assertEqual(unit.experiment(5.0, 5.5), OK, unit.said)
            self.assertEqual(unit.call("ExitInitializationMode"), OK, unit.said)
            self.assertEqual(unit.step(5.0, 0.5), OK, unit.said)
            self.refused(unit, unit.step(5.5, 0.1), "5.5 s")
            unit.free()
            plain.free()
        (self.folder / "timed.yaml").write_text(TIMED)
        made = Made(self.folder, self.folder / "timed.yaml", 3)
        unit = Instance(made)
        self.assertEqual(unit.experiment(0.7), OK, unit.said)
        self.assertEqual(unit.call("ExitInitializationMode"), OK, unit.said)
        name, = [name for name in made.variables if name.startswith("push.") and made.variables[name].get("causality") == "input"]
        for t in (0.7, 0.9):
            self.assertAlmostEqual(unit.get(name)[0], 0.02 + 0.01 * math.sin(3 * t), delta=1e-12)
            self.assertAlmostEqual(unit.get("slider.x_m")[0], 0.02 + 0.01 * math.sin(3 * t), delta=1e-7)
            if t < 0.9:
                self.assertEqual(unit.step(t, 0.2), OK, unit.said)
        unit.free()

    def test_fmu_needs_few_packages(self):
        """Neither gRPC nor finite elements where unused, and no library of other programs only."""
        for made in [*self.ball.values(), *self.spring.values(), *self.equations.values(), *self.contact.values()]:
            reported = (made.folder / "documentation/externalDependencies.txt").read_text()
            always, *served = [line.split()[3:] for line in reported.splitlines() if line.startswith("sudo apt install")]
            if int(os.environ["HEELSTRIKE_SUNDIALS"].split(".")[0]) >= 7:
                always.remove("libgomp1")  # Debian 13 builds SuiteSparse with OpenMP
            self.assertLessEqual(len(always), 10, reported)
            for word in ("grpc", "protobuf", "deal.ii", "hdf5", "mpi", "sundials", "blas", "cholmod"):
                self.assertFalse([name for name in always if word in name], reported)
            self.assertEqual(bool(served), "server" in made.variables, reported)
            self.assertEqual((made.binary.parent / "libheelstrike_remote.so").exists(), bool(served))
            mapped = subprocess.run(["ldd", made.binary], check=True, capture_output=True, text=True).stdout.splitlines()
            self.assertLess(len(mapped), 20, mapped)

    def test_terminals_and_icons(self):
        for version, unit in [*self.ball.items(), *self.contact.items(), *self.equations.items()]:
            icon = unit.folder / ("model.png" if version == 2 else "terminalsAndIcons/icon.png")
            self.assertTrue(icon.read_bytes().startswith(b"\x89PNG\r\n"))
            if version == 2:
                continue
            self.assertEqual(xml.parse(icon.with_suffix(".svg")).getroot().tag, "{http://www.w3.org/2000/svg}svg")
            root = xml.parse(icon.with_name("terminalsAndIcons.xml")).getroot()
            self.assertEqual((root.tag, root.get("fmiVersion")), ("fmiTerminalsAndIcons", "3.0"))
            self.assertEqual([part.tag for part in root], ["GraphicalRepresentation", "Terminals"])
            self.assertEqual([(part.tag, sorted(part.keys())) for part in root[0]],
                             [("CoordinateSystem", ["suggestedScalingFactorTo_mm", "x1", "x2", "y1", "y2"]), ("Icon", ["x1", "x2", "y1", "y2"])])
            terminal, = root[1]
            self.assertEqual(terminal.get("name"), "ball-ground" if unit in self.contact.values() else "ball")
            members = {member.get("memberName"): member.get("variableName") for member in terminal}
            self.assertEqual(len(members), len(terminal), "names are unique")
            self.assertTrue(set(members.values()) <= set(unit.variables))
            self.assertIn("fx_N", members)
            causes = {unit.variables[name].get("causality") for name in members.values()}
            self.assertEqual(causes, {"input", "output"})

    def test_equations_of_motion(self):
        """Free flight of a spinning body, exactly; states; inputs; rejected input."""
        for version, made in self.equations.items():
            unit = Instance(made)
            if version == 3:  # at any time
                n = [c.c_size_t(), c.c_size_t()]
                self.assertEqual(unit.call("GetNumberOfContinuousStates", c.byref(n[0])), OK, unit.said)
                self.assertEqual(unit.call("GetNumberOfEventIndicators", c.byref(n[1])), OK)
                self.assertEqual([k.value for k in n], [15, 1])
            self.refused(unit, unit.call("GetContinuousStates", (c.c_double * 15)(), c.c_size_t(15)), "instantiated")
            unit.start()
            self.refused(unit, unit.call("SetContinuousStates", (c.c_double * 15)(), c.c_size_t(15)), "event mode")
            unit.continuous()
            self.assertEqual(unit.vector("NominalsOfContinuousStates", 15), [1.0] * 15)
            x = unit.vector("ContinuousStates", 15)
            self.assertEqual(x, [0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
            self.assertEqual(unit.vector("EventIndicators", 1), [0.9])
            self.assertEqual(unit.set("ball.fy_N", 2.0), OK)
            x[3:7] = [2.0, 0.0, 0.0, 0.0]  # of any length
            x[12] = 4.0
            t, h = 0.0, 0.01
            for _ in range(10):
                x = unit.runge_kutta(t, x, h)
                t += h
                self.assertEqual(unit.complete(), OK, unit.said)
            for got, expected in zip(x, [0, 0.5 * 2 * t * t, 1 - 9.81 * t * t / 2, 2 * math.cos(2 * t), 0, 0,
                                         2 * math.sin(2 * t), 0, 2 * t, -9.81 * t, 0, 0, 4, 0, 2 * t * t]):
                self.assertAlmostEqual(got, expected, delta=1e-9)
            self.assertEqual(unit.get("der(ball.vy_m_s)", "ball.vy_m_s", "ball-ground.gap_m")[:2], [2.0, x[8]])
            # States continue with the same bits in another instance.
            other = Instance(made).start().continuous()
            self.assertEqual(other.restore_bytes(unit.state_bytes()), OK, other.said)
            self.assertEqual(other.vector("ContinuousStates", 15), x)
            self.assertEqual(other.runge_kutta(t, x, h), unit.runge_kutta(t, x, h))
            self.assertNotEqual(other.restore_bytes(unit.state_bytes()[:-7]), OK)
            # Pressed in: no force acts before the event has been handled.
            x[2], x[9] = 0.0999, -0.1
            self.assertEqual(unit.rates(t, x)[9], -9.81)
            self.assertLess(unit.vector("EventIndicators", 1)[0], 0.0)
            self.assertEqual(unit.complete(), OK, unit.said)
            self.assertTrue(unit.wants_event, "of an importer that has not read the indicators")
            self.assertEqual(unit.call("EnterEventMode"), OK, unit.said)
            self.refused(unit, unit.complete(), "event mode")
            unit.continuous()
            self.assertTrue(unit.restart, "the rates jump")
            self.assertEqual(unit.complete(), OK, unit.said)
            self.assertFalse(unit.wants_event)
            self.assertEqual(unit.call("EnterEventMode"), OK, unit.said)
            unit.continuous()
            self.assertFalse(unit.restart, "nothing has happened")
            pressed = unit.rates(t, x)[9] + 9.81
            self.assertGreater(pressed, 100.0)
            # The force is linear in the stiffness, and the states are unchanged.
            self.refused(unit, unit.set("contact.ball-ground.stiffness", 2.8e8), "continuous-time mode")
            self.assertEqual(unit.call("EnterEventMode"), OK, unit.said)
            self.assertEqual(unit.set("contact.ball-ground.stiffness", 2.8e8), OK, unit.said)
            self.refused(unit, unit.set("bodies.ball.mass", 2.0), "fixed parameter")
            unit.continuous()
            self.assertTrue(unit.restart, "of a parameter that is set")
            self.assertEqual(unit.vector("ContinuousStates", 15), x)
            self.assertAlmostEqual(unit.rates(t, x)[9] + 9.81, 2.0 * pressed, delta=1e-9 * pressed)
            x[2] = -0.2  # where the whole ball is below the ground
            bad = unit.call("SetContinuousStates", (c.c_double * 15)(*x), c.c_size_t(15))
            self.assertEqual(bad, OK)
            name = "GetDerivatives" if version == 2 else "GetContinuousStateDerivatives"
            self.assertEqual(unit.call(name, (c.c_double * 15)(), c.c_size_t(15)), 2, "discard: a smaller step")
            for bad, word in (([float("nan")] + x[1:], "ball.x_m"), (x[:3] + [0.0] * 4 + x[7:], "quaternion"), (x[:-1], "15")):
                status = unit.call("SetContinuousStates", (c.c_double * len(bad))(*bad), c.c_size_t(len(bad)))
                self.refused(unit, status, word)
            self.refused(unit, unit.step(t, 0.1), "not allowed")
            x[2] = 1.0
            unit.rates(t, x)
            self.assertEqual(unit.call("Terminate"), OK, unit.said)
            self.assertEqual(unit.vector("ContinuousStates", 15), x)
            self.assertEqual(unit.derivative("Directional", ["der(ball.vy_m_s)"], ["ball.fy_N"], [1.0]), (OK, [1.0]))
            self.refused(unit, unit.call("SetTime", c.c_double(t)), "terminated")
            for each in (unit, other):
                each.free()
            stepped = self.ball[version]
            stepped.is_exchange = True
            wrong = Instance(stepped)
            stepped.is_exchange = False
            self.assertFalse(wrong.handle)
            self.assertIn("--model-exchange", wrong.said[-1])
            plain = Instance(stepped).start()
            self.refused(plain, plain.call("SetTime", c.c_double(0.0)), "not allowed")
            plain.free()
        for scenario, options, word in (("simple_pendulum", [], "the joint 'pin'"),
                                        ("bouncing_ball", ["--backend", "rigid"], "contact model with forces"),
                                        ("macro_step_ball", [], "coupling scheme")):
            refused = subprocess.run([BINARIES / "heelstrike", "fmu", SOURCES / f"examples/{scenario}.yaml", "-o",
                                      self.folder / "no.fmu", "--model-exchange", *options], capture_output=True, text=True)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn(word, refused.stderr)
        for interface in ([], ["--model-exchange"]):
            refused = subprocess.run([BINARIES / "heelstrike", "fmu", BALL, "-o", self.folder / "no.fmu", *interface, "--set",
                                      "analysis={type: static, end_time: 1}"], capture_output=True, text=True)
            self.assertEqual((refused.returncode, (self.folder / "no.fmu").exists()), (2, False), refused.stderr)
            self.assertIn("an analysis that a host can advance in time", refused.stderr)

    def test_derivatives_of_equations(self):
        """Of all variables with respect to all variables available to an integrator, against central differences."""
        (self.folder / "pressed.yaml").write_text(PRESSED)
        for version in (2, 3):
            made = Made(self.folder, self.folder / "pressed.yaml", version, "--model-exchange")
            unit = Instance(made).start().continuous()
            variables = list(made.root.find("ModelVariables"))
            states = []
            for variable in variables:
                of = (variable[0] if version == 2 else variable).get("derivative")
                if of is not None:
                    states.append(variables[int(of) - (version == 2)].get("name"))
            x = unit.vector("ContinuousStates", len(states))
            rates = [f"der({name})" for name in states]
            inputs = [f"{body}.{part}" for body in ("ball", "mass") for part in ("fx_N", "fz_N", "ty_Nm", "tz_Nm")]
            outputs = [v.get("name") for v in variables if v.get("causality") == "output"] + ["ball-ground.indicator_m"]
            self.assertEqual(len(states), 13 * 2 + 2 + 2)
            x = [value * (1.5 if name.startswith("mass.q") else 1.0) for name, value in zip(states, x)]  # of any length
            x[states.index("state.1.relaxing")] += 0.02
            unit.rates(0.0, x)

            def row(known, d):
                if known in inputs:
                    self.assertEqual(unit.set(known, d), OK, unit.said)
                else:
                    unit.rates(0.0, [v + d * (name == known) for name, v in zip(states, x)])
                values = unit.get(*rates, *outputs)
                unit.set(known, 0.0) if known in inputs else unit.rates(0.0, x)
                return values

            columns = []
            for known in states + inputs:
                status, alone = unit.derivative("Directional", rates, [known], [1.0])
                self.assertEqual(status, OK, unit.said)
                status, column = unit.derivative("Directional", rates + outputs, [known], [1.0])
                self.assertEqual(status, OK, unit.said)
                self.assertEqual(alone[:-2], column[:len(rates) - 2])
                columns.append(column)
                d = 1.0 if known in inputs else 1e-7  # everything is linear in forces
                ahead, behind = row(known, d), row(known, -d)
                difference = [(a - b) / (2 * d) for a, b in zip(ahead, behind)]
                for part in (slice(0, len(rates)), slice(len(rates), None)):
                    # Zeros appear as the rounding of a difference.
                    delta = 1e-6 * max(map(abs, difference[part])) + 1e-15 * max(map(abs, ahead[part])) / d
                    for name, got, expected in zip((rates + outputs)[part], column[part], difference[part]):
                        self.assertAlmostEqual(got, expected, delta=delta, msg=f"{name} by {known}")
            seed = [math.cos(3.0 * i) for i in range(len(columns))]
            status, both = unit.derivative("Directional", rates, states + inputs, seed)
            self.assertEqual(status, OK, unit.said)
            for i, got in enumerate(both):
                expected = sum(s * column[i] for s, column in zip(seed, columns))
                self.assertAlmostEqual(got, expected, delta=1e-9 * max(1.0, max(abs(column[i]) for column in columns)))
            if version == 3:
                seed = [math.sin(2.0 * i) for i in range(len(rates))]
                status, row_of = unit.derivative("Adjoint", rates, states + inputs, seed)
                self.assertEqual(status, OK, unit.said)
                for got, column in zip(row_of, columns):
                    expected = sum(s * v for s, v in zip(seed, column))
                    self.assertAlmostEqual(got, expected, delta=1e-9 * max(1.0, max(map(abs, column))))
            self.assertEqual(unit.vector("ContinuousStates", len(states)), x, "differences leave it where it was")
            self.refused(unit, unit.derivative("Directional", rates, ["ball-ground.gap_m"], [1.0])[0], "gap_m", "neither")
            unit.free()

    def test_contact_alone_for_model_exchange(self):
        """The importer has the states; the contact has a history, which completed steps advance."""
        for version in (2, 3):
            made = Made(self.folder, BALL, version, "--contact", "ball-ground", "--model-exchange")
            unit = Instance(made).start().continuous()
            self.assertEqual(unit.vector("EventIndicators", 1), [0.9])
            for name, value in (("z_m", -0.0999999), ("vz_m_s", 0.5)):
                self.assertEqual(unit.set(name, value), OK)
            self.assertLess(unit.vector("EventIndicators", 1)[0], 0.0)
            self.assertEqual(unit.call("SetTime", c.c_double(1e-3)), OK)
            self.assertEqual(unit.complete(), OK, unit.said)  # it stores 0.5 m/s
            for name, value in (("z_m", -0.099), ("vz_m_s", 0.25)):
                self.assertEqual(unit.set(name, value), OK)
            force, = unit.get("fz_N")
            fresh = Instance(self.contact[version]).start()
            for name, value in (("z_m", -0.099), ("vz_m_s", 0.25)):
                self.assertEqual(fresh.set(name, value), OK)
            self.assertGreater(fresh.get("fz_N")[0], 1.01 * force, "as if they had met at half the speed")
            unit.free()
            fresh.free()

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

    def test_both_versions_have_the_same_bits(self):
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

    def test_contacts_are_computed_by_a_server(self):
        """The same bits as in the importer's process, for either kind of FMU; states are exchanged between both."""
        names = ["ball.z_m", "ball.vz_m_s", "ball-ground.fz_N", "energy.dissipated_J"]
        with served() as address:
            for version in (2, 3):
                here, there = Instance(self.ball[version]).start(), Instance(self.ball[version]).at(address).start()
                self.assertEqual((here.server(), there.server()), ("", address))
                for k in range(12):  # its onset is at 0.43 s
                    for unit in (here, there):
                        self.assertEqual(unit.step(0.05 * k, 0.05), OK, unit.said)
                    self.assertEqual(here.get(*names), there.get(*names))
                self.assertGreater(here.get("energy.dissipated_J")[0], 1.0)
                self.assertEqual(there.restore_bytes(here.state_bytes()), OK, there.said)
                for unit in (here, there):
                    self.assertEqual(unit.step(0.6, 0.1), OK, unit.said)
                self.assertEqual(here.get(*names), there.get(*names))
                self.refused(there, there.set("contact.ball-ground.restitution", 0.3), "contact.ball-ground.restitution", address)
                self.refused(there, there.texts("Set", [there.made.reference("server")], [b""]), "fixed parameter")
                alone = [Instance(self.contact[version]).start(), Instance(self.contact[version]).at(address).start()]
                for unit in alone:
                    for name, value in (("z_m", -0.0999), ("vz_m_s", 0.5)):
                        self.assertEqual(unit.set(name, value), OK, unit.said)
                    self.assertEqual(unit.step(0.0, 1e-4), OK, unit.said)
                self.assertGreater(alone[0].get("fz_N")[0], 1.0)
                self.assertEqual(*(unit.get("fz_N", "gap_m", "stored_energy_J") for unit in alone))
                equations = [Instance(self.equations[version]).start(),
                             Instance(self.equations[version]).at(address).start()]
                pressed = [0, 0, 0.0999, 1, 0, 0, 0, 0, 0, -0.1, 0, 0, 0, 0, 0]
                for unit in equations:
                    unit.continuous()
                    unit.rates(1e-3, pressed)
                    self.assertEqual(unit.call("EnterEventMode"), OK, unit.said)
                    unit.continuous()
                self.assertEqual(*(unit.rates(1e-3, pressed) for unit in equations))
                for unit in (here, there, *alone, *equations):
                    unit.free()

    def test_addresses_of_servers(self):
        for version, made in self.ball.items():
            unit, other = Instance(made), Instance(made)
            server = made.reference("server")
            for bad in (b"nowhere", b"unix:relative.sock", b"127.0.0.1:99999"):
                self.refused(unit, unit.texts("Set", [server], [bad]), bad.decode(), "host:port")
                self.assertEqual(unit.server(), "")
            self.refused(unit, unit.texts("Set", [server], [None]), "null")
            self.refused(unit, unit.texts("Set", [made.reference("ball.z_m")], [b""]), "text", f"'server', {server}")
            self.refused(unit, unit.numbers("Get", [server], (c.c_double * 1)()), str(server))
            absent = f"unix:{self.folder}/absent.sock"
            unit.at(absent)
            # A state before the initialisation includes its parameters.
            self.assertEqual(other.restore_bytes(unit.state_bytes()), OK, other.said)
            self.assertEqual(other.server(), absent)
            if version == 3:
                arguments = (False, c.c_double(0), c.c_double(0), False, c.c_double(0))
                self.assertEqual(unit.call("EnterInitializationMode", *arguments), OK, unit.said)
                self.refused(unit, unit.call("ExitInitializationMode"), absent)
            self.assertEqual(unit.call("Reset"), OK, unit.said)
            self.assertEqual(unit.server(), "")
            self.assertEqual(unit.start().step(0.0, 0.1), OK, unit.said)
            for each in (unit, other):
                each.free()
            spring = Instance(self.spring[version])
            self.refused(spring, spring.texts("Set", [server], [b""]), "this FMU has none")
            spring.free()

    def test_inputs_act_and_parameters_are_accepted(self):
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
            # An input set before a parameter, and received by a model that the parameter has replaced, is in force nevertheless.
            name = next(name for name in made.variables if name.endswith(".restitution"))
            unit = Instance(made)
            if made.version == 2:
                self.assertEqual(unit.call("SetupExperiment", 0, c.c_double(0), c.c_double(0), 0, c.c_double(0)), OK)
                self.assertEqual(unit.call("EnterInitializationMode"), OK)
            else:
                self.assertEqual(unit.call("EnterInitializationMode", False, c.c_double(0), c.c_double(0), False, c.c_double(0)), OK)
            self.assertEqual(unit.set("ball.fz_N", 9.81 + 2.0), OK)
            unit.get("ball.z_m")
            self.assertEqual(unit.set(name, 0.5), OK, unit.said)
            self.assertEqual(unit.call("ExitInitializationMode"), OK, unit.said)
            self.assertEqual(unit.step(0.0, 0.1), OK, unit.said)
            self.assertAlmostEqual(unit.get("ball.z_m")[0], 1.0 + 0.5 * 2.0 * 0.1**2, delta=1e-9)
            unit.free()
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

    def test_states_are_exchanged_between_instances(self):
        """Serialise, restore in another instance and step, ten thousand times: the same bits, in flight and in contact."""
        made = self.ball[3]
        first, second = Instance(made).start(), Instance(made).start()
        h, t, n = 1e-4, 0.42, 10000
        self.assertEqual(first.step(0.0, t), OK)
        for _ in range(n):
            raw = first.state_bytes()
            self.assertEqual(second.restore_bytes(raw), OK, second.said)
            for unit in (first, second):
                self.assertEqual(unit.step(t, h), OK, unit.said)
            values = [unit.get("ball.z_m", "ball.vz_m_s", "ball-ground.fz_N") for unit in (first, second)]
            self.assertEqual(*values)
            t += h
        for damaged in (raw[:-5], raw[1:], b"", bytes([raw[0] ^ 1]) + raw[1:], raw[:200] + bytes([raw[200] ^ 4]) + raw[201:]):
            self.refused(second, second.deserialize(damaged)[0], "state that this FMU has serialised")
        first.free()
        second.free()

    def test_tunable_parameters_change_while_it_steps(self):
        """x = 1 + cos(10 t) / 10, and from its passage through 1 at -1 m/s on x = 1 - sin(20 t) / 20."""
        for made in self.spring.values():
            unit, other = Instance(made).start(), Instance(made).start()
            passage, h = math.pi / 20, 0.05
            self.assertEqual(unit.step(0.0, passage), OK, unit.said)
            soft = unit.state_bytes()
            self.assertEqual(unit.set("forces.spring.stiffness", 400.0), OK, unit.said)
            self.assertEqual(unit.get("forces.spring.stiffness"), [400.0])
            self.assertEqual(unit.step(passage, h), OK, unit.said)
            self.assertAlmostEqual(unit.get("mass.x_m")[0], 1 - math.sin(20 * h) / 20, delta=1e-8)
            # A state includes its parameters.
            self.assertEqual(other.restore_bytes(unit.state_bytes()), OK, other.said)
            self.assertEqual(other.get("forces.spring.stiffness"), [400.0])
            for each in (unit, other):
                self.assertEqual(each.step(passage + h, h), OK, each.said)
                self.assertAlmostEqual(each.get("mass.x_m")[0], 1 - math.sin(40 * h) / 20, delta=1e-8)
            self.assertEqual(other.restore_bytes(soft), OK, other.said)
            self.assertEqual(other.step(passage, h), OK, other.said)
            self.assertAlmostEqual(other.get("mass.x_m")[0], 1 + math.cos(10 * (passage + h)) / 10, delta=1e-8)
            # A value beyond its range is rejected, and the previous one remains.
            before = unit.get("mass.x_m")
            self.refused(unit, unit.set("forces.spring.stiffness", -1.0), "forces.spring.stiffness", "from 0 to", "-1")
            self.assertEqual(unit.get("forces.spring.stiffness"), [400.0])
            self.assertEqual(unit.get("mass.x_m"), before)
            self.assertEqual(unit.step(passage + 2 * h, h), OK, unit.said)
            unit.free()
            other.free()

    def test_parameters_of_contacts_are_tunable(self):
        """A ball whose restitution changes in its first flight bounces like one that has had it from the start."""
        name, names = "contact.ball-ground.restitution", ["ball.z_m", "ball.vz_m_s", "energy.dissipated_J"]
        for made in self.ball.values():
            given = Instance(made).start(**{name.replace(".", "__"): 0.3})
            tuned, restored = Instance(made).start(), Instance(made).start()
            for unit in (given, tuned):
                self.assertEqual(unit.step(0.0, 0.2), OK, unit.said)
            self.assertEqual(tuned.set(name, 0.3), OK, tuned.said)
            for k in range(2, 8):  # its onset is at 0.43 s, for 0.4 ms
                for unit in (given, tuned):
                    self.assertEqual(unit.step(0.1 * k, 0.1), OK, unit.said)
                for a, b in zip(given.get(*names), tuned.get(*names)):
                    self.assertAlmostEqual(a, b, delta=2e-7 * max(1.0, abs(a)))
            self.assertGreater(tuned.get("energy.dissipated_J")[0], 7.0, "a lot of its 8.8 J")
            # A state includes its parameters.
            self.assertEqual(restored.restore_bytes(tuned.state_bytes()), OK, restored.said)
            self.assertEqual(restored.get(name), [0.3])
            for unit in (tuned, restored):
                self.assertEqual(unit.step(0.8, 0.5), OK, unit.said)
            self.assertEqual(tuned.get(*names), restored.get(*names))
            self.refused(tuned, tuned.set(name, 1.5), "restitution", "1.5")
            # The open bound of its range is not a valid value, which is reported where it would act.
            self.assertEqual(tuned.set(name, 0.0), OK)
            self.refused(tuned, tuned.step(1.3, 0.1), "restitution", "(0, 1]")
            self.assertEqual(tuned.get(name), [0.3])
            for unit in (given, tuned, restored):
                unit.free()

    def test_numbers_of_the_scenario_are_fixed_parameters(self):
        for made in self.ball.values():
            for name, start, unit in [("bodies.ball.mass", "1", "kg"), ("bodies.ball.position[3]", "1", "m"),
                                      ("gravity[3]", "-9.81", "m/s^2"), ("analysis.integrator.rtol", "1e-10", None),
                                      ("contact.ball-ground.main.surface.sphere.radius", "0.1", "m")]:
                variable = made.variables[name]
                self.assertEqual((variable.get("causality"), variable.get("variability")), ("parameter", "fixed"))
                value = variable.find("Real") if made.version == 2 else variable
                self.assertEqual((value.get("start"), value.get("unit")), (start, unit))
            unit = Instance(made)
            unit.start(**{"bodies__ball__position[3]": 0.5, "gravity[3]": -2.0, "gravity[1]": 0.25,
                          "bodies__ball__mass": 3.0, "contact__ball-ground__main__surface__sphere__radius": 0.2})
            self.assertEqual(unit.get("ball.x_m", "ball.z_m", "ball-ground.gap_m")[:2], [0.0, 0.5])
            self.assertAlmostEqual(unit.get("ball-ground.gap_m")[0], 0.3, delta=1e-12)
            self.assertEqual(unit.set("ball.fz_N", 1.5), OK)
            self.assertEqual(unit.step(0.0, 0.5), OK, unit.said)
            x, z = unit.get("ball.x_m", "ball.z_m")
            self.assertAlmostEqual(x, 0.5 * 0.25 * 0.25, delta=1e-9)
            self.assertAlmostEqual(z, 0.5 + 0.5 * (1.5 / 3.0 - 2.0) * 0.25, delta=1e-9)
            self.refused(unit, unit.set("gravity[3]", -9.81), "fixed parameter")
            # Invalid values are rejected, and inconsistent ones at the end of the initialisation.
            light = Instance(made)
            if made.version == 2:
                self.assertEqual(light.call("SetupExperiment", 0, c.c_double(0), c.c_double(0), 0, c.c_double(0)), OK)
            self.refused(light, light.set("bodies.ball.mass", -1.0), "bodies.ball.mass", "-1")
            self.assertEqual(light.set("bodies.ball.inertia[1]", 1.0), OK)
            if made.version == 2:
                light.call("EnterInitializationMode")
            else:
                light.call("EnterInitializationMode", False, c.c_double(0), c.c_double(0), False, c.c_double(0))
            self.refused(light, light.call("ExitInitializationMode"), "bodies.ball.inertia")
            for each in (unit, light):
                each.free()

    def test_parameters_of_a_contact_alone(self):
        """K is linear in the force; the stored onset of the contact remains."""
        stiffness, radius = "contact.ball-ground.stiffness", "contact.ball-ground.main.surface.sphere.radius"
        for made in self.contact.values():
            self.assertEqual({name.split(".")[0] for name in made.variables if "." in name}, {"contact"})
            unit = Instance(made).start()
            for name, value in [("z_m", -0.0999999), ("vz_m_s", 0.5)]:
                self.assertEqual(unit.set(name, value), OK, unit.said)
            self.assertEqual(unit.step(0.0, 1e-4), OK, unit.said)
            self.assertEqual(unit.set("z_m", -0.099), OK)
            before, = unit.get("fz_N")
            self.assertEqual(unit.set(stiffness, 2.8e8), OK, unit.said)
            after, = unit.get("fz_N")
            self.assertGreater(before, 1.0)
            self.assertAlmostEqual(after, 2.0 * before, delta=1e-12 * after)
            self.refused(unit, unit.set(radius, 0.2), "fixed parameter")
            other = Instance(made).start(**{radius.replace(".", "__"): 0.11})
            self.refused(other, other.restore_bytes(unit.state_bytes()), "with these fixed parameters")
            for each in (unit, other):
                each.free()

    def test_steps_return_early_at_contacts(self):
        """Onset and separation end steps, with an event to handle; the motion is the same to the bit."""
        made = self.ball[3]
        names = ["ball.z_m", "ball.vz_m_s", "ball-ground.fz_N"]
        plain = Instance(made).start()
        unit = Instance(made, event_mode=True, early=True).start()
        self.assertEqual(unit.call("EnterStepMode"), OK, unit.said)  # event mode follows the initialisation
        t, events = 0.0, []
        for k in range(1, 41):
            target = 0.05 * k
            while t < target:
                h = target - t
                event, early, t = unit.early_step(t, h)
                self.assertEqual(event, early)
                if event:
                    events.append((t, *unit.get("ball-ground.gap_m", "ball.vz_m_s")))
                    self.refused(unit, unit.call("EnterStepMode"), "EnterStepMode is not allowed")
                    self.assertEqual(unit.call("EnterEventMode"), OK, unit.said)
                    self.refused(unit, unit.step(t, 0.01), "in its event mode")
                    flags = [c.c_bool(True) for _ in range(5)]
                    self.assertEqual(unit.call("UpdateDiscreteStates", *map(c.byref, flags), c.byref(c.c_double())), OK)
                    self.assertFalse(any(flag.value for flag in flags))
                    self.assertEqual(unit.call("EnterStepMode"), OK, unit.said)
            before = 0.0 if k == 1 else plain.get("time")[0]
            self.assertEqual(plain.step(before, target - before), OK, plain.said)
            self.assertEqual(unit.get(*names), plain.get(*names))
        self.assertGreaterEqual(len(events), 4)
        first = (2 * 0.9 / 9.81) ** 0.5  # it falls 0.9 m: from 1 m to its radius of 0.1 m
        self.assertAlmostEqual(events[0][0], first, delta=1e-6)
        for number, (_, gap, velocity) in enumerate(events):
            self.assertLess(abs(gap), 1e-8)
            self.assertEqual(velocity < 0, number % 2 == 0, "down at touchdown, up at separation")
        self.refused(plain, plain.call("EnterEventMode"), "eventModeUsed")
        plain.free()
        unit.free()

    def test_steps_inside_a_communication_step_are_reported(self):
        """With the values there, which change no bits of the motion, and the importer may end the step early."""
        made, reported = self.ball[3], []
        names = ["time", "ball.z_m", "ball.vz_m_s", "ball-ground.fz_N"]
        plain = Instance(made).start()

        def look(t, may_return):
            reported.append((t, may_return, *unit.get(*names)))
            self.refused(unit, unit.set("ball.fz_N", 1.0), "Set is not allowed", "intermediate update")
            self.refused(unit, unit.step(t, 0.1), "intermediate update")
            return t  # which is not permitted

        unit = Instance(made, update=look, intermediate=[made.reference(name) for name in names]).start()
        t = 0.0
        for h in (0.1, 0.33, 0.0005, 0.3695, 0.2):
            before = len(reported)
            for each in (unit, plain):
                self.assertEqual(each.step(t, h), OK, each.said)
            self.assertTrue(all(t < entry[0] <= t + h for entry in reported[before:]))
            self.assertEqual(unit.get(*names), plain.get(*names))
            t += h
        times = [entry[0] for entry in reported]
        self.assertEqual(times, sorted(set(times)))
        self.assertGreater(len(reported), 40)
        touchdown = (2 * 0.9 / 9.81) ** 0.5
        for at, may_return, now, z, v, force in reported:
            self.assertEqual((at, may_return), (now, False))
            if at < touchdown - 1e-6:
                self.assertAlmostEqual(z, 1 - 9.81 * at**2 / 2, delta=1e-8)
                self.assertAlmostEqual(v, -9.81 * at, delta=1e-8)
        self.assertGreater(sum(entry[-1] > 0 for entry in reported), 10, "within the contact too")

        ends, requested = [], []
        def leave(t, may_return):
            self.assertTrue(may_return)
            ends.append(t)
            requested.append(t + 1e-5 if len(ends) % 2 else t)
            return requested[-1]
        early = Instance(made, early=True, update=leave).start()
        t, n = 0.0, 0
        while t < 1.0 and n < 1000:
            requested.clear()
            event, is_early, t = early.early_step(t, 1.0 - t)
            self.assertFalse(event)
            self.assertEqual(is_early, t < 1.0)
            if is_early and requested and abs(early.get("ball-ground.gap_m")[0]) > 1e-8:  # not at onset or separation
                self.assertIn(t, requested)
            n += 1
        self.assertGreater(n, 40)
        self.assertEqual(early.get(*names), plain.get(*names))
        invalid = Instance(made, update=look, intermediate=[4711])
        self.assertFalse(invalid.handle)
        self.assertIn("4711", invalid.said[-1])
        for each in (plain, unit, early):
            each.free()

    def test_contact_alone_returns_its_wrench_and_derivatives(self):
        motion = ["x_m", "y_m", "z_m", "q0", "q1", "q2", "q3", "wx_rad_s", "wy_rad_s", "wz_rad_s", "vx_m_s", "vy_m_s",
                  "vz_m_s"]
        wrench = ["tx_Nm", "ty_Nm", "tz_Nm", "fx_N", "fy_N", "fz_N"]
        for version, made in self.contact.items():
            unit = Instance(made).start()
            self.assertEqual(unit.get("z_m"), [-1.0], "the ground below the ball, where the scenario begins")
            self.assertEqual(unit.get(*wrench), [0.0] * 6)
            # The ground is pressed into the ball, tilted, by a quaternion that is not of length one.
            point = [0.0, 0.01, -0.0985, 1.0, 0.02, 0.03, -0.04, 0.1, 0.2, 0.3, 0.05, 0.02, 0.1]

            def at(values):
                for name, value in zip(motion, values):
                    self.assertEqual(unit.set(name, value), OK, unit.said)
                return unit.get(*wrench)

            force = at(point)
            scale = max(map(abs, force))
            self.assertGreater(scale, 1.0)
            self.assertLess(unit.get("gap_m")[0], 0.0)
            mean, peak, area, points = unit.get("mean_pressure_Pa", "peak_pressure_Pa", "area_m2", "active_points")
            self.assertEqual(points, 1.0)
            self.assertTrue(0.0 < mean < peak)
            normal = math.hypot(*force[3:])  # without friction
            self.assertAlmostEqual(mean * area, normal, delta=1e-9 * normal)
            columns = []
            for k in range(len(motion)):
                d = 1e-6
                ahead, behind = ([x + s * d * (i == k) for i, x in enumerate(point)] for s in (1, -1))
                difference = [(a - b) / (2 * d) for a, b in zip(at(ahead), at(behind))]
                at(point)
                status, column = unit.derivative("Directional", wrench, [motion[k]], [1.0])
                self.assertEqual(status, OK, unit.said)
                columns.append(column)
                size = max(max(map(abs, difference)), scale)
                for a, b in zip(column, difference):
                    self.assertAlmostEqual(a, b, delta=1e-6 * size, msg=motion[k])
            seed = [0.3, -0.2, 0.1, 1.0, 2.0, -3.0]
            if version == 3:
                status, row = unit.derivative("Adjoint", wrench, motion, seed)
                self.assertEqual(status, OK, unit.said)
                for got, column in zip(row, columns):
                    self.assertAlmostEqual(got, sum(s * x for s, x in zip(seed, column)), delta=1e-9 * max(1.0, abs(got)))
            self.refused(unit, unit.derivative("Directional", ["gap_m"], ["x_m"], [1.0])[0], "gap_m", "outputs")
            self.refused(unit, unit.derivative("Directional", ["fx_N"], ["fy_N"], [1.0])[0], "fy_N", "inputs")
            # States include the motion and the history.
            self.assertEqual(unit.step(0.0, 0.01), OK, unit.said)
            raw, before = unit.state_bytes(), unit.get("time", *wrench)
            at([0.0, 0.0, -1.0] + point[3:])
            self.assertEqual(unit.step(0.01, 0.01), OK, unit.said)
            self.assertEqual(unit.restore_bytes(raw), OK, unit.said)
            self.assertEqual(unit.get("time", *wrench), before)
            for name in ("q0", "q1", "q2", "q3"):
                self.assertEqual(unit.set(name, 0.0), OK)
            values = (c.c_double * 1)()
            self.refused(unit, unit.numbers("Get", [made.reference("fx_N")], values), "quaternion other than zero")
            unit.free()
        for interface in ([], ["--model-exchange"]):
            bad = subprocess.run([BINARIES / "heelstrike", "fmu", SOURCES / "examples/bar_on_three.yaml", "--contact", "left", "-o",
                                  self.folder / "rigid.fmu", *interface], capture_output=True, text=True)
            self.assertEqual((bad.returncode, (self.folder / "rigid.fmu").exists()), (2, False), bad.stderr)
            self.assertIn("returns a wrench for a pose, found 'rigid'", bad.stderr)
        bad = subprocess.run([BINARIES / "heelstrike", "fmu", BALL, "--contact", "ball"], capture_output=True, text=True)
        self.assertIn("expected one of the scenario's contact pairs (ball-ground), found 'ball'", bad.stderr)
        for place in (self.folder / "nowhere/ball.fmu", self.folder):
            bad = subprocess.run([BINARIES / "heelstrike", "fmu", BALL, "-o", place], capture_output=True, text=True)
            self.assertIn(f"{place}: ", bad.stderr)

    def test_dependencies_on_drivers_of_a_scenario(self):
        """Every column by what drivers prescribe and by forces, at rest and, in FMI 2.0, with rates of the drivers."""
        scenario = self.folder / "driven.yaml"
        scenario.write_text(DRIVEN)
        inputs = ["motor.angle_rad", "push.displacement_m", "rod.fz_N", "slider.ty_Nm"]
        point = {"motor.angle_rad": (0.003, 0.4), "push.displacement_m": (0.02, -0.3)}

        def drive(unit, changed=None, by=0.0):
            for name, (value, rate) in point.items():
                self.assertEqual(unit.set(name, value + by * (name == changed)), OK, unit.said)
                if unit.made.version == 2:
                    reference = (c.c_uint32 * 1)(unit.made.reference(name))
                    status = unit.call("SetRealInputDerivatives", reference, c.c_size_t(1), (c.c_int * 1)(1), (c.c_double * 1)(rate))
                    self.assertEqual(status, OK, unit.said)
            for name in set(inputs) - set(point):
                self.assertEqual(unit.set(name, by if name == changed else 0.0), OK, unit.said)

        for version in (2, 3):
            made = Made(self.folder, scenario, version)
            for flag in ["DirectionalDerivative"] if version == 2 else ["DirectionalDerivatives", "AdjointDerivatives"]:
                self.assertEqual(made.root.find("CoSimulation").get("provides" + flag), "true")
            unit, differing, plain = (Instance(made).start() for _ in range(3))
            start = made.variables["push.displacement_m"]
            self.assertEqual((start[0] if version == 2 else start).get("start"), "0.02")
            free = Instance(made).start()
            self.assertEqual(free.step(0.0, 0.1), OK, free.said)
            for got, expected in zip(free.get(*inputs), (0.01, 0.04, 0.0, 0.0)):
                self.assertAlmostEqual(got, expected, delta=1e-15, msg="prescribed by the scenario until set")
            free.free()
            outputs = [name for name, v in made.variables.items() if v.get("causality") == "output"]
            for t in (0.0, 0.002):
                for each in (unit, differing, plain):
                    drive(each)
                self.assertLess(unit.get("ball-ground.gap_m")[0], -1e-4)
                here, columns = differing.state_bytes(), []
                for name in inputs:
                    status, column = unit.derivative("Directional", outputs, [name], [1.0])
                    self.assertEqual(status, OK, unit.said)
                    columns.append(column)
                    h, ends = 1e-6 if name in point else 1.0, []
                    for by in (h, -h):  # each from here: undriven parts are where the motion has led them
                        self.assertEqual(differing.restore_bytes(here), OK, differing.said)
                        drive(differing, name, by)
                        ends.append(differing.get(*outputs))
                    self.assertEqual(differing.restore_bytes(here), OK, differing.said)
                    difference = [(a - b) / (2 * h) for a, b in zip(*ends)]
                    size = max(map(abs, difference))
                    self.assertGreater(size, 0.01)
                    for i, (a, b) in enumerate(zip(column, difference)):
                        self.assertAlmostEqual(a, b, delta=1e-6 * max(abs(b), 1.0), msg=f"{outputs[i]} by {name} at {t}")
                moved = dict(zip(outputs, columns[0]))
                self.assertAlmostEqual(moved["arm.z_m"], -0.5 * math.cos(point["motor.angle_rad"][0]), delta=1e-9)
                for name in ("ball-ground.gap_m", "ball-ground.fz_N", "ball-ground.area_m2", "ball-ground.mean_pressure_Pa",
                             "spring.length_m", "energy.potential_J", "rod.alphay_rad_s2", "elbow.fx_N"):
                    self.assertNotEqual(moved[name], 0.0, name)
                seed = [math.cos(3.0 * i) for i in range(len(inputs))]
                status, both = unit.derivative("Directional", outputs, inputs, seed)
                for i, got in enumerate(both):
                    self.assertAlmostEqual(got, sum(s * column[i] for s, column in zip(seed, columns)), delta=1e-9 * max(1.0, abs(got)))
                if version == 3:
                    seed = [math.sin(2.0 * i) for i in range(len(outputs))]
                    status, row = unit.derivative("Adjoint", outputs, inputs, seed)
                    self.assertEqual(status, OK, unit.said)
                    for got, column in zip(row, columns):
                        self.assertAlmostEqual(got, sum(s * x for s, x in zip(seed, column)), delta=1e-9 * max(1.0, abs(got)))
                for each in (unit, differing, plain):
                    self.assertEqual(each.step(t, 0.002), OK, each.said)
                self.assertEqual(unit.get(*outputs), plain.get(*outputs), "derivatives change nothing")
            for each in (unit, differing, plain):
                each.free()

    def test_dependencies_on_forces_of_a_scenario(self):
        """Accelerations and reactions, exactly, without a change of the subsequent motion."""
        scenario = self.folder / "bars.yaml"
        scenario.write_text(BARS)
        for version in (2, 3):
            made = Made(self.folder, scenario, version)
            flags = made.root.find("CoSimulation").attrib
            self.assertEqual(flags["providesDirectionalDerivative" + "s" * (version == 3)], "true")
            unit, differing, plain = (Instance(made).start() for _ in range(3))
            inputs = [f"{body}.{name}" for body in ("upper", "lower", "ball")
                      for name in ("fx_N", "fy_N", "fz_N", "tx_Nm", "ty_Nm", "tz_Nm")]
            outputs = [name for name, v in made.variables.items() if v.get("causality") == "output"]
            reported = [i for i, name in enumerate(outputs) if name.split(".")[0] in ("shoulder", "elbow") or
                    "_m_s2" in name or "_rad_s2" in name]
            self.assertEqual(len(reported), 2 * 6 + 3 * 6)
            raw = unit.state_bytes()
            for t in (0.0, 0.3):
                columns = []
                for name in inputs:
                    status, column = unit.derivative("Directional", outputs, [name], [1.0])
                    self.assertEqual(status, OK, unit.said)
                    columns.append(column)
                    ends = []
                    for value in (2.0, -2.0):
                        self.assertEqual(differing.set(name, value), OK)
                        ends.append(differing.get(*outputs))
                    self.assertEqual(differing.set(name, 0.0), OK)
                    difference = [(a - b) / 4.0 if a == a else 0.0 for a, b in zip(*ends)]
                    size = max(map(abs, difference))
                    self.assertGreater(size, 0.01)
                    for i, (a, b) in enumerate(zip(column, difference)):
                        self.assertAlmostEqual(a, b, delta=1e-6 * size, msg=f"{outputs[i]} by {name}")
                        self.assertTrue(i in reported or a == 0.0)
                seed = [math.cos(3.0 * i) for i in range(len(inputs))]
                status, both = unit.derivative("Directional", outputs, inputs, seed)
                for i, got in enumerate(both):
                    self.assertAlmostEqual(got, sum(s * column[i] for s, column in zip(seed, columns)), delta=1e-9)
                if version == 3:
                    seed = [math.sin(2.0 * i) for i in range(len(outputs))]
                    status, row = unit.derivative("Adjoint", outputs, inputs, seed)
                    self.assertEqual(status, OK, unit.said)
                    for got, column in zip(row, columns):
                        self.assertAlmostEqual(got, sum(s * x for s, x in zip(seed, column)), delta=1e-9)
                self.assertEqual(plain.restore_bytes(raw) if t == 0.0 else OK, OK)
                for each in (unit, differing, plain):
                    self.assertEqual(each.step(t, 0.3), OK, each.said)
            numbers = [name for name in outputs if "cop" not in name]
            self.assertEqual(unit.get(*numbers), plain.get(*numbers))
            self.refused(unit, unit.derivative("Directional", ["elbow.fx_N"], ["bodies.ball.mass"], [1.0])[0], "inputs")
            for each in (unit, differing, plain):
                each.free()
        cradle = Made(self.folder, SOURCES / "examples/newtons_cradle.yaml", 3)
        self.assertEqual(cradle.root.find("CoSimulation").get("providesDirectionalDerivatives"), "false")
        unit = Instance(cradle).start()
        force = next(name for name in cradle.variables if name.endswith(".fx_N"))
        place = next(name for name in cradle.variables if name.endswith(".x_m"))
        self.refused(unit, unit.derivative("Directional", [place], [force], [1.0])[0], "rigid bodies", "compliant")
        unit.free()

    def refused(self, unit, status, *words):
        self.assertGreaterEqual(status, ERROR)
        for word in words:
            self.assertIn(word, unit.said[-1])

    def test_errors_are_reported_in_a_sentence(self):
        for version, made in self.ball.items():
            foreign = Instance(made, token="{0}")
            self.assertFalse(foreign.handle)
            self.assertIn("token", foreign.said[-1])
            nowhere = Instance(made, resources=self.folder)
            self.assertFalse(nowhere.handle)
            self.assertIn("unit.json", nowhere.said[-1])
            unit = Instance(made)
            self.refused(unit, unit.step(0.0, 0.1), "not allowed")
            unit.start()
            self.refused(unit, unit.numbers("Get", [4711], (c.c_double * 1)()), "4711")
            self.refused(unit, unit.set("ball.z_m", 1.0), "ball.z_m", "calculated")
            self.refused(unit, unit.set("ball.fz_N", float("nan")), "ball.fz_N", "finite")
            self.refused(unit, unit.set("bodies.ball.mass", 0.5), "fixed parameter")
            self.refused(unit, unit.step(0.5, 0.1), "the FMU is at 0 s")
            self.refused(unit, unit.step(0.0, -0.1), "positive")
            self.refused(unit, unit.step(0.0, 100.0), "2 s")
            self.refused(unit, unit.call("GetInteger" if version == 2 else "GetInt32", None, c.c_size_t(1), None,
                                         c.c_size_t(1)), "no such variables")
            self.assertEqual(unit.step(0.0, 0.1), OK, "rejections have no side effects")
            unit.free()
        bad = subprocess.run([BINARIES / "heelstrike", "fmu", BALL, "--fmi", "4"], capture_output=True, text=True)
        self.assertEqual(bad.returncode, 2)

    def test_foreign_resources_are_rejected(self):
        """Resources other than those of the export, before they are used in a calculation."""
        (self.folder / "wind.csv").write_text("time,f\n0,1\n2,1\n")
        (self.folder / "blown.yaml").write_text(SPRING.replace(
            "analysis:", "loads:\n  wind: {body: mass, fy: {file: {name: wind.csv, column: f}}}\nanalysis:"))
        for version, made in self.ball.items():
            blown = Made(self.folder, self.folder / "blown.yaml", version)
            wind = (blown.folder / "resources/file_0").read_text()
            scenario, index = ((made.folder / "resources" / file).read_text() for file in ("scenario.yaml", "unit.json"))
            others = self.spring[version].folder / "resources"
            for unit, file, text, words in [
                    (made, "scenario.yaml", (others / "scenario.yaml").read_text(), ["scenario.yaml", "sha256"]),
                    (made, "scenario.yaml", scenario.replace("mass: 1.0", "mass: 2.0"), ["scenario.yaml", "sha256"]),
                    (made, "unit.json", index.replace('"causality": 3', '"causality": 77'), ["unit.json", "table"]),
                    (made, "unit.json", index.replace('"name": "ball.z_m"', '"name": "ball.y_m"'), ["unit.json", "table"]),
                    (made, "unit.json", index[:300], ["unit.json", "damaged"]),
                    (made, "unit.json", (others / "unit.json").read_text(), ["scenario.yaml", "sha256"]),
                    (blown, "file_0", wind.replace("2,1", "2,9"), ["file_0", "sha256"])]:
                changed = self.folder / "changed"
                shutil.copytree(unit.folder / "resources", changed)
                self.assertNotEqual((changed / file).read_text(), text)
                (changed / file).write_text(text)
                refused = Instance(unit, resources=changed)
                self.assertFalse(refused.handle, words)
                for word in words:
                    self.assertIn(word, refused.said[-1])
                shutil.rmtree(changed)
            foreign = Instance(made, resources=others)
            self.assertFalse(foreign.handle)
            self.assertIn("token", foreign.said[-1])
            Instance(blown).start().free()

    def test_values_are_set_together_or_not_at_all(self):
        for version, made in self.spring.items():
            unit = Instance(made).start()
            force, stiffness = made.reference("mass.fx_N"), made.reference("forces.spring.stiffness")
            for other, value in (("mass.x_m", 1.0), ("bodies.mass.mass", 1.0), ("mass.fy_N", math.inf)):
                status = unit.numbers("Set", [force, stiffness, made.reference(other)], (c.c_double * 3)(7.0, 5.0, value))
                self.refused(unit, status)
                self.assertEqual(unit.get("mass.fx_N", "forces.spring.stiffness"), [0.0, 100.0])
            if version == 2:
                status = unit.call("SetRealInputDerivatives", (c.c_uint32 * 2)(force, stiffness), c.c_size_t(2),
                                   (c.c_int * 2)(1, 1), (c.c_double * 2)(3.0, 3.0))
                self.refused(unit, status, "derivatives of inputs")
                self.assertEqual(unit.step(0.0, 0.5), OK, unit.said)
                self.assertEqual(unit.get("mass.fx_N"), [0.0])
            unit.free()

    def test_null_pointers_are_rejected(self):
        for version, made in self.ball.items():
            unit, word = Instance(made).start(), "state" if version == 2 else "State"
            count = [c.c_size_t(1)] * (version == 3)
            real, one, size = "Real" if version == 2 else "Float64", c.c_size_t(1), c.c_size_t()
            reference, value = (c.c_uint32 * 1)(0), (c.c_double * 1)()
            for name, *arguments in [
                    (f"SetFMU{word}", None), (f"GetFMU{word}", None), (f"SerializedFMU{word}Size", None, c.byref(size)),
                    (f"SerializeFMU{word}", None, b"1", one),
                    (f"{'DeS' if version == 2 else 'Des'}erializeFMU{word}", None, one, None),
                    (f"Get{real}", None, one, value, *count), (f"Get{real}", reference, one, None, *count),
                    (f"Set{real}", None, one, value, *count), (f"Set{real}", reference, one, None, *count),
                    ("SetDebugLogging", 1, one, None)]:
                self.refused(unit, unit.call(name, *arguments), "null")
            if version == 3:
                self.refused(unit, unit.call("DoStep", c.c_double(0.0), c.c_double(0.1), True, *[None] * 4), "null")
            self.assertEqual(unit.call(f"FreeFMU{word}", None), OK)
            none = c.c_size_t(0)
            self.assertEqual(unit.call(f"Get{real}", None, none, None, *[none] * (version == 3)), OK)
            self.assertEqual(unit.step(0.0, 0.1), OK, "rejections have no side effects")
            unit.free()

    def test_states_before_and_after_the_experiment(self):
        mass, force = "bodies.mass.mass", "mass.fx_N"
        for made in self.spring.values():
            unit, other = Instance(made), Instance(made)
            self.assertEqual(unit.set(mass, 4.0), OK)
            self.assertEqual(unit.set(force, 0.5), OK)
            fresh = unit.state_bytes()
            self.assertEqual(other.restore_bytes(fresh), OK, other.said)
            for each in (unit, other):
                each.start()
                self.assertEqual(each.get(mass, force), [4.0, 0.5])
                self.assertEqual(each.step(0.0, 0.3), OK, each.said)
            self.assertEqual(unit.get("mass.x_m"), other.get("mass.x_m"))
            # About the position where 0.5 N balances the spring, with a frequency of 5/s.
            self.assertAlmostEqual(unit.get("mass.x_m")[0], 1.005 + 0.095 * math.cos(5 * 0.3), delta=1e-8)
            self.assertEqual(unit.call("Terminate"), OK, unit.said)
            self.assertEqual(other.restore_bytes(unit.state_bytes()), OK, other.said)
            self.assertEqual(other.get("mass.x_m"), unit.get("mass.x_m"))
            self.refused(other, other.step(0.3, 0.1), "terminated")
            # Back to the state before the initialisation, and on from there.
            self.assertEqual(other.restore_bytes(fresh), OK, other.said)
            other.start(**{mass.replace(".", "__"): 1.0})
            self.assertEqual(other.step(0.0, 0.3), OK, other.said)
            self.assertAlmostEqual(other.get("mass.x_m")[0], 1.005 + 0.095 * math.cos(10 * 0.3), delta=1e-8)
            for each in (unit, other):
                each.free()

    def test_addresses_of_resources(self):
        made = self.ball[2]
        unit = Instance(made)
        uri = (made.folder / "resources").as_uri()
        for bad in (uri + "%zz", uri + "%4", uri + "%"):
            handle = unit.library.fmi2Instantiate(b"unit", 1, made.token.encode(), bad.encode(), c.byref(unit.callbacks), 0, 1)
            self.assertFalse(handle)
            self.assertIn("hexadecimal", unit.said[-1])
            self.assertIn(bad, unit.said[-1])
        unit.free()

    def test_messages_can_be_disabled(self):
        for made in self.ball.values():
            unit = Instance(made).start()
            category = made.root.find("LogCategories")[0].get("name").encode()
            status = unit.call("SetDebugLogging", 1, c.c_size_t(1), (c.c_char_p * 1)(b"nonsense"))
            self.refused(unit, status, "nonsense", category.decode())
            self.assertEqual(unit.call("SetDebugLogging", 0, c.c_size_t(1), (c.c_char_p * 1)(category)), OK)
            n = len(unit.said)
            self.assertEqual(unit.step(0.0, -0.1), ERROR)
            self.assertEqual(len(unit.said), n)
            self.assertEqual(unit.call("SetDebugLogging", 1, c.c_size_t(0), None), OK)
            self.refused(unit, unit.step(0.0, -0.1), "positive")
            unit.free()

    def test_values_are_finite(self):
        """Even the centre of pressure without contact, which tables leave empty."""
        for made in (self.ball[3], self.equations[3]):
            unit = Instance(made).start()
            names = [v.get("name") for v in made.variables.values() if v.get("causality") == "output"]
            self.assertIn("ball-ground.copx_m", names)
            self.assertTrue(all(map(math.isfinite, unit.get(*names))))
            unit.free()


def copied(made, folder):
    shutil.copytree(made.folder, folder)
    other = copy.copy(made)
    other.folder, other.binary = folder, folder / made.binary.relative_to(made.folder)
    return other


def renamed(made, folder):
    """A copy as from another build of the program: its library has another name."""
    other = copied(made, folder)
    library, = other.binary.parent.glob("libhs_*.so")
    digits = library.stem[len("libhs_"):]
    for file in (library, other.binary):
        file.write_bytes(file.read_bytes().replace(digits.encode(), digits[::-1].encode()))
    library.rename(library.with_name(f"libhs_{digits[::-1]}.so"))
    return other


def elements_after_removal(plain, first, second, third):
    """In a separate process: an FMU is freed, its folder removed and reused; others with finite
    elements follow, of the same build and of another one. An FMU without elements has a separate library."""
    for made in (plain, first):
        unit = Instance(made).start()
        unit.free()
    _ctypes.dlclose(unit.library._handle)
    shutil.rmtree(first.folder)
    first.binary.parent.mkdir(parents=True)
    (first.binary.parent / "libheelstrike_elements.so").write_text("somebody else's")
    forces = []
    for made in (second, third):
        unit = Instance(made).start()
        assert unit.set("z_m", -0.0995) == OK, unit.said
        forces += unit.get("fz_N")
        unit.free()
    assert forces[0] == forces[1] > 1.0, forces
    with open("/proc/self/maps") as maps:
        loaded = {pathlib.Path(line.split(maxsplit=5)[5]).name.split()[0] for line in maps if "/libhs_" in line}
    assert len(loaded) == 3, loaded


@unittest.skipUnless((BINARIES / "heelstrike-mesher").exists(), "built without finite elements")
class FiniteElements(unittest.TestCase):
    def test_fmu_includes_its_compliance(self):
        with tempfile.TemporaryDirectory() as scratch:
            made = Made(pathlib.Path(scratch), SOURCES / "examples/fem_ball.yaml", 3, "--set", "contact.element_size=0.05",
                        "--set", "contact.contact_size=0.02", "--set", "analysis.end_time=0.5")
            self.assertTrue(list((made.folder / "resources/cache").glob("*.compliance")))
            unit = Instance(made).start()
            name = next(name for name in made.variables if name.endswith("peak_pressure_Pa"))
            pressures = []
            for k in range(4):
                self.assertEqual(unit.step(0.1 * k, 0.1), OK, unit.said)
            for k in range(100):  # its onset is at 0.43 s
                self.assertEqual(unit.step(0.4 + 0.001 * k, 0.001), OK, unit.said)
                pressures += unit.get(name)
            self.assertGreater(max(pressures), 0.0)
            unit.free()

    def test_parameters_of_finite_elements(self):
        """The force is linear in the modulus, which is fixed, and friction supports it with a coefficient that is not."""
        with tempfile.TemporaryDirectory() as scratch:
            made = Made(pathlib.Path(scratch), SOURCES / "examples/fem_ball.yaml", 3, "--contact", "ball-ground", "--set",
                        "contact.element_size=0.05", "--set", "contact.contact_size=0.02", "--set",
                        "contact.restitution=1")
            plain = Made(pathlib.Path(scratch), BALL, 3)
            for unit, has_elements in ((plain, False), (made, True)):
                packages = (unit.folder / "documentation/externalDependencies.txt").read_text()
                self.assertEqual("libdeal.ii" in packages, has_elements, packages)
                self.assertIn("libstdc++6", packages)
                self.assertEqual((unit.binary.parent / "libheelstrike_elements.so").exists(), has_elements)
            first = copied(made, pathlib.Path(scratch) / "first")
            other = renamed(made, pathlib.Path(scratch) / "other")
            child = multiprocessing.get_context("spawn").Process(target=elements_after_removal, args=(plain, first, made, other))
            child.start()
            child.join()
            self.assertEqual(child.exitcode, 0)
            modulus = "contact.ball-ground.main.material.youngs_modulus"
            self.assertEqual(made.variables[modulus].get("variability"), "fixed")
            forces = []
            for factor in (1.0, 2.0):
                unit = Instance(made).start(**{modulus.replace(".", "__"): factor * 302.12e6})
                self.assertEqual(unit.set("z_m", -0.0995), OK)
                forces += unit.get("fz_N")
                if factor == 1.0:
                    self.assertEqual(unit.step(0.0, 1e-3), OK, unit.said)
                    self.assertEqual(unit.set("x_m", 1e-4), OK)
                    self.assertEqual(unit.get("fx_N"), [0.0])
                    self.assertEqual(unit.set("contact.ball-ground.friction", 0.1), OK)
                    tangentially_displaced, normal = unit.get("fx_N", "fz_N")
                    self.assertAlmostEqual(tangentially_displaced, 0.1 * normal, delta=0.01 * normal, msg="it slips")
                    self.assertEqual(unit.step(1e-3, 1e-3), OK, unit.said)
                unit.free()
            finer = {"contact__ball-ground__contact_size": 0.015}
            with served() as address:
                there = []
                for changes in ({}, finer):
                    unit = Instance(made).at(address).start(**changes)
                    self.assertEqual(unit.set("z_m", -0.0995), OK)
                    there += unit.get("fz_N")
                    unit.free()
            self.assertEqual(there[0], forces[0], "the server prepares the same")
            self.assertNotEqual(there[1], forces[0], "from another mesh")
            # Which needs a mesher: the server's or one known to the importer.
            unit = Instance(made)
            self.assertEqual(unit.set("contact.ball-ground.contact_size", 0.015), OK)
            self.assertEqual(unit.call("EnterInitializationMode", False, c.c_double(0), c.c_double(0), False, c.c_double(0)), OK)
            self.assertEqual(unit.call("ExitInitializationMode"), ERROR)
            self.assertIn("HEELSTRIKE_MESHER", unit.said[-1])
            unit.free()
            with unittest.mock.patch.dict(os.environ, {"HEELSTRIKE_MESHER": str(BINARIES / "heelstrike-mesher")}):
                unit = Instance(made).start(**finer)
                self.assertEqual(unit.set("z_m", -0.0995), OK)
                self.assertEqual(unit.get("fz_N"), there[1:])
                unit.free()
            self.assertGreater(forces[0], 1.0)
            self.assertAlmostEqual(forces[1], 2.0 * forces[0], delta=1e-6 * forces[1])


if __name__ == "__main__":
    unittest.main()
