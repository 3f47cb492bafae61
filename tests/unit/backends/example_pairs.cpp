#include "tests/unit/backends/example_pairs.hpp"

#include <algorithm>

#include "common/errors/error.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/sphere.hpp"

namespace heelstrike::fem::testing_support {

std::vector<ExampleGeometry> example_geometries() {
  const Pose X{.R = rotation_from_vector({0.4, -0.7, 0.3}), .p = {0.05, -0.02, 0.1}};
  const SphereSurface ball{.radius = 0.1, .center = {0.02, 0.03, -0.04}};
  const PlaneSurface plane{.normal = Vector3(0.2, -0.3, 0.9).normalized(), .point = {0.1, 0.2, -0.3}};
  const SphereSurface other{.radius = 0.06, .center = {-0.05, 0.04, 0.3}};
  const SphereSurface socket{.radius = -0.15, .center = {0.01, -0.02, 0.05}};
  // B's centre well outside the ball, or near the middle of the socket.
  const Pose inside{.R = X.R, .p = socket.center - X.R * ball.center + Vector3(0.01, 0.015, -0.02)};
  const Pose around{.R = X.R, .p = ball.center - X.R * socket.center + Vector3(0.01, 0.015, -0.02)};
  return {{"sphere_plane", ball, plane, X},
          {"plane_sphere", plane, ball, X},
          {"sphere_sphere", ball, other, X},
          {"socket_sphere", socket, ball, inside},
          {"sphere_socket", ball, socket, around}};
}

PairSpec example_pair(const std::string& backend, const ExampleGeometry& geometry) {
  const auto& schema = find_backend(backend).parameters;
  const auto has = [&](const std::string& name) {
    return std::ranges::any_of(schema, [&](const ParameterSchema& s) { return s.name == name; });
  };
  PairSpec pair;
  pair.name = "example";
  pair.backend = backend;
  if (has("stiffness")) pair.parameters["stiffness"] = has("exponent") ? 1.4e8 : 1e6;
  if (has("restitution")) pair.parameters["restitution"] = 0.6;
  if (has("damping")) pair.parameters["damping"] = 50.0;
  pair.main = {.name = "A", .surface = geometry.main, .materials = {}};
  pair.partner = {.name = "B", .surface = geometry.partner, .materials = {}};
  return pair;
}

PrepareContext no_context() {
  return {.asset = [](const AssetKey&) -> const AssetContent& { throw not_found_error("no assets in this test"); },
          .on_progress = [](std::string_view, double) {},
          .stop = {}};
}

std::unique_ptr<ContactBackend> make_example(const PairSpec& pair) {
  return make_backend(pair, no_context());
}

PairState placed(const PairSpec& pair, const Pose& X_AB, double depth, double closing) {
  const PointPair geometry(pair.main.surface, pair.partner.surface, "example");
  PairState state{.t = 0.25, .X_AB = X_AB, .V_AB = {.w = {0.8, -1.1, 0.6}, .v = {0.3, 0.5, -0.2}}};
  // B is first separated: along the normal the gap changes one to one, so that the second move is exact.
  PointGeometry g = geometry.at(state);
  state.X_AB.p -= (g.gap + depth) * g.n_A;
  g = geometry.at(state);
  state.X_AB.p -= (g.gap + depth) * g.n_A;
  g = geometry.at(state);
  state.V_AB.v -= (g.gap_rate + closing) * g.n_A;
  return state;
}

}  // namespace heelstrike::fem::testing_support
