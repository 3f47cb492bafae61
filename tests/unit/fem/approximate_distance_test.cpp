// Screened Poisson distance in a ball, compared with its closed form and with the true distance.
#include "fem_server/fem/approximate_partner.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "common/errors/error.hpp"
#include "tests/unit/fem/test_meshes.hpp"

namespace heelstrike::fem {
namespace {

constexpr double R = 0.1;  // [m]

/// -c ln[(R/r) sinh(r/c) / sinh(R/c)], without the exponentials that overflow.
double closed_form(double r, double c) {
  const double ratio = R / r * std::exp((r - R) / c) * (1.0 - std::exp(-2.0 * r / c)) / (1.0 - std::exp(-2.0 * R / c));
  return -c * std::log(ratio);
}

TEST(ApproximateDistance, FollowsItsClosedFormAndConvergesToTheDistance) {
  const BodyModel body(
      test::ball_mesh(R, 1e-2, 0.1, 1.0),
      std::vector<Material>{{.youngs_modulus = 1.0, .poissons_ratio = 0.3, .density = 1.0, .set = ""}});
  const double edge = mean_edge_length(body);
  std::printf("%zu nodes, mean edge %.2f mm\n%8s %22s %22s\n", body.mesh().nodes.size(), 1e3 * edge, "c [mm]",
              "to closed form [mm]", "to distance [mm]");
  double before = 1.0;
  for (const double factor : {4.0, 2.0, 1.0}) {
    const double c = factor * edge;
    const auto distance = approximate_distance(body, c);
    double to_form = 0.0;
    double to_distance = 0.0;
    for (std::size_t i = 0; i < distance.size(); ++i) {
      const double r = body.mesh().nodes[i].norm();
      if (R - r > 0.01 || r > R - 1e-9) continue;  // contact searches no deeper than a centimetre
      to_form = std::max(to_form, std::abs(distance[i] - closed_form(r, c)));
      to_distance = std::max(to_distance, std::abs(distance[i] - (R - r)));
    }
    std::printf("%8.2f %22.4f %22.4f\n", 1e3 * c, 1e3 * to_form, 1e3 * to_distance);
    // Within 10 mm of depth the formula is too small by c / R of the depth; the mesh adds h^2 / 12 c^2 of it.
    EXPECT_LT(to_form, 0.01 * (0.02 + edge * edge / (6.0 * c * c)));
    EXPECT_LT(to_distance, before);
    before = to_distance;
  }
}

TEST(ApproximateDistance, RejectsUnsupportedInput) {
  const std::vector<Material> material{{.youngs_modulus = 1.0, .poissons_ratio = 0.3, .density = 1.0, .set = ""}};
  const VolumeMesh block = test::block_mesh(Vector3::Zero(), Vector3::Ones(), 4, 4, 4);
  EXPECT_THROW((void)approximate_distance(BodyModel(block, material), 0.0), Error);
  EXPECT_THROW((void)approximate_distance(BodyModel(to_quadratic(block), material), 0.1), Error);
}

}  // namespace
}  // namespace heelstrike::fem
