"""`heelstrike schema --json` checked by an independent validator: it accepts every example, and rejects what the program rejects.

HEELSTRIKE names the program, HEELSTRIKE_SCHEMA the file made by the build.
"""
import copy
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import jsonschema
from ruamel.yaml import YAML

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = os.environ["HEELSTRIKE"]
BUILT = pathlib.Path(os.environ["HEELSTRIKE_SCHEMA"])
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))


def without_anchors(value):
    """Plain dictionaries and lists, merge keys and aliases expanded, as in an editor."""
    if isinstance(value, dict):
        return {key: without_anchors(entry) for key, entry in value.items()}
    return [without_anchors(entry) for entry in value] if isinstance(value, list) else value


def load(path):
    # YAML 1.2, as editors read it: 1e-3 is a number.
    return without_anchors(YAML(typ="safe", pure=True).load(path.read_text()))


HINGE = {"type": "revolute", "bodies": ["ground", "ball"], "point": [0.0, 0.0, 1.0], "axis": [1.0, 0.0, 0.0]}

# Input errors: a dotted key of examples/bouncing_ball.yaml and its invalid value; None = omitted.
MISTAKES = {
    "unknown type": ("joints.hinge", HINGE | {"type": "hinge"}),
    "key of another type": ("joints.hinge", HINGE | {"teeth": [1, 2]}),
    "missing key of the type": ("joints.hinge", {key: HINGE[key] for key in ("type", "bodies", "point")}),
    "keys of two forms": ("joints.hinge", HINGE | {"points": [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]}),
    "force without its stiffness": ("forces.spring", {"type": "bushing", "bodies": ["ground", "ball"], "point": [0.0, 0.0, 0.0]}),
    "driver of nothing": ("drivers.motor", {"angle": {"polynomial": [0.0]}}),
    "fixed step without a step": ("analysis.integrator", {"name": "rk4"}),
    "order that the method has not": ("analysis.integrator", {"name": "arkode_erk", "order": 7}),
    "balance of a forward analysis": ("analysis.balance", {}),
    "unknown key": ("bodies.ball.mas", 1.0),
    "missing key": ("bodies.ball.mass", None),
    "missing section": ("gravity", None),
    "import of nothing": ("import", {}),
    "text for a number": ("bodies.ball.mass", "1 kg"),
    "number out of range": ("bodies.ball.mass", -1.0),
    "too few numbers": ("gravity", [0.0, -9.81]),
    "unknown choice": ("output.steps", "some"),
    "two surfaces": ("contact.ball-ground.main.surface.plane", {}),
    "no surface": ("contact.ball-ground.main.surface", {}),
    "text for true or false": ("output.accelerations", "perhaps"),
    "unknown parameter of the back-end": ("contact.ball-ground.parameters.stifness", 1.0),
    "parameter out of range": ("contact.ball-ground.parameters.restitution", 2.0),
    "a name with a blank": ("bodies.the ball", {"mass": 1.0, "inertia": [1.0, 1.0, 1.0]}),
    "half a step": ("analysis.integrator.max_rejections", 1.5),
}


def changed(scenario, dotted, value):
    scenario = copy.deepcopy(scenario)
    *path, last = dotted.split(".")
    place = scenario
    for key in path:
        place = place.setdefault(key, {})
    if value is None:
        del place[last]
    else:
        place[last] = value
    return scenario


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = subprocess.run([PROGRAM, "schema", "--json"], check=True, capture_output=True, text=True).stdout
        schema = json.loads(cls.text)
        jsonschema.Draft202012Validator.check_schema(schema)
        cls.validator = jsonschema.Draft202012Validator(schema)

    def test_the_build_has_made_the_schema_of_this_program(self):
        self.assertTrue(BUILT.read_text() == self.text)

    def test_every_example_is_valid_and_names_the_schema(self):
        self.assertTrue(EXAMPLES)
        for path in EXAMPLES:
            with self.subTest(example=path.name):
                errors = [f"{error.json_path}: {error.message}" for error in self.validator.iter_errors(load(path))]
                self.assertEqual(errors, [])
                self.assertIn("# yaml-language-server: $schema=../build/release/scenario.schema.json", path.read_text())

    def test_errors_are_rejected_by_both(self):
        sound = load(ROOT / "examples/bouncing_ball.yaml")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "scenario.yaml"
            for name, (dotted, value) in MISTAKES.items():
                with self.subTest(mistake=name):
                    wrong = changed(sound, dotted, value)
                    self.assertFalse(self.validator.is_valid(wrong))
                    file.write_text(json.dumps(wrong))  # JSON is YAML
                    answer = subprocess.run([PROGRAM, "validate", file], capture_output=True, text=True)
                    self.assertEqual(answer.returncode, 2, answer.stdout + answer.stderr)
            for right in (sound, changed(sound, "joints.hinge", HINGE)):
                self.assertTrue(self.validator.is_valid(right))
                file.write_text(json.dumps(right))
                subprocess.run([PROGRAM, "validate", file], check=True, capture_output=True)

    def test_sections_beside_an_import_add_to_it(self):
        """Required keys of a section may come from the model, and existing keys are checked."""
        given = {"heelstrike": 1, "import": {"osim": "leg.osim", "subset": ["knee_r"]}, "analysis": {"type": "static"}, "output": {}}
        self.assertTrue(self.validator.is_valid(given))
        self.assertFalse(self.validator.is_valid(changed(given, "analysis.end_time", -1.0)))
        self.assertFalse(self.validator.is_valid(changed(given, "analysis.balance", {"bodies": 5})))
        self.assertFalse(self.validator.is_valid(changed(given, "import", None)))


if __name__ == "__main__":
    unittest.main()
