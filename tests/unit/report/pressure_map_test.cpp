// Pressure in plan view, the path of the centre of pressure and the table of regions.
#include "report/pressure_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"
#include "report/foot_prints.hpp"
#include "report/pressure_regions.hpp"

namespace heelstrike::report {
namespace {

/// A flat sole of nx x ny points in z = 0 with downward normals, 0.25 m long and 0.1 m wide, with a lid above it.
FieldGrid flat_sole(std::size_t nx, std::size_t ny) {
  FieldGrid grid;
  for (const double z : {0.0, 0.05}) {
    for (std::size_t j = 0; j < ny; ++j) {
      for (std::size_t i = 0; i < nx; ++i) {
        grid.points.insert(grid.points.end(), {0.25 * static_cast<double>(i) / static_cast<double>(nx - 1),
                                               0.1 * static_cast<double>(j) / static_cast<double>(ny - 1), z});
      }
    }
  }
  const auto at = [&](std::size_t layer, std::size_t i, std::size_t j) {
    return static_cast<std::uint32_t>(layer * nx * ny + j * nx + i);
  };
  for (std::size_t j = 0; j + 1 < ny; ++j) {
    for (std::size_t i = 0; i + 1 < nx; ++i) {
      const std::uint32_t corners[2][4] = {{at(0, i, j), at(0, i, j + 1), at(0, i + 1, j + 1), at(0, i + 1, j)},
                                           {at(1, i, j), at(1, i + 1, j), at(1, i + 1, j + 1), at(1, i, j + 1)}};
      for (const auto& c : corners) grid.triangles.insert(grid.triangles.end(), {c[0], c[1], c[2], c[0], c[2], c[3]});
    }
  }
  grid.arrays.push_back({"contact_pressure", "Pa", 1, std::vector<double>(2 * nx * ny, 0.0)});
  return grid;
}

/// The grid in world coordinates.
FieldGrid placed(FieldGrid grid, const Pose& X_WB) {
  for (std::size_t i = 0; i < grid.points.size(); i += 3) {
    const Vector3 p = X_WB * Vector3(grid.points[i], grid.points[i + 1], grid.points[i + 2]);
    for (std::size_t k = 0; k < 3; ++k) grid.points[i + k] = p[static_cast<Eigen::Index>(k)];
  }
  return grid;
}

double value_at(const PlanView& view, double u, double v) {
  const auto cell = [&](std::size_t k, double x) {
    return static_cast<std::size_t>(std::lround((x - view.origin[k]) / view.cell));
  };
  return view.values.at(cell(1, v) * view.n[0] + cell(0, u));
}

const Pose tilted{.R = rotation_from_vector(Vector3(0.1, -0.4, 0.2)), .p = Vector3(3.0, -2.0, 0.7)};

TEST(PressureMap, IsInTheFrameOfTheBodyForAnyPose) {
  FieldGrid grid = flat_sole(26, 11);
  for (std::size_t i = 0; i < 26 * 11; ++i) grid.arrays[0].values[i] = 1e5 * grid.points[3 * i];  // 0 to 25 kPa along x
  const PressureMap map(placed(grid, tilted), tilted);
  const PlanView view = map.view(map.peak(), 101);
  EXPECT_EQ(view.depth, 2);
  EXPECT_EQ(view.axes, (std::array<int, 2>{0, 1}));
  EXPECT_NEAR(view.origin[0], 0.0, 1e-12);
  EXPECT_NEAR(view.origin[1], 0.0, 1e-12);
  EXPECT_EQ(view.n[0], 101U);
  EXPECT_EQ(view.n[1], 41U);  // 0.1 m in cells of 2.5 mm
  // Linear between the nodes, so exact up to rounding at cell centres.
  EXPECT_NEAR(value_at(view, 0.2, 0.05), 2e4, 1e-6);
  EXPECT_NEAR(value_at(view, 0.05, 0.0), 5e3, 1e-6);
}

TEST(PressureMap, KeepsThePeakOfEveryPointAndTheLatestFrame) {
  FieldGrid grid = flat_sole(6, 3);
  grid.arrays[0].values[0] = 7.0;
  PressureMap map(grid, {});
  grid.arrays[0].values[0] = 3.0;
  grid.arrays[0].values[1] = 5.0;
  map.add(grid);
  EXPECT_EQ(map.peak()[0], 7.0);
  EXPECT_EQ(map.peak()[1], 5.0);
  EXPECT_EQ(map.latest()[0], 3.0);
  EXPECT_EQ(map.peak_pressure(), 7.0);
}

TEST(PressureMap, ViewsAlongTheLoadedAxis) {
  // The same plate upright: the normal of the loaded side is -x of the body.
  const Pose upright{.R = rotation_from_vector(Vector3(0.0, M_PI / 2.0, 0.0)), .p = Vector3::Zero()};
  FieldGrid grid = flat_sole(26, 11);
  std::fill_n(grid.arrays[0].values.begin(), 26 * 11, 1e5);
  const PressureMap map(placed(grid, upright), {});
  const PlanView view = map.view(map.peak(), 51);
  EXPECT_EQ(view.depth, 0);
  EXPECT_EQ(view.axes, (std::array<int, 2>{1, 2}));
}

// A tibia, x forward, y up: its plateaus are seen from above, right to the right.
TEST(PressureMap, PlateausAreSideBySide) {
  const Pose rotated{.R = rotation_from_vector(Vector3(M_PI / 2.0, 0.0, 0.0)), .p = Vector3::Zero()};
  FieldGrid grid = flat_sole(26, 11);
  std::fill_n(grid.arrays[0].values.begin(), 26 * 11, 1e5);
  const PressureMap map(placed(grid, rotated), {});
  const PlanView view = map.view(map.peak(), 51);
  EXPECT_EQ(view.depth, 1);
  EXPECT_EQ(view.axes, (std::array<int, 2>{2, 0}));
}

TEST(PressureMap, OutsideTheBodyIsEmpty) {
  FieldGrid grid = flat_sole(26, 11);
  grid.triangles.resize(6);  // two triangles at the origin, 10 mm wide
  const PressureMap map(grid, {});
  const PlanView view = map.view(map.peak(), 101);
  EXPECT_FALSE(std::isnan(value_at(view, 0.005, 0.005)));
  EXPECT_TRUE(std::isnan(value_at(view, 0.2, 0.05)));
}

TEST(PressureMap, PartsAreSideBySide) {
  // The second part is the same sole 0.25 m further along x, with twice the pressure, and with its own frame there.
  FieldGrid heel = flat_sole(26, 11);
  std::ranges::fill(heel.arrays[0].values, 1e5);
  FieldGrid toes = heel;
  std::ranges::fill(toes.arrays[0].values, 2e5);
  const Pose X_FB{.R = Matrix3::Identity(), .p = Vector3(0.25, 0.0, 0.0)};
  const Pose X_WB = tilted;
  PressureMap map(heel, {});
  const std::size_t part = map.add_part(placed(toes, X_WB), X_WB * X_FB.inverse());
  const PlanView view = map.view(map.peak(), 101);
  EXPECT_NEAR(value_at(view, 0.1, 0.05), 1e5, 1e-6);
  EXPECT_NEAR(value_at(view, 0.4, 0.05), 2e5, 1e-6);
  map.clear_latest();
  std::ranges::fill(toes.arrays[0].values, 5e4);
  map.add(toes, part);
  EXPECT_EQ(map.latest().front(), 0.0) << "a part without a frame at this time carries nothing";
  EXPECT_EQ(map.latest().back(), 5e4);
  EXPECT_EQ(map.peak().back(), 2e5);
}

// Requirement: no step of colour where two parts were cut from one mesh. The nodes of the cut belong to both.
TEST(PressureMap, IsContinuousOverTheCutBetweenTwoParts) {
  FieldGrid heel = flat_sole(26, 11);
  std::ranges::fill(heel.arrays[0].values, 1e5);
  FieldGrid toes = heel;
  std::ranges::fill(toes.arrays[0].values, 2e5);
  const Pose X_FB{.R = Matrix3::Identity(), .p = Vector3(0.25, 0.0, 0.0)};
  PressureMap map(placed(heel, tilted), tilted);
  map.add_part(placed(toes, tilted), tilted * X_FB.inverse());
  const PlanView view = map.view(map.peak(), 501);  // cells of 1 mm, elements of 10 mm
  EXPECT_NEAR(value_at(view, 0.239, 0.05), 1e5, 1e-3);
  EXPECT_NEAR(value_at(view, 0.250, 0.05), 1.5e5, 1e-3);
  EXPECT_NEAR(value_at(view, 0.261, 0.05), 2e5, 1e-3);
  for (int i = 230; i < 270; ++i) {
    EXPECT_LT(std::abs(value_at(view, 1e-3 * (i + 1), 0.05) - value_at(view, 1e-3 * i, 0.05)), 5.1e3) << i << " mm";
  }
  EXPECT_EQ(map.peak_pressure(), 2e5) << "peaks remain those of the parts";
}

/// Two soles in a row, cut at x = 0.25 m; the frame of the second begins there.
struct CutSole {
  static constexpr std::size_t nx = 26, ny = 11;
  Pose X_FB{.R = Matrix3::Identity(), .p = Vector3(0.25, 0.0, 0.0)};
  PressureMap map{placed(flat_sole(nx, ny), tilted), tilted};

