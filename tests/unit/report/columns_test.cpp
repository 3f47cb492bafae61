// Names of columns: body, unit and their chart.
#include <gtest/gtest.h>

#include "report/columns.hpp"

namespace heelstrike::report {
namespace {

struct Case {
  const char* name;
  const char* owner;
  const char* short_name;
  const char* unit;
  const char* quantity;
};

class ColumnNames : public testing::TestWithParam<Case> {};

TEST_P(ColumnNames, AreReadable) {
  const Case& c = GetParam();
  const ColumnName read = read_column_name(c.name);
  EXPECT_EQ(read.owner, c.owner);
  EXPECT_EQ(read.short_name, c.short_name);
  EXPECT_EQ(read.unit, c.unit);
  EXPECT_EQ(read.quantity, c.quantity);
}

INSTANTIATE_TEST_SUITE_P(
    Columns, ColumnNames,
    testing::Values(Case{"time_s", "", "time", "s", "time"}, Case{"ball.vz_m_s", "ball", "vz", "m/s", "vz"},
                    Case{"ball.qw", "ball", "qw", "-", "qw"},
                    Case{"energy.kinetic_J", "energy", "kinetic", "J", "energy"},
                    Case{"ball-ground.fz_N", "ball-ground", "fz", "N", "force"},
                    Case{"ball-ground.tx_Nm", "ball-ground", "tx", "N m", "torque"},
                    Case{"ball-ground.copx_m", "ball-ground", "copx", "m", "cop"},
                    Case{"acl.force_N", "acl", "force", "N", "tension"},
                    Case{"mount.force_x_N", "mount", "force_x", "N", "force_x"},
                    Case{"acl.rate_m_s", "acl", "rate", "m/s", "rate"},
                    Case{"a.b.area_m2", "a.b", "area", "m²", "area"},
                    Case{"a.active_points", "a", "active_points", "-", "active_points"},
                    Case{"ball-ground.gap_rate_m_s", "ball-ground", "gap_rate", "m/s", "gap_rate"}));

TEST(ColumnNamesOfATable, RegionsAreIdentifiedByTheirNeighbours) {
  const std::vector<std::string> names = {"time_s",
                                          "knee.gap_m",
                                          "knee.copx_m",
                                          "acl.force_N",
                                          "knee.a.b.force_N",
                                          "knee.a.b.mean_pressure_Pa",
                                          "knee.a.b.copx_m",
                                          "bundle.acl.force_N",
                                          "left.knee.gap_m",
                                          "left.gap_m",
                                          "left.knee.mean_pressure_Pa"};
  const auto read = read_column_names(names);
  ASSERT_EQ(read.size(), names.size());
  EXPECT_EQ(read[2].quantity, "cop");
  EXPECT_EQ(read[3].quantity, "tension");
  EXPECT_EQ(read[4].owner, "knee");
  EXPECT_EQ(read[4].short_name, "a.b");
  EXPECT_EQ(read[4].unit, "N");
  EXPECT_EQ(read[4].quantity, "region_force");
  EXPECT_EQ(read[5].quantity, "region_mean_pressure");
  EXPECT_EQ(read[6].quantity, "region_cop");
  EXPECT_EQ(read[6].short_name, "a.b copx");
  EXPECT_EQ(read[7].quantity, "tension") << "of a pull, whatever its name";
  EXPECT_EQ(read[10].owner, "left.knee") << "a pair with its own gap, not a region of another one";
  EXPECT_EQ(read[10].quantity, "mean_pressure");
}

}  // namespace
}  // namespace heelstrike::report
