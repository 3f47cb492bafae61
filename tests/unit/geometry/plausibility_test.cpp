// Valid but implausible numbers.
#include "fem_server/geometry/plausibility.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/errors/error.hpp"

namespace heelstrike::fem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Vector3 foot(0.26, 0.1, 0.09);  // [m]

std::string rejection_error(const std::function<Warnings()>& work) {
  try {
    (void)work();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
  return "accepted";
}

TEST(Plausibility, SuggestsTheUnitOfAFile) {
  EXPECT_THAT(find_extent_warnings(foot, 1.0, "length_scale"), IsEmpty());
  EXPECT_THAT(find_extent_warnings(1000.0 * foot, 1.0, "length_scale"),
              ElementsAre(HasSubstr("260 m long with length_scale = 1; did you mean mm? Set length_scale: 0.001")));
  EXPECT_THAT(find_extent_warnings(1e-3 * foot, 1e-3, "--scale"),
              ElementsAre(HasSubstr("0.00026 m long with --scale = 0.001; did you mean m? Set --scale: 1")));
  EXPECT_THAT(find_extent_warnings(1e7 * foot, 1.0, "length_scale"), ElementsAre(HasSubstr("check the unit")));
}

TEST(Plausibility, RejectsElementsLargerThanTheBody) {
  EXPECT_THAT(find_element_size_warnings("element_size", 0.01, foot), IsEmpty());
  EXPECT_THAT(find_element_size_warnings("element_size", 0.05, foot),
              ElementsAre(HasSubstr("fewer than two elements")));
  // A cantilever of one hex27 through its height vibrates 0.8 % too fast, one of tet10 1.9 %.
  EXPECT_THAT(find_element_size_warnings("element_size", 0.05, foot, true), IsEmpty());
  EXPECT_THAT(find_element_size_warnings("element_size", 0.095, foot, true),
              ElementsAre(HasSubstr("fewer than one element")));
  EXPECT_THAT(rejection_error([] { return find_element_size_warnings("element_size", 5.0, foot); }),
              HasSubstr("did you mean 5 mm? Set element_size: 0.005"));
  EXPECT_THAT(rejection_error([] { return find_element_size_warnings("element_size", 0.005, 1e-3 * foot); }),
              HasSubstr("0.00026 x 0.0001 x 9e-05 m); check the unit of both"));
}

TEST(Plausibility, ReportsVolumeLostInMeshing) {
  EXPECT_THAT(find_volume_warnings(0.97, 1.0, "--size", 0.01), IsEmpty());
  EXPECT_THAT(find_volume_warnings(0.9, 1.0, "--size", 0.01), ElementsAre(HasSubstr("10 % less volume")));
  EXPECT_THAT(rejection_error([] { return find_volume_warnings(0.46, 1.0, "--size", 0.01); }),
              HasSubstr("54 % less volume"));
}

TEST(Plausibility, ComparesTheBodiesOfAPair) {
  EXPECT_THAT(find_proportion_warnings(foot, 10.0 * foot), IsEmpty());
  EXPECT_THAT(find_proportion_warnings(foot, 1000.0 * foot),
              ElementsAre(HasSubstr("0.26 m long and its partner 260 m")));
}

TEST(Plausibility, ReportsFlatElements) {
  VolumeMesh mesh;
  mesh.nodes = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0.3, 0.3, 0.001}};
  mesh.connectivity = {0, 1, 2, 3};
  EXPECT_THAT(find_quality_warnings("a.msh", check_volume(mesh)),
              ElementsAre(HasSubstr("a.msh: there are nearly flat tetrahedra")));
  mesh.nodes[3].z() = -0.001;
  EXPECT_THAT(find_quality_warnings("a.msh", check_volume(mesh)),
              ElementsAre(HasSubstr("a.msh: 1 of 1 tetrahedra are inverted, the first one is element 0")));
  mesh.nodes[3].z() = 1.0;
  EXPECT_THAT(find_quality_warnings("a.msh", check_volume(mesh)), IsEmpty());
}

}  // namespace
}  // namespace heelstrike::fem
