// Requirements on every back-end, for elastic foundations of many kinds: tangents, energy, purity, saved histories.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>

#include "fem_server/backends/elastic_foundation/entry.hpp"
#include "scenario/surfaces/block.hpp"
#include "tests/unit/backends/conformance_checks.hpp"
#include "tests/unit/elastic_foundation/foundation_examples.hpp"

namespace heelstrike::fem {
namespace {

using namespace testing_support;

struct Case {
  std::string name;
  PairSpec pair;
  bool conserves = false;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

constexpr double ball_radius = 0.025;  // [m]
const SphereSurface ball{.radius = ball_radius, .center = {0.002, -0.001, 0.003}};

/// A cube of 4 mm whose top is in the plane of x and y, two by two cells on each face.
std::vector<std::array<Vector3, 3>> block_of_triangles() {
  std::vector<std::array<Vector3, 3>> all;
  const auto top = height_field(0.004, 2, [](double, double) { return 0.002; });
  for (const Vector3& rotation :
       {Vector3(0, 0, 0), Vector3(1, 0, 0), Vector3(2, 0, 0), Vector3(3, 0, 0), Vector3(0, 1, 0), Vector3(0, -1, 0)}) {
    const Matrix3 R = rotation_from_vector(0.5 * M_PI * rotation).array().round();
    for (const auto& t : top) {
      const Vector3 low(0, 0, 0.002);
      all.push_back({R * t[0] - low, R * t[1] - low, R * t[2] - low});
    }
  }
  return all;
}

/// A dished plateau, and a dome of triangles below it.
const Assets& assets() {
  static const Assets all = [] {
    Assets a;
    a.add("dish", height_field(0.04, 14, [](double x, double y) { return 4.0 * x * x + 5.0 * y * y; }));
    const auto dome = [](double x, double y) { return -12.0 * x * x - 10.0 * y * y; };
    a.add("dome", height_field(0.04, 16, dome));
    // Smaller than its partner.
    const auto button = [](double x, double y) { return -1.2e-4 - 2.0 * x * x - 3.0 * y * y; };
    a.add("button", height_field(0.008, 5, button));
    a.add("box", block_of_triangles());
    a.add("bone_of_button", height_field(0.01, 3, [](double x, double y) { return -0.003 + 0.1 * x - 0.2 * y; }));
    // 4 mm below its top, and from 2 to 6 mm at its corners.
    a.add("bone_of_dome", height_field(0.044, 11, [dome](double x, double y) {
            return dome(x, y) - 0.004 - 0.05 * x + 0.04 * y - 1.0 * x * y;
          }));
    a.add("bone_of_dish",
          height_field(0.044, 13, [](double x, double y) { return -0.0025 + 0.05 * x + 4.0 * x * x + 3.0 * y * y; }));
    return a;
  }();
  return all;
}

/// The layer of the dome acted on by the springs of the dish reaches down to a bone.
std::vector<Case> cases_of_varying_layers() {
  const Surface dish = mesh_named("dish");
  const Surface dome = mesh_named("dome");
  std::vector<Case> all;
  const auto add = [&](const std::string& name, ParameterMap more, bool conserves) -> Case& {
    more["partner_back_asset"] = "bone_of_dome";
    Case& added = all.emplace_back(Case{"varying_" + name, layer_pair(dish, dome, std::move(more)), conserves});
    added.pair.main.materials = {material(20e6, 0.4)};
    added.pair.partner.materials = {material(10e6, 0.45)};
    return added;
  };
  add("series", {{"strain", "large"}, {"thickness", 0.003}}, true);
  add("lumped", {{"strain", "large"}, {"thickness", 0.003}, {"layers", "lumped"}}, true);
  add("proportional", {{"thickness", 0.003}}, true);
  add("nonlinear", {{"strain", "large"}, {"material_law", "nonlinear"}}, true);
  add("nearest", {{"penetration", "nearest"}, {"strain", "large"}}, true);
  add("centres", {{"springs", "centres"}, {"strain", "large"}}, true);
  add("nearest_centres", {{"penetration", "nearest"}, {"springs", "centres"}, {"layers", "lumped"}}, true);
  add("dissipation", {{"dissipation", 2.0}}, true);
  add("normal", {{"direction", "normal"}, {"strain", "large"}, {"dissipation", 2.0}, {"friction", 0.2}}, false);
  add("midsurface", {{"direction", "midsurface"}, {"strain", "large"}}, false);
  add("midsurface_nearest", {{"direction", "midsurface"}, {"penetration", "nearest"}, {"layers", "lumped"}}, false);
  add("friction_dissipation", {{"dissipation", 2.0}, {"friction", 0.2}}, false);
  add("friction_centres", {{"springs", "centres"}, {"friction", 0.2}}, false);
  add("alone", {{"strain", "large"}}, true).pair.main.materials.clear();
  all.back().pair.parameters.erase("thickness");
  add("alone_friction", {{"friction", 0.2}}, false).pair.main.materials.clear();
  all.back().pair.parameters.erase("thickness");
  add("over_rim", {{"strain", "large"}}, true).pair.partner.surface = mesh_named("button");
  all.back().pair.parameters["partner_back_asset"] = "bone_of_button";
  add("over_rim_nearest", {{"penetration", "nearest"}}, true).pair.partner.surface = mesh_named("button");
  all.back().pair.parameters["partner_back_asset"] = "bone_of_button";
  add("both", {{"back_asset", "bone_of_dish"}}, true).pair.parameters.erase("thickness");
  // The dome carries the springs, and the layer of the dish varies.
  add("casting_partner",
      {{"spring_body", "partner"}, {"partner_thickness", 0.003}, {"friction", 0.2}, {"dissipation", 2.0}}, false)
      .pair.parameters["partner_back_asset"] = "bone_of_dish";
  all.back().pair.parameters.erase("thickness");
  return all;
}

std::vector<Case> cases() {
  const auto with = [](ParameterMap more) { return more; };
  const Surface dish = mesh_named("dish");
  const Surface dome = mesh_named("dome");
  const Surface plane = PlaneSurface{.normal = Vector3::UnitZ(), .point = Vector3::Zero()};
  std::vector<Case> all{
      {"ball_on_dish", layer_pair(dish, ball), true},
      {"ball_on_dish_friction", layer_pair(dish, ball, with({{"friction", 0.2}}))},
      {"ball_on_dish_dissipation", layer_pair(dish, ball, with({{"dissipation", 2.0}})), true},
      {"centres_friction_dissipation",
       layer_pair(dish, ball,
                  with({{"springs", "centres"}, {"friction", 0.2}, {"dissipation", 2.0}, {"regions", "x- x+"}}))},
      {"nearest", layer_pair(dish, ball, with({{"penetration", "nearest"}})), true},
      {"nearest_centres", layer_pair(dish, ball, with({{"penetration", "nearest"}, {"springs", "centres"}})), true},
      {"normal", layer_pair(dish, ball, with({{"direction", "normal"}, {"dissipation", 2.0}}))},
      {"midsurface_ray", layer_pair(dish, ball, with({{"direction", "midsurface"}, {"dissipation", 2.0}}))},
      {"midsurface_nearest", layer_pair(dish, ball, with({{"direction", "midsurface"}, {"penetration", "nearest"}}))},
      {"dome_on_dish", layer_pair(dish, dome), true},
      {"dome_on_dish_nearest", layer_pair(dish, dome, with({{"penetration", "nearest"}})), true},
      {"dome_on_dish_midsurface", layer_pair(dish, dome, with({{"direction", "midsurface"}}))},
      {"large_strain", layer_pair(dish, ball, with({{"strain", "large"}, {"thickness", 0.002}})), true},
      {"nonlinear", layer_pair(dish, ball, with({{"material_law", "nonlinear"}, {"strain", "large"}})), true},
      {"casting_partner", layer_pair(dish, ball,
                                     with({{"spring_body", "partner"},
                                           {"dissipation", 2.0},
                                           {"friction", 0.2},
                                           {"refine", 1.0},
                                           {"regions", "halves"}}))},
      {"plane_casts", layer_pair(plane, ball, with({{"extent", 0.06}, {"refine", 6.0}})), true}};
  // The load ends at the rim of the button, behind which are the corners of triangles.
  const Surface button = mesh_named("button");
  all.push_back({"over_rim", layer_pair(dish, button), true});
  all.push_back({"over_rim_nearest", layer_pair(dish, button, with({{"penetration", "nearest"}})), true});
  all.push_back({"over_rim_normal", layer_pair(dish, button, with({{"direction", "normal"}}))});
  // A box whose side walls are inclined to the plane by a few degrees: their rays are shortened.
  const Surface box = mesh_named("box");
  all.push_back({"box", layer_pair(box, plane), true});
  all.push_back({"box_facets", layer_pair(box, plane, with({{"normals", "facets"}, {"dissipation", 2.0}})), true});
  all.push_back({"box_centres", layer_pair(box, plane, with({{"springs", "centres"}})), true});
  all.push_back({"box_normal", layer_pair(box, plane, with({{"direction", "normal"}, {"friction", 0.2}}))});
  all.push_back({"box_midsurface", layer_pair(box, plane, with({{"direction", "midsurface"}, {"dissipation", 2.0}}))});
  all.push_back({"box_friction", layer_pair(box, plane, with({{"friction", 0.2}, {"dissipation", 2.0}}))});
  all.push_back({"box_under_ball", layer_pair(box, ball, with({{"refine", 2.0}})), true});
  const Surface plate = BlockSurface{.lengths = {0.05, 0.06, 0.02}, .center = {0.0, 0.0, -0.01}};
  all.push_back({"box_under_plate", layer_pair(box, plate, with({{"refine", 1.0}, {"dissipation", 2.0}})), true});
  all.push_back({"box_under_dome", layer_pair(box, dome), true});
  all.push_back({"box_under_dome_refined", layer_pair(box, dome, with({{"refine", 1.0}, {"dissipation", 2.0}})), true});
  all.push_back({"dome_under_plate", layer_pair(dome, plate, with({{"friction", 0.2}}))});
  Case two{"two_layers", layer_pair(dish, ball, with({{"partner_thickness", 0.002}, {"strain", "large"}})), true};
  two.pair.partner.materials = {material(10e6, 0.45)};
  all.push_back(two);
  std::ranges::move(cases_of_varying_layers(), std::back_inserter(all));
  return all;
}

class Foundation : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    PairSpec pair = GetParam().pair;
    const BackendEntry entry = elastic_foundation_entry();
    pair.parameters = checked_parameters(pair.parameters, entry.parameters, "contact.knee.parameters");
    entry.check(pair);
    backend = entry.make(pair, assets().context());
    fresh = backend->initial_history();
    touched = backend->commit(*fresh, at(5e-5, 0.01)).history;
  }

