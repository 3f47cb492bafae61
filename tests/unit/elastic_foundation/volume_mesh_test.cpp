// Springs on finite-element meshes: from the contact faces down to the clamped ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "common/errors/error.hpp"
#include "fem_server/backends/elastic_foundation/entry.hpp"
#include "fem_server/geometry/layer_mesh.hpp"
#include "fem_server/geometry/surface_repair.hpp"
#include "fem_server/geometry/write_mesh.hpp"
#include "tests/unit/elastic_foundation/foundation_examples.hpp"

namespace heelstrike::fem {
namespace {

using namespace testing_support;
using testing::AllOf;
using testing::HasSubstr;

constexpr double thickness = 0.004;

SurfaceMesh grid(double edge, int n, double z) {
  SurfaceMesh mesh;
  for (const auto& t : height_field(edge, n, [z](double, double) { return z; })) {
    for (const Vector3& p : t) mesh.vertices.push_back(p);
    const auto n = static_cast<std::uint32_t>(mesh.vertices.size());
    mesh.triangles.push_back({n - 3, n - 2, n - 1});
    mesh.triangle_groups.push_back(t[0].x() < 0.0 ? 0 : 1);
  }
  mesh.group_names = {"left", "right"};
  return mesh;
}

const Assets& volume_files() {
  static const Assets all = [] {
    Assets a;
    SurfaceMesh top = grid(0.04, 8, 0.0);
    merge_near_vertices(top, 1e-9);
    // Below the same vertices: every ray downwards passes through a corner, along an axis and between the boxes of the
    // tree.
    const SurfaceMesh bottom = grid(0.04, 8, -thickness);
    a.add_text("pad", write_vtu(mesh_layer(top, bottom, {.layers = 2}).mesh));
    a.add_text("prisms", write_vtu(mesh_layer(top, bottom, {.layers = 2, .keep_prisms = true}).mesh));
    a.add("plate", height_field(0.04, 8, [](double, double) { return 0.0; }));
    return a;
  }();
  return all;
}

std::unique_ptr<ContactBackend> make_pad(PairSpec pair) {
  const BackendEntry entry = elastic_foundation_entry();
  pair.parameters = checked_parameters(pair.parameters, entry.parameters, "contact.knee.parameters");
  entry.check(pair);
  return entry.make(pair, volume_files().context());
}

const SphereSurface indenter{.radius = 0.025, .center = Vector3::Zero()};
const ParameterMap sets{{"clamped_set", std::string("inner")}, {"contact_set", std::string("outer")}};

PairSpec pad(const std::string& mesh, ParameterMap parameters) {
  PairSpec pair = layer_pair(mesh_named(mesh, "vtu"), indenter, std::move(parameters));
  pair.parameters.erase("thickness");
  return pair;
}

PairState pressed() {
  PairState state;
  state.X_AB.p = Vector3(0.003, -0.002, 0.025 - 0.0005);
  return state;
}

Response response(const ContactBackend& backend) {
  return backend.evaluate(*backend.initial_history(), pressed());
}

// The same triangles with the same thickness, except that distances between coordinates are rounded.
TEST(VolumeMesh, SpringsReachFromTheContactFacesToTheClampedFaces) {
  PairSpec plate = layer_pair(mesh_named("plate"), indenter, {{"thickness", thickness}});
  const Response expected = response(*make_pad(plate));
  EXPECT_GT(expected.F_A.force.norm(), 100.0);
  for (const char* mesh : {"pad", "prisms"}) {
    const Response found = response(*make_pad(pad(mesh, sets)));
    EXPECT_LT((found.F_A.vector() - expected.F_A.vector()).norm(), 1e-9 * expected.F_A.vector().norm()) << mesh;
    EXPECT_NEAR(found.peak_pressure, expected.peak_pressure, 1e-9 * expected.peak_pressure) << mesh;
    EXPECT_NEAR(found.area, expected.area, 1e-9 * expected.area) << mesh;
  }
}

// The indenter has the springs, the mesh is the target.
TEST(VolumeMesh, PartnerHasTheThicknessOfItsLayer) {
  ParameterMap parameters{{"spring_body", std::string("partner")}, {"element_size", 0.003}};
  PairSpec plate = layer_pair(mesh_named("plate"), indenter, parameters);
  plate.parameters["thickness"] = thickness;
  const Response expected = response(*make_pad(plate));
  parameters.insert(sets.begin(), sets.end());
  const Response found = response(*make_pad(pad("pad", parameters)));
  EXPECT_GT(expected.F_A.force.norm(), 100.0);
  EXPECT_LT((found.F_A.vector() - expected.F_A.vector()).norm(), 1e-9 * expected.F_A.vector().norm());
}

TEST(VolumeMesh, PartnerSetsHaveTheirOwnKeys) {
  PairSpec pair = pad("pad", {{"spring_body", std::string("partner")},
                              {"partner_clamped_set", std::string("inner")},
                              {"partner_contact_set", std::string("outer")}});
  std::swap(pair.main.surface, pair.partner.surface);
  std::swap(pair.main.materials, pair.partner.materials);
  const auto backend = make_pad(pair);
  PairState rotated;
  rotated.X_AB = pressed().X_AB.inverse();
  const Response found = backend->evaluate(*backend->initial_history(), rotated);
  const Response expected = response(*make_pad(pad("pad", sets)));
  EXPECT_NEAR(found.F_A.force.norm(), expected.F_A.force.norm(), 1e-9 * expected.F_A.force.norm());
}

TEST(VolumeMesh, GroupsOfOuterFacesAreRegions) {
  ParameterMap parameters = sets;
  parameters["regions"] = std::string("sets");
  const auto backend = make_pad(pad("pad", parameters));
  EXPECT_THAT(backend->traits().regions, testing::ElementsAre("left", "right"));
  const Response r = response(*backend);
  EXPECT_GT(r.regions[1].force, r.regions[0].force) << "the indenter is on the right";
  EXPECT_NEAR(r.regions[0].force + r.regions[1].force, r.F_A.force.norm(), 1e-2 * r.F_A.force.norm())
      << "facets of a flat surface have one normal; the energy's force has a part along it";
}

void expect_pad_error(const PairSpec& pair, const std::string& field, const testing::Matcher<std::string>& message) {
  try {
    (void)make_pad(pair);
    FAIL() << "expected an error at " << field;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_input);
    EXPECT_EQ(e.field(), field);
    EXPECT_THAT(std::string(e.what()), message);
  }
}

TEST(VolumeMesh, MissingPartsOfTheLayerAreReported) {
  const std::string where = "contact.knee.parameters.";
  expect_pad_error(pad("pad", {}), where + "thickness", AllOf(HasSubstr("found none"), HasSubstr("clamped_set")));
  expect_pad_error(pad("pad", {{"clamped_set", std::string("inner")}}), where + "contact_set",
                   AllOf(HasSubstr("missing"), HasSubstr("face set")));
  expect_pad_error(pad("pad", {{"clamped_set", std::string("iner")}, {"contact_set", std::string("outer")}}),
                   where + "clamped_set", AllOf(HasSubstr("'iner' does not exist"), HasSubstr("inner")));
  expect_pad_error(pad("pad", {{"clamped_set", std::string("inner")}, {"contact_set", std::string("top")}}),
                   where + "contact_set", AllOf(HasSubstr("'top' does not exist"), HasSubstr("outer")));
  const std::vector<double> corner{-0.0201, -0.0201, -1.0, -0.0199, -0.0199, -0.0001};
  expect_pad_error(pad("pad", {{"clamped_box", corner}, {"contact_set", std::string("outer")}}), where + "clamped_set",
                   HasSubstr("form none"));
  PairSpec plate = layer_pair(mesh_named("plate"), indenter, sets);
  plate.parameters.erase("thickness");
  expect_pad_error(plate, where + "clamped_set", AllOf(HasSubstr("expected a volume mesh"), HasSubstr("thickness")));
}

// They may remain in the scenario when back-ends are exchanged.
TEST(VolumeMesh, UnusedSetsAreIgnoredAndReported) {
  PairSpec plate = layer_pair(mesh_named("plate"), indenter, sets);
  const BackendEntry entry = elastic_foundation_entry();
  plate.parameters = checked_parameters(plate.parameters, entry.parameters, "contact.knee.parameters");
  PrepareContext context = volume_files().context();
  std::vector<std::string> stages;
  context.on_progress = [&](std::string_view stage, double) { stages.emplace_back(stage); };
  (void)entry.make(plate, context);
  EXPECT_THAT(stages, testing::Contains(HasSubstr("clamped_set: ignored")));
  EXPECT_THAT(stages, testing::Contains(HasSubstr("contact_set: ignored")));
}

}  // namespace
}  // namespace heelstrike::fem
