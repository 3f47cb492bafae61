"""MuJoCo integrates a foot with Heelstrike's finite-element contact.

The contact is evaluated in every stage of MuJoCo's Runge-Kutta method, as a passive force. For comparison
Heelstrike integrates the same foot; the difference is printed.

    python3 mujoco_foot.py [STEP]        needs libmujoco-dev and a C compiler
"""
import ctypes
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import heelstrike as hs

HERE = pathlib.Path(__file__).resolve().parent
SCENARIO = HERE.parent / "foot_drop.yaml"

# The foot of the scenario for MuJoCo: same mass, centre of mass, inertia and initial state; no contact geometry.
MODEL = """
<mujoco>
  <option timestep="{step!r}" integrator="RK4" gravity="0 0 -9.81"><flag contact="disable"/></option>
  <worldbody>
    <body name="foot" pos="0 0 0.0812" quat="0.9999875000260416 0 0.004999979166692708 0">
      <freejoint/>
      <inertial pos="0.04 0 -0.03" mass="4" diaginertia="0.004 0.012 0.012"/>
    </body>
  </worldbody>
</mujoco>
"""


def mujoco(step):
    """MuJoCo with the model; arrays are views of its memory."""
    folder = tempfile.TemporaryDirectory()
    library = pathlib.Path(folder.name, "binding.so")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", HERE / "mujoco_binding.c", "-lmujoco", "-o", library], check=True)
    binding = ctypes.CDLL(str(library))
    binding.folder = folder
    model = pathlib.Path(folder.name, "foot.xml")
    model.write_text(MODEL.format(step=step))
    complaint = ctypes.create_string_buffer(1000)
    if binding.open_model(str(model).encode(), complaint, len(complaint)):
        raise RuntimeError(complaint.value.decode())
    for name in ("qpos", "qvel", "qfrc_passive"):
        function = getattr(binding, name)
        function.restype = ctypes.POINTER(ctypes.c_double)
        n = ctypes.c_int()
        setattr(binding, name, np.ctypeslib.as_array(function(ctypes.byref(n)), (n.value,)))
    return binding


def rotation_of(q):
    """(3, 3) from a quaternion (w, x, y, z); its norm drifts within a MuJoCo step."""
    w, x, y, z = q / np.linalg.norm(q)
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def step_with_mujoco(end_time, step):
    """Position [m] and rotation of the foot at the end. A is the foot, B the ground, which rests in the world."""
    contact = hs.Contact.open(hs.Pair.from_yaml(SCENARIO))
    foot = mujoco(step)

    def ground_on_foot():
        R, p = rotation_of(foot.qpos[3:]), foot.qpos[:3]
        v, w = R.T @ foot.qvel[:3], foot.qvel[3:]  # MuJoCo: linear in the world, angular in the body
        X_AB = np.eye(4)
        X_AB[:3, :3], X_AB[:3, 3] = R.T, -R.T @ p
        V_AB = np.concatenate([-w, -v - np.cross(w, X_AB[:3, 3])])
        F, _, _ = contact.evaluate(X_AB, V_AB)
        foot.qfrc_passive[:3] += R @ F[3:]
        foot.qfrc_passive[3:] += F[:3]

    callback = ctypes.CFUNCTYPE(None)(ground_on_foot)
    foot.set_passive(callback)
    for _ in range(round(end_time / step)):
        foot.step()
    return foot.qpos[:3].copy(), rotation_of(foot.qpos[3:])


def step_with_heelstrike(end_time):
    simulation = hs.Simulation(SCENARIO, set={"analysis.end_time": end_time})
    simulation.advance_to(end_time)
    state = simulation.state()
    return (np.array([state[f"foot.{axis}_m"] for axis in "xyz"]),
            rotation_of(np.array([state[f"foot.q{axis}"] for axis in "wxyz"])), state["sole-ground.indentation_m"])


def main(step=1e-4, end_time=0.05):
    p, R = step_with_mujoco(end_time, step)
    p_own, R_own, indentation = step_with_heelstrike(end_time)
    distance, turn = np.linalg.norm(p - p_own), np.linalg.norm(R - R_own) / np.sqrt(2)
    print(f"after {end_time:g} s in steps of {step:g} s: foot at {p}, {1000 * indentation:.2f} mm deep")
    print(f"difference to Heelstrike's run: {distance:.2e} m, {turn:.2e} rad")
    return distance, turn


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