  /// B above the origin of A and rotated in its frame; B is pressed in by `depth`, with an approach velocity.
  [[nodiscard]] PairState at(double depth, double closing) const {
    PairState state;
    state.t = 0.5;
    const bool is_ball = GetParam().pair.partner.surface.kind == SphereSurface::kind;
    const Matrix3 R_AB =
        is_ball ? rotation_from_vector({0.1, -0.2, 0.3})
                : Matrix3(rotation_from_vector({M_PI, 0.0, 0.0}) * rotation_from_vector({0.05, 0.04, 0.3}));
    const Vector3 low = is_ball ? Vector3(R_AB * ball.center - Vector3(0.0, 0.0, ball_radius)) : Vector3::Zero();
    state.X_AB = {.R = R_AB, .p = Vector3(0.0011, -0.0007, -depth) - low};
    state.V_AB = {.w = {0.3, -0.4, 0.2}, .v = {0.02, 0.01, -closing}};
    return state;
  }

  [[nodiscard]] Evaluations states() const {
    return {{fresh.get(), at(1e-4, 0.1)},
            {touched.get(), at(1.3e-4, 0.05)},
            {touched.get(), compute_slip_increment(2e-4, 3e-4)},
            {touched.get(), compute_slip_increment(1.2e-4, 1e-6)},
            {touched.get(), at(3e-4, -2.0)}};
  }

