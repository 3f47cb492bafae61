// Errors of the factorisation for singular matrices.
#include "mbs_server/formulation/sparse_matrix.hpp"

#include <gtest/gtest.h>

namespace heelstrike::mbs {
namespace {

SparseMatrix two_by_two(double last) {
  SparseMatrix A(2, 2);
  A.insert(0, 0) = 1.0;
  A.insert(0, 1) = 1.0;
  A.insert(1, 0) = 1.0;
  A.insert(1, 1) = last;
  A.makeCompressed();
  return A;
}

TEST(SparseLu, DetectsASingularMatrix) {
  SparseLu lu;
  ASSERT_TRUE(lu.factor(two_by_two(3.0)));
  // With the pivots of the preceding matrix, the second one is a rounding error.
  EXPECT_FALSE(lu.factor(two_by_two(1.0 + 2.3e-16)));
  ASSERT_TRUE(lu.factor(two_by_two(3.0)));
  Eigen::VectorXd b(2);
  b << 2.0, 4.0;
  lu.solve(b);
  EXPECT_DOUBLE_EQ(b[0], 1.0);
  EXPECT_DOUBLE_EQ(b[1], 1.0);
}

}  // namespace
}  // namespace heelstrike::mbs
