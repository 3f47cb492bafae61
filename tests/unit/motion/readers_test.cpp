// Motion files: their content, and rejected input with its line.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/motion/motion_file.hpp"
#include "gait/axes_and_units.hpp"
#include "gait/marker_file.hpp"
#include "tests/unit/motion/rejection.hpp"

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

TEST(Trc, ReadsMetresAndGaps) {
  const MarkerTrial trial = read_trc(trc, "walk.trc");
  EXPECT_THAT(trial.names, ElementsAre("Heel", "Toe"));
  EXPECT_THAT(trial.times, ElementsAre(0.0, 0.02, 0.04));
  EXPECT_EQ(trial.rate, 50.0);
  EXPECT_TRUE(trial.marker("Heel")[0].isApprox(Vector3(0.100, 0.020, -0.030), 1e-15));
  EXPECT_FALSE(is_seen(trial.marker("Heel")[1])) << "empty entries are a gap";
  EXPECT_FALSE(is_seen(trial.marker("Toe")[2])) << "zeros are a gap";
  EXPECT_TRUE(trial.marker("Toe")[1].isApprox(Vector3(0.301, 0.011, -0.041), 1e-15));
}

TEST(Trc, RejectsWithLine) {
  const auto message = [](const std::string& from, const std::string& to) {
    return rejection_error([&] { (void)read_trc(changed(trc, from, to), "walk.trc"); });
  };
  EXPECT_THAT(message("\tZ2\t", "\tZ2\tX3\tY3\tZ3"),
              AllOf(StartsWith("walk.trc:5: expected the columns X1, Y1, Z1, ... of 2 markers"), HasSubstr("found 9")));
  EXPECT_THAT(message("\tmm\t", "\tinch\t"),
              AllOf(StartsWith("walk.trc:3: Units: expected mm, cm or m"), HasSubstr("inch")));
  EXPECT_THAT(message("3\t0.04", "3\t0.01"),
              AllOf(StartsWith("walk.trc:9: expected a time above 0.02 s"), HasSubstr("0.01")));
  EXPECT_THAT(message("\t22\t", "\t2z2\t"), AllOf(StartsWith("walk.trc:9: Heel: expected a number"), HasSubstr("2z2")));
  EXPECT_THAT(message("\t-41\r", "\t-41\t7\r"), StartsWith("walk.trc:8: expected 8 entries"));
  EXPECT_THAT(message("PathFileType", "Path"), StartsWith("walk.trc:1: expected 'PathFileType'"));
  EXPECT_THAT(rejection_error([] { (void)read_trc("", "walk.trc"); }),
              StartsWith("walk.trc:1: expected the header line"));
}

/// Both trials are those of `trc`.
void expect_trc(const std::string& text) {
  const MarkerTrial trial = read_trc(text, "walk.trc"), right = read_trc(trc, "walk.trc");
  EXPECT_EQ(trial.names, right.names);
  EXPECT_EQ(trial.times, right.times);
  EXPECT_EQ(trial.rate, 50.0);
  ASSERT_EQ(trial.positions.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      const bool seen = is_seen(right.positions[i][k]);
      EXPECT_EQ(is_seen(trial.positions[i][k]), seen);
      if (!seen) continue;
      EXPECT_LT((trial.positions[i][k] - right.positions[i][k]).norm(), 1e-15);
    }
  }
}

std::string without(std::string text, char c) {
  std::erase(text, c);
  return text;
}

// Public files of a course have `L.Knee` twice.
TEST(Trc, RepeatedNamesAreNumbered) {
  const MarkerTrial trial = read_trc(changed(trc, "\tToe\t", "\tHeel\t"), "walk.trc");
  EXPECT_THAT(trial.names, ElementsAre("Heel", "Heel_2"));
  EXPECT_TRUE(trial.marker("Heel_2")[1].isApprox(Vector3(0.301, 0.011, -0.041), 1e-15));
  EXPECT_THAT(trial.notes, ElementsAre("walk.trc:4: marker 2 is named Heel_2: 'Heel' is the name of another one, too"));
}

// Cut in the middle of a marker.
TEST(Trc, ShortRowsAreNoted) {
  const std::string text = trc.substr(0, trc.rfind('\t'));
  EXPECT_THAT(read_trc(text.substr(0, text.rfind('\t')), "walk.trc").notes,
              ElementsAre(AllOf(StartsWith("walk.trc:3: 1 rows have fewer entries than frame, time and 2 markers, "
                                           "line 9 the first"),
                                HasSubstr("check for a truncated file"))));
}

