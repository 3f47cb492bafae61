"""The contact as a function with its Jacobian, for optimisers, root finders and automatic differentiation."""
from __future__ import annotations

import numpy as np

from ._core import Contact, Response


def _skew(a: np.ndarray) -> np.ndarray:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def rotation(theta) -> np.ndarray:
    """(3, 3) rotation by a rotation vector [rad] (Rodrigues)."""
    theta = np.asarray(theta, dtype=float)
    angle = np.linalg.norm(theta)
    K = _skew(theta)
    # sin(a)/a and (1 - cos a)/a^2 = 2 sin(a/2)^2/a^2, which loses no digits at small angles; numpy's sinc has pi in it.
    return np.eye(3) + np.sinc(angle / np.pi) * K + 0.5 * np.sinc(angle / (2 * np.pi)) ** 2 * K @ K


def left_jacobian(theta) -> np.ndarray:
    """(3, 3) by which a change of the rotation vector turns into the small rotation that follows the rotation."""
    theta = np.asarray(theta, dtype=float)
    angle = np.linalg.norm(theta)
    K = _skew(theta)
    # (a - sin a)/a^3 cancels below a = 0.01 or so; the next term of its series is then below 1e-13 of it.
    third = (angle - np.sin(angle)) / angle**3 if angle > 0.02 else 1 / 6 - angle**2 / 120 + angle**4 / 5040
    return np.eye(3) + 0.5 * np.sinc(angle / (2 * np.pi)) ** 2 * K + third * K @ K


def pose(theta=(0.0, 0.0, 0.0), p=(0.0, 0.0, 0.0)) -> np.ndarray:
    """(4, 4) pose from a rotation vector [rad] and a translation [m]."""
    X = np.eye(4)
    X[:3, :3] = rotation(theta)
    X[:3, 3] = p
    return X


class WrenchFunction:
    """F(x): the wrench on A at the pose that x, a rotation vector [rad] and a translation [m] in A, makes of X0.

        f = hs.WrenchFunction(contact, X0)
        scipy.optimize.root(lambda x: f(x) - F_wanted, np.zeros(6), jac=f.jacobian)

    x = (theta, u): rotation exp(theta) R0, origin p0 + u. The Jacobian is exact: the contact's own tangent, by the chain
    rule. F and J at the same x cost one evaluation. In frameworks of automatic differentiation it is a function with a
    custom derivative: value f(x), vector-Jacobian product v -> v @ f.jacobian(x).
    """

    def __init__(self, contact: Contact, X0=None, t: float = 0.0) -> None:
        self.contact = contact
        self.X0 = np.eye(4) if X0 is None else np.array(X0, dtype=float)
        self.t = t
        self._x: np.ndarray | None = None
        self._response: Response | None = None

    def pose(self, x) -> np.ndarray:
        """(4, 4) X_AB at x."""
        x = np.asarray(x, dtype=float)
        X = np.eye(4)
        X[:3, :3] = rotation(x[:3]) @ self.X0[:3, :3]
        X[:3, 3] = self.X0[:3, 3] + x[3:]
        return X

    def response(self, x) -> Response:
        """All that the contact says at x, B at rest."""
        x = np.array(x, dtype=float)
        if self._x is None or not np.array_equal(x, self._x):
            self._response = self.contact.evaluate(self.pose(x), None, self.t)
            self._x = x
        return self._response

    def __call__(self, x) -> np.ndarray:
        """(6,) torque [N m], force [N]"""
        return self.response(x).F

    def jacobian(self, x) -> np.ndarray:
        """(6, 6) dF/dx"""
        J = self.response(x).dF_dX.copy()
        J[:, :3] = J[:, :3] @ left_jacobian(np.asarray(x, dtype=float)[:3])
        return J
