// The parametric foot: closed, with the requested dimensions, plausible.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/errors/error.hpp"
#include "fem_server/geometry/foot.hpp"
#include "fem_server/geometry/mesher.hpp"
#include "fem_server/geometry/surface_check.hpp"
#include "fem_server/geometry/volume_check.hpp"
#include "scenario/surfaces/foot.hpp"

namespace heelstrike::fem {
namespace {

void expect_dimensions(const FootDimensions& d) {
  const SurfaceMesh foot = make_foot(d, 0.004);
  const SurfaceReport report = check_surface(foot);
  EXPECT_TRUE(report.valid()) << describe(report);
  EXPECT_EQ(report.n_components, 1U);
  const FootMeasures m = measure_foot(foot, d);
  // Stated in the header: length and ball breadth within 1 mm, the others within 3 mm.
  EXPECT_NEAR(m.length, d.length, 0.001);
  EXPECT_NEAR(m.ball_breadth, d.ball_breadth, 0.001);
  EXPECT_NEAR(m.heel_breadth, d.heel_breadth, 0.003);
  EXPECT_NEAR(m.arch_height, d.arch_height, 0.003);
  EXPECT_NEAR(m.instep_height, d.instep_height, 0.003);
  EXPECT_NEAR(m.toe_height, d.toe_height, 0.003);
}

TEST(Foot, DefaultsHaveTheirDimensionsAndPlausibleVolume) {
  const FootDimensions d;
  expect_dimensions(d);
  const FootMeasures m = measure_foot(make_foot(d, 0.004), d);
  // docs/theory/geometry.md: a foot of 1.1 to 1.5 % of 70 to 80 kg at 1.1 kg/l is 0.7 to 1.1 l.
  EXPECT_GT(m.volume, 0.7e-3);
  EXPECT_LT(m.volume, 1.1e-3);
  EXPECT_GT(m.sole_area, 0.0090);
  EXPECT_LT(m.sole_area, 0.0160);
}

TEST(Foot, OtherFeet) {
  expect_dimensions({.length = 0.235,
                     .ball_breadth = 0.090,
                     .heel_breadth = 0.060,
                     .arch_height = 0.022,
                     .instep_height = 0.060,
                     .toe_height = 0.020,
                     .ankle_height = 0.068,
                     .heel_to_ankle = 0.048,
                     .cut_height = 0.010});
  expect_dimensions({.length = 0.290,
                     .ball_breadth = 0.112,
                     .heel_breadth = 0.075,
                     .arch_height = 0.012,
                     .instep_height = 0.072,
                     .toe_height = 0.026,
                     .ankle_height = 0.086,
                     .heel_to_ankle = 0.060,
                     .cut_height = 0.015});
}

TEST(Foot, FrameCutAndMirror) {
  const FootDimensions d;
  const SurfaceMesh left = make_foot(d, 0.005);
  const SurfaceMesh right = make_foot(d, 0.005, FootSide::right);
  ASSERT_EQ(left.vertices.size(), right.vertices.size());
  double toe_x = 0.0;
  double toe_y = 0.0;
  for (std::size_t v = 0; v < left.vertices.size(); ++v) {
    EXPECT_EQ(left.vertices[v].y(), -right.vertices[v].y());
    if (left.vertices[v].x() > toe_x) {
      toe_x = left.vertices[v].x();
      toe_y = left.vertices[v].y();
    }
  }
  EXPECT_LT(toe_y, 0.0) << "the longest toe of the left foot is medial";
  EXPECT_NEAR(toe_x, d.length - d.heel_to_ankle, 1e-12);
  EXPECT_GT(signed_volume(right), 0.0);
  for (std::size_t t = 0; t < left.triangles.size(); ++t) {
    if (left.group_names[left.triangle_groups[t]] != "cap") continue;
    for (const std::uint32_t v : left.triangles[t]) EXPECT_NEAR(left.vertices[v].z(), d.cut_height, 1e-15);
  }
}

TEST(Foot, CanBeMeshed) {
  MeshingOptions options;
  options.size.size = 0.008;
  const MeshingResult result = mesh_surface(make_foot({}, 0.004), options);
  const VolumeReport report = check_volume(result.mesh);
  EXPECT_TRUE(report.valid()) << describe(report);
  EXPECT_GT(result.mesh.node_sets.at("cap").size(), 20U);
  EXPECT_GT(report.min_quality, 0.02);
}

TEST(Foot, RejectsInvalidParameters) {
  EXPECT_THROW((void)make_foot({.length = 26.5}, 0.004), Error);
  EXPECT_THROW((void)make_foot({.arch_height = -0.01}, 0.004), Error);
  EXPECT_THROW((void)make_foot({}, 0.0), Error);
}

}  // namespace
}  // namespace heelstrike::fem
