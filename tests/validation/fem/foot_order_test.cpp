// The parametric foot, coarse, pressed on a plate: condensed compared with full order at the depths of the thesis. The
// linear body gives the same to rounding; the neo-Hookean one shows the error of condensation.
#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "fem_server/backend_interface/backend.hpp"
#include "scenario/surfaces/foot.hpp"
#include "scenario/surfaces/plane.hpp"

namespace heelstrike::fem {
namespace {

PairSpec foot_pair(const std::string& backend, const char* law, double friction) {
  PairSpec pair;
  pair.name = "sole-plate";
  pair.backend = backend;
  pair.main.surface = FootSurface{};
  pair.main.materials = {{.youngs_modulus = 3.62e6, .poissons_ratio = 0.3, .density = 1100.0, .set = ""}};
  pair.partner.surface = PlaneSurface{};
  pair.parameters = {{"element_size", 0.012},
                     {"clamped_box", std::vector<double>{-1.0, -1.0, 0.0, 1.0, 1.0, 1.0}},
                     {"contact_direction", std::vector<double>{0.0, 0.0, -1.0}},
                     {"friction", friction},
                     {"max_penetration", 0.02}};
  if (backend != "fem_condensed") pair.parameters["material_law"] = std::string(law);
  return pair;
}

std::unique_ptr<ContactBackend> make(const PairSpec& pair, const std::string& cache = {}) {
  ::setenv("HEELSTRIKE_MESHER", HEELSTRIKE_BIN_DIR "/heelstrike-mesher", 1);
  PrepareContext context;
  context.cache_directory = cache;
  context.on_progress = [](std::string_view, double) {};
  return make_backend(pair, context);
}

std::unique_ptr<ContactBackend> make_foot_contact(const std::string& backend, const char* law, double friction) {
  return make(foot_pair(backend, law, friction));
}

class FootOrder : public testing::TestWithParam<double> {};

TEST_P(FootOrder, CondensedEqualsFullLinear) {
  const double friction = GetParam();
  const std::vector<std::pair<const char*, std::unique_ptr<ContactBackend>>> models = [&] {
    std::vector<std::pair<const char*, std::unique_ptr<ContactBackend>>> list;
    list.emplace_back("condensed", make_foot_contact("fem_condensed", "", friction));
    list.emplace_back("full, linear", make_foot_contact("fem_full", "linear", friction));
    list.emplace_back("full, neo-Hookean", make_foot_contact("fem_full", "neo_hookean", friction));
    return list;
  }();
  std::printf("%8s %20s %11s %10s %9s %9s %9s %11s %6s\n", "d [mm]", "model", "F [N]", "Fx [N]", "A [cm2]", "x [mm]",
              "y [mm]", "p [kPa]", "nodes");
  std::vector<std::shared_ptr<const History>> histories;
  for (const auto& [name, model] : models) histories.push_back(model->initial_history());
  for (const double depth : {2e-3, 4e-3, 6e-3, 8.8e-3}) {
    std::vector<Response> responses;
    for (std::size_t m = 0; m < models.size(); ++m) {
      PairState state;
      // The sole lies at -ankle_height of the foot's frame; dragged by a tenth of the depth.
      state.X_AB.p = Vector3(friction > 0.0 ? 0.1 * depth : 0.0, 0.0, -FootDimensions{}.ankle_height + depth);
      const Committed c = models[m].second->commit(*histories[m], state);
      histories[m] = c.history;
      responses.push_back(c.response);
      const Response& r = c.response;
      std::printf("%8.1f %20s %11.4f %10.4f %9.3f %9.3f %9.3f %11.3f %6d\n", 1e3 * depth, models[m].first,
                  r.F_A.force.z(), r.F_A.force.x(), 1e4 * r.area, 1e3 * r.p_ACop.x(), 1e3 * r.p_ACop.y(),
                  1e-3 * r.peak_pressure, r.statistics.active_points);
    }
    const Response& a = responses[0];
    const Response& b = responses[1];
    const double force = b.F_A.force.norm();
    EXPECT_LT((a.F_A.force - b.F_A.force).norm(), 1e-6 * force) << "issue: condensed-linear equals full-linear to 1e-6";
    EXPECT_NEAR(a.area, b.area, 1e-6 * b.area);
    EXPECT_NEAR(a.peak_pressure, b.peak_pressure, 1e-6 * b.peak_pressure);
    EXPECT_LT((a.p_ACop - b.p_ACop).norm(), 1e-6 * 0.1) << "relative to half the length of the foot";
    // The error of a linear body is of the order of the strain: a neo-Hookean column compressed by the strain e carries
    // E A (1/(1 - e)^2 - (1 - e)) / 3 = E A e (1 + e + ...), a linear one E A e.
    const double strain = depth / FootDimensions{}.ankle_height;
    EXPECT_NEAR(responses[2].F_A.force.z(), a.F_A.force.z(), strain * a.F_A.force.z());
  }
}

INSTANTIATE_TEST_SUITE_P(Friction, FootOrder, testing::Values(0.0, 0.3),
                         [](const testing::TestParamInfo<double>& info) {
                           return std::string(info.param > 0.0 ? "with" : "without");
                         });

// A neo-Hookean layer on a condensed interior lies between the linear and the neo-Hookean body, and converges to the
// latter as it grows; with a linear layer it is the linear body.
TEST(FootLayer, ConvergesToTheFullOrderAsItGrows) {
  PairState state;
  state.X_AB.p = Vector3(0.0, 0.0, -FootDimensions{}.ankle_height + 8.8e-3);
  // One mesh for all; with 0, 20 and 45 mm more the table is that of docs/theory/contact_fem.md.
  const auto cache = std::filesystem::temp_directory_path() / fmt::format("heelstrike_layers_{}", ::getpid());
  struct Row {
    std::string name;
    Response response;
  };
  std::vector<Row> rows;
  std::printf("%22s %11s %9s %11s %10s %10s\n", "8.8 mm", "F [N]", "A [cm2]", "p [kPa]", "open [s]", "solve [s]");
  const auto add = [&](const std::string& name, PairSpec pair) {
    pair.parameters["element_size"] = 0.01;
    const auto begin = std::chrono::steady_clock::now();
    const auto contact = make(pair, cache.string());
    const auto open = std::chrono::steady_clock::now();
    rows.push_back({name, contact->evaluate(*contact->initial_history(), state)});
    const auto end = std::chrono::steady_clock::now();
    const Response& r = rows.back().response;
    std::printf("%22s %11.4f %9.3f %11.3f %10.2f %10.2f\n", name.c_str(), r.F_A.force.z(), 1e4 * r.area,
                1e-3 * r.peak_pressure, std::chrono::duration<double>(open - begin).count(),
                std::chrono::duration<double>(end - open).count());
  };
  add("condensed", foot_pair("fem_condensed", "", 0.0));
  PairSpec pair = foot_pair("fem_layered", "linear", 0.0);
  pair.parameters["layer_depth"] = 0.01;
  add("10 mm, linear", pair);
  const Response linear = rows[0].response;
  EXPECT_LT((rows[1].response.F_A.vector() - linear.F_A.vector()).norm(), 1e-6 * linear.F_A.vector().norm());
  EXPECT_NEAR(rows[1].response.peak_pressure, linear.peak_pressure, 1e-6 * linear.peak_pressure);
  for (const double depth : {0.01, 0.03}) {
    pair = foot_pair("fem_layered", "neo_hookean", 0.0);
    pair.parameters["layer_depth"] = depth;
    add(fmt::format("{:.0f} mm", 1e3 * depth), pair);
  }
  add("full, neo-Hookean", foot_pair("fem_full", "neo_hookean", 0.0));
  const double finite = rows.back().response.F_A.force.z();
  for (std::size_t i = 3; i + 1 < rows.size(); ++i) {
    EXPECT_LE(std::abs(rows[i].response.F_A.force.z() - finite), std::abs(rows[i - 1].response.F_A.force.z() - finite))
        << rows[i].name << " is farther from the full order than " << rows[i - 1].name;
  }
  EXPECT_LT(linear.F_A.force.z(), rows[2].response.F_A.force.z()) << "the layer lies between the two";
  EXPECT_LT(rows[3].response.F_A.force.z(), finite);
  std::filesystem::remove_all(cache);
}

}  // namespace
}  // namespace heelstrike::fem
