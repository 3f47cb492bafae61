// Marker sets, weights and coupling functions in the files of OpenSim.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/errors/error.hpp"
#include "importers/opensim/marker_set.hpp"

namespace heelstrike::osim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MarkerSet, ReadsBothVersions) {
  const auto markers = read_marker_set(R"(<OpenSimDocument><Model><MarkerSet><objects>
      <Marker name="S2"><socket_parent_frame> /bodyset/pelvis </socket_parent_frame><location>-0.2 0.02 0</location></Marker>
      <Marker name="Heel"><body>calcn_r</body><location>0.1 0 0.3</location></Marker>
    </objects></MarkerSet></Model></OpenSimDocument>)",
                                       "m.osim");
  ASSERT_EQ(markers.size(), 2u);
  EXPECT_EQ(markers[0].body, "pelvis");
  EXPECT_EQ(markers[0].p_BM, Vector3(-0.2, 0.02, 0.0));
  EXPECT_EQ(markers[1].body, "calcn_r");
}

std::string message_of(const std::string& text) {
  try {
    (void)read_marker_set(text, "m.xml");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(MarkerSet, NamesWhatIsWrong) {
  const auto with = [](const std::string& markers) {
    return "<MarkerSet><objects>" + markers + "</objects></MarkerSet>";
  };
  const std::string good = "<Marker name='a'><body>b</body><location>0 0 0</location></Marker>";
  EXPECT_THAT(message_of(with(good + good)), HasSubstr("found 'a' twice"));
  EXPECT_THAT(message_of(with("<Marker name='a'><body>b</body><location>0 0</location></Marker>")),
              HasSubstr("three numbers"));
  EXPECT_THAT(message_of(with("")), HasSubstr("at least one Marker"));
  EXPECT_THAT(message_of("<Model/>"), HasSubstr("MarkerSet, found none"));
  EXPECT_THAT(message_of("<MarkerSet>"), HasSubstr("expected XML"));
}

TEST(MarkerSet, ReadsWeightsAndFunctions) {
  const MarkerTasks tasks = read_marker_tasks(R"(<IKTaskSet><objects>
      <IKMarkerTask name="a"><apply>true</apply><weight>10</weight></IKMarkerTask>
      <IKMarkerTask name="b"><apply>false</apply><weight>2</weight></IKMarkerTask>
      <IKCoordinateTask name="c"><apply>true</apply><weight>2</weight><value_type>from_file</value_type></IKCoordinateTask>
      <IKCoordinateTask name="d"><apply>true</apply><weight>1000</weight><value_type>default_value</value_type>
        <value>3</value></IKCoordinateTask>
      <IKCoordinateTask name="e"><apply>true</apply><weight>4</weight><value_type>manual_value</value_type>
        <value>0.5</value></IKCoordinateTask>
    </objects></IKTaskSet>)",
                                              "t.xml");
  EXPECT_EQ(tasks.weights.at("a"), 10.0);
  EXPECT_EQ(tasks.weights.at("b"), 0.0);
  EXPECT_THAT(tasks.unsupported, ElementsAre("IKCoordinateTask c from_file"));
  ASSERT_EQ(tasks.coordinates.size(), 2u);
  EXPECT_EQ(tasks.coordinates[0].weight, 1000.0);
  EXPECT_FALSE(tasks.coordinates[0].value);
  EXPECT_EQ(tasks.coordinates[1].value, 0.5);
  const auto functions = read_coordinate_functions(R"(<FunctionSet><objects>
      <PiecewiseLinearFunction name="/jointset/knee_r/knee_ty_r"><x> 0 2</x><y>1 5</y></PiecewiseLinearFunction>
    </objects></FunctionSet>)",
                                                   "f.xml");
  EXPECT_NEAR(functions.at("knee_ty_r")->at(0.5).f, 2.0, 1e-15);
}

}  // namespace
}  // namespace heelstrike::osim