// Markers 1.6 m apart.
std::string person_trc(const std::string& unit, double scale) {
  std::string text = "PathFileType\t4\t(X/Y/Z)\ta.trc\nDataRate\tNumFrames\tNumMarkers\tUnits\n10\t2\t3\t" + unit +
                     "\nFrame#\tTime\tHead\t\t\tHip\t\t\tToe\t\t\n\t\tX1\tY1\tZ1\tX2\tY2\tZ2\tX3\tY3\tZ3\n\n";
  for (int row = 0; row < 2; ++row) {
    text += fmt::format("{}\t{}\t0\t{}\t0\t0\t{}\t0\t{}\t0\t0\n", row + 1, 0.1 * row, 1.6 * scale, 0.9 * scale,
                        0.1 * scale);
  }
  return text;
}

TEST(Trc, ImplausibleSizesNameTheUnit) {
  EXPECT_TRUE(read_trc(person_trc("mm", 1e3), "a.trc").notes.empty());
  EXPECT_TRUE(read_trc(person_trc("m", 1.0), "a.trc").notes.empty());
  EXPECT_THAT(read_trc(person_trc("m", 1e3), "a.trc").notes,
              ElementsAre(AllOf(StartsWith("a.trc:3: Units is m"), HasSubstr("1.6e+03 m"))));
  EXPECT_THAT(read_trc(person_trc("mm", 1.0), "a.trc").notes,
              ElementsAre(AllOf(StartsWith("a.trc:3: Units is mm"), HasSubstr("0.0016 m"))));
}

// Headers that OpenSim writes and reads.
TEST(Trc, HeaderVariantsOfOpenSim) {
  expect_trc(changed(trc, "PathFileType\t4\t", "PathFileType  4\t"));
  expect_trc(changed(trc, "PathFileType\t4\t", "PathFileType \t4\t"));
  expect_trc(changed(trc, "PathFileType\t4\t(X/Y/Z)\twalk.trc", "PathFileType 4 (X/Y/Z) walk.trc"));
  expect_trc(changed(trc, "Frame#\tTime\tHeel", "Frame#\tTime\t\tHeel"));
  expect_trc(changed(trc, "Frame#\tTime\tHeel", "Frame #\tTime (s)\tHeel"));
  expect_trc(changed(trc, "Heel\t\t\tToe\t\t\t", "Heel\tToe"));
  expect_trc(changed(trc, "\t\tX1\tY1", "X1\t\tY1"));
  expect_trc(changed(trc, "CameraRate\tNumFrames", "CameraRate\t\tNumFrames"));
  expect_trc(changed(trc, "50.00\t50.00\t3\t2", "50.00\t\t50.00\t3\t2\t"));
  expect_trc(changed(trc, "50.00\t50.00\t3\t2\tmm\t50.00\t1\t3", "50 50 3 2 mm 50 1 3"));
  expect_trc(changed(trc, "Z2\t\r\n\r\n", "Z2\r\n"));
  expect_trc("\xEF\xBB\xBF" + trc);
  expect_trc(without(trc, '\r'));
  expect_trc(changed(without(trc, '\r'), "\n", "\r\n"));
  std::string old = without(trc, '\r');
  std::ranges::replace(old, '\n', '\r');
  expect_trc(old);
  std::string wide = "\xFF\xFE";
  for (const char c : trc) wide += std::string{c, '\0'};
  expect_trc(wide);
}

// Of public data sets: aligned by blanks with indented rows, without the line X1, Y1, Z1, with this line for the first
// markers only, and saved by a spreadsheet.
TEST(Trc, VariantsOfOtherPrograms) {
  std::string indented = changed(trc, "Heel\t\t\tToe\t\t\t", "    Heel          Toe   ");
  indented = changed(indented, "\t\tX1\tY1\tZ1\tX2", "   X1   Y1   Z1   X2");
  for (const char* row : {"1\t0.00", "2\t0.02", "3\t0.04"}) indented = changed(indented, row, "\t" + std::string(row));
  expect_trc(indented);
  expect_trc(changed(trc, "\t\tX1\tY1\tZ1\tX2\tY2\tZ2\t", ""));
  const std::string fewer = changed(trc, "\tX2\tY2\tZ2", "");
  expect_trc(fewer);
  EXPECT_THAT(read_trc(fewer, "walk.trc").notes, ElementsAre(HasSubstr("of 1 markers, but 2 names")));
  EXPECT_THAT(rejection_error([&] { (void)read_trc(changed(fewer, "301\t11\t-41", ""), "walk.trc"); }),
              HasSubstr("expected the columns X1, Y1, Z1, ... of 2 markers"));
  for (const char separator : {',', ';'}) {
    std::string sheet = changed(trc, "walk.trc\r", "walk.trc,,,,\r");
    std::ranges::replace(sheet, '\t', ',');
    sheet = changed(sheet, "\r\n\r\n", "\r\n,,,,,,,\r\n");
    std::ranges::replace(sheet, ',', separator);
    if (separator == ';') std::ranges::replace(sheet, '.', ',');
    expect_trc(sheet);
  }
}

