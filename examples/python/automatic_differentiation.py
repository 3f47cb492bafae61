"""Contact in an automatically differentiated program: sensitivity of the separation velocity to the approach velocity.

A framework requires of an opaque function its value, and the product of its Jacobians with tangents
(forward mode; JAX: custom_jvp) or of cotangents with its Jacobians (reverse mode; JAX: custom_vjp, PyTorch:
autograd.Function). Both are one line with hs.WrenchFunction. Here the framework is a dozen lines of forward mode; for
another framework, replace Dual and keep `wrench`.

    python3 automatic_differentiation.py
"""
import pathlib
from dataclasses import dataclass

import numpy as np

import heelstrike as hs

SCENARIO = pathlib.Path(__file__).resolve().parent.parent / "bouncing_ball.yaml"
RADIUS, MASS, GRAVITY = 0.1, 1.0, 9.81
UP = np.array([0, 0, 0, 0, 0, 1.0])
STEP, STEPS = 1e-5, 400  # [s]; contact lasts 2.7 ms


@dataclass
class Dual:
    """A number or an array, and its derivative with respect to the single parameter."""

    value: np.ndarray
    tangent: np.ndarray

    def __add__(self, other):
        return Dual(self.value + other.value, self.tangent + other.tangent) if isinstance(other, Dual) else Dual(
            self.value + other, self.tangent)

    def __mul__(self, number):
        return Dual(self.value * number, self.tangent * number)


def wrench(f, x, v):
    """The registered rule: the value, and the Jacobian-vector product."""
    if not isinstance(x, Dual):
        return f(x, v)
    Jx, Jv = f.jacobians(x.value, v.value)
    return Dual(f(x.value, v.value), Jx @ x.tangent + Jv @ v.tangent)


def rebound(f, speed):
    """Velocity [m/s] of the ball after it came to the ground with the velocity `speed`, by a semi-implicit Euler method.

    x and v are of the ground as the ball, which does not turn, sees it: it comes with `speed` and is pushed back.
    """
    v = speed
    x = v * 0.0
    for _ in range(STEPS):
        # In the frame of the ball, its upward acceleration is a downward acceleration of the ground.
        v = v + wrench(f, x, v) * (-STEP / MASS) + UP * (GRAVITY * STEP)
        x = x + v * STEP
    return v * -1.0


def main(speed=2.0):
    # A law without history: a commit would be a jump, which derivatives do not include.
    contact = hs.Contact.open(hs.Pair.from_yaml(SCENARIO, backend="kelvin_voigt", set={"contact.parameters": {
        "stiffness": 1.4e6, "damping": 100.0}}))
    f = hs.WrenchFunction(contact, hs.pose(p=(0, 0, -RADIUS)))
    automatic = rebound(f, Dual(speed * UP, UP))
    h = 1e-5
    by_differences = (rebound(f, (speed + h) * UP)[5] - rebound(f, (speed - h) * UP)[5]) / (2 * h)
    print(f"approach velocity {speed:g} m/s, separation velocity {automatic.value[5]:.6f} m/s")
    print(f"d(separation)/d(approach) = {automatic.tangent[5]:.9f}, by differences {by_differences:.9f}")
    return automatic.value[5], automatic.tangent[5], by_differences


if __name__ == "__main__":
    main()
