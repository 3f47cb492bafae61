// A point law on surfaces of two compartments: a ball in a socket on each side.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"
#include "scenario/surfaces/knee.hpp"
#include "scenario/surfaces/sphere.hpp"
#include "scenario/surfaces/surface_kind.hpp"
#include "tests/unit/backends/example_pairs.hpp"

namespace heelstrike::fem {
namespace {

using namespace testing_support;

PairSpec knee(const std::string& backend, bool left = false) {
  PairSpec pair;
  pair.name = "knee";
  pair.backend = backend;
  const Material cartilage{.youngs_modulus = 10e6, .poissons_ratio = 0.45, .density = 0.0, .set = {}};
  pair.main = {.name = "tibia",
               .surface = KneeSurface{.dimensions = {}, .is_tibia = true, .left = left},
               .materials = {cartilage}};
  pair.partner = {.name = "femur", .surface = KneeSurface{.dimensions = {}, .left = left}, .materials = {}};
  return pair;
}

PairState pressed() {
  return {.t = 0.0,
          .X_AB = {.R = rotation_from_vector({-0.01, 0.02, 0.05}), .p = {0.001, -0.0008, 0.0005}},
          .V_AB = {.w = {0.1, -0.2, 0.3}, .v = {0.01, -0.02, 0.005}}};
}

TEST(Compartments, BallsTouchTheirSocketsInExtension) {
  for (const bool left : {false, true}) {
    const PairSpec pair = knee("hertz", left);
    const auto sockets = kind_of(pair.main.surface).compartments(pair.main.surface);
    const auto balls = kind_of(pair.partner.surface).compartments(pair.partner.surface);
    ASSERT_EQ(sockets.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(sockets[i].name, balls[i].name);
      const PointPair one(sockets[i].ball, balls[i].ball, "knee");
      EXPECT_NEAR(one.at({}).gap, 0.0, 1e-15) << sockets[i].name;
      // In the middle of the dish: the lowest vertex of the tibia's triangles on this side.
      const Triangles tibia = kind_of(pair.main.surface).sheet(pair.main.surface);
      double nearest = 1.0;
      for (const Vector3& p : tibia.vertices) nearest = std::min(nearest, (p - one.at({}).p_AC).norm());
      EXPECT_LT(nearest, 1e-12) << sockets[i].name;
      const double side = SphereSurface::of(balls[i].ball)->center.z();
      EXPECT_EQ(side < 0.0, (sockets[i].name == "medial") != left);
    }
  }
}

TEST(Compartments, ForceIsTheSumOfBothLaws) {
  for (const char* law : {"hertz", "flores", "lankarani_nikravesh"}) {
    PairSpec pair = knee(law);
    if (law == std::string("flores")) pair.parameters["restitution"] = 0.5;
    const auto both = make_example(pair);
    const Response sum = both->commit(*both->initial_history(), pressed()).response;
    Vector6 expected = Vector6::Zero();
    double energy = 0.0;
    double normal_force = 0.0;
    for (std::size_t i = 0; i < 2; ++i) {
      PairSpec one = pair;
      one.main.surface = kind_of(pair.main.surface).compartments(pair.main.surface)[i].ball;
      one.partner.surface = kind_of(pair.partner.surface).compartments(pair.partner.surface)[i].ball;
      const auto alone = make_example(one);
      const Response r = alone->commit(*alone->initial_history(), pressed()).response;
      EXPECT_EQ(sum.regions[i].force, r.F_A.force.norm()) << law;
      expected += r.F_A.vector();
      energy += r.stored_energy;
      normal_force += r.normal_force;
    }
    EXPECT_EQ(sum.normal_force, normal_force) << law;
    EXPECT_GT(std::min(sum.regions[0].force, sum.regions[1].force), 1.0) << law;
    EXPECT_EQ(sum.F_A.vector(), expected) << law;
    EXPECT_EQ(sum.stored_energy, energy) << law;
  }
}

TEST(Compartments, TangentsAreDerivativesOfTheWrench) {
  const auto both = make_example(knee("flores"));
  const auto history = both->commit(*both->initial_history(), pressed()).history;
  const Response at = both->evaluate(*history, pressed());
  constexpr double h = 1e-7;
  for (Eigen::Index k = 0; k < 6; ++k) {
    const auto moved = [&](double by) {
      PairState state = pressed();
      const Vector6 step = by * Vector6::Unit(k);
      state.X_AB.R = rotation_from_vector(step.head<3>()) * state.X_AB.R;
      state.X_AB.p += step.tail<3>();
      return both->evaluate(*history, state).F_A.vector();
    };
    const Vector6 difference = (moved(h) - moved(-h)) / (2.0 * h);
    // Central differences over 1e-7 m of forces of about 100 N, whose curvature is that of depths of a millimetre.
    EXPECT_LT((difference - at.dF_A_dX.col(k)).norm(), 1e-5 * at.dF_A_dX.norm()) << k;
  }
}

TEST(Compartments, HistoriesAreRestoredFromTheirSavedState) {
  PairSpec pair = knee("flores");
  pair.parameters["restitution"] = 0.5;
  pair.parameters["friction"] = 0.2;
  const auto both = make_example(pair);
  const auto history = both->commit(*both->initial_history(), pressed()).history;
  PairState later = pressed();
  later.X_AB.p += Vector3(1e-4, -1e-4, 0.0);
  const auto loaded = both->load_history(history->save());
  EXPECT_EQ(both->evaluate(*loaded, later).F_A.vector(), both->evaluate(*history, later).F_A.vector());
  EXPECT_NE(both->evaluate(*both->initial_history(), later).F_A.vector(), both->evaluate(*history, later).F_A.vector())
      << "the test shows nothing";
  EXPECT_THROW((void)both->load_history(history->save().substr(0, 40)), Error);
}

}  // namespace
}  // namespace heelstrike::fem
