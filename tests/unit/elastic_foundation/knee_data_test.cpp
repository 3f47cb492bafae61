// Validation: contact forces of OpenSim-JAM for poses of a natural knee, from measured surfaces. Needs HEELSTRIKE_DATA.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <sstream>

#include "common/errors/error.hpp"
#include "fem_server/backends/elastic_foundation/entry.hpp"
#include "tests/unit/backends/conformance_checks.hpp"
#include "tests/unit/elastic_foundation/foundation_examples.hpp"

namespace heelstrike::fem {
namespace {

using namespace testing_support;

std::string file_content(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

/// Rows of a table with a header line, by column name.
std::vector<std::map<std::string, double>> table(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<std::string> names;
  std::vector<std::map<std::string, double>> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream cells(line);
    std::vector<std::string> values;
    for (std::string cell; std::getline(cells, cell, ',');) values.push_back(cell);
    if (names.empty()) {
      names = values;
      continue;
    }
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = std::stod(values[i]);
  }
  return rows;
}

class NaturalKnee : public testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("HEELSTRIKE_DATA");
    if (data == nullptr) GTEST_SKIP() << "HEELSTRIKE_DATA is not set: no surfaces of a knee to test with";
    folder = std::filesystem::path(data) / "knee_natural";
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there: no surfaces of a knee to test with";
    for (const std::string name :
         {"lenhart2015-R-tibia-cartilage.stl", "lenhart2015-R-femur-cartilage_extracted.stl",
          "lenhart2015-R-tibia-subchondral-bone.stl", "lenhart2015-R-femur-subchondral-bone.stl"}) {
      contents[name] = {.sha256 = name, .name = name, .content = file_content(folder / name)};
    }
  }

  /// The model's settings, lumped: E = 10 MPa, nu = 0.45, 3 mm each; a ray from the centre of each triangle of the
  /// tibia, force along its normal.
  [[nodiscard]] std::unique_ptr<ContactBackend> knee(ParameterMap more) {
    PairSpec pair = layer_pair(mesh_named("lenhart2015-R-tibia-cartilage.stl"),
                               mesh_named("lenhart2015-R-femur-cartilage_extracted.stl"), std::move(more));
    pair.main.materials = {material(10e6, 0.45)};
    pair.partner.materials = {material(10e6, 0.45)};
    pair.parameters.erase("thickness");
    if (!pair.parameters.contains("back_asset")) pair.parameters["thickness"] = 0.003;
    if (!pair.parameters.contains("partner_back_asset")) pair.parameters["partner_thickness"] = 0.003;
    pair.parameters.try_emplace("layers", "lumped");
    const BackendEntry entry = elastic_foundation_entry();
    pair.parameters = checked_parameters(pair.parameters, entry.parameters, "contact.knee.parameters");
    entry.check(pair);
    return entry.make(pair,
                      {.asset = [this](const AssetKey& key) -> const AssetContent& { return contents.at(key.name); },
                       .on_progress = [](std::string_view, double) {},
                       .stop = {}});
  }

  /// Femur in the tibia; angles [rad], translation of the tibia in the femur [m].
  [[nodiscard]] static PairState at(double flexion, double adduction, double rotation, const Vector3& p) {
    const Matrix3 R = (Eigen::AngleAxisd(-flexion, Vector3::UnitZ()) * Eigen::AngleAxisd(adduction, Vector3::UnitX()) *
                       Eigen::AngleAxisd(rotation, Vector3::UnitY()))
                          .toRotationMatrix();
    PairState state;
    state.X_AB = Pose{.R = R, .p = p}.inverse();
    return state;
  }

  std::filesystem::path folder;
  std::map<std::string, AssetContent> contents;
};

const ParameterMap jam_configuration{{"springs", "centres"}, {"normals", "facets"}, {"direction", "normal"}};

/// Three columns of a row.
Vector3 vector_of(const std::map<std::string, double>& row, const std::string& name) {
  return {row.at(name + "_x"), row.at(name + "_y"), row.at(name + "_z")};
}

