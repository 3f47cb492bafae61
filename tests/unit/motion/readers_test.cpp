// Files of motion: what they yield, and what is refused where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/motion/motion_file.hpp"
#include "common/motion/motion_table.hpp"
#include "gait/axis_map.hpp"
#include "gait/marker_file.hpp"
#include "tests/unit/motion/refusal.hpp"

namespace heelstrike {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

const std::string trc =
    "PathFileType\t4\t(X/Y/Z)\twalk.trc\r\n"
    "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames\r\n"
    "50.00\t50.00\t3\t2\tmm\t50.00\t1\t3\r\n"
    "Frame#\tTime\tHeel\t\t\tToe\t\t\t\r\n"
    "\t\tX1\tY1\tZ1\tX2\tY2\tZ2\t\r\n"
    "\r\n"
    "1\t0.00\t100\t20\t-30\t300\t10\t-40\t\r\n"
    "2\t0.02\t\t\t\t301\t11\t-41\r\n"
    "3\t0.04\t102\t22\t-32\t0\t0\t0\t\r\n";

TEST(Trc, YieldsMetresAndGaps) {
  const MarkerTrial trial = read_trc(trc, "walk.trc");
  EXPECT_THAT(trial.names, ElementsAre("Heel", "Toe"));
  EXPECT_THAT(trial.times, ElementsAre(0.0, 0.02, 0.04));
  EXPECT_EQ(trial.rate, 50.0);
  EXPECT_TRUE(trial.marker("Heel")[0].isApprox(Vector3(0.100, 0.020, -0.030), 1e-15));
  EXPECT_FALSE(is_seen(trial.marker("Heel")[1])) << "empty entries are a gap";
  EXPECT_FALSE(is_seen(trial.marker("Toe")[2])) << "zeros are a gap";
  EXPECT_TRUE(trial.marker("Toe")[1].isApprox(Vector3(0.301, 0.011, -0.041), 1e-15));
}

TEST(Trc, RefusesWithLine) {
  const auto message = [](const std::string& from, const std::string& to) {
    return refusal([&] { (void)read_trc(changed(trc, from, to), "walk.trc"); });
  };
  EXPECT_THAT(message("\t3\t2\tmm", "\t4\t2\tmm"),
              AllOf(StartsWith("walk.trc:3: NumFrames: expected 4 rows"), HasSubstr("found 3")));
  EXPECT_THAT(message("\t3\t2\tmm", "\t3\t3\tmm"),
              AllOf(StartsWith("walk.trc:4: expected 3 marker names"), HasSubstr("line 3")));
  EXPECT_THAT(message("\tmm\t", "\tinch\t"),
              AllOf(StartsWith("walk.trc:3: Units: expected mm, cm or m"), HasSubstr("inch")));
  EXPECT_THAT(message("3\t0.04", "3\t0.01"),
              AllOf(StartsWith("walk.trc:9: expected a time above 0.02 s"), HasSubstr("0.01")));
  EXPECT_THAT(message("\t22\t", "\t2z2\t"), AllOf(StartsWith("walk.trc:9: Heel: expected a number"), HasSubstr("2z2")));
  EXPECT_THAT(message("\t-41\r", "\t-41\t7\r"), StartsWith("walk.trc:8: expected 8 entries"));
  EXPECT_THAT(message("50.00\t50.00\t3", "100.0\t50.00\t3"),
              AllOf(StartsWith("walk.trc:3: DataRate: expected 100 Hz"), HasSubstr("50 Hz")));
  EXPECT_THAT(message("\tToe\t", "\tHeel\t"),
              StartsWith("walk.trc:4: expected marker names that differ, found 'Heel' twice"));
  EXPECT_THAT(message("PathFileType", "Path"), StartsWith("walk.trc:1: expected 'PathFileType'"));
  EXPECT_THAT(refusal([] { (void)read_trc("", "walk.trc"); }), StartsWith("walk.trc:1: expected the header line"));
}

TEST(Trc, NearestNameOfAMissingMarker) {
  const MarkerTrial trial = read_trc(trc, "walk.trc");
  EXPECT_THAT(refusal([&] { (void)trial.marker("Heal"); }),
              AllOf(HasSubstr("'Heal'"), HasSubstr("did you mean 'Heel'?")));
}

const std::string mot =
    "grf.mot\nversion=1\nnRows=3\nnColumns=3\ninDegrees=yes\nendheader\n"
    "time\tground_force_vx\tground_force_vy\n0\t1\t2\n0.1\t3\t4\n0.2\t5\t6\n";

TEST(MotionTable, ReadsMotAndCsv) {
  const MotionTable table = read_motion_table(mot, "grf.mot");
  EXPECT_THAT(table.times(), ElementsAre(0.0, 0.1, 0.2));
  EXPECT_THAT(table.column("ground_force_vy"), ElementsAre(2.0, 4.0, 6.0));
  EXPECT_TRUE(table.in_degrees);
  const MotionTable csv = read_motion_table("time_s,a\n0,1\n1,2\n", "a.csv");
  EXPECT_THAT(csv.column("a"), ElementsAre(1.0, 2.0));
  EXPECT_FALSE(csv.in_degrees);
  EXPECT_THAT(refusal([&] { (void)csv.column("b.x"); }), HasSubstr("a.csv: expected a column 'b.x'"));
}

// The table of a run has nothing in its last columns where a contact has no centre of pressure.
TEST(MotionTable, LinesMayEndWithNothing) {
  const std::vector<std::string> wanted{"x"};
  EXPECT_THAT(motion_columns("t,x,y,z\n0,1,,\n1,2,3,4\n", "run.csv", wanted).front(), ElementsAre(1.0, 2.0));
  EXPECT_THAT(refusal([&] { (void)motion_columns("t,x,y,z\n0,1,\n", "run.csv", wanted); }),
              HasSubstr("run.csv:2: expected 4 entries as in the headings, found 2"));
  EXPECT_THAT(read_motion_table("time,x,\n0,1,\n", "sheet.csv").column("x"), ElementsAre(1.0));
}

TEST(MotionTable, RefusesWithLine) {
  const auto message = [](const std::string& from, const std::string& to) {
    return refusal([&] { (void)read_motion_table(changed(mot, from, to), "grf.mot"); });
  };
  EXPECT_THAT(message("nRows=3", "nRows=5"),
              AllOf(StartsWith("grf.mot:3: nRows: expected 5 rows"), HasSubstr("found 3")));
  EXPECT_THAT(message("nColumns=3", "nColumns=4"),
              AllOf(StartsWith("grf.mot:4: nColumns: expected 4 columns"), HasSubstr("found 3")));
  EXPECT_THAT(message("nColumns=3", "nColumns=x"), StartsWith("grf.mot:4: nColumns: expected a whole number"));
  EXPECT_THAT(message("inDegrees=yes", "inDegrees=maybe"), StartsWith("grf.mot:5: inDegrees: expected yes or no"));
  EXPECT_THAT(message("0.2\t", "0.05\t"),
              AllOf(StartsWith("grf.mot:10: expected a time above 0.1 s"), HasSubstr("0.05")));
  EXPECT_THAT(message("time\t", "clock\t"), StartsWith("grf.mot:7: expected the first column to be 'time'"));
  EXPECT_THAT(message("_vy", "_vx"), StartsWith("grf.mot:7: expected headings that differ"));
}

TEST(Axes, TurnALaboratoryWithYUp) {
  const Matrix3 R = axis_map({.x = "x", .y = "z", .z = "-y"});
  EXPECT_EQ(R * Vector3::UnitY(), Vector3::UnitZ()) << "up";
  EXPECT_EQ(R * Vector3::UnitZ(), Vector3(-Vector3::UnitY())) << "right is -left";
  EXPECT_THAT(refusal([] { (void)axis_map({.x = "x", .y = "z", .z = "y"}); }), HasSubstr("mirror image"));
  EXPECT_THAT(refusal([] { (void)axis_map({.x = "x", .y = "x", .z = "z"}); }), HasSubstr("three different"));
  EXPECT_THAT(refusal([] { (void)axis_map({.x = "x", .y = "up", .z = "y"}); }), HasSubstr("axes.y: expected one of"));
}

}  // namespace
}  // namespace heelstrike
