"""SciPy's solve_ivp integrates a bouncing ball with Heelstrike's contact law.

The law of Flores et al. depends on the approach velocity: history, which is updated when a step is committed. The ball
is integrated up to each touchdown and lift-off (events of solve_ivp), committed there, and continued. For comparison
Heelstrike integrates the same ball.

    python3 scipy_ball.py
"""
import pathlib

import numpy as np
from scipy.integrate import solve_ivp

import heelstrike as hs

SCENARIO = pathlib.Path(__file__).resolve().parent.parent / "bouncing_ball.yaml"
RADIUS, MASS, GRAVITY, HEIGHT = 0.1, 1.0, 9.81, 1.0


def integrate_with_scipy(end_time):
    """Height [m] and velocity [m/s] at the end. A is the ball, B the ground."""
    contact = hs.Contact.open(hs.Pair.from_yaml(SCENARIO))

    def of_ground(y):
        """Pose and twist of the ground in the ball, which does not rotate."""
        return hs.pose(p=(0, 0, -y[0])), np.array([0, 0, 0, 0, 0, -y[1]])

    def apart(t, y):
        return [y[1], -GRAVITY]

    def touching(t, y):
        F, _, _ = contact.evaluate(*of_ground(y), t)
        return [y[1], F[5] / MASS - GRAVITY]

    # 1e-12 m beyond the surface, where the contact state is unambiguous: the law takes the approach velocity from the
    # first committed state in contact.
    beyond = 1e-12

    def passes(t, y):
        return y[0] - RADIUS + (-beyond if closed else beyond)

    passes.terminal = True
    t, y, closed = 0.0, np.array([HEIGHT, 0.0]), False
    contact.commit(*of_ground(y), t)
    while t < end_time:
        # Trial steps of a flight reach far below the ground and would be rejected as too deep: the contact is evaluated
        # only during contact, in steps that resolve its duration of a millisecond.
        passes.direction = 1 if closed else -1
        part = solve_ivp(touching if closed else apart, (t, end_time), y, method="DOP853", rtol=1e-12, atol=1e-14, events=passes,
                         max_step=2e-5 if closed else np.inf)
        t, y = part.t[-1], part.y[:, -1]
        contact.commit(*of_ground(y), t)
        closed = not closed
    return y


def integrate_with_heelstrike(end_time):
    simulation = hs.Simulation(SCENARIO, set={"analysis.integrator.rtol": 1e-12, "analysis.integrator.atol": 1e-14})
    simulation.advance_to(end_time)
    return np.array([simulation["ball.z_m"], simulation["ball.vz_m_s"]])


def main(end_time=1.2):
    ours, theirs = integrate_with_heelstrike(end_time), integrate_with_scipy(end_time)
    difference = np.abs(ours - theirs)
    print(f"height and velocity after {end_time:g} s: {theirs[0]:.9f} m, {theirs[1]:.9f} m/s")
    print(f"difference to Heelstrike's run: {difference[0]:.1e} m, {difference[1]:.1e} m/s")
    return difference


if __name__ == "__main__":
    main()
