// Force plates: columns, stances, mass and centre of pressure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "gait/force_plate.hpp"
#include "tests/unit/motion/rejection.hpp"

namespace heelstrike {
namespace {

using testing::HasSubstr;

std::string columns(const std::string& prefix, const std::string& number) {
  std::string text;
  for (const char* name : {"force_%vx", "force_%vy", "force_%vz", "force_%px", "force_%py", "force_%pz", "torque_%x",
                           "torque_%y", "torque_%z"}) {
    std::string column = name;
    text += "\t" + prefix + "ground_" + column.replace(column.find('%'), 1, number);
  }
  return text;
}

TEST(ForcePlates, ReadsTheUsualHeadings) {
  const std::string text = "time" + columns("", "") + columns("1_", "") + columns("", "2_") + "\n0" +
                           std::string("\t1\t2\t3\t4\t5\t6\t7\t8\t9") +
                           "\t11\t12\t13\t14\t15\t16\t17\t18\t19\t21\t22\t23\t24\t25\t26\t27\t28\t29\n";
  const auto plates = read_force_plates(read_motion_table(text, "grf.mot"));
  ASSERT_EQ(plates.size(), 3U);
  EXPECT_EQ(plates[0].name, "ground_force");
  EXPECT_EQ(plates[1].name, "1_ground_force");
  EXPECT_EQ(plates[2].name, "ground_force_2");
  EXPECT_EQ(plates[1].force[0], Vector3(11, 12, 13));
  EXPECT_EQ(plates[1].point[0], Vector3(14, 15, 16));
  EXPECT_EQ(plates[2].moment[0], Vector3(27, 28, 29));
  EXPECT_THAT(rejection_error([] { (void)read_force_plates(read_motion_table("time,a\n0,1\n", "a.csv")); }),
              HasSubstr("a.csv: expected columns ground_force_vx"));
  EXPECT_THAT(
      rejection_error([] { (void)read_force_plates(read_motion_table("time,ground_force_vx\n0,1\n", "a.csv")); }),
      HasSubstr("'ground_force_vy'"));
}

/// A half sine of 700 N between 0.2 and 0.8 s, and the beginning of another stance at the end.
ForcePlate plate() {
  ForcePlate plate{.name = "p", .times = {}, .force = {}, .point = {}, .moment = {}};
  for (int i = 0; i <= 1000; ++i) {
    const double t = 1e-3 * i;
    const double f = t > 0.2 && t < 0.8 ? 700.0 * std::sin((t - 0.2) / 0.6 * 3.14159265358979) : t > 0.95 ? 300.0 : 0.0;
    plate.times.push_back(t);
    plate.force.emplace_back(0.0, 0.0, f);
    plate.point.emplace_back(0.0, 0.0, 0.0);
    plate.moment.emplace_back(0.0, 0.0, 0.0);
  }
  return plate;
}

TEST(ForcePlates, FindsStancesAtTheThreshold) {
  const auto found = stances(plate(), Vector3::UnitZ());
  ASSERT_EQ(found.size(), 2U);
  const double delay = 0.6 / 3.14159265358979 * std::asin(20.0 / 700.0);
  // Linear between samples of 1 ms: the error is below h^2 f'' / (8 f') = 1e-9 s here.
  EXPECT_NEAR(found[0].start, 0.2 + delay, 1e-6);
  EXPECT_NEAR(found[0].end, 0.8 - delay, 1e-6);
  EXPECT_TRUE(found[0].complete());
  EXPECT_TRUE(found[1].has_start);
  EXPECT_FALSE(found[1].has_end);
}

TEST(ForcePlates, LoadsOnThePlatesAreReversed) {
  const ForcePlate right = plate();
  std::vector<ForcePlate> plates = {right, right, right};
  for (std::size_t i = 0; i < right.force.size(); ++i) {
    plates[1].force[i] = -right.force[i];
    plates[1].moment[i].z() = 3.0;
    plates[2].force[i] = Vector3(0.0, 0.0, -0.5);
  }
  const auto notes = reverse_loads_on_plates(plates, Vector3::UnitZ(), 20.0);
  EXPECT_EQ(plates[0].force, right.force);
  EXPECT_EQ(plates[1].force, right.force);
  EXPECT_EQ(plates[1].moment[7].z(), -3.0);
  EXPECT_EQ(plates[2].force[7].z(), -0.5) << "noise of a plate without a load";
  EXPECT_THAT(notes, testing::ElementsAre(HasSubstr("p: its peak load, 700 N, points into the floor")));
}

TEST(ForcePlates, ForcesThatAreNotFiniteAreRejected) {
  std::vector<ForcePlate> plates = {plate()};
  check_forces(plates, "grf.mot");
  plates[0].force[50].y() = plates[0].force[51].x() = std::nan("");
  EXPECT_THAT(rejection_error([&] { check_forces(plates, "grf.mot"); }),
              testing::AllOf(HasSubstr("grf.mot: p: expected finite forces"), HasSubstr("t = 0.05 s (2 of 1001 rows")));
}

TEST(ForcePlates, EstimatesTheBodyMass) {
  const ForcePlate p = plate();
  // Mean of the half sine over its 0.6 s is 2/pi of its peak.
  const double mass = body_mass(std::span(&p, 1), Vector3::UnitZ(), 0.2, 0.8);
  EXPECT_NEAR(mass, 700.0 * 2.0 / 3.14159265358979 / 9.80665, 1e-3);
}

TEST(ForcePlates, CentreOfPressureReproducesTheLoad) {
  const Vector3 force(-80.0, 35.0, 700.0), n = Vector3::UnitZ();
  const Vector3 point(0.31, -0.12, -0.0075), free(0.0, 0.0, 6.5);
  const Vector3 origin(0.0, 0.0, -0.0075);
  const CenterOfPressure cop = center_of_pressure(force, free + (point - origin).cross(force), origin, n);
  EXPECT_LT((cop.point - point).norm(), 1e-13);
  EXPECT_NEAR(cop.free_moment, 6.5, 1e-12);
}

}  // namespace
}  // namespace heelstrike