TEST(Trc, UnitsAreReadByTheirNames) {
  for (const char* name : {"MM", "Mm", "millimeters", "Millimetres", "mill"})
    expect_trc(changed(trc, "\tmm\t", "\t" + std::string(name) + "\t"));
  const auto first = [&](const char* name) {
    return read_trc(changed(trc, "\tmm\t", "\t" + std::string(name) + "\t"), "a.trc").positions[0][0].x();
  };
  for (const char* name : {"m", "M", "meters", "Metres", "meter", "mete"}) EXPECT_EQ(first(name), 100.0) << name;
  for (const char* name : {"cm", "CM", "centimeters"}) EXPECT_EQ(first(name), 1.0) << name;
}

TEST(Trc, InconsistentCountsAreNoted) {
  const auto notes = [](const std::string& from, const std::string& to) {
    const std::string text = changed(trc, from, to);
    expect_trc(text);
    return read_trc(text, "walk.trc").notes;
  };
  EXPECT_TRUE(read_trc(trc, "walk.trc").notes.empty());
  EXPECT_THAT(notes("\t3\t2\tmm", "\t2\t2\tmm"),
              ElementsAre("walk.trc:3: NumFrames is 2, the file has 3 rows; all are used"));
  EXPECT_THAT(notes("\t3\t2\tmm", "\t4\t2\tmm"), ElementsAre(HasSubstr("check for a truncated file")));
  EXPECT_THAT(notes("\t3\t2\tmm", "\t3\t12\tmm"), ElementsAre(HasSubstr("NumMarkers is 12, the file has 2 markers")));
  EXPECT_THAT(notes("50.00\t50.00\t3", "100.0\t50.00\t3"),
              ElementsAre(HasSubstr("DataRate is 100 Hz, the times have 50 Hz")));
}

