// The parametric knee filled with elements: the layer below its articular surface, with clamp and contact surface by
// default.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/geometry/layer_mesh.hpp"
#include "fem_server/geometry/write_mesh.hpp"
#include "fem_server/surfaces/partner_shape.hpp"
#include "scenario/surfaces/knee.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "scenario/surfaces/surface_kind.hpp"
#include "tests/unit/fem/test_contact.hpp"

namespace heelstrike::fem {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double edge = 0.005;  // [m] coarse: a condensation takes a fraction of a second

PairSpec knee(const std::string& backend, ParameterMap parameters = {}) {
  PairSpec pair;
  pair.name = "knee";
  pair.backend = backend;
  pair.parameters = std::move(parameters);
  pair.main = {.name = "tibia",
               .surface = KneeSurface{.dimensions = {}, .is_tibia = true, .edge = edge},
               .materials = {test::soft_material(0.45)}};
  pair.partner = {.name = "femur", .surface = KneeSurface{.dimensions = {}, .edge = edge}, .materials = {}};
  return pair;
}

/// The layer as meshed by a user: `heelstrike mesh --layer`.
const AssetContent& layer_file() {
  static const AssetContent file = [] {
    const Surface tibia = KneeSurface{.dimensions = {}, .is_tibia = true, .edge = edge};
    const Surface bone = KneeSurface{.dimensions = {}, .is_tibia = true, .is_bone = true, .edge = edge};
    const SurfaceKind& kind = kind_of(tibia);
    return AssetContent{
        .sha256 = "layer",
        .name = "layer.vtu",
        .content = write_vtu(mesh_layer(surface_mesh(kind.sheet(tibia)), surface_mesh(kind.sheet(bone)), {}).mesh)};
  }();
  return file;
}

PrepareContext context() {
  PrepareContext context;
  context.asset = [](const AssetKey&) -> const AssetContent& { return layer_file(); };
  context.on_progress = [](std::string_view, double) {};
  return context;
}

Response loaded_knee(const PairSpec& pair, double depth) {
  const auto backend = make_backend(pair, context());
  PairState state;
  state.X_AB.p = Vector3(0.0, -depth, 0.0);
  return backend->evaluate(*backend->initial_history(), state);
}

TEST(KneeLayer, EqualsTheMeshOfTheSameLayerWithNamedSets) {
  PairSpec file = knee("fem_condensed", {{"clamped_set", std::string("inner")}, {"contact_set", std::string("outer")}});
  file.main.surface =
      MeshSurface{.sha256 = "layer", .asset_name = "layer.vtu", .format = "vtu", .length_scale = 1.0, .X_BodyMesh = {}};
  const Response expected = loaded_knee(file, 4e-4);
  const Response found = loaded_knee(knee("fem_condensed"), 4e-4);
  EXPECT_GT(expected.F_A.force.norm(), 1.0);
  EXPECT_LT((found.F_A.vector() - expected.F_A.vector()).norm(), 1e-9 * expected.F_A.vector().norm());
  EXPECT_NEAR(found.peak_pressure, expected.peak_pressure, 1e-9 * expected.peak_pressure);
}

TEST(KneeLayer, ReportsBothSides) {
  const PairSpec pair = knee("fem_condensed", {{"regions", std::string("sets")}});
  EXPECT_THAT(make_backend(pair, context())->traits().regions, ElementsAre("lateral", "medial"));
  const Response r = loaded_knee(pair, 4e-4);
  // Fractions of a node on both sides would change the sums; there are none.
  EXPECT_GT(std::min(r.regions[0].force, r.regions[1].force), 0.3 * r.F_A.force.norm());
  EXPECT_EQ(std::max(r.regions[0].peak_pressure, r.regions[1].peak_pressure), r.peak_pressure);
}

// Prisms and mixed elements, another height of the elements, cartilage on both bones: the same keys as for other
// bodies.
TEST(KneeLayer, IsFilledWithTheRequestedElements) {
  const double coarse = loaded_knee(knee("fem_condensed"), 4e-4).F_A.force.norm();
  for (const char* element : {"tet4_mixed", "wedge6", "wedge6_mixed", "tet10_mixed"}) {
    const double force = loaded_knee(knee("fem_condensed", {{"element", std::string(element)}}), 4e-4).F_A.force.norm();
    // Other elements are softer than linear tetrahedra at this ratio, by less than a half on this mesh.
    EXPECT_LT(force, 1.05 * coarse) << element;
    EXPECT_GT(force, 0.4 * coarse) << element;
  }
  const double fine = loaded_knee(knee("fem_condensed", {{"element_size", 0.0025 / 4.0}}), 4e-4).F_A.force.norm();
  EXPECT_LT(fine, coarse);
  PairSpec both = knee("fem_condensed");
  both.partner.materials = {test::soft_material(0.45)};
  EXPECT_LT(loaded_knee(both, 4e-4).F_A.force.norm(), coarse) << "cartilage of the femur deforms, too";
}

TEST(KneeLayer, FullOrderOfALinearMaterialEqualsCondensed) {
  const Response condensed = loaded_knee(knee("fem_condensed"), 3e-4);
  const Response full = loaded_knee(knee("fem_full", {{"material_law", std::string("linear")}}), 3e-4);
  EXPECT_NEAR(full.F_A.force.y(), condensed.F_A.force.y(), 1e-5 * std::abs(condensed.F_A.force.y()));
}

// A node on an edge between two facets of the femur is pushed past it by the normal of either: Newton's method
// alternated here, with and without load steps.
TEST(KneeLayer, FullOrderFindsANodeOnAnEdgeOfThePartner) {
  PairState state;
  state.X_AB.R = rotation_from_vector(Vector3(-0.0003, 0.004, 0.0));
  state.X_AB.p = Vector3(0.0002, -0.00076, 0.0006);
  const auto response = [&](const PairSpec& pair) {
    const auto backend = make_backend(pair, context());
    return backend->evaluate(*backend->initial_history(), state);
  };
  const Response condensed = response(knee("fem_condensed"));
  const Response full = response(knee("fem_full", {{"material_law", std::string("linear")}}));
  EXPECT_GT(full.statistics.iterations, 10) << "no node lies on an edge: the test is not significant";
  EXPECT_LT((full.F_A.vector() - condensed.F_A.vector()).norm(), 1e-6 * condensed.F_A.vector().norm());
  EXPECT_NEAR(full.peak_pressure, condensed.peak_pressure, 1e-6 * condensed.peak_pressure);
  EXPECT_NO_THROW((void)response(knee("fem_full"))) << "neo-Hookean";
  EXPECT_NO_THROW((void)response(knee("fem_full", {{"material_law", std::string("linear")}, {"friction", 0.05}})));
}

// An integrator that searches for the onset of contact evaluates overlaps below the rounding of positions.
TEST(KneeLayer, FullOrderConvergesAtTheOnsetOfContact) {
  const auto backend = make_backend(knee("fem_full"), context());
  const auto at = [&](double y) {
    PairState state;
    state.X_AB.p = Vector3(0.0, y, 0.0);
    return backend->evaluate(*backend->initial_history(), state);
  };
  double apart = 1e-3;
  double touching = -1e-3;
  while (true) {
    const double middle = 0.5 * (apart + touching);
    if (middle == apart || middle == touching) break;
    (at(middle).gap > 0.0 ? apart : touching) = middle;
  }
  const Response onset = at(touching);
  EXPECT_LE(onset.gap, 0.0);
  EXPECT_GT(onset.gap, -1e-15);
  EXPECT_LT(onset.F_A.force.norm(), 1e-9);
}

TEST(KneeLayer, ReportsAnUnfillableLayer) {
  PairSpec bone = knee("fem_condensed");
  bone.main.surface = KneeSurface{.dimensions = {}, .is_tibia = true, .is_bone = true, .edge = edge};
  const auto message = [](const PairSpec& pair) {
    try {
      (void)make_backend(pair, context());
      return std::string("no error");
    } catch (const Error& e) {
      return std::string(e.what());
    }
  };
  EXPECT_THAT(message(bone), AllOf(HasSubstr("layer"), HasSubstr("another of its surfaces")));
  EXPECT_THAT(message(knee("fem_condensed", {{"element", std::string("hex8")}})), HasSubstr("hexahedra"));
  // No other element count replaces the requested one.
  EXPECT_THAT(
      message(knee("fem_condensed", {{"element_size", 1e-4}})),
      AllOf(HasSubstr("element_size: 0.0001 m cuts a layer of 0.0025 m into 25 elements"), HasSubstr("0.000125")));
}

}  // namespace
}  // namespace heelstrike::fem
