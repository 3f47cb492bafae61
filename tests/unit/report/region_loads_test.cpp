// Loads of regions, summed from the faces of a field file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/errors/error.hpp"
#include "report/pressure_regions.hpp"

namespace heelstrike::report {
namespace {

/// Two right triangles of 2 cm^2 beside each other, the first in region a, both in b.
FieldGrid two_faces(double p_first, double p_second) {
  FieldGrid grid;
  grid.points = {0, 0, 0, 0.02, 0, 0, 0, 0.02, 0, 0.1, 0, 0, 0.12, 0, 0, 0.1, 0.02, 0};
  grid.triangles = {0, 1, 2, 3, 4, 5};
  grid.arrays = {{.name = "contact_pressure", .unit = "Pa", .values = {p_first, 2.0 * p_first, 0, p_second, 0, 0}}};
  const double second_area = p_second > 0.0 ? 1e-4 : 0.0;
  grid.of_triangles = {{.name = "contact_pressure", .unit = "Pa", .values = {p_first, p_second}},
                       {.name = "loaded_area", .unit = "m^2", .values = {2e-4, second_area}},
                       {.name = "penetration", .unit = "m", .values = {1e-4, 3e-4}},
                       {.name = "region:a", .unit = "", .values = {1, 0}},
                       {.name = "region:b", .unit = "", .values = {1, 1}}};
  return grid;
}

TEST(RegionLoads, SumsOverFaces) {
  const FieldGrid grid = two_faces(1e6, 3e6);
  ASSERT_TRUE(RegionLoads::has_faces(grid));
  RegionLoads loads("knee", grid);
  loads.add(0.5, grid);
  EXPECT_EQ(loads.names(), (std::vector<std::string>{"a", "b", "all"}));
  const FaceLoad& a = loads.loads()[0][0];
  EXPECT_DOUBLE_EQ(a.force, 200.0);
  EXPECT_DOUBLE_EQ(a.mean(), 1e6);
  EXPECT_DOUBLE_EQ(a.peak, 2e6);
  EXPECT_EQ(a.active, 1U);
  EXPECT_NEAR(a.center.x(), 0.02 / 3.0, 1e-15);
  const FaceLoad& all = loads.loads()[0][2];
  EXPECT_DOUBLE_EQ(all.force, 800.0);
  EXPECT_DOUBLE_EQ(all.area, 3e-4);
  EXPECT_DOUBLE_EQ(all.peak, 3e6);
  EXPECT_DOUBLE_EQ(all.penetration, 3e-4);
  EXPECT_NEAR(all.center.x(), (200.0 * 0.02 / 3.0 + 600.0 * (0.1 + 0.02 / 3.0)) / 800.0, 1e-15);
}

TEST(RegionLoads, TableHasEmptyCentresWithoutLoad) {
  const FieldGrid grid = two_faces(1e6, 0.0);
  RegionLoads loads("knee", grid);
  loads.add(0.25, grid);
  FieldGrid unloaded = two_faces(0.0, 0.0);
  unloaded.of_triangles[1].values = {0.0, 0.0};
  loads.add(0.5, unloaded);
  const std::string table = region_table({loads});
  EXPECT_THAT(table, testing::StartsWith("time_s,knee.a.force_N,knee.a.area_m2,knee.a.mean_pressure_Pa,"));
  EXPECT_THAT(table, testing::HasSubstr("\n0.5,0,0,0,0,,,,0,0,0,0,0,0,,,,0,0,"));
  FieldGrid other = grid;
  other.of_triangles.pop_back();
  EXPECT_THROW(loads.add(0.75, other), Error);
}

}  // namespace
}  // namespace heelstrike::report
