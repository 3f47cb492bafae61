// The checks of tests/unit/backends/conformance_test.cpp for the finite-element back-ends: on every kind of partner,
// with and without friction, against a second deformable body.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/cylinder.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/sphere.hpp"
#include "tests/unit/backends/conformance_checks.hpp"
#include "tests/unit/fem/test_contact.hpp"

namespace heelstrike::fem {
namespace {

using testing_support::expect_pure;
using testing_support::expect_same_bits_from_threads;
using testing_support::expect_saved_history_continues;
using testing_support::expect_zero;

/// Closed box 0.2 x 0.2 x 0.1 m with its top in z = 0.
std::string box_obj(bool inside_out) {
  std::string text;
  for (const char* z : {"-0.1", "0"}) {
    for (const char* xy : {"-0.1 -0.1", "0.1 -0.1", "0.1 0.1", "-0.1 0.1"}) {
      text += "v " + std::string(xy) + " " + z + "\n";
    }
  }
  const std::vector<std::array<int, 4>> faces{{1, 4, 3, 2}, {5, 6, 7, 8}, {1, 2, 6, 5},
                                              {2, 3, 7, 6}, {3, 4, 8, 7}, {4, 1, 5, 8}};
  for (auto f : faces) {
    if (inside_out) std::swap(f[1], f[3]);
    text += "f " + std::to_string(f[0]) + " " + std::to_string(f[1]) + " " + std::to_string(f[2]) + "\n";
    text += "f " + std::to_string(f[0]) + " " + std::to_string(f[2]) + " " + std::to_string(f[3]) + "\n";
  }
  return text;
}

MeshSurface box_surface() {
  MeshSurface surface;
  surface.asset_name = "box.obj";
  return surface;
}

/// Instead of a partner: the block itself relaxes, on a plane.
constexpr const char* relaxing_plane = "relaxing";
/// Both bodies relax.
constexpr const char* relaxing_body = "relaxing_body";

/// Soft block 40 x 40 x 30 mm on its partner, clamped at the top.
PairSpec block_on(const std::string& backend, const std::string& partner, double friction) {
  PairSpec pair;
  pair.name = "block-partner";
  pair.backend = backend;
  pair.main.surface = BlockSurface{.lengths = Vector3(0.04, 0.04, 0.03), .center = Vector3(0.0, 0.0, 0.015)};
  pair.main.materials = {test::soft_material(0.3)};
  pair.parameters = {{"element_size", 0.01},
                     {"clamped_box", std::vector<double>{-1.0, -1.0, 0.0299, 1.0, 1.0, 1.0}},
                     {"contact_direction", std::vector<double>{0.0, 0.0, -1.0}},
                     {"restitution", 0.7}};
  if (friction > 0.0) pair.parameters["friction"] = friction;
  if (partner == "plane" || partner == relaxing_plane) pair.partner.surface = PlaneSurface{};
  if (partner == relaxing_plane || partner == relaxing_body) {
    pair.parameters["material_law"] = std::string("mooney_rivlin");
    pair.parameters["mooney_fraction"] = 0.2;
    pair.parameters["prony_coefficients"] = std::vector<double>{0.3, 0.2};
    pair.parameters["prony_times"] = std::vector<double>{0.01, 1.0};
  }
  if (partner == "sphere") pair.partner.surface = SphereSurface{.radius = 0.06, .center = Vector3(0.0, 0.0, -0.06)};
  if (partner == "cylinder") {
    pair.partner.surface =
        CylinderSurface{.radius = 0.05, .axis = Vector3::UnitY(), .center = Vector3(0.0, 0.0, -0.05), .length = 1.0};
  }
  if (partner == "mesh") pair.partner.surface = box_surface();
  if (partner == "body" || partner == relaxing_body) {
    pair.partner.surface = BlockSurface{.lengths = Vector3(0.05, 0.05, 0.03), .center = Vector3(0.0, 0.0, -0.015)};
    pair.partner.materials = {test::soft_material(0.3)};
    pair.parameters["partner_element_size"] = 0.01;
    pair.parameters["partner_clamped_box"] = std::vector<double>{-1.0, -1.0, -1.0, 1.0, 1.0, -0.0299};
    pair.parameters["partner_contact_direction"] = std::vector<double>{0.0, 0.0, 1.0};
  }
  return pair;
}

std::unique_ptr<ContactBackend> make(const PairSpec& pair, bool inside_out = false) {
  AssetContent box{.sha256 = "box", .name = "box.obj", .content = box_obj(inside_out)};
  PrepareContext context;
  context.on_progress = [](std::string_view, double) {};
  context.asset = [&](const AssetKey&) -> const AssetContent& { return box; };
  return make_backend(pair, context);
}

using Case = std::tuple<std::string, std::string, double>;

class FemConformance : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const auto& [name, partner, friction] = GetParam();
    backend = make(block_on(name, partner, friction));
    fresh = backend->initial_history();
    latched = backend->commit(*fresh, at(0.0, 3e-4, 0.4, 0.0)).history;
  }