// Stored in the axes of the tibia: the force on it, its moment about the tibia's origin with the opposite sign, and the
// centre of pressure. All are given to the digits of the files: seven of forces and pressures, 1e-8 m^2 of areas above
// 1.2e-4 m^2, 1e-8 m of the centre. The tolerance of the moment is that of the force at the lever arm of the centre.
TEST_F(NaturalKnee, PosesEqualOpenSimJam) {
  const auto centres = knee(jam_configuration);
  const auto vertices = knee({});
  const auto fresh = centres->initial_history();
  const std::vector<std::pair<std::string, double>> limits{{"force %", 1e-3}, {"moment %", 1e-3}, {"area %", 5e-3},
                                                           {"peak %", 1e-3},  {"mean %", 6e-3},   {"centre mm", 1e-4}};
  for (const char* name : {"jam_passive_flexion.csv", "jam_isometric_extension.csv"}) {
    std::vector<double> worst(limits.size(), 0.0);
    std::vector<int> worst_row(limits.size(), 0);
    int rows = 0;
    std::printf("%s\n   row   JAM force", name);
    for (const auto& limit : limits) std::printf(" %10s", limit.first.c_str());
    std::printf("   springs at vertices: force %%\n");
    for (const auto& row : table(folder / name)) {
      const PairState state = at(row.at("knee_flex_r"), row.at("knee_add_r"), row.at("knee_rot_r"),
                                 {row.at("knee_tx_r"), row.at("knee_ty_r"), row.at("knee_tz_r")});
      const Response r = centres->evaluate(*fresh, state);
      const Vector3 F = vector_of(row, "contact_contact_force"), M = -vector_of(row, "contact_contact_moment");
      const Vector3 c = vector_of(row, "contact_center_of_pressure");
      const std::vector<double> off{
          100 * (r.F_A.force - F).norm() / F.norm(),
          100 * (r.F_A.torque - M).norm() / (F.norm() * c.norm()),
          100 * std::abs(r.area / row.at("contact_contact_area") - 1.0),
          100 * std::abs(r.peak_pressure / row.at("contact_max_pressure") - 1.0),
          100 * std::abs(r.F_A.force.norm() / F.norm() * row.at("contact_contact_area") / r.area - 1.0),
          1e3 * (r.p_ACop - c).norm()};
      for (std::size_t i = 0; i < off.size(); ++i) {
        if (off[i] <= worst[i]) continue;
        worst[i] = off[i];
        worst_row[i] = rows;
      }
      if (rows % 25 == 0) {
        std::printf("  %4d  %8.2f N", rows, F.norm());
        for (const double x : off) std::printf(" %10.4f", x);
        std::printf("  %+8.4f\n", 100 * (vertices->evaluate(*fresh, state).F_A.force.norm() / F.norm() - 1.0));
      }
      ++rows;
    }
    EXPECT_GT(rows, 200);
    for (std::size_t i = 0; i < limits.size(); ++i) {
      std::printf("%s: %d rows, largest deviation of %s: %.4f in row %d\n", name, rows, limits[i].first.c_str(),
                  worst[i], worst_row[i]);
      EXPECT_LT(worst[i], limits[i].second) << name << ", " << limits[i].first << " in row " << worst_row[i];
    }
  }
}

TEST_F(NaturalKnee, ForcesOfWalkingAreReproduced) {
  const auto backend = knee(jam_configuration);
  const auto fresh = backend->initial_history();
  const auto poses = table(folder / "walking_knee_reference.csv");
  const auto forces = table(folder / "walking_knee_contact_recomputed.csv");
  ASSERT_EQ(poses.size(), forces.size());
  const double degree = std::numbers::pi / 180.0;
  double worst = 0.0;
  double worst_peak = 0.0;
  for (std::size_t i = 0; i < poses.size(); ++i) {
    const auto& pose = poses[i];
    const auto& given = forces[i];
    const Response r =
        backend->evaluate(*fresh, at(degree * pose.at("knee_flex_r_deg"), degree * pose.at("knee_add_r_deg"),
                                     degree * pose.at("knee_rot_r_deg"),
                                     {pose.at("knee_tx_r_m"), pose.at("knee_ty_r_m"), pose.at("knee_tz_r_m")}));
    const Vector3 F(given.at("Fx_N"), given.at("Fy_N"), given.at("Fz_N"));
    worst = std::max(worst, (r.F_A.force - F).norm() / F.norm());
    worst_peak = std::max(worst_peak, std::abs(r.peak_pressure * 1e-6 / given.at("max_pressure_MPa") - 1.0));
    if (i % 20 == 0) {
      std::printf("  %.2f s  %8.2f N, recomputed %8.2f N; peak %.4f MPa, recomputed %.4f MPa; %d springs\n",
                  pose.at("time_s"), r.F_A.force.norm(), F.norm(), r.peak_pressure * 1e-6, given.at("max_pressure_MPa"),
                  r.statistics.active_points);
    }
  }
  std::printf("%zu rows, largest deviation of the force vector %.4f %%, peak pressure %.4f %%\n", poses.size(),
              100 * worst, 100 * worst_peak);
  EXPECT_LT(worst, 0.005);
  EXPECT_LT(worst_peak, 0.005);
}

