/// Reproducible numbers for tests.
#pragma once

#include <Eigen/Core>
#include <random>

namespace heelstrike::test {

/// Entries uniform in [-1, 1].
inline Eigen::VectorXd random_vector(Eigen::Index n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> u(-1.0, 1.0);
  return Eigen::VectorXd::NullaryExpr(n, [&] { return u(random); });
}

}  // namespace heelstrike::test
