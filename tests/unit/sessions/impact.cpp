#include "tests/unit/sessions/impact.hpp"

#include <stdexcept>

namespace heelstrike::fem::testing_support {

namespace {

/// Depth, depth rate, dissipated energy.
using Y = Eigen::Vector3d;

class Impact {
 public:
  Impact(Session& session, const ImpactSetup& setup) : session_(session), setup_(setup) {}

  ImpactResult run() {
    Y y(0.0, setup_.speed, 0.0);
    double t = 0.0;
    commit(0, t, y);
    ImpactResult result;
    for (std::int64_t step = 1; step < 1000000; ++step) {
      step_ = step;
      Y next = rk4(t, y, setup_.time_step);
      const bool separated = next[0] <= 0.0;
      const double h = separated ? separation(t, y) : setup_.time_step;
      if (separated) next = rk4(t, y, h);
      if (y[1] > 0.0 && next[1] <= 0.0) result.compression_time = t + h * y[1] / (y[1] - next[1]);
      t += h;
      y = next;
      const Response r = commit(step, t, y);
      if (r.F_A.force.norm() > result.max_force) {
        result.max_force = r.F_A.force.norm();
        result.depth_at_max_force = y[0];
      }
      result.max_depth = std::max(result.max_depth, y[0]);
      result.last_step = step;
      if (separated) {
        result.contact_time = t;
        result.separation_velocity = -y[1];
        result.dissipated = y[2];
        return result;
      }
    }
    throw std::runtime_error("the bodies did not separate");
  }

 private:
  Y slope(double t, const Y& y) const {
    const Response r = session_.evaluate(step_, straight_state(t, setup_.touch, -y[0], y[1]));
    // On A along -z: B is above and pushed up.
    return {y[1], (setup_.load + r.F_A.force.z()) / setup_.mass, r.dissipated_power};
  }

  Y rk4(double t, const Y& y, double h) const {
    const Y k1 = slope(t, y);
    const Y k2 = slope(t + 0.5 * h, y + 0.5 * h * k1);
    const Y k3 = slope(t + 0.5 * h, y + 0.5 * h * k2);
    const Y k4 = slope(t + h, y + h * k3);
    return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
  }

  /// Length of the step to the far side of the root of the depth.
  double separation(double t, const Y& y) const {
    double low = 0.0;
    double high = setup_.time_step;
    for (int i = 0; i < 60; ++i) {
      const double middle = 0.5 * (low + high);
      (rk4(t, y, middle)[0] > 0.0 ? low : high) = middle;
    }
    return high;
  }

  Response commit(std::int64_t step, double t, const Y& y) {
    auto prepared = session_.prepare_commit(step, straight_state(t, setup_.touch, -y[0], y[1]));
    const Response response = prepared.committed.response;
    session_.publish(std::move(prepared));
    return response;
  }

  Session& session_;
  ImpactSetup setup_;
  std::int64_t step_ = 0;
};

}  // namespace

PairState straight_state(double t, double touch, double opening, double closing) {
  return {.t = t,
          .X_AB = {.R = Matrix3::Identity(), .p = {0.0, 0.0, touch + opening}},
          .V_AB = {.w = Vector3::Zero(), .v = {0.0, 0.0, -closing}}};
}

ImpactResult run_impact(Session& session, const ImpactSetup& setup) {
  return Impact(session, setup).run();
}

}  // namespace heelstrike::fem::testing_support