  CutSole() { map.add_part(placed(flat_sole(nx, ny), tilted), tilted * X_FB.inverse()); }
};

TEST(PressureMap, SharedNodesAreNumberedWithinTheirParts) {
  const CutSole sole;
  const std::vector<SharedNode> nodes = sole.map.shared_nodes();
  ASSERT_EQ(nodes.size(), 2 * CutSole::ny) << "a row of the sole and one of its lid";
  for (const SharedNode& node : nodes) {
    EXPECT_EQ(node.parts, (std::array<std::size_t, 2>{0, 1}));
    EXPECT_EQ(node.nodes[0] % CutSole::nx, CutSole::nx - 1);
    EXPECT_EQ(node.nodes[1], node.nodes[0] + 1 - CutSole::nx) << "first column of the same row";
  }
}

TEST(JoinedFeet, SeamsBetweenTheFilesOfTheParts) {
  const CutSole sole;
  const FootPrint print{.name = "foot",
                        .label = "left",
                        .parts = {{.pair = "heel-ground", .body = "heel", .X_FB = {}},
                                  {.pair = "toes-ground", .body = "toes", .X_FB = sole.X_FB}},
                        .map = sole.map,
                        .series = {"heel-ground_heel", "toes-ground_toes"},
                        .path = {},
                        .regions = {},
                        .loads = {}};
  std::vector<std::uint32_t> nodes;
  for (const SharedNode& node : sole.map.shared_nodes())
    nodes.insert(nodes.end(), node.nodes.begin(), node.nodes.end());
  const Json feet = joined_feet_json({print});
  ASSERT_EQ(feet.size(), 1U);
  EXPECT_EQ(feet[0]["label"], "left");
  EXPECT_EQ(feet[0]["pairs"], (Json{"heel-ground", "toes-ground"}));
  ASSERT_EQ(feet[0]["seams"].size(), 1U);
  EXPECT_EQ(feet[0]["seams"][0]["parts"], (Json{"heel-ground_heel", "toes-ground_toes"}));
  EXPECT_EQ(feet[0]["seams"][0]["nodes"], packed(nodes));
}

TEST(JoinedFeet, AFootOfOnePartIsDrawnAsItIs) {
  const FootPrint print{.name = "sole",
                        .label = "foot",
                        .parts = {{.pair = "sole", .body = "foot", .X_FB = {}}},
                        .map = PressureMap(flat_sole(6, 3), {}),
                        .series = {"sole_foot"},
                        .path = {},
                        .regions = {},
                        .loads = {}};
  EXPECT_TRUE(joined_feet_json({print}).empty());
}

TEST(PressureMap, RejectsAFrameOfAnotherMesh) {
  PressureMap map(flat_sole(6, 3), {});
  EXPECT_THROW(map.add(flat_sole(7, 3)), Error);
}

TEST(PressureMap, PathOfTheCentreOfPressureIsInTheFrameOfTheBody) {
  TimeSeries series;
  series.columns = {"time_s",  "foot.x_m", "foot.y_m", "foot.z_m", "foot.qw",  "foot.qx",  "foot.qy",
                    "foot.qz", "p.fx_N",   "p.fy_N",   "p.fz_N",   "p.copx_m", "p.copy_m", "p.copz_m"};
  const Quaternion q = quaternion_from_rotation(tilted.R);
  const Vector3 cop = tilted * Vector3(0.1, 0.02, -0.03);
  const auto add = [&](double t, double force) {
    series.values.insert(series.values.end(), {t, tilted.p.x(), tilted.p.y(), tilted.p.z(), q.w(), q.x(), q.y(), q.z(),
                                               0.0, 0.0, force, cop.x(), cop.y(), cop.z()});
  };
  add(0.0, 0.0);  // not loaded: no centre of pressure
  add(0.1, 500.0);
  add(0.2, 500.0);
  add(0.3, 0.0);
  add(0.4, 0.0);
  add(0.5, 500.0);
  const CopPath path = cop_path(series, "p", "foot");
  ASSERT_EQ(path.points.size(), 3U);
  EXPECT_EQ(path.contacts, (std::vector<std::size_t>{0, 0, 1})) << "no line from one stance to the next";
  EXPECT_EQ(path.times[0], 0.1);
  EXPECT_EQ(path.forces[0], 500.0);
  EXPECT_NEAR((path.points[0] - Vector3(0.1, 0.02, -0.03)).norm(), 0.0, 1e-12);
}

TEST(PressureMap, OwnerOfASeriesOfFiles) {
  const std::vector<std::string> columns = {"time_s", "left foot.qw", "plate.qw", "sole.gap_m"};
  ASSERT_TRUE(part_owner("sole_left_foot", columns).has_value());
  EXPECT_EQ(part_owner("sole_left_foot", columns)->body, "left foot");
  EXPECT_EQ(part_owner("sole_ground", columns)->body, "ground");
  EXPECT_FALSE(part_owner("sole_plate_partner", columns).has_value());
}

TEST(PressureRegions, ForceAreaAndIntegralOfAUniformlyLoadedSole) {
  // 1 mm cells, so that a region ends at most half a cell from its fraction: 0.2 % of the length each.
  FieldGrid grid = flat_sole(251, 101);
  PressureMap map(grid, {});
  PressureRegions regions(map);
  std::vector<double> pressure(map.peak().size(), 0.0);
  regions.add(0.0, pressure);
  std::fill_n(pressure.begin(), 251 * 101, 2e5);
  regions.add(0.5, pressure);
  regions.add(1.0, std::vector<double>(pressure.size(), 0.0));
  ASSERT_EQ(regions.rows().size(), 6U);
  const RegionLoad& all = regions.rows().back();
  EXPECT_EQ(all.name, "all");
  EXPECT_NEAR(all.area, 0.025, 1e-9);
  EXPECT_NEAR(all.force, 2e5 * 0.025, 1e-3);
  EXPECT_EQ(all.peak_pressure, 2e5);
  EXPECT_EQ(all.peak_time, 0.5);
  EXPECT_NEAR(all.mean_pressure, 2e5, 1e-6);
  EXPECT_NEAR(all.pressure_integral, 1e5, 1e-9);  // a triangle of 1 s
  const double third = 0.8 / 3.0;
  const double expected[] = {third, third, third, 0.20 * 0.35, 0.20 * 0.65};
  double sum = 0.0;
  for (std::size_t r = 0; r < 5; ++r) {
    EXPECT_NEAR(regions.rows()[r].area / 0.025, expected[r], 0.005) << regions.rows()[r].name;
    sum += regions.rows()[r].force;
  }
  EXPECT_NEAR(sum, all.force, 1e-6);
}

TEST(PressureRegions, HalluxIsOnTheSideOfTheGreatestLength) {
  for (const std::size_t tip : {std::size_t{0}, std::size_t{20}}) {
    FieldGrid grid = flat_sole(51, 21);
    const std::size_t node = 51 * tip + 50;  // the corner of the toes at y = 0 or y = 0.1 m
    grid.points[3 * node] += 0.01;
    const PressureMap map(grid, {});
    std::vector<double> pressure(map.peak().size(), 0.0);
    pressure[50] = 1e5;  // toe at y = 0
    PressureRegions regions(map);
    regions.add(0.0, pressure);
    const std::string loaded = tip == 0 ? "hallux" : "lesser toes";
    for (const RegionLoad& row : regions.rows()) {
      EXPECT_EQ(row.peak_pressure, row.name == loaded || row.name == "all" ? 1e5 : 0.0) << row.name;
    }
  }
}

TEST(PressureRegions, AreasAreThoseOfTheSurfaceNotOfItsProjection) {
  // Pressure is force over the body's own area: on a sole inclined at 45 degrees the projection would lose 29 %.
  FieldGrid grid = flat_sole(51, 21);
  for (std::size_t i = 0; i < 51 * 21; ++i) grid.points[3 * i + 2] = grid.points[3 * i];
  const PressureMap map(grid, {});
  std::vector<double> pressure(map.peak().size(), 0.0);
  std::fill_n(pressure.begin(), 51 * 21, 1e5);
  PressureRegions regions(map);
  regions.add(0.0, pressure);
  // The nodes at the rim share faces with nothing else, as the sides of this body are open.
  EXPECT_NEAR(regions.rows().back().force, 1e5 * 0.025 * std::sqrt(2.0), 1e-6);
}

}  // namespace
}  // namespace heelstrike::report