/// Largest difference of the tangent from central differences, over the largest entry: forces and moments, by
/// translations and rotations.
double tangent_error(const ContactBackend& backend, const PairState& state, double step) {
  const auto fresh = backend.initial_history();
  const Matrix6 tangent = backend.evaluate(*fresh, state).dF_A_dX;
  Matrix6 numeric;
  for (int i = 0; i < 6; ++i) {
    const auto wrench = [&](double by) -> Vector6 {
      return backend.evaluate(*fresh, moved(state, by * Vector6::Unit(i)), prescribed_motion).F_A.vector();
    };
    numeric.col(i) = (wrench(step) - wrench(-step)) / (2.0 * step);
  }
  double worst = 0.0;
  for (int row = 0; row < 2; ++row) {
    for (int column = 0; column < 2; ++column) {
      const auto block = [&](const Matrix6& m) { return m.block<3, 3>(3 * row, 3 * column); };
      const double size = block(numeric).cwiseAbs().maxCoeff();
      worst = std::max(worst, (block(tangent) - block(numeric)).cwiseAbs().maxCoeff() / size);
    }
  }
  return worst;
}

// Both layers reach down to the bones of the model: 1.6 mm of the tibia's and 2.3 mm of the femur's as medians of their
// vertices. Differences across the onset of springs or a change of facets are invalid: the better of two steps is used.
// Rounding: 1e-17 m of the gaps over 1e-9 m.
TEST_F(NaturalKnee, IsBetweenBothBones) {
  for (const std::string layers : {"lumped", "series"}) {
    const bool lumped = layers == "lumped";
    const ParameterMap common{{"layers", layers},
                              {"strain", lumped ? "small" : "large"},
                              {"springs", lumped ? "vertices" : "centres"},
                              {"back_min_thickness", 0.0005}};
    ParameterMap bones = common;
    bones["back_asset"] = "lenhart2015-R-tibia-subchondral-bone.stl";
    bones["partner_back_asset"] = "lenhart2015-R-femur-subchondral-bone.stl";
    const auto backend = knee(bones);
    const auto constant = knee(common);
    const auto fresh = backend->initial_history();
    int rows = 0;
    for (const auto& row : table(folder / "jam_isometric_extension.csv")) {
      if (rows++ % 100 != 0) continue;
      const PairState state = at(row.at("knee_flex_r"), row.at("knee_add_r"), row.at("knee_rot_r"),
                                 {row.at("knee_tx_r"), row.at("knee_ty_r"), row.at("knee_tz_r")});
      const Response r = backend->evaluate(*fresh, state);
      const Response c = constant->evaluate(*fresh, state);
      const double error = std::min(tangent_error(*backend, state, 1e-8), tangent_error(*backend, state, 1e-9));
      std::printf(
          "  %s, row %3d: %8.2f N, of 3 mm each %8.2f N; peak %6.3f MPa, of 3 mm each %6.3f MPa; tangents to %.1e\n",
          layers.c_str(), rows, r.F_A.force.norm(), c.F_A.force.norm(), 1e-6 * r.peak_pressure, 1e-6 * c.peak_pressure,
          error);
      EXPECT_LT(error, 1e-6);
      EXPECT_NE(r.F_A.force.norm(), c.F_A.force.norm());
    }
  }
}

// At its rim the cartilage of the data lies in the bone, by 0.5 mm: reported, unless a minimum thickness is given.
TEST_F(NaturalKnee, BoneInFrontAtTheRimIsReported) {
  try {
    (void)knee({{"partner_back_asset", "lenhart2015-R-femur-subchondral-bone.stl"}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.field(), "contact.knee.parameters.partner_back_asset");
    EXPECT_NE(std::string(e.what()).find("back_min_thickness"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace heelstrike::fem
