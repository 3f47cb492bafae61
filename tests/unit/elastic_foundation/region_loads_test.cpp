// Loads of the regions of a surface, in every response, compared with those of the pair.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/surface_regions.hpp"
#include "fem_server/backends/elastic_foundation/entry.hpp"
#include "scenario/surfaces/knee.hpp"
#include "tests/unit/backends/bits.hpp"
#include "tests/unit/elastic_foundation/foundation_examples.hpp"

namespace heelstrike::fem {
namespace {

using namespace testing_support;
using testing::ElementsAre;
using testing::HasSubstr;

/// A moving knee: varus, with an approach velocity, so that both sides have different loads and springs are damped.
PairState loaded_state(double press, bool casting_is_main) {
  PairState state;
  state.t = 0.25;
  state.X_AB = {.R = rotation_from_vector({-0.004, 0.01, 0.02}), .p = {0.001, -press, 0.0005}};
  state.V_AB = {.w = {0.1, 0.2, -0.3}, .v = {0.01, -0.02, 0.005}};
  if (casting_is_main) return state;
  const Matrix3 R_BA = state.X_AB.R.transpose();
  return {.t = state.t,
          .X_AB = state.X_AB.inverse(),
          .V_AB = {.w = -(R_BA * state.V_AB.w), .v = -(R_BA * (state.V_AB.v - state.V_AB.w.cross(state.X_AB.p)))}};
}

/// Tibia with the springs and femur, cartilage of 10 MPa, nu = 0.45 on both.
std::unique_ptr<ContactBackend> knee(ParameterMap parameters, bool casting_is_main = true) {
  const KneeDimensions d;
  const Surface tibia = KneeSurface{.dimensions = {}, .is_tibia = true, .edge = 0.0015};
  const Surface femur = KneeSurface{.dimensions = {}, .edge = 0.0015};
  parameters.try_emplace("thickness", casting_is_main ? d.tibial_cartilage : d.femoral_cartilage);
  parameters.try_emplace("partner_thickness", casting_is_main ? d.femoral_cartilage : d.tibial_cartilage);
  if (!casting_is_main) parameters.try_emplace("spring_body", "partner");
  PairSpec pair = layer_pair(casting_is_main ? tibia : femur, casting_is_main ? femur : tibia, std::move(parameters));
  pair.main.materials = {material(10e6, 0.45)};
  pair.partner.materials = {material(10e6, 0.45)};
  const BackendEntry entry = elastic_foundation_entry();
  pair.parameters = checked_parameters(pair.parameters, entry.parameters, "contact.knee.parameters");
  entry.check(pair);
  return entry.make(pair, Assets().context());
}

Response result(const ContactBackend& backend, double press, bool casting_is_main = true) {
  return backend.evaluate(*backend.initial_history(), loaded_state(press, casting_is_main));
}

constexpr double press = 0.0006;  // [m]

/// Sums of the two halves of a surface.
RegionLoad together(const RegionLoad& a, const RegionLoad& b) {
  return {.force = a.force + b.force,
          .area = a.area + b.area,
          .peak_pressure = std::max(a.peak_pressure, b.peak_pressure),
          .p_ACop = (a.force * a.p_ACop + b.force * b.p_ACop) / (a.force + b.force)};
}

// Forces along the common normal of two flat faces: their magnitudes sum to the magnitude of the sum.
TEST(RegionLoads, OfAFlatContactSumToTheForceOfThePair) {
  const Surface plane = PlaneSurface{.normal = Vector3::UnitZ(), .point = Vector3::Zero()};
  Assets assets;
  assets.add("square", height_field(0.02, 6, [](double, double) { return 0.0; }));
  for (const std::string springs : {"vertices", "centres"}) {
    PairSpec pair = layer_pair(mesh_named("square"), plane, {{"springs", springs}, {"regions", std::string("x- x+")}});
    const BackendEntry entry = elastic_foundation_entry();
    pair.parameters = checked_parameters(pair.parameters, entry.parameters, "contact.knee.parameters");
    const auto press = entry.make(pair, assets.context());
    PairState state;
    state.X_AB = {.R = rotation_from_vector({M_PI, 0.0, 0.0}), .p = {0.0, 0.0, -1e-4}};
    const Response r = press->evaluate(*press->initial_history(), state);
    ASSERT_EQ(r.regions.size(), 2U);
    // Rounding of sums of 72 faces, in another order.
    const double force = r.F_A.force.norm();
    EXPECT_GT(force, 1.0);
    EXPECT_NEAR(r.regions[0].force, 0.5 * force, 1e-12 * force);
    EXPECT_NEAR(r.regions[1].force, 0.5 * force, 1e-12 * force);
    EXPECT_NEAR(r.regions[0].mean_pressure(), r.peak_pressure, 1e-12 * r.peak_pressure);
    EXPECT_NEAR(r.regions[0].p_ACop.x(), -0.005, 1e-12);
    EXPECT_NEAR(r.regions[1].p_ACop.x(), 0.005, 1e-12);
  }
}

TEST(RegionLoads, OfBothHalvesEqualThoseOfThePair) {
  for (const std::string springs : {"vertices", "centres"}) {
    for (const bool casting_is_main : {true, false}) {
      const auto both = knee({{"springs", springs}, {"regions", std::string("sets z- z+")}}, casting_is_main);
      EXPECT_THAT(both->traits().regions, ElementsAre("medial", "lateral", "z-", "z+"));
      const Response r = result(*both, press, casting_is_main);
      ASSERT_EQ(r.regions.size(), 4U);
      EXPECT_EQ(r.regions[0], r.regions[2]) << "of a right knee the medial side is that of negative z";
      EXPECT_EQ(r.regions[1], r.regions[3]);
      const RegionLoad sum = together(r.regions[0], r.regions[1]);
      EXPECT_GT(r.regions[0].force, r.regions[1].force) << "varus";
      EXPECT_GT(r.regions[1].force, 10.0);
      EXPECT_NEAR(sum.area, r.area, 1e-12 * r.area);
      EXPECT_NEAR(sum.force, r.normal_force, 1e-12 * r.normal_force);
      EXPECT_NEAR(r.mean_pressure(), sum.force / sum.area, 1e-12 * r.mean_pressure());
      EXPECT_EQ(sum.peak_pressure, r.peak_pressure);
      // Magnitudes of inclined forces: slightly more than the magnitude of their sum.
      EXPECT_GT(sum.force, r.F_A.force.norm());
      EXPECT_LT(sum.force, 1.1 * r.F_A.force.norm());
      // The pair's centre is that of the springs, this one that of faces: they agree within half an edge of 1.5 mm.
      EXPECT_LT((sum.p_ACop - r.p_ACop).norm(), springs == "centres" ? 1e-9 : 0.00075);
      for (const RegionLoad& region : r.regions) EXPECT_LE(region.mean_pressure(), region.peak_pressure);
    }
  }
}

TEST(RegionLoads, DoNotChangeTheResponseOfThePair) {
  for (const std::string springs : {"vertices", "centres"}) {
    const ParameterMap common{{"springs", springs}, {"friction", 0.05}, {"dissipation", 1.5}};
    ParameterMap with = common;
    with["regions"] = "halves";
    const auto plain = knee(common);
    const auto with_regions = knee(with);
    const PairState state = loaded_state(press, true);
    const Response without = plain->commit(*plain->initial_history(), state).response;
    Response r = with_regions->commit(*with_regions->initial_history(), state).response;
    EXPECT_EQ(r.regions.size(), 6U);
    r.regions.clear();
    EXPECT_EQ(bits_of(r), bits_of(without));
  }
}

TEST(RegionLoads, AreComputedWithoutTangents) {
  const auto with_regions = knee({{"regions", std::string("sets")}});
  const PairState state = loaded_state(press, true);
  const Response all = with_regions->evaluate(*with_regions->initial_history(), state);
  const Response few = with_regions->evaluate(*with_regions->initial_history(), state, {.tangents = false});
  ASSERT_EQ(few.regions.size(), 2U);
  EXPECT_EQ(few.regions, all.regions);
}

TEST(RegionLoads, OfSeparatedSurfacesAreZero) {
  const auto with_regions = knee({{"regions", std::string("sets")}});
  const Response apart = result(*with_regions, -0.002);
  ASSERT_GT(apart.gap, 0.0);
  EXPECT_THAT(apart.regions, ElementsAre(RegionLoad{}, RegionLoad{}));
  // One side alone: the other one has no load.
  PairState state;
  state.X_AB = {.R = rotation_from_vector({-0.05, 0.0, 0.0}), .p = {0.0, 0.0005, 0.0}};
  const Response unilateral_meaning = with_regions->evaluate(*with_regions->initial_history(), state);
  ASSERT_LT(unilateral_meaning.gap, 0.0);
  ASSERT_EQ(unilateral_meaning.regions.size(), 2U);
  EXPECT_GT(unilateral_meaning.regions[0].force, 1.0);
  EXPECT_EQ(unilateral_meaning.regions[1], RegionLoad{});
}

// Damped springs: a factor per corner for the pair, their mean over a face for its regions. Both differ by products of
// the changes of factor and pressure over a face, of the order of its edge over the size of the contact.
TEST(RegionLoads, OfDampedSpringsSumToTheForceOfThePair) {
  for (const std::string springs : {"vertices", "centres"}) {
    const auto damped = knee({{"springs", springs}, {"dissipation", 5.0}, {"regions", std::string("sets")}});
    const auto elastic = knee({{"springs", springs}, {"regions", std::string("sets")}});
    const auto sum = [](const Response& r) { return r.regions[0].force + r.regions[1].force; };
    const Response d = result(*damped, press);
    const Response e = result(*elastic, press);
    const double more = d.F_A.force.norm() / e.F_A.force.norm();
    EXPECT_GT(more, 1.05);
    EXPECT_NEAR(sum(d) / sum(e), more, 0.002);
    EXPECT_EQ(std::max(d.regions[0].peak_pressure, d.regions[1].peak_pressure), d.peak_pressure);
  }
}

TEST(RegionLoads, InvalidColumnNamesAreRejected) {
  SurfaceMesh mesh;
  mesh.vertices = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}};
  mesh.triangles = {{0, 1, 2}, {1, 3, 2}};
  mesh.group_names = {"medial,front", "lateral"};
  mesh.triangle_groups = {0, 1};
  try {
    (void)surface_regions("sets", {}, cut_surface("casting surface", mesh), "contact.knee.parameters.regions");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_input);
    EXPECT_EQ(e.field(), "contact.knee.parameters.regions");
    EXPECT_THAT(std::string(e.what()), HasSubstr("'medial,front'"));
  }
  EXPECT_EQ(surface_regions("lateral", {}, cut_surface("casting surface", mesh), "regions").size(), 1U);
}

}  // namespace
}  // namespace heelstrike::fem
