// Poses, twists and wrenches: transport identities and rejected input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "common/errors/error.hpp"
#include "common/spatial/spatial.hpp"

namespace heelstrike {
namespace {

constexpr double eps = 1e-14;  // a dozen roundings of numbers around 1

const Pose X_WA{.R = rotation_from_vector({0.3, -0.2, 0.7}), .p = {0.4, 1.2, -0.3}};
const Pose X_WB{.R = rotation_from_vector({-1.1, 0.4, 0.2}), .p = {-0.5, 0.1, 0.8}};
const Twist V_WA{.w = {0.3, -0.7, 0.2}, .v = {1.0, 0.2, -0.4}};
const Twist V_WB{.w = {-0.5, 0.4, 0.9}, .v = {-0.3, 0.6, 0.1}};

double distance(const Pose& a, const Pose& b) {
  return std::max((a.R - b.R).cwiseAbs().maxCoeff(), (a.p - b.p).cwiseAbs().maxCoeff());
}

/// The pose after the time dt of a constant twist expressed in the world; first order suffices for differences.
Pose moved(const Pose& X, const Twist& V, double dt) {
  return {.R = rotation_from_vector(dt * V.w) * X.R, .p = X.p + dt * V.v};
}

TEST(Pose, InverseAndComposition) {
  EXPECT_LT(distance(X_WA * X_WA.inverse(), Pose{}), eps);
  EXPECT_LT(distance(X_WA.inverse() * X_WA, Pose{}), eps);
  const Vector3 p_BQ(0.1, -0.7, 0.4);
  EXPECT_LT(((X_WA * X_WB) * p_BQ - X_WA * (X_WB * p_BQ)).norm(), eps);
}

TEST(Rotation, FromVector) {
  EXPECT_EQ(rotation_from_vector(Vector3::Zero()), Matrix3::Identity());
  const Matrix3 quarter = rotation_from_vector({0, 0, M_PI / 2});
  EXPECT_LT((quarter * Vector3::UnitX() - Vector3::UnitY()).norm(), eps) << "right-handed about z";
  // Both sides of the switch to the series agree.
  const Vector3 axis = Vector3(1, -2, 3).normalized();
  for (const double angle : {0.99e-4, 1.01e-4, 1e-9, 2.0}) {
    const Matrix3 expected = Eigen::AngleAxisd(angle, axis).toRotationMatrix();
    EXPECT_LT((rotation_from_vector(angle * axis) - expected).cwiseAbs().maxCoeff(), 1e-15) << angle;
  }
}

TEST(Skew, IsTheCrossProduct) {
  const Vector3 a(1, -2, 3), b(0.5, 4, -1);
  EXPECT_EQ(skew(a) * b, a.cross(b));
}

// Truncation of central differences h^2 = 1e-10 times third derivatives below 1; rounding 1e-16 / 1e-5.
TEST(Twist, RelativeTwistIsTheRateOfTheRelativePose) {
  const double h = 1e-5;
  const auto X_AB = [&](double t) { return moved(X_WA, V_WA, t).inverse() * moved(X_WB, V_WB, t); };
  const Twist V_AB = relative_twist(X_WA, V_WA, X_WB, V_WB);
  const Vector3 v = (X_AB(h).p - X_AB(-h).p) / (2 * h);
  EXPECT_LT((V_AB.v - v).norm(), 1e-9) << V_AB.v.transpose() << " against " << v.transpose();
  const Matrix3 W = (X_AB(h).R - X_AB(-h).R) / (2 * h) * X_AB(0).R.transpose();
  EXPECT_LT((skew(V_AB.w) - W).cwiseAbs().maxCoeff(), 1e-9);
}

TEST(Twist, PointVelocityIsTheRateOfTheFixedPoint) {
  const double h = 1e-5;
  const Vector3 p_BP(0.2, 0.3, -0.1);
  const Vector3 v = (moved(X_WB, V_WB, h) * p_BP - moved(X_WB, V_WB, -h) * p_BP) / (2 * h);
  EXPECT_LT((point_velocity(V_WB, X_WB.R * p_BP) - v).norm(), 1e-9);
}

TEST(Twist, RelativeTwistOfABodyToItselfIsZero) {
  EXPECT_LT(relative_twist(X_WA, V_WA, X_WA, V_WA).vector().norm(), eps);
}

const Wrench F_A{.torque = {1.0, -2.0, 0.5}, .force = {30.0, 10.0, -20.0}};

TEST(Wrench, ShiftClosedForm) {
  // 10 N along y, applied 2 m along x from A: 20 N m about z at A, none at the point itself.
  const Wrench at_A{.torque = {0, 0, 20}, .force = {0, 10, 0}};
  const Wrench at_point = shift_wrench(at_A, {2, 0, 0});
  EXPECT_LT(at_point.torque.norm(), eps);
  EXPECT_EQ(at_point.force, at_A.force);
}

TEST(Wrench, ShiftRoundTrip) {
  const Vector3 p(0.3, -0.4, 0.9);
  EXPECT_LT((shift_wrench(shift_wrench(F_A, p), -p).vector() - F_A.vector()).norm(), 30 * eps);
}

TEST(Wrench, OppositeOfTheOppositeIsTheWrench) {
  const Pose X_AB = X_WA.inverse() * X_WB;
  const Wrench F_B = opposite_wrench(F_A, X_AB);
  EXPECT_LT((opposite_wrench(F_B, X_AB.inverse()).vector() - F_A.vector()).norm(), 100 * eps);
}

// The powers of both wrenches sum to the power of the relative motion: no work in a common rigid motion.
TEST(Wrench, OppositeWrenchesDoNoWorkInACommonMotion) {
  const Pose X_AB = X_WA.inverse() * X_WB;
  const Wrench F_B = opposite_wrench(F_A, X_AB);
  const Twist common_A{.w = {0.4, -0.3, 0.8}, .v = {1, 2, 3}};  // of the body A, expressed in A
  const Twist common_B{.w = X_AB.R.transpose() * common_A.w,
                       .v = X_AB.R.transpose() * point_velocity(common_A, X_AB.p)};
  const double power = F_A.vector().dot(common_A.vector()) + F_B.vector().dot(common_B.vector());
  EXPECT_NEAR(power, 0.0, 1e-12) << "of terms around 100 W";
}

TEST(Quaternion, NormIsCheckedAndRepaired) {
  const Quaternion q = quaternion_from_rotation(X_WA.R);
  for (const double scale : {1.0 - 0.9e-6, 1.0 + 0.9e-6}) {
    EXPECT_LT(
        (rotation_from_quaternion(Quaternion(Eigen::Vector4d(scale * q.coeffs()))) - X_WA.R).cwiseAbs().maxCoeff(),
        eps);
  }
  for (const double scale : {1.0 - 2e-6, 1.0 + 2e-6, 0.0}) {
    try {
      (void)rotation_from_quaternion(Quaternion(Eigen::Vector4d(scale * q.coeffs())));
      FAIL() << "accepted a norm of " << scale;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      EXPECT_THAT(error.what(), testing::HasSubstr("unit quaternion"));
    }
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW((void)rotation_from_quaternion(Quaternion(1, nan, 0, 0)), Error);
  EXPECT_THROW((void)rotation_from_quaternion(Quaternion(std::numeric_limits<double>::infinity(), 0, 0, 0)), Error);
}

TEST(Quaternion, HasOneSign) {
  for (const double angle : {0.1, 3.0, 3.3, 6.0}) {
    EXPECT_GE(quaternion_from_rotation(rotation_from_vector({angle, 0, 0})).w(), 0.0) << angle;
  }
}

// Coordinates of an integrator violate the rotation by its tolerance; the nearest rotation is within that of the input.
TEST(Quaternion, NearestRotationOfASlightlyDeformedOne) {
  Matrix3 R = X_WA.R;
  R(0, 1) += 1e-7;
  R(2, 2) -= 1e-7;
  const Matrix3 Q = rotation_from_quaternion(quaternion_from_rotation(R));
  EXPECT_LT((Q.transpose() * Q - Matrix3::Identity()).cwiseAbs().maxCoeff(), eps);
  EXPECT_LT((Q - R).norm(), 1.5e-7);
  // Q is nearest when Q^T R is symmetric.
  const Matrix3 S = Q.transpose() * R;
  EXPECT_LT((S - S.transpose()).cwiseAbs().maxCoeff(), eps);
}

// A second conversion may change last bits (the polar decomposition rounds), never more; both paths therefore make the
// same number of conversions.
TEST(CanonicalPose, SecondRoundTripChangesAtMostRounding) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<double> angle(-3.0, 3.0);
  for (int i = 0; i < 1000; ++i) {
    const Pose X{.R = rotation_from_vector({angle(generator), angle(generator), angle(generator)}),
                 .p = {0.1, 0.2, 0.3}};
    const Pose once = canonical_pose(X);
    const Pose twice = canonical_pose(once);
    ASSERT_LT(distance(once, X), 4e-15);
    ASSERT_LT(distance(twice, once), 2e-15);
    ASSERT_EQ(once.p, X.p);
    ASSERT_EQ(canonical_pose(X).R, once.R) << "same input, same bits";
  }
}

TEST(CanonicalPose, IdentityAndQuarterRotationsAreExact) {
  EXPECT_EQ(canonical_pose(Pose{}).R, Matrix3::Identity());
  Matrix3 half = Matrix3::Identity();
  half(0, 0) = half(1, 1) = -1.0;
  EXPECT_EQ(canonical_pose({.R = half, .p = Vector3::Zero()}).R, half);
}

}  // namespace
}  // namespace heelstrike