TEST(Trc, NearestNameOfAMissingMarkerIsReported) {
  const MarkerTrial trial = read_trc(trc, "walk.trc");
  EXPECT_THAT(rejection_error([&] { (void)trial.marker("Heal"); }),
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
  EXPECT_THAT(rejection_error([&] { (void)csv.column("b.x"); }), HasSubstr("a.csv: expected a column 'b.x'"));
}

// The table of a run has empty last columns where a contact has no centre of pressure.
TEST(MotionTable, LinesMayHaveEmptyEnds) {
  const std::vector<std::string> expected{"x"};
  EXPECT_THAT(motion_columns("t,x,y,z\n0,1,,\n1,2,3,4\n", "run.csv", expected).front(), ElementsAre(1.0, 2.0));
  EXPECT_THAT(rejection_error([&] { (void)motion_columns("t,x,y,z\n0,1,\n", "run.csv", expected); }),
              HasSubstr("run.csv:2: expected 4 entries as in the headings, found 2"));
  EXPECT_THAT(read_motion_table("time,x,\n0,1,\n", "sheet.csv").column("x"), ElementsAre(1.0));
}

TEST(MotionTable, InconsistentCountsAreNoted) {
  EXPECT_TRUE(read_motion_table(mot, "grf.mot").notes.empty());
  const MotionTable less = read_motion_table(changed(mot, "nRows=3", "nRows=2"), "grf.mot");
  EXPECT_THAT(less.times(), ElementsAre(0.0, 0.1, 0.2));
  EXPECT_THAT(less.notes, ElementsAre("grf.mot: the header states 2 rows, the file has 3, which are used"));
  EXPECT_THAT(read_motion_table(changed(mot, "nRows=3", "nRows=5"), "grf.mot").notes,
              ElementsAre(HasSubstr("truncated?")));
  EXPECT_THAT(read_motion_table(changed(mot, "nColumns=3", "nColumns=4"), "grf.mot").notes,
              ElementsAre(HasSubstr("4 columns, the file has 3")));
}

// Tools of OpenSim write the last row twice, and angles and forces of several plates with the same headings.
TEST(MotionTable, LastRowOfEqualTimesAndFirstOfEqualHeadingsAreUsed) {
  const MotionTable rows = read_motion_table("time,q\n0,1\n0.5,2\n0.5,3\n0.5,4\n1,5\n", "a.csv");
  EXPECT_THAT(rows.times(), ElementsAre(0.0, 0.5, 1.0));
  EXPECT_THAT(rows.column("q"), ElementsAre(1.0, 4.0, 5.0));
  EXPECT_THAT(rows.notes,
              ElementsAre(AllOf(HasSubstr("2 rows have the time of the following row"), HasSubstr("t = 0.5, 0.5 s"))));
  const MotionTable headings = read_motion_table("time,q,p,q\n0,1,2,3\n1,4,5,6\n", "a.csv");
  EXPECT_THAT(headings.headings, ElementsAre("time", "q", "p"));
  EXPECT_THAT(headings.column("q"), ElementsAre(1.0, 4.0));
  EXPECT_THAT(headings.column("p"), ElementsAre(2.0, 5.0));
  EXPECT_THAT(headings.notes, ElementsAre(HasSubstr("more than one column 'q'")));
}

TEST(Trc, MarkersWithoutNamesAreOmitted) {
  const std::string text =
      changed(changed(trc, "\t-41\r", "\t-41\t7\t8\t9\r"), "0\t0\t0\t\r", "0\t0\t0\t1\t2\t3\t4\t5\t6\t\r");
  expect_trc(text);
  EXPECT_THAT(read_trc(text, "walk.trc").notes, ElementsAre(HasSubstr("up to 2 additional markers without names")));
}

TEST(MotionTable, MarksQuotesSeparatorsAndComments) {
  for (const char* text :
       {"\xEF\xBB\xBFtime,q\n0,1.5\n1,2\n", "\"time\",\"q\"\n0,1.5\n1,2\n",
        "\"time\",\"q\"\n\"0\",\"1.5\"\n\"1\",\"2\"\n", " \"time\" , \"q\" \n0 , 1.5\n1,2\n", "time;q\n0;1.5\n1;2\n",
        "time;q\r\n0;1,5\r\n1,0;2\r\n", "time,q\r0,1.5\r1,2\r", "# time,q\n0,1.5\n1,2\n", "# time q\n0 1.5\n1 2\n",
        "# made by a program\n# units: s, rad\ntime\tq\n0\t1.5\n1\t2\n", "\"time\" \"q\"\n0 1.5\n# a comment\n1 2\n",
        "name q\ndatacolumns 2\ndatarows 2\nendheader\n\ntime q\n0 1.5\n1 2\n",
        "\xEF\xBB\xBFq\nnRows=2\nnColumns=2\nendheader\ntime\tq\n0\t1.5\n1\t2\n"}) {
    const MotionTable table = read_motion_table(text, "a.csv");
    EXPECT_THAT(table.times(), ElementsAre(0.0, 1.0)) << text;
    EXPECT_THAT(table.column("q"), ElementsAre(1.5, 2.0)) << text;
    EXPECT_TRUE(table.notes.empty()) << text;
  }
  const MotionTable table = read_motion_table("time,\"force, left; N\"\n0,1\n1,2\n", "a.csv");
  EXPECT_THAT(table.column("force, left; N"), ElementsAre(1.0, 2.0));
}

// Spreadsheets fill every line up to the longest one.
TEST(MotionTable, HeaderSavedByASpreadsheet) {
  for (const std::string rest : {",,", ";;", "\t\t"}) {
    const std::string separator(1, rest.front());
    std::string text = "grf.mot" + rest + "\nversion=1" + rest + "\n\"nRows=2\"" + rest + "\nnColumns=3" + rest +
                       "\ninDegrees=yes" + rest + "\nendheader" + rest + "\n";
    for (const char* row : {"time,q,p", "0,1,2", "1,3,4"}) text += std::string(row) + "\n";
    std::ranges::replace(text, ',', separator.front());
    const MotionTable table = read_motion_table(text, "grf.mot");
    EXPECT_THAT(table.column("q"), ElementsAre(1.0, 3.0)) << rest;
    EXPECT_TRUE(table.in_degrees && table.unit_stated && table.notes.empty()) << rest;
  }
}

TEST(MotionTable, UnitOfAnglesInHeadings) {
  for (const char* name : {"q_deg", "q [deg]", "q (deg)", "q (degrees)", "q[DEG]", "knee angle ( Degree )"}) {
    const auto unit = angle_unit_in_heading(name);
    ASSERT_TRUE(unit) << name;
    EXPECT_TRUE(unit->degrees && unit->stated) << name;
  }
  for (const char* name : {"q_rad", "q [rad]", "q (radians)"}) {
    const auto unit = angle_unit_in_heading(name);
    ASSERT_TRUE(unit) << name;
    EXPECT_FALSE(unit->degrees) << name;
  }
  for (const char* name : {"q", "", "deg", "q (left)", "q_degree_of_freedom", "grad", "()"}) {
    EXPECT_FALSE(angle_unit_in_heading(name)) << name;
  }
}

// As accepted by OpenSim's Storage.
TEST(MotionTable, UnitOfAngles) {
  const auto unit = [](const std::string& header, const std::string& file = "a.mot") {
    const AngleUnit found = angle_unit_of("a\n" + header + "nRows=1\nnColumns=2\nendheader\ntime\tq\n0\t1\n", file);
    return std::string(found.stated ? "stated " : "assumed ") + (found.degrees ? "degrees" : "radians");
  };
  EXPECT_EQ(unit("version=1\ninDegrees=yes\n"), "stated degrees");
  EXPECT_EQ(unit("version=1\ninDegrees = Y\n"), "stated degrees");
  EXPECT_EQ(unit("version=1\ninDegrees=no\n"), "stated radians");
  EXPECT_EQ(unit("version=3\n"), "assumed radians");
  EXPECT_EQ(unit(""), "assumed degrees") << "a motion of SIMM";
  EXPECT_EQ(unit("", "a.sto"), "assumed radians");
  EXPECT_EQ(unit("Angles are in degrees.\n", "a.sto"), "stated degrees");
  EXPECT_EQ(unit("Angles are in radians.\n"), "stated radians");
  const AngleUnit csv = angle_unit_of("time,q\n0,1\n", "a.csv");
  EXPECT_FALSE(csv.degrees || csv.stated);
}

TEST(MotionTable, VectorsAreRejectedByTheirColumn) {
  EXPECT_THAT(rejection_error([] { (void)read_motion_table("time\tq\n0\t1,0,0,0\n", "imu.sto"); }),
              AllOf(HasSubstr("imu.sto:2: expected a number in column 'q', found '1,0,0,0'"),
                    HasSubstr("each component of a vector or quaternion")));
}

TEST(MotionTable, RejectsWithLine) {
  const auto message = [](const std::string& from, const std::string& to) {
    return rejection_error([&] { (void)read_motion_table(changed(mot, from, to), "grf.mot"); });
  };
  EXPECT_THAT(message("nColumns=3", "nColumns=x"), StartsWith("grf.mot:4: nColumns: expected a whole number"));
  EXPECT_THAT(message("inDegrees=yes", "inDegrees=maybe"), StartsWith("grf.mot:5: inDegrees: expected yes or no"));
  EXPECT_THAT(message("0.2\t", "0.05\t"),
              AllOf(StartsWith("grf.mot:10: expected a time of at least 0.1 s"), HasSubstr("0.05")));
  EXPECT_THAT(message("time\t", "clock\t"), StartsWith("grf.mot:7: expected the first column to be 'time'"));
}

TEST(Axes, RotateALaboratoryWithVerticalY) {
  const Matrix3 R = axis_map({.x = "x", .y = "z", .z = "-y"});
  EXPECT_EQ(R * Vector3::UnitY(), Vector3::UnitZ()) << "up";
  EXPECT_EQ(R * Vector3::UnitZ(), Vector3(-Vector3::UnitY())) << "right is -left";
  EXPECT_THAT(rejection_error([] { (void)axis_map({.x = "x", .y = "z", .z = "y"}); }), HasSubstr("mirror image"));
  EXPECT_THAT(rejection_error([] { (void)axis_map({.x = "x", .y = "x", .z = "z"}); }), HasSubstr("three different"));
  EXPECT_THAT(rejection_error([] { (void)axis_map({.x = "x", .y = "up", .z = "y"}); }),
              HasSubstr("axes.y: expected one of"));
}

}  // namespace
}  // namespace heelstrike
