// The minimum of a scan lies on the parabola through three points.
#include <gtest/gtest.h>

#include <array>

#include "client/studies/registration.hpp"

namespace heelstrike::client {
namespace {

TEST(ModulusScan, ParabolaIsExactForUnevenPoints) {
  const std::array<double, 3> x = {-1.0, 0.5, 3.0};
  std::array<double, 3> y{};
  for (std::size_t i = 0; i < 3; ++i) y[i] = 7.0 + 1.5 * (x[i] - 0.8) * (x[i] - 0.8);
  const Parabola parabola = parabola_through(x, y);
  // A few operations on numbers of order 10.
  EXPECT_NEAR(parabola.minimum, 0.8, 1e-13);
  EXPECT_NEAR(parabola.curvature, 3.0, 1e-13);
}

}  // namespace
}  // namespace heelstrike::client