  [[nodiscard]] PairState compute_slip_increment(double depth, double by) const {
    PairState state = at(depth, 0.02);
    state.X_AB.p.x() += by;
    return state;
  }

  std::unique_ptr<ContactBackend> backend;
  std::shared_ptr<const History> fresh, touched;
};

// Triangles and facets bend the wrench where a spring becomes active or moves to another facet; the differences use
// several steps until one contains no such point; in one state a spring ceases to stick 1e-8 m away. Rounding: gaps
// 1e-17 m over h = 1e-9 m and more.
double best_error(const Matrix6& analytic, const std::function<Vector6(const Vector6&)>& wrench_at,
                  std::initializer_list<double> steps) {
  double best = 1.0;
  for (const double h : steps) {
    const Matrix6 numeric = differences(wrench_at, h);
    // Rotations and translations differ in magnitude by the lever arm: column by column.
    double worst = 0.0;
    for (int k = 0; k < 2; ++k) {
      const double scale = numeric.middleCols<3>(3 * k).cwiseAbs().maxCoeff();
      const double error = (analytic - numeric).middleCols<3>(3 * k).cwiseAbs().maxCoeff();
      worst = std::max(worst, scale > 0.0 ? error / scale : error);
    }
    best = std::min(best, worst);
    if (best < 5e-7) break;
  }
  return best;
}

TEST_P(Foundation, PoseTangentIsTheDerivativeOfTheWrench) {
  for (const auto& [history, state] : states()) {
    const Response r = backend->evaluate(*history, state);
    ASSERT_LT(r.gap, 0.0);
    const auto wrench = [&, h = history, s = state](const Vector6& x) -> Vector6 {
      return backend->evaluate(*h, moved(s, x)).F_A.vector();
    };
    EXPECT_LT(best_error(r.dF_A_dX, wrench, {3e-7, 1e-7, 1e-8, 3e-8, 3e-9}), 1e-6) << "gap " << r.gap;
  }
}

TEST_P(Foundation, TwistTangentIsTheDerivativeOfTheWrench) {
  for (const auto& [history, state] : states()) {
    const Response r = backend->evaluate(*history, state);
    const Matrix6 numeric =
        differences([&, h = history, s = state](
                        const Vector6& v) -> Vector6 { return backend->evaluate(*h, with_twist(s, v)).F_A.vector(); },
                    1e-5);
    const double floor = 1e-13 * r.F_A.vector().cwiseAbs().maxCoeff() / 1e-5;
    EXPECT_LE((r.dF_A_dV - numeric).cwiseAbs().maxCoeff(), 1e-6 * numeric.cwiseAbs().maxCoeff() + floor);
  }
}

// The wrench is the derivative of the stored energy, also where the law is summed over partly loaded triangles.
TEST_P(Foundation, WrenchIsTheDerivativeOfTheEnergy) {
  if (!GetParam().conserves) GTEST_SKIP() << "only for direction: energy without friction";
  for (const auto& [history, state] : states()) {
    PairState still = state;
    still.V_AB = {};
    const Response r = backend->evaluate(*history, still);
    const Vector6 about_B = shift_wrench(r.F_A, still.X_AB.p).vector();
    double best = 1.0;
    for (const double h : {1e-6, 3e-7, 1e-7, 3e-8, 1e-8, 3e-9}) {
      Vector6 by_energy;
      for (int i = 0; i < 6; ++i) {
        const auto difference = [&, hist = history](double k) {
          const Vector6 x = k * h * Vector6::Unit(i);
          return backend->evaluate(*hist, moved(still, x)).stored_energy -
                 backend->evaluate(*hist, moved(still, -x)).stored_energy;
        };
        by_energy[i] = (45.0 * difference(1) - 9.0 * difference(2) + difference(3)) / (60.0 * h);
      }
      best = std::min(best, (by_energy - about_B).norm() / about_B.norm());
    }
    EXPECT_LT(best, 1e-8);
  }
}

TEST_P(Foundation, EvaluationIsPure) {
  expect_pure(*backend, states(), *touched, at(4e-4, 1.0));
}

TEST_P(Foundation, ThreadsGetTheSameBits) {
  expect_same_bits_from_threads(*backend, states(), 3, 10);
}

TEST_P(Foundation, SavedHistoryContinuesBitForBit) {
  expect_saved_history_continues(*backend, states(), *touched, 211);
}

// Under another value of a tunable parameter springs continue with their history, which after one commit is the contact
// position, and respond as if they had had it from the start.
TEST_P(Foundation, HistoriesOutliveTunableParameters) {
  const BackendEntry entry = elastic_foundation_entry();
  ASSERT_EQ(entry.tunable.size(), 5U);
  for (const std::string& name : entry.tunable) {
    PairSpec tuned = GetParam().pair;
    const double before = std::get<double>(backend->traits().parameters.at(name));
    tuned.parameters[name] = before == 0.0 ? 0.3 : 0.8 * before;
    tuned.parameters = checked_parameters(tuned.parameters, entry.parameters, "contact.knee.parameters");
    const auto other = entry.make(tuned, assets().context());
    const auto taken = other->load_history(touched->save());
    const auto own = other->commit(*other->initial_history(), at(5e-5, 0.01)).history;
    for (const PairState& state :
         {at(1.3e-4, 0.05), compute_slip_increment(2e-4, 3e-4), compute_slip_increment(1.2e-4, 1e-6)}) {
      const Vector6 a = other->evaluate(*taken, state).F_A.vector(), b = other->evaluate(*own, state).F_A.vector();
      ASSERT_GT(b.norm(), 0.0);
      EXPECT_TRUE(other->commit(*taken, state).response.F_A.vector().allFinite()) << name;
      // Without friction the contact positions are not stored: they are stored from now on.
      if (name == "friction" && before == 0.0) continue;
      EXPECT_LE((a - b).norm(), 1e-9 * b.norm()) << name;
    }
  }
}

// Bounds stored at the last commit save time and change no bit, however far the next pose is: also where contact
// appears far from the previous one, and where there was none.
TEST_P(Foundation, SearchStartDoesNotChangeTheResult) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  const auto somewhere = [&] {
    PairState state = at(2e-4 * unit(random), 0.02);
    // Across the whole of A, or a box of 4 mm.
    state.X_AB.p += (GetParam().name.starts_with("box") ? 0.002 : 0.012) * Vector3(unit(random), unit(random), 0.0);
    state.X_AB.R = rotation_from_vector(0.05 * Vector3(unit(random), unit(random), unit(random))) * state.X_AB.R;
    return state;
  };
  std::shared_ptr<const History> history = fresh;
  int touching = 0;
  for (int i = 0; i < 12; ++i) {
    history = backend->commit(*history, somewhere()).history;
    const auto forgotten = backend->load_history(history->save());
    for (int k = 0; k < 3; ++k) {
      const PairState state = somewhere();
      const Response r = backend->evaluate(*history, state);
      touching += r.gap < 0.0 ? 1 : 0;
      ASSERT_EQ(bits_of(r), bits_of(backend->evaluate(*forgotten, state)));
    }
  }
  EXPECT_GT(touching, 5);
}