  [[nodiscard]] static PairState at(double x, double depth, double closing = 0.4, double t = 1e-3) {
    PairState state;
    state.t = t;
    state.X_AB.R = rotation_from_vector(Vector3(0.01, -0.015, 0.02));
    state.X_AB.p = Vector3(x, 0.1 * x, depth);
    state.V_AB = {.w = Vector3(0.2, -0.1, 0.3), .v = Vector3(0.01, 0.02, closing)};
    return state;
  }
  [[nodiscard]] std::vector<std::pair<const History*, PairState>> states() const {
    return {{fresh.get(), at(0.0, 3e-4)},    {latched.get(), at(0.0, 3e-4)},       {latched.get(), at(1e-5, 6e-4)},
            {latched.get(), at(4e-4, 6e-4)}, {latched.get(), at(0.0, 5e-4, -0.3)}, {latched.get(), at(0.0, -1e-3)}};
  }

  std::unique_ptr<ContactBackend> backend;
  std::shared_ptr<const History> fresh, latched;
};

TEST_P(FemConformance, EvaluationIsPureAndBitwiseIndependentOfThreads) {
  expect_pure(*backend, states(), *latched, at(2e-4, 8e-4));
  expect_same_bits_from_threads(*backend, states(), 2, states().size());
}

TEST_P(FemConformance, PrescribedMotionMatchesSingleCommits) {
  // Without friction both methods solve the same equations to rounding. With friction the iteration ends at 1e-10 of
  // the largest penetration (friction_contact.cpp), and near a committed state it follows another path.
  const double accuracy = std::get<2>(GetParam()) > 0.0 ? 1e-10 : 1e-13;
  testing_support::expect_prescribed_motion_consistent(*backend, states(), accuracy);
}

TEST_P(FemConformance, BatchMatchesSingleEvaluations) {
  const PairState too_deep = at(0.0, 0.02);
  auto list = states();
  testing_support::expect_batch_consistent(*backend, list, &too_deep);
  // From a commit, with the states in contact after one out of contact.
  std::reverse(list.begin(), list.end());
  testing_support::expect_batch_consistent(*backend, list, &too_deep);
}

TEST_P(FemConformance, ExactlyZeroBeyondTheGapAndExcessivePenetrationIsRecoverable) {
  for (const double gap : {1e-3, 0.01}) expect_zero(backend->evaluate(*latched, at(0.0, -gap)));
  try {
    (void)backend->evaluate(*latched, at(0.0, 0.02));
    FAIL() << "accepted";
  } catch (const RecoverableError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("max_penetration"));
  }
}

TEST_P(FemConformance, NoPoseWithinTheBoundIsInContact) {
  int refuted = 0;
  for (const double gap : {1e-3, 0.01, 0.1}) {
    const PairState separated = at(0.0, -gap);
    EXPECT_EQ(testing_support::gaps_outside_of_bounds(*backend, *latched, separated, 0.2, 1.0, true), 0)
        << "gap " << gap;
    refuted += testing_support::gaps_outside_of_bounds(*backend, *latched, separated, 0.2, 1.5, true);
  }
  // Full order, layers and a second deformable body have no bound.
  const auto& [name, partner, friction] = GetParam();
  const bool reports = name == "fem_condensed" && partner != "body";
  EXPECT_EQ(backend->evaluate(*latched, at(0.0, -1e-3)).bound.known, reports);
  EXPECT_EQ(refuted > 0, reports);
}

TEST_P(FemConformance, PushesTheBodiesApart) {
  const Response r = backend->evaluate(*latched, at(0.0, 5e-4));
  EXPECT_GT(r.F_A.force.z(), 0.0);
  EXPECT_GT(r.area, 0.0);
  EXPECT_GT(r.peak_pressure, 0.0);
  EXPECT_GT(r.stored_energy, 0.0);
  EXPECT_GT(backend->evaluate(*latched, at(0.0, 4e-4)).gap, r.gap);
}

TEST_P(FemConformance, SavedHistoryContinuesBitForBit) {
  expect_saved_history_continues(*backend, states(), *latched, 97);
  const auto& [name, partner, friction] = GetParam();
  const auto other = make(block_on(name == "fem_full" ? "fem_condensed" : "fem_full", "plane", 0.0));
  EXPECT_THROW((void)backend->load_history(other->initial_history()->save()), Error);
}

