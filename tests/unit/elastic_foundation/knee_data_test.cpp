// Validation: contact forces of OpenSim-JAM for poses of a natural knee, from measured surfaces. Needs HEELSTRIKE_DATA.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <sstream>

#include "fem_server/backends/elastic_foundation/entry.hpp"
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
         {"lenhart2015-R-tibia-cartilage.stl", "lenhart2015-R-femur-cartilage_extracted.stl"}) {
      contents[name] = {.sha256 = name, .name = name, .content = file_content(folder / name)};
    }
  }

  /// The model's own settings, lumped: E = 10 MPa, nu = 0.45, 3 mm each; a ray from the centre of each triangle of the
  /// tibia, force along its normal.
  [[nodiscard]] std::unique_ptr<ContactBackend> knee(ParameterMap more) {
    PairSpec pair = layer_pair(mesh_named("lenhart2015-R-tibia-cartilage.stl"),
                               mesh_named("lenhart2015-R-femur-cartilage_extracted.stl"), std::move(more));
    pair.main.materials = {material(10e6, 0.45)};
    pair.partner.materials = {material(10e6, 0.45)};
    pair.parameters["thickness"] = 0.003;
    pair.parameters["partner_thickness"] = 0.003;
    pair.parameters["layers"] = "lumped";
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

const ParameterMap as_in_jam{{"springs", "centres"}, {"normals", "facets"}, {"direction", "normal"}};

TEST_F(NaturalKnee, PosesOfOpenSimJam) {
  const auto centres = knee(as_in_jam);
  const auto vertices = knee({});
  const auto fresh = centres->initial_history();
  for (const char* name : {"jam_passive_flexion.csv", "jam_isometric_extension.csv"}) {
    double worst_force = 0.0;
    double worst_area = 0.0;
    double worst_peak = 0.0;
    double worst_conserving = 0.0;
    int rows = 0;
    std::printf("%s\n   row   JAM force    force %%   area %%   peak %%   springs at vertices: force %%\n", name);
    for (const auto& row : table(folder / name)) {
      const PairState state = at(row.at("knee_flex_r"), row.at("knee_add_r"), row.at("knee_rot_r"),
                                 {row.at("knee_tx_r"), row.at("knee_ty_r"), row.at("knee_tz_r")});
      const Response r = centres->evaluate(*fresh, state);
      const double F = Vector3(row.at("contact_contact_force_x"), row.at("contact_contact_force_y"),
                               row.at("contact_contact_force_z"))
                           .norm();
      const double force = r.F_A.force.norm() / F - 1.0;
      const double area = r.area / row.at("contact_contact_area") - 1.0;
      const double peak = r.peak_pressure / row.at("contact_max_pressure") - 1.0;
      double conserving = 0.0;
      if (rows % 25 == 0) {
        conserving = vertices->evaluate(*fresh, state).F_A.force.norm() / F - 1.0;
        std::printf("  %4d  %8.2f N  %+8.4f  %+8.4f %+8.4f  %+8.4f\n", rows, F, 100 * force, 100 * area, 100 * peak,
                    100 * conserving);
      }
      ++rows;
      worst_force = std::max(worst_force, std::abs(force));
      worst_area = std::max(worst_area, std::abs(area));
      worst_peak = std::max(worst_peak, std::abs(peak));
      worst_conserving = std::max(worst_conserving, std::abs(conserving));
    }
    std::printf("%s: %d rows, largest deviation of force %.4f %%, area %.4f %%, peak pressure %.4f %%\n", name, rows,
                100 * worst_force, 100 * worst_area, 100 * worst_peak);
    EXPECT_GT(rows, 200);
    EXPECT_LT(worst_force, 0.01) << name;
    EXPECT_LT(worst_area, 0.02) << name;
    EXPECT_LT(worst_peak, 0.02) << name;
  }
}

TEST_F(NaturalKnee, RecomputedForcesOfWalking) {
  const auto backend = knee(as_in_jam);
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

}  // namespace
}  // namespace heelstrike::fem