TEST_P(Foundation, CorruptedHistoryIsRejected) {
  const bool swapped = backend->traits().parameters.contains("spring_body") &&
                       std::get<std::string>(backend->traits().parameters.at("spring_body")) == "partner";
  const Pose X_AB = at(5e-5, 0.01).X_AB;
  expect_altered_history_is_rejected(*backend, *touched, swapped ? X_AB.inverse() : X_AB);
}

TEST_P(Foundation, PrescribedMotionMatchesSingleCommits) {
  expect_prescribed_motion_consistent(*backend, states(), 0.0);
  expect_batch_consistent(*backend, states(), nullptr);
}

TEST_P(Foundation, ZeroOutsideContact) {
  // Facets of a dish deviate up to 10 um from its curve, and so far the springs at their centres are in front of it.
  for (const double gap : {1e-5, 1e-3, 0.05}) expect_zero(backend->evaluate(*fresh, at(-gap - 2e-4, 0.5)));
}

TEST_P(Foundation, ExcessivePenetrationIsRecoverableAndReportsThePlace) {
  try {
    (void)backend->evaluate(*fresh, at(0.0120, 0.0));
    FAIL();
  } catch (const RecoverableError& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("of the casting body, where the layers are"));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Foundation, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

}  // namespace
}  // namespace heelstrike::fem