TEST_P(FemConformance, CorruptedHistoryIsRejected) {
  testing_support::expect_altered_history_is_rejected(*backend, *latched, at(0.0, 3e-4).X_AB);
}

// A committed state that is evaluated again starts from other estimates: equal to the solvers' accuracy, 1e-10.
TEST_P(FemConformance, CommitRespondsWithTheNewHistory) {
  const PairState state = at(1e-4, 6e-4);
  const Committed c = backend->commit(*latched, state);
  const Response again = backend->evaluate(*c.history, state);
  EXPECT_LE((c.response.F_A.vector() - again.F_A.vector()).norm(), 1e-8 * again.F_A.vector().norm());
  EXPECT_NEAR(again.dissipated_increment, 0.0, 1e-9 * again.stored_energy);
}

// Small enough that the path between the commits has no effect: the difference is of second order in the step.
TEST_P(FemConformance, ResultsDoNotDependOnTheStepDivision) {
  const PairState target = at(2e-5, 3.2e-4, 0.4, 2e-5);
  const Vector6 once = backend->evaluate(*latched, target).F_A.vector();
  const auto half = backend->commit(*latched, at(1e-5, 3.1e-4, 0.4, 1e-5)).history;
  const Vector6 twice = backend->evaluate(*half, target).F_A.vector();
  std::printf("one step %.9g N, two %.9g N\n", once.tail<3>().norm(), twice.tail<3>().norm());
  EXPECT_LT((once - twice).norm(), 2e-2 * once.norm());
}

std::string name_of(const Case& c) {
  const auto& [name, partner, friction] = c;
  return name + "_" + partner + (friction > 0.0 ? "_friction" : "");
}

INSTANTIATE_TEST_SUITE_P(Partners, FemConformance,
                         testing::Values(Case{"fem_condensed", "plane", 0.0}, Case{"fem_condensed", "plane", 0.3},
                                         Case{"fem_condensed", "sphere", 0.3}, Case{"fem_condensed", "cylinder", 0.0},
                                         Case{"fem_condensed", "cylinder", 0.3}, Case{"fem_condensed", "mesh", 0.0},
                                         Case{"fem_condensed", "mesh", 0.3}, Case{"fem_condensed", "body", 0.0},
                                         Case{"fem_condensed", "body", 0.3}, Case{"fem_full", "plane", 0.0},
                                         Case{"fem_full", "sphere", 0.0}, Case{"fem_full", "cylinder", 0.0},
                                         Case{"fem_full", "mesh", 0.0}, Case{"fem_full", "plane", 0.3},
                                         Case{"fem_full", "sphere", 0.3}, Case{"fem_full", "mesh", 0.3},
                                         Case{"fem_full", "body", 0.0}, Case{"fem_full", relaxing_body, 0.3},
                                         Case{"fem_full", relaxing_plane, 0.0}, Case{"fem_full", relaxing_plane, 0.3},
                                         Case{"fem_layered", relaxing_plane, 0.0}, Case{"fem_layered", "plane", 0.0},
                                         Case{"fem_layered", "sphere", 0.3}, Case{"fem_layered", "mesh", 0.0},
                                         Case{"fem_modal", "plane", 0.0}, Case{"fem_modal", "sphere", 0.0},
                                         Case{"fem_modal", "mesh", 0.0}),
                         [](const testing::TestParamInfo<Case>& info) { return name_of(info.param); });

// A box of triangles equals the plane of its top: same wrench from both.
TEST(PartnerSurfaces, MeshEqualsThePlaneOfItsFaceAndInvertedOrientationIsRejected) {
  for (const double friction : {0.0, 0.3}) {
    const auto on_mesh = make(block_on("fem_condensed", "mesh", friction));
    const auto on_plane = make(block_on("fem_condensed", "plane", friction));
    PairState state;
    state.X_AB.p = Vector3(1e-4, 0.0, 5e-4);
    const Response a = on_mesh->evaluate(*on_mesh->initial_history(), state);
    const Response b = on_plane->evaluate(*on_plane->initial_history(), state);
    std::printf("mesh %.9f N, plane %.9f N\n", a.F_A.force.z(), b.F_A.force.z());
    EXPECT_LT((a.F_A.vector() - b.F_A.vector()).norm(), 1e-8 * b.F_A.vector().norm());
  }
  try {
    (void)make(block_on("fem_condensed", "mesh", 0.0), true);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("normals pointing into the material"));
  }
}

}  // namespace
}  // namespace heelstrike::fem
