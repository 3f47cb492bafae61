// C3D files: every byte order and storage, gaps, plates in closed form, and invalid files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "gait/c3d_plates.hpp"
#include "tests/unit/gait/c3d_writer.hpp"
#include "tests/unit/motion/rejection.hpp"

namespace heelstrike {
namespace {

using test::C3dBytes;
using test::C3dWriter;
using testing::Contains;
using testing::HasSubstr;

/// Two markers, one of which is missing in the second frame, and one channel without a plate.
C3dWriter small_trial() {
  C3dWriter file;
  file.point_names = {"HEEL", "TOE"};
  file.frames = {{{100.5, -20.25, 30.0, 0}, {1.5, 2.5, 3.5, 0}},
                 {{101.5, -21.25, 31.0, 0}, {0, 0, 0, -1}},
                 {{102.5, -22.25, 32.0, 1}, {4.5, 5.5, 6.5, 0}}};
  file.channel_names = {"EMG"};
  file.channel_units = {"V"};
  file.scales = {0.5};
  file.offsets = {10};
  file.analog = {{{10}, {12}}, {{14}, {16}}, {{-20}, {20}}};
  return file;
}

class C3dStorage : public testing::TestWithParam<std::tuple<C3dBytes, bool>> {};

TEST_P(C3dStorage, MarkersAnalogAndEventsEqualThoseWritten) {
  C3dWriter file = small_trial();
  std::tie(file.bytes, file.is_float) = GetParam();
  const C3dTrial trial = read_c3d(file.text(), "walk.c3d");
  EXPECT_EQ(trial.markers.names, (std::vector<std::string>{"HEEL", "TOE"}));
  ASSERT_EQ(trial.markers.frames(), 3U);
  EXPECT_EQ(trial.markers.times, (std::vector<double>{0.1, 0.11, 0.12}));
  // The scale 0.05 of integers is a float.
  EXPECT_LT((trial.markers.positions[0][1] - Vector3(0.1015, -0.02125, 0.031)).norm(), 1e-8);
  EXPECT_FALSE(is_seen(trial.markers.positions[1][1]));
  EXPECT_TRUE(is_seen(trial.markers.positions[1][2]));
  ASSERT_EQ(trial.analog.size(), 1U);
  EXPECT_EQ(trial.analog[0].values, (std::vector<double>{0, 1, 2, 3, -15, 5}));
  EXPECT_EQ(trial.analog_times()[3], 0.1 + 3 / 200.0);
  ASSERT_EQ(trial.events.size(), 1U);
  EXPECT_EQ(trial.events[0].time, 0.125);
  EXPECT_EQ(trial.events[0].context + " " + trial.events[0].label, "Right Foot Strike");
}

INSTANTIATE_TEST_SUITE_P(All, C3dStorage,
                         testing::Combine(testing::Values(C3dBytes::intel, C3dBytes::dec, C3dBytes::mips),
                                          testing::Bool()));

TEST(C3d, MarkersEqualTheTrcFile) {
  const C3dTrial trial = read_c3d(small_trial().text(), "walk.c3d");
  const MarkerTrial again = read_trc(trc_text(trial.markers, trial.first_frame), "walk.trc");
  EXPECT_EQ(again.names, trial.markers.names);
  EXPECT_EQ(again.times, trial.markers.times);
  // Millimetres in single precision.
  EXPECT_LT((again.positions[0][2] - trial.markers.positions[0][2]).norm(), 1e-8);
  EXPECT_FALSE(is_seen(again.positions[1][1]));
}

TEST(C3d, UnsignedSamplesAndLabels) {
  C3dWriter file = small_trial();
  file.is_float = false;
  file.analog_format = "UNSIGNED";
  file.offsets = {-32768};  // 32768 in the file
  file.analog[0][0][0] = 65535 - 65536;
  file.point_names = {"HEEL", "HEEL"};
  file.angles = {"HEEL_2"};
  const C3dTrial trial = read_c3d(file.text(), "walk.c3d");
  EXPECT_EQ(trial.analog[0].values[0], 0.5 * (65535 - 32768));
  EXPECT_EQ(trial.markers.names, (std::vector<std::string>{"HEEL"}));
  EXPECT_THAT(trial.notes, Contains(HasSubstr("is named HEEL_2")));
  EXPECT_THAT(trial.notes, Contains(HasSubstr("point HEEL_2: not a marker but an entry of POINT:ANGLES")));
}

/// A plate 600 mm by 400 mm whose x is the laboratory's y and whose z points down; its centre is at (1000, 500, 8) mm.
C3dWriter::Plate plate_of_type(int type) {
  return {.type = type,
          .corners = {1200, 800, 8, 1200, 200, 8, 800, 200, 8, 800, 800, 8},
          .origin = {5, -3, -40},
          .channel = {1, 2, 3, 4, 5, 6},
          .matrix = {}};
}

// A foot at `point` of the laboratory; the plate applies `force` and `free_moment` about z.
const Vector3 point(1.1, 0.4, 0.008), force(30.0, -50.0, 700.0);
constexpr double free_moment = 4.0;  // [N m]
// Columns are the plate's axes in the laboratory: x = (0, 1, 0), y = (1, 0, 0), z = (0, 0, -1).
const Matrix3 R_LP = (Matrix3() << 0, 1, 0, 1, 0, 0, 0, 0, -1).finished();
const Vector3 center(1.0, 0.5, 0.008);

/// Output of transducers at the plate's origin, in N and N mm.
Vector6 transducers(const Vector3& origin_mm) {
  const Vector3 origin = center - R_LP * (1e-3 * origin_mm);
  const Vector3 moment = (point - origin).cross(force) + Vector3(0, 0, free_moment);
  return (Vector6() << R_LP.transpose() * force, 1e3 * (R_LP.transpose() * moment)).finished();
}

C3dWriter plate_trial(const C3dWriter::Plate& plate, const std::vector<double>& samples) {
  C3dWriter file;
  file.samples = 1;
  file.point_names = {"HEEL"};
  for (std::size_t i = 0; i < samples.size(); ++i) {
    file.channel_names.push_back("plate" + std::to_string(i + 1));
    file.channel_units.emplace_back(i < 3 || plate.type == 3 ? "N" : "Nmm");
  }
  file.scales.assign(samples.size(), 1.0);
  file.offsets.assign(samples.size(), 0.0);
  file.frames.assign(2, {{1, 2, 3, 0}});
  file.analog = {{std::vector<double>(samples.size(), 0.0)}, {samples}};
  file.plates = {plate};
  return file;
}

std::vector<double> list(const Vector6& v) {
  return {v.data(), v.data() + 6};
}

void expect_stance(const C3dPlates& plates) {
  ASSERT_EQ(plates.plates.size(), 1U);
  const ForcePlate& plate = plates.plates[0];
  EXPECT_EQ(plate.name, "ground_force_1");
  // Channels are floats: 1e-7 of 700 N, and of 0.3 m.
  EXPECT_LT((plate.force[1] - force).norm(), 1e-4);
  EXPECT_LT((plate.point[1] - point).norm(), 1e-6) << plate.point[1].transpose();
  EXPECT_LT((plate.moment[1] - Vector3(0, 0, free_moment)).norm(), 1e-4) << plate.moment[1].transpose();
  EXPECT_LT((plate.point[0] - center).norm(), 1e-9);  // unloaded
  EXPECT_EQ(plate.force[0], Vector3::Zero());
}

TEST(C3dPlates, Type2) {
  C3dWriter file = plate_trial(plate_of_type(2), list(transducers({5, -3, -40})));
  expect_stance(c3d_plates(read_c3d(file.text(), "walk.c3d")));
  file.unit = "m";  // moments have their own unit
  for (double& c : file.plates[0].corners) c *= 1e-3;
  for (double& c : file.plates[0].origin) c *= 1e-3;
  const auto plates = c3d_plates(read_c3d(file.text(), "walk.c3d"));
  EXPECT_LT((plates.plates[0].point[1] - point).norm(), 1e-6);
  EXPECT_TRUE(plates.notes.empty());
}

TEST(C3dPlates, Type3) {
  // Sensors 1 to 4 at (a, b), (-a, b), (-a, -b), (a, -b), 40 mm below the surface.
  const double a = 200, b = 120;
  const Vector6 w = transducers({0, 0, -40});
  // Mx = b (z1 + z2 - z3 - z4), My = a (-z1 + z2 + z3 - z4): the twisting mode is free, here 7 N.
  const double s = w[2] / 4, p = w[3] / (4 * b), q = w[4] / (4 * a), t = 7;
  // Mz = b (x34 - x12) + a (y14 - y23): half of it by each pair.
  const double x = w[5] / (4 * b), y = w[5] / (4 * a);
  auto kistler = plate_of_type(3);
  kistler.origin = {a, b, -40};
  kistler.channel = {1, 2, 3, 4, 5, 6, 7, 8};
  C3dWriter file = plate_trial(kistler, {w[0] / 2 - x, w[0] / 2 + x, w[1] / 2 + y, w[1] / 2 - y, s + p - q + t,
                                         s + p + q - t, s - p + q + t, s - p - q - t});
  expect_stance(c3d_plates(read_c3d(file.text(), "walk.c3d")));
  file.plates[0].origin[2] = 40;
  const auto plates = c3d_plates(read_c3d(file.text(), "walk.c3d"));
  expect_stance(plates);
  EXPECT_THAT(plates.notes, Contains(HasSubstr("ORIGIN has z = 0.04 m")));
}

TEST(C3dPlates, Type4) {
  // Channels c with w = C c: two of them mixed, in other units.
  Matrix6 C = Matrix6::Identity() * 10.0;
  C(0, 1) = 2.0;
  C(4, 2) = -3.0;
  auto with_matrix = plate_of_type(4);
  with_matrix.matrix.assign(C.data(), C.data() + 36);
  const Vector6 c = C.inverse() * transducers({5, -3, -40});
  C3dWriter file = plate_trial(with_matrix, list(c));
  expect_stance(c3d_plates(read_c3d(file.text(), "walk.c3d")));
}

TEST(C3dPlates, ForceOnThePlateIsReversedAndReported) {
  C3dWriter file = plate_trial(plate_of_type(2), list(-transducers({5, -3, -40})));
  const auto plates = c3d_plates(read_c3d(file.text(), "walk.c3d"));
  expect_stance(plates);
  EXPECT_THAT(plates.notes, Contains(HasSubstr("force on the plate")));
}

TEST(C3dPlates, MotionFileHasTheSameLoad) {
  C3dWriter file = plate_trial(plate_of_type(2), list(transducers({5, -3, -40})));
  const C3dTrial trial = read_c3d(file.text(), "walk.c3d");
  const std::string text = plates_text(c3d_plates(trial).plates, trial.analog_times(), "walk.mot");
  C3dPlates again;
  again.plates = read_force_plates(read_motion_table(text, "walk.mot"));
  expect_stance(again);
}

TEST(C3dPlates, UnsupportedTypesAreReported) {
  C3dWriter file = plate_trial(plate_of_type(6), {0, 0, 700, 0, 0, 0});
  const auto plates = c3d_plates(read_c3d(file.text(), "walk.c3d"));
  EXPECT_TRUE(plates.plates.empty());
  EXPECT_TRUE(plates.channels.empty());
  EXPECT_THAT(plates.notes, Contains(HasSubstr("unsupported type 6")));
}

std::string memory_error_of(const std::string& bytes) {
  return rejection_error([&] { (void)c3d_plates(read_c3d(bytes, "walk.c3d")); });
}

TEST(C3dErrors, OtherFilesAreRejectedByName) {
  const std::string good = small_trial().text();
  EXPECT_THAT(memory_error_of("solid ascii"), HasSubstr("walk.c3d: expected a C3D file"));
  EXPECT_THAT(memory_error_of(good.substr(0, 5 * 512)), HasSubstr("truncated"));
  EXPECT_THAT(memory_error_of(good.substr(0, 6 * 512 + 100)), HasSubstr("which are 2 frames; the file is truncated"));
  std::string damaged = good;
  damaged[515] = 100;
  EXPECT_THAT(memory_error_of(damaged), HasSubstr("processor type"));
}

/// The file without a parameter, and with zero for it in the header.
std::string without_both(const std::string& parameter, std::size_t header_word, std::size_t n_words) {
  C3dWriter file = small_trial();
  file.without = {parameter};
  std::string bytes = file.text();
  bytes.replace(2 * (header_word - 1), 2 * n_words, 2 * n_words, '\0');
  return bytes;
}

TEST(C3dErrors, MissingHeaderAndParametersAreReported) {
  EXPECT_THAT(memory_error_of(without_both("POINT:RATE", 11, 2)), HasSubstr("POINT:RATE"));
  EXPECT_THAT(memory_error_of(without_both("POINT:SCALE", 7, 2)), HasSubstr("POINT:SCALE"));
  EXPECT_THAT(memory_error_of(without_both("POINT:DATA_START", 9, 1)), HasSubstr("POINT:DATA_START"));
}

void expect_small_trial(const C3dTrial& trial) {
  const C3dTrial right = read_c3d(small_trial().text(), "walk.c3d");
  EXPECT_EQ(trial.markers.times, right.markers.times);
  EXPECT_EQ(trial.markers.rate, right.markers.rate);
  EXPECT_EQ(trial.analog_rate, right.analog_rate);
  ASSERT_EQ(trial.markers.positions.size(), 2U);
  EXPECT_EQ(trial.markers.positions[0], right.markers.positions[0]);
  ASSERT_EQ(trial.analog.size(), 1U);
  EXPECT_EQ(trial.analog[0].values, right.analog[0].values);
}

TEST(C3d, HeaderReplacesMissingParameters) {
  for (const char* name : {"POINT:RATE", "POINT:SCALE", "POINT:USED", "POINT:FRAMES", "POINT:DATA_START", "ANALOG:RATE",
                           "ANALOG:USED", "POINT:UNITS", "EVENT:TIMES"}) {
    SCOPED_TRACE(name);
    C3dWriter file = small_trial();
    file.without = {name};
    expect_small_trial(read_c3d(file.text(), "walk.c3d"));
  }
  C3dWriter file = small_trial();
  file.without = {"POINT:RATE"};
  EXPECT_THAT(read_c3d(file.text(), "walk.c3d").notes,
              Contains(HasSubstr("POINT:RATE is missing; the header's 100 Hz")));
  file.without = {"POINT:UNITS"};
  EXPECT_THAT(read_c3d(file.text(), "walk.c3d").notes, Contains(HasSubstr("assumed to be in mm")));
  file.without = {"ANALOG:SCALE", "ANALOG:OFFSET"};
  const C3dTrial unscaled = read_c3d(file.text(), "walk.c3d");
  EXPECT_EQ(unscaled.analog[0].values, (std::vector<double>{10, 12, 14, 16, -20, 20}));
  EXPECT_THAT(unscaled.notes, Contains(HasSubstr("ANALOG:SCALE")));
}

// Word 2: points, 3: samples of a frame, 5: last frame, 9: first block of the data.
TEST(C3d, FileSizeDecidesBetweenHeaderAndParameters) {
  for (const std::size_t word : {2, 3, 5, 9}) {
    for (const int difference : {-1, 1, 3}) {
      SCOPED_TRACE(testing::Message() << "word " << word << " by " << difference);
      std::string bytes = small_trial().text();
      // The writer fills up to a whole block; a file of whole frames reveals wrong results.
      bytes.resize(6 * 512 + 3 * 4 * (2 * 4 + 2));
      bytes[2 * (word - 1)] = static_cast<char>(bytes[2 * (word - 1)] + difference);
      const C3dTrial trial = read_c3d(bytes, "walk.c3d");
      expect_small_trial(trial);
      EXPECT_THAT(trial.notes, Contains(HasSubstr("header and parameters disagree")));
    }
  }
}

TEST(C3d, ParametersInTheWrongNumberOfBlocks) {
  C3dWriter file = small_trial();
  file.point_names.clear();
  for (int i = 0; i < 60; ++i) file.point_names.push_back("POINT" + std::to_string(i));
  file.frames.assign(3, std::vector<std::array<double, 4>>(60, {1, 2, 3, 0}));
  std::string bytes = file.text();
  bytes[514] = 1;
  const C3dTrial trial = read_c3d(bytes, "walk.c3d");
  EXPECT_EQ(trial.markers.names, file.point_names);
  EXPECT_EQ(trial.analog[0].values, (std::vector<double>{0, 1, 2, 3, -15, 5}));
  EXPECT_THAT(trial.notes, Contains(HasSubstr("longer than the 1 blocks")));
}

TEST(C3d, LastParameterHasAnInvalidOffset) {
  for (const auto bytes_of : {C3dBytes::intel, C3dBytes::mips}) {
    C3dWriter file = small_trial();
    file.bytes = bytes_of;
    std::string bytes = file.text();
    const std::size_t offset = bytes.rfind("EVENT") + 5;  // of the last record, which is that of the group
    // 16 bytes further on in the other byte order, which are 4096 in this one.
    bytes[offset] = bytes_of == C3dBytes::mips ? 16 : 0;
    bytes[offset + 1] = bytes_of == C3dBytes::mips ? 0 : 16;
    const C3dTrial trial = read_c3d(bytes, "walk.c3d");
    expect_small_trial(trial);
    EXPECT_EQ(trial.events.size(), 1U);
    EXPECT_THAT(trial.notes, Contains(HasSubstr("wrong byte order")));
    bytes[offset] = bytes[offset + 1] = '\x7F';
    EXPECT_THAT(read_c3d(bytes, "walk.c3d").notes, Contains(HasSubstr("points outside of the parameter section")));
  }
}

TEST(C3d, UnitsAreReadByTheirNames) {
  C3dWriter file = small_trial();
  for (const char* unit : {"m", "M", "mete", "meters", "Metre"}) {
    file.unit = unit;
    EXPECT_EQ(read_c3d(file.text(), "walk.c3d").length, 1.0) << unit;
  }
  for (const char* unit : {"mm", "MM", "mill", "millimeters"}) {
    file.unit = unit;
    EXPECT_EQ(read_c3d(file.text(), "walk.c3d").length, 1e-3) << unit;
  }
  file.unit = "inch";
  EXPECT_THAT(memory_error_of(file.text()), HasSubstr("POINT:UNITS: expected mm, cm or m, found 'inch'"));
}

/// Note on the only plate, which is skipped.
std::string n_omitted(C3dWriter& file) {
  const C3dPlates plates = c3d_plates(read_c3d(file.text(), "walk.c3d"));
  EXPECT_TRUE(plates.plates.empty());
  EXPECT_TRUE(plates.channels.empty());
  EXPECT_EQ(plates.notes.size(), 1U);
  EXPECT_THAT(plates.notes.front(), HasSubstr("skipped"));
  return plates.notes.front();
}

TEST(C3dPlates, PlateWithoutAParameterIsOmitted) {
  for (const char* name : {"TYPE", "CORNERS", "ORIGIN", "CHANNEL", "CAL_MATRIX"}) {
    auto with_matrix = plate_of_type(4);
    with_matrix.matrix.assign(36, 0.0);
    C3dWriter file = plate_trial(with_matrix, {0, 0, 0, 0, 0, 0});
    file.without = {std::string("FORCE_PLATFORM:") + name};
    // Channels without their parameter would be six per plate.
    EXPECT_THAT(n_omitted(file), HasSubstr(file.without[0]));
  }
}

TEST(C3dPlates, InvalidPlateIsOmitted) {
  C3dWriter file = plate_trial(plate_of_type(2), {0, 0, 0, 0, 0, 0});
  file.plates[0].channel[5] = 7;
  EXPECT_THAT(n_omitted(file),
              HasSubstr("force plate 1: FORCE_PLATFORM:CHANNEL: expected analog channels from 1 to 6, found 7"));
  file = plate_trial(plate_of_type(2), {0, 0, 0, 0, 0, 0});
  file.plates[0].corners = {};
  EXPECT_THAT(n_omitted(file), HasSubstr("force plate 1: expected corners that span a surface"));
}

TEST(C3dPlates, InvalidPlateDoesNotAffectTheOther) {
  C3dWriter file = plate_trial(plate_of_type(2), list(transducers({5, -3, -40})));
  file.plates.push_back(plate_of_type(2));
  file.plates[1].channel[2] = 12;
  const C3dPlates plates = c3d_plates(read_c3d(file.text(), "walk.c3d"));
  expect_stance(plates);
  EXPECT_EQ(plates.channels.size(), 6U);
  EXPECT_THAT(plates.notes, Contains(HasSubstr("force plate 2: FORCE_PLATFORM:CHANNEL")));
}

TEST(C3dPlates, Type1HasTheCentreOfPressure) {
  const Vector3 at = 1e3 * R_LP.transpose() * (point - center), f = R_LP.transpose() * force;
  // A moment about the laboratory's z is one about the plate's -z.
  C3dWriter file = plate_trial(plate_of_type(1), {f.x(), f.y(), f.z(), at.x(), at.y(), -1e3 * free_moment});
  file.channel_units = {"N", "N", "N", "mm", "mm", "Nmm"};
  file.plates[0].origin = {0, 0, 0};
  expect_stance(c3d_plates(read_c3d(file.text(), "walk.c3d")));
  // By default units are those of the points.
  file.channel_units.assign(6, "");
  const C3dPlates plates = c3d_plates(read_c3d(file.text(), "walk.c3d"));
  expect_stance(plates);
  EXPECT_THAT(plates.notes, Contains(HasSubstr("the units of its channels")));
}

// A stance of 40 samples, then a saturated amplifier for the rest of the trial, with the opposite sign.
TEST(C3dPlates, SaturatedTailDoesNotReverseAPlate) {
  const std::vector<double> loaded = list(transducers({5, -3, -40}));
  C3dWriter file = plate_trial(plate_of_type(2), loaded);
  file.frames.assign(200, {{1, 2, 3, 0}});
  file.analog.assign(200, {std::vector<double>(6, 0.0)});
  for (std::size_t k = 1; k < 41; ++k) {
    file.analog[k] = {loaded};
    for (double& value : file.analog[k][0]) value *= 1.0 + 0.01 * static_cast<double>(k - 1);
  }
  for (std::size_t k = 60; k < 200; ++k) file.analog[k] = {{0, 0, 2877, 0, 0, 0}};
  const C3dPlates plates = c3d_plates(read_c3d(file.text(), "walk.c3d"));
  expect_stance(plates);
  EXPECT_THAT(plates.notes,
              testing::ElementsAre(HasSubstr("140 of its loaded samples, from 0.7 to 2.09 s, are saturated")));
}

/// Vertical force at the start of a stance of 40 samples, before the same tail. `rest` is the output of the unloaded
/// plate; channels with the same output in the stance are constant up to the tail.
double stance_before_tail(const C3dWriter::Plate& plate, const std::vector<double>& rest,
                          const std::vector<double>& loaded, const std::vector<double>& tail) {
  C3dWriter file = plate_trial(plate, rest);
  file.frames.assign(200, {{1, 2, 3, 0}});
  file.analog.assign(200, {rest});
  for (std::size_t k = 1; k < 41; ++k) {
    file.analog[k] = {loaded};
    for (std::size_t i = 0; i < rest.size(); ++i) {
      if (loaded[i] != rest[i]) file.analog[k][0][i] *= 1.0 + 0.01 * static_cast<double>(k - 1);
    }
  }
  for (std::size_t k = 60; k < 200; ++k) file.analog[k] = {tail};
  const C3dPlates plates = c3d_plates(read_c3d(file.text(), "walk.c3d"));
  EXPECT_THAT(plates.notes, Contains(HasSubstr("140 of its loaded samples, from 0.7 to 2.09 s, are saturated")));
  return plates.plates.at(0).force.at(1).z();
}

// Channels with a constant output before the tail are at their maximum or minimum there, but not saturated.
TEST(C3dPlates, SaturatedTailDoesNotReverseAPlateWithConstantChannels) {
  for (const double on_plate : {1.0, -1.0}) {
    for (const double limit : {2047.0, -2047.0}) {
      for (const int type : {1, 2}) {
        for (const double offset : {0.0, 8.0}) {  // of the normal force, whose positive direction is down
          SCOPED_TRACE(testing::Message() << on_plate << " " << limit << " " << type << " " << offset);
          const std::vector<double> rest = {10, 20, offset, 0, 0, 5}, loaded = {10, 20, -700 * on_plate, 50, -30, 5};
          EXPECT_NEAR(stance_before_tail(plate_of_type(type), rest, loaded, std::vector<double>(6, limit)), 700.0,
                      1e-4);
          EXPECT_NEAR(stance_before_tail(plate_of_type(type), rest, loaded, {0, 0, limit, 0, 0, 0}), 700.0, 1e-4);
        }
      }
    }
  }
}

TEST(C3dPlates, SaturatedTailDoesNotReverseAPlateWithADeadSensor) {
  auto kistler = plate_of_type(3);
  kistler.origin = {200, 120, -40};
  kistler.channel = {1, 2, 3, 4, 5, 6, 7, 8};
  for (const double on_plate : {1.0, -1.0}) {
    for (const double limit : {2047.0, -2047.0}) {
      for (const double dead : {0.0, 50.0, -50.0}) {
        SCOPED_TRACE(testing::Message() << on_plate << " " << limit << " " << dead);
        const double sensor = (-700.0 * on_plate - dead) / 3;
        const std::vector<double> rest = {10, 20, 3, 4, 0, 0, dead, 0};
        const std::vector<double> loaded = {10, 20, 3, 4, sensor, sensor, dead, sensor};
        for (const double at_end : {limit, dead, 0.0}) {  // of the dead sensor
          const std::vector<double> tail = {limit, limit, limit, limit, limit, limit, at_end, limit};
          EXPECT_NEAR(stance_before_tail(kistler, rest, loaded, tail), 700.0, 1e-4);
        }
      }
    }
  }
}

/// For any value of a byte, the result is a trial or an error message.
TEST(C3dErrors, CorruptedParameterBytesDoNotCrash) {
  const std::string good = plate_trial(plate_of_type(2), list(transducers({5, -3, -40}))).text();
  for (std::size_t i = 0; i < std::min<std::size_t>(good.size(), 1500); ++i) {
    for (const int value : {0, 1, 127, 128, 255}) {
      std::string bytes = good;
      bytes[i] = static_cast<char>(value);
      (void)memory_error_of(bytes);
    }
  }
}

}  // namespace
}  // namespace heelstrike
