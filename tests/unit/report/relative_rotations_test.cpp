// The angle over which a page draws ligaments and contact paths.
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <numbers>

#include "report/relative_rotations.hpp"

namespace heelstrike::report {
namespace {

constexpr int rows = 40;

/// A tibia with arbitrary motion, and a femur that rotates in it by up to 240 degrees about a tilted axis with a small
/// rotation about another one.
struct Knee {
  Vector3 axis = Vector3(0.1, 0.05, 1.0).normalized();
  Scenario scenario;
  TimeSeries series;

  Knee() {
    PairModel pair;
    pair.spec.name = "knee";
    pair.main_body = "tibia";
    pair.partner_body = "femur";
    scenario.pairs = {pair, pair};
    scenario.pairs[1].spec.name = "patella";
    series.columns = {"time_s"};
    for (const char* body : {"tibia", "femur"}) {
      for (const char* part : {"x_m", "y_m", "z_m", "qw", "qx", "qy", "qz"}) {
        series.columns.push_back(std::string(body) + "." + part);
      }
    }
    for (const char* part : {"fx_N", "fy_N", "fz_N", "copx_m", "copy_m", "copz_m"}) {
      series.columns.push_back(std::string("knee.") + part);
    }
    for (int r = 0; r < rows; ++r) add_row(r);
  }

  [[nodiscard]] static double angle(int r) { return 4.0 / 3.0 * std::numbers::pi * r / (rows - 1); }

  /// The contact is at (0.01, 0.02, 0.03) m in the tibia, with a pause in the middle.
  void add_row(int r) {
    const Quaternion q_WA(Eigen::AngleAxisd(0.07 * r, Vector3(1.0, 2.0, 3.0).normalized()));
    const Quaternion q_WB = q_WA * Quaternion(Eigen::AngleAxisd(angle(r), axis));
    const Vector3 p_WA(0.1 * r, 0.0, 1.0);
    series.values.push_back(0.01 * r);
    for (const Quaternion& q : {q_WA, q_WB}) {
      for (const double x : {p_WA.x(), p_WA.y(), p_WA.z(), q.w(), q.x(), q.y(), q.z()}) series.values.push_back(x);
    }
    const Vector3 cop = p_WA + q_WA * Vector3(0.01, 0.02, 0.03);
    const double force = r == rows / 2 ? 0.0 : 5.0;
    for (const double x : {force, 0.0, 0.0, cop.x(), cop.y(), cop.z()}) series.values.push_back(x);
  }
};

TEST(BodyRotations, FollowTheFlexionBeyondPi) {
  const Knee knee;
  const auto turns = relative_rotations(knee.scenario, knee.series);
  ASSERT_EQ(turns.size(), 1u) << "two pairs of the same bodies";
  EXPECT_EQ(turns[0].a + " " + turns[0].b, "tibia femur");
  EXPECT_LT((turns[0].axis - knee.axis).norm(), 1e-9);
  ASSERT_EQ(turns[0].angle.size(), static_cast<std::size_t>(rows));
  for (int r = 0; r < rows; ++r) EXPECT_NEAR(turns[0].angle[static_cast<std::size_t>(r)], Knee::angle(r), 1e-9) << r;
}

TEST(BodyRotations, NothingIsDrawnWithoutRotation) {
  Knee knee;
  knee.scenario.pairs[0].partner_body = knee.scenario.pairs[1].partner_body = "tibia";
  EXPECT_TRUE(relative_rotations(knee.scenario, knee.series).empty());
  EXPECT_TRUE(relative_rotations(knee.scenario, TimeSeries{}).empty());
}

TEST(BodyRotations, ContactPathIsInTheFirstBody) {
  const Knee knee;
  const Json json = relative_rotations_json(knee.scenario, knee.series, 1000);
  ASSERT_EQ(json["paths"].size(), 1u) << "the other pair was never loaded";
  EXPECT_EQ(json["paths"][0]["pair"], "knee");
  // A row without load is omitted, and a NaN separates both intervals.
  EXPECT_EQ(json["paths"][0]["times"]["n"], rows);
  EXPECT_EQ(json["turns"][0]["name"], "femur in tibia");
}

}  // namespace
}  // namespace heelstrike::report
