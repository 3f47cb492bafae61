// A resumed run has the bits of the uninterrupted one, with any back-end, also during contact and friction.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "fem_server/backend_interface/backend.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

struct Case {
  std::string name;
  std::string backend;
  std::string more_parameters;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

bool has(const fem::BackendEntry& entry, const std::string& parameter) {
  return std::ranges::any_of(entry.parameters, [&](const auto& spec) { return spec.name == parameter; });
}

bool fills_blocks(const fem::BackendEntry& entry) {
  return has(entry, "element");
}

/// Parameters of an elastic ball of 0.1 m: of a point law its stiffness, of an elastic foundation its layer, of rigid
/// bodies none.
std::string ball_parameters(const fem::BackendEntry& entry) {
  if (has(entry, "stiffness")) return "stiffness: 1.0e6, ";
  return has(entry, "thickness") ? "thickness: 0.02, " : "";
}

/// Every back-end with all its history variables: friction, and restitution where available.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& entry : fem::backend_registry()) {
    std::string more = has(entry, "friction")         ? "friction: 0.3"
                       : has(entry, "contact_margin") ? "contact_margin: 0.01"
                                                      : "modes: 5";
    if (has(entry, "restitution")) more += ", restitution: 0.7";
    if (has(entry, "damping")) more += ", damping: 30";
    // A moving clamped body has no modes: the free one replaces it below.
    if (!has(entry, "modes")) all.push_back({entry.name, entry.name, more});
    if (has(entry, "friction_model")) {
      all.push_back({entry.name + "_regularised", entry.name, more + ", friction_model: regularised"});
    }
    if (has(entry, "support")) {
      all.push_back({entry.name + "_free", entry.name, more + ", support: inertia_relief"});
    }
  }
  return all;
}

/// Thrown obliquely: it sticks, slides and lifts off.
Scenario ball(const Case& c) {
  return scenario_from(fmt::format(R"(heelstrike: 1
gravity: [0, 0, -10]
bodies:
  ball: {{mass: 1, inertia: [4.0e-3, 4.0e-3, 4.0e-3], position: [0, 0, 0.1001], velocity: [0.2, 0, -0.3]}}
contact:
  touch:
    main: {{body: ball, surface: {{sphere: {{radius: 0.1}}}}, material: {{youngs_modulus: 1.0e6, poissons_ratio: 0.3}}}}
    partner: {{body: ground, surface: {{plane: {{normal: [0, 0, 1]}}}}}}
    backend: {}
    parameters: {{{}{}}}
analysis: {{end_time: 0.02}}
output: {{interval: 0.0005, checkpoint_interval: 0.001}}
)",
                                   c.backend, ball_parameters(fem::find_backend(c.backend)), c.more_parameters));
}

Scenario block(const Case& c) {
  const bool is_free = c.more_parameters.find("inertia_relief") != std::string::npos;
  return scenario_from(fmt::format(R"(heelstrike: 1
gravity: [0, 0, -10]
bodies:
  block: {{mass: 0.1, inertia: [1.0e-4, 1.0e-4, 1.0e-4], position: [0, 0, 0.01005], velocity: [0.05, 0, -0.1]}}
contact:
  touch:
    main:
      body: block
      surface: {{block: {{lengths: [0.04, 0.03, 0.02]}}}}
      material: {{youngs_modulus: 2.0e6, poissons_ratio: 0.3, density: 4166}}
    partner: {{body: ground, surface: {{plane: {{normal: [0, 0, 1]}}}}}}
    backend: {}
    parameters: {{element_size: 0.01, contact_set: bottom, {}{}}}
analysis: {{end_time: 0.006, integrator: {{rtol: 1.0e-5, atol: 1.0e-7}}}}
output: {{interval: 0.00025, checkpoint_interval: 0.001}}
)",
                                   c.backend, is_free ? "" : "clamped_set: top, ", c.more_parameters));
}

class Resume : public testing::TestWithParam<Case> {};

TEST_P(Resume, FromAnyCheckpointRepeatsEveryBit) {
  const Scenario scenario = fills_blocks(fem::find_backend(GetParam().backend)) ? block(GetParam()) : ball(GetParam());
  const RecordedRun whole = run_local(scenario);
  ASSERT_EQ(whole.summary.status, "completed") << (whole.summary.error ? whole.summary.error->what() : "");
  ASSERT_GE(whole.checkpoints.size(), 3U);
  // Only friction acts along x; in rigid bodies it acts in impacts, without a force.
  const auto speed = whole.column(scenario.bodies.front().name + ".vx_m_s");
  const bool has_friction = has(fem::find_backend(GetParam().backend), "friction");
  const bool pushed = std::ranges::any_of(speed, [&](double vx) { return std::abs(vx - speed.front()) > 1e-6; });
  EXPECT_TRUE(pushed || !has_friction) << "no friction, no test";
  for (const Checkpoint& checkpoint : whole.checkpoints) {
    const RecordedRun resumed = run_local(scenario, checkpoint);
    ASSERT_EQ(resumed.summary.status, "completed") << (resumed.summary.error ? resumed.summary.error->what() : "");
    EXPECT_EQ(resumed.summary.contact_commits, whole.summary.contact_commits);
    const auto skipped = whole.rows.size() - resumed.rows.size();
    for (std::size_t r = 0; r < resumed.rows.size(); ++r) {
      const auto& row = resumed.rows[r];
      ASSERT_EQ(std::memcmp(row.data(), whole.rows[skipped + r].data(), row.size() * sizeof(double)), 0)
          << "resumed at " << checkpoint.time << " s, row at " << row[0] << " s";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, Resume, testing::ValuesIn(cases()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace heelstrike::test
