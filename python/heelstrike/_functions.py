"""The contact as a function with its Jacobian, for optimisers, root finders and automatic differentiation."""
from __future__ import annotations

from typing import Any

import numpy as np

from ._core import Contact, Response
from ._errors import InputError, expected
from ._types import Array, ArrayLike


def _numbers(given: ArrayLike, argument: str, shape: tuple[int, ...]) -> Array:
    """A copy as real numbers. Raises InputError for another shape or type."""
    wanted = f"real numbers of shape {shape}"
    try:
        array = np.array(given)
    except ValueError:  # lists of different lengths
        raise expected(argument, wanted, given) from None
    if array.dtype.kind not in "fiu":
        raise expected(argument, wanted, given)
    if array.shape != shape:
        raise InputError(f"{argument}: expected {wanted}, found the shape {array.shape}", code="invalid input", key=argument)
    return array.astype(float)


def _skew(a: Array) -> Array:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def rotation(theta: ArrayLike) -> Array:
    """(3, 3) rotation by a rotation vector [rad] (Rodrigues)."""
    vector = _numbers(theta, "theta", (3,))
    angle = float(np.linalg.norm(vector))
    K = _skew(vector)
    # sin(a)/a and (1 - cos a)/a^2 = 2 sin(a/2)^2/a^2, which loses no digits at small angles; numpy's sinc has pi in it.
    turned: Array = np.eye(3) + np.sinc(angle / np.pi) * K + 0.5 * np.sinc(angle / (2 * np.pi)) ** 2 * K @ K
    return turned


def left_jacobian(theta: ArrayLike) -> Array:
    """(3, 3) maps a change of the rotation vector to the small rotation that is applied after the rotation."""
    vector = np.asarray(theta, dtype=float)
    angle = float(np.linalg.norm(vector))
    K = _skew(vector)
    # (a - sin a)/a^3 suffers cancellation below about a = 0.01; the next term of its series is then below 1e-13 of it.
    third = (angle - np.sin(angle)) / angle**3 if angle > 0.02 else 1 / 6 - angle**2 / 120 + angle**4 / 5040
    jacobian: Array = np.eye(3) + 0.5 * np.sinc(angle / (2 * np.pi)) ** 2 * K + third * K @ K
    return jacobian


def pose(theta: ArrayLike = (0.0, 0.0, 0.0), p: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """(4, 4) pose from a rotation vector [rad] and a translation [m]."""
    X = np.eye(4)
    X[:3, :3] = rotation(theta)
    X[:3, 3] = _numbers(p, "p", (3,))
    return X


class WrenchFunction:
    """F(x, v): the wrench on A where x, a rotation vector [rad] and a translation [m] in A, moves B from X0, and B moves
    with the twist v in A (angular [rad/s], linear [m/s]; default: at rest).

        f = hs.WrenchFunction(contact, X0)
        scipy.optimize.root(lambda x: f(x) - F_wanted, np.zeros(6), jac=f.jacobian)

    x = (theta, u): rotation exp(theta) R0, origin p0 + u. The Jacobians are exact: the tangents of the contact, by the chain
    rule. F and Jacobians at the same state cost one evaluation. In frameworks of automatic differentiation it is a function
    with a custom derivative: value f(x, v), Jacobian-vector product Jx @ dx + Jv @ dv, vector-Jacobian products w @ Jx and
    w @ Jv, with Jx, Jv = f.jacobians(x, v).
    """

    def __init__(self, contact: Contact, X0: ArrayLike | None = None, t: float = 0.0) -> None:
        self.contact = contact
        self.X0 = np.eye(4) if X0 is None else _numbers(X0, "X0", (4, 4))
        self.t = t
        self._requested: tuple[Any, ...] = ()  # key of the response
        self._response: Response | None = None

    def pose(self, x: ArrayLike) -> Array:
        """(4, 4) X_AB at x."""
        at = _numbers(x, "x", (6,))
        X = np.eye(4)
        X[:3, :3] = rotation(at[:3]) @ self.X0[:3, :3]
        X[:3, 3] = self.X0[:3, 3] + at[3:]
        return X

    def response(self, x: ArrayLike, v: ArrayLike | None = None) -> Response:
        """The full response of the contact."""
        X, V = self.pose(x), np.zeros(6) if v is None else _numbers(v, "v", (6,))
        # The key includes the history, because a commit changes the response.
        requested = (X.tobytes(), V.tobytes(), self.t, getattr(self.contact, "_history"))
        if self._response is None or requested != self._requested:
            self._response = self.contact.evaluate(X, V, self.t)
            self._requested = requested
        return self._response

    def __call__(self, x: ArrayLike, v: ArrayLike | None = None) -> Array:
        """(6,) torque [N m], force [N]; a new array."""
        return self.response(x, v).F.copy()

    def jacobian(self, x: ArrayLike, v: ArrayLike | None = None) -> Array:
        """(6, 6) dF/dx"""
        return self.jacobians(x, v)[0]

    def jacobians(self, x: ArrayLike, v: ArrayLike | None = None) -> tuple[Array, Array]:
        """(6, 6) dF/dx and (6, 6) dF/dv"""
        response = self.response(x, v)
        J = response.dF_dX.copy()
        J[:, :3] = J[:, :3] @ left_jacobian(np.asarray(x, dtype=float)[:3])
        return J, response.dF_dV.copy()
