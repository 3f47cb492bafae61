// Kernels of dense matrices with the oldest kernels of OpenBLAS, which it uses for unknown processors.
#include "fem_server/fem/dense_kernels.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>

namespace heelstrike::fem {
namespace {

TEST(DenseKernels, InversesOfAnySize) {
  use_one_blas_thread();
  // Blocks of the factor have odd sizes from 133 on.
  for (const Eigen::Index n : {1, 2, 7, 64, 133, 137, 244, 301}) {
    const Eigen::MatrixXd half = Eigen::MatrixXd::NullaryExpr(
        n, n, [](Eigen::Index i, Eigen::Index j) { return 1.0 / (1.0 + static_cast<double>((3 * i + 7 * j) % 11)); });
    const Eigen::MatrixXd matrix = half * half.transpose() + static_cast<double>(n) * Eigen::MatrixXd::Identity(n, n);
    Eigen::MatrixXf inverse = matrix.cast<float>();
    inverse.triangularView<Eigen::StrictlyUpper>().setZero();  // is not read
    ASSERT_TRUE(invert_in_place(inverse));
    const Eigen::MatrixXd product = matrix * inverse.cast<double>();
    // Single precision, 6e-8, times the condition number, below 30, and the root of the size.
    EXPECT_LT((product - Eigen::MatrixXd::Identity(n, n)).cwiseAbs().maxCoeff(), 2e-5) << n;
  }
  Eigen::MatrixXf indefinite = -Eigen::MatrixXf::Identity(3, 3);
  EXPECT_FALSE(invert_in_place(indefinite));
}

}  // namespace
}  // namespace heelstrike::fem
