// The parametric foot, coarse, pressed on a plate with each finite element: the cost of nearly incompressible tissue.
#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "fem_server/backend_interface/backend.hpp"
#include "scenario/surfaces/foot.hpp"
#include "scenario/surfaces/plane.hpp"

namespace heelstrike::fem {
namespace {

PairSpec foot_pair(const std::string& element, double nu) {
  PairSpec pair;
  pair.name = "sole-plate";
  pair.backend = "fem_condensed";
  pair.main.surface = FootSurface{};
  // The same shear modulus for all: only the bulk modulus changes.
  const double mu = 0.2e6;
  pair.main.materials = {{.youngs_modulus = 2.0 * mu * (1.0 + nu), .poissons_ratio = nu, .density = 1100.0, .set = ""}};
  pair.partner.surface = PlaneSurface{};
  pair.parameters = {{"element_size", 0.012},
                     {"element", element},
                     {"clamped_box", std::vector<double>{-1.0, -1.0, 0.0, 1.0, 1.0, 1.0}},
                     {"contact_direction", std::vector<double>{0.0, 0.0, -1.0}},
                     {"max_penetration", 0.02}};
  return pair;
}

/// Degrees of freedom: three for each node of the mesh.
int dofs(const ContactBackend& contact, const PairState& state) {
  FieldRequest request;
  request.mesh = FieldMesh::volume;
  const std::string vtu = contact.fields(*contact.initial_history(), state, request);
  const std::string mark = "NumberOfPoints=\"";
  return 3 * std::stoi(vtu.substr(vtu.find(mark) + mark.size()));
}

TEST(FootElement, SideBySide) {
  ::setenv("HEELSTRIKE_MESHER", HEELSTRIKE_BIN_DIR "/heelstrike-mesher", 1);
  const auto cache = std::filesystem::temp_directory_path() / fmt::format("heelstrike_elements_{}", ::getpid());
  PrepareContext context;
  context.cache_directory = cache.string();
  std::size_t warnings = 0;
  context.on_progress = [&](std::string_view stage, double) { warnings += stage.starts_with("warning: ") ? 1 : 0; };
  PairState state;
  state.X_AB.p = Vector3(0.0, 0.0, -FootDimensions{}.ankle_height + 5e-3);
  std::printf("foot on a plate, 5 mm, elements of 12 mm, shear modulus 0.2 MPa\n");
  std::printf("%7s %12s %10s %9s %11s %6s %8s %9s %8s\n", "nu", "element", "F [N]", "A [cm2]", "peak [kPa]", "nodes",
              "dofs", "open [s]", "warned");
  std::map<std::pair<std::string, double>, Response> responses;
  for (const double nu : {0.45, 0.49, 0.4999}) {
    for (const std::string element : {"tet4", "tet10", "tet4_mixed", "tet10_mixed"}) {
      warnings = 0;
      const auto begin = std::chrono::steady_clock::now();
      const auto contact = make_backend(foot_pair(element, nu), context);
      const auto open = std::chrono::steady_clock::now();
      const Response r = contact->evaluate(*contact->initial_history(), state);
      responses[{element, nu}] = r;
      std::printf("%7.4f %12s %10.3f %9.3f %11.3f %6d %8d %9.2f %8zu\n", nu, element.c_str(), r.F_A.force.z(),
                  1e4 * r.area, 1e-3 * r.peak_pressure, r.statistics.active_points, dofs(*contact, state),
                  std::chrono::duration<double>(open - begin).count(), warnings);
      EXPECT_EQ(warnings > 0, nu >= 0.49 && !element.ends_with("_mixed")) << element;
    }
  }
  std::filesystem::remove_all(cache);
  const auto force = [&](const char* element, double nu) { return responses.at({element, nu}).F_A.force.z(); };
  // With a constant shear modulus, an incompressible body is stiffer than one with nu = 0.45, but not without bound:
  // locking elements are.
  EXPECT_GT(force("tet4", 0.4999), 1.5 * force("tet10_mixed", 0.4999))
      << "locks: otherwise this test is not significant";
  EXPECT_NEAR(force("tet4_mixed", 0.4999), force("tet10_mixed", 0.4999), 0.15 * force("tet10_mixed", 0.4999));
  EXPECT_NEAR(force("tet10_mixed", 0.45), force("tet10", 0.45), 0.04 * force("tet10", 0.45))
      << "where hardly anything locks the pressures change little";
}

}  // namespace
}  // namespace heelstrike::fem
