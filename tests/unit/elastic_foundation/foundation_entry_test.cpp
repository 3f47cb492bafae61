// Input errors of an elastic foundation: each is reported with its key, the value found and the remedy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/errors/error.hpp"
#include "fem_server/backends/elastic_foundation/entry.hpp"
#include "tests/unit/backends/bits.hpp"
#include "tests/unit/elastic_foundation/foundation_examples.hpp"

namespace heelstrike::fem {
namespace {

using namespace testing_support;
using testing::AllOf;
using testing::HasSubstr;

const SphereSurface condyle{.radius = 0.025, .center = Vector3::Zero()};

/// A tetrahedron of 2 cm.
std::vector<std::array<Vector3, 3>> tetrahedron(bool outward) {
  const std::array<Vector3, 4> p{Vector3{0, 0, 0}, {0.02, 0, 0}, {0, 0.02, 0}, {0, 0, 0.02}};
  std::vector<std::array<Vector3, 3>> t{{p[0], p[2], p[1]}, {p[0], p[1], p[3]}, {p[0], p[3], p[2]}, {p[1], p[2], p[3]}};
  if (!outward) {
    for (auto& triangle : t) std::swap(triangle[1], triangle[2]);
  }
  return t;
}

std::vector<std::array<Vector3, 3>> reversed_triangles(std::vector<std::array<Vector3, 3>> triangles) {
  for (auto& t : triangles) std::swap(t[1], t[2]);
  return triangles;
}

std::vector<std::array<Vector3, 3>> beside(std::vector<std::array<Vector3, 3>> one,
                                           const std::vector<std::array<Vector3, 3>>& other, const Vector3& shift) {
  for (auto t : other) {
    for (Vector3& p : t) p += shift;
    one.push_back(t);
  }
  return one;
}

const Assets& files() {
  static const Assets all = [] {
    Assets a;
    const auto level = [](double z) { return [z](double, double) { return z; }; };
    a.add("plate", height_field(0.04, 8, level(0.0)));
    a.add("plate_turned", reversed_triangles(height_field(0.04, 8, level(0.0))));
    const auto small = height_field(0.04, 8, level(0.0));
    const Vector3 right(0.05, 0.0, 0.0);
    const Vector3 right_and_up(0.05, 0.0, 2e-4);
    a.add("two_plates", beside(small, small, right));
    a.add("second_turned_down", beside(small, reversed_triangles(small), right));
    a.add("two_plates_down", beside(reversed_triangles(small), reversed_triangles(small), right_and_up));
    a.add("second_turned_up", beside(reversed_triangles(small), small, right_and_up));
    a.add("wide_plate", height_field(0.16, 32, level(0.0)));
    std::string table = "thickness_m\n";
    for (int v = 0; v < 81; ++v) table += v == 17 ? "0.002\n" : "0.003\n";
    a.add_text("thickness.csv", table);
    a.add_text("thickness_short.csv", "vertex,thickness_m\n0,0.003\n");
    a.add_text("thickness_in_inches.csv", "thickness_in\n0.003\n");
    a.add("bone", height_field(0.04, 5, level(-0.003)));
    a.add("bone_in_front", height_field(0.04, 5, level(0.001)));
    a.add("bone_far", height_field(0.04, 5, level(-0.5)));
    a.add("in_millimetres", height_field(40.0, 8, level(0.0)));
    a.add("solid", tetrahedron(true));
    a.add("solid_inside_out", tetrahedron(false));
    return a;
  }();
  return all;
}

std::unique_ptr<ContactBackend> make(PairSpec pair) {
  const BackendEntry entry = elastic_foundation_entry();
  pair.parameters = checked_parameters(pair.parameters, entry.parameters, "contact.knee.parameters");
  entry.check(pair);
  return entry.make(pair, files().context());
}

void expect_rejected(const PairSpec& pair, const std::string& field, const testing::Matcher<std::string>& message) {
  try {
    (void)make(pair);
    FAIL() << "expected an error at " << field;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_input);
    EXPECT_EQ(e.field(), field);
    EXPECT_THAT(std::string(e.what()), message);
  }
}

PairSpec plate(ParameterMap parameters = {}) {
  return layer_pair(mesh_named("plate"), condyle, std::move(parameters));
}

TEST(FoundationEntry, LayersWithoutMaterialOrThickness) {
  PairSpec rigid = plate();
  rigid.main.materials.clear();
  expect_rejected(rigid, "contact.knee.main.material", HasSubstr("needs a layer"));
  PairSpec thin = plate();
  thin.parameters.erase("thickness");
  expect_rejected(thin, "contact.knee.parameters.thickness", AllOf(HasSubstr("found none"), HasSubstr("back_file")));
  expect_rejected(plate({{"partner_thickness", 0.002}}), "contact.knee.parameters.partner_thickness",
                  HasSubstr("is rigid"));
  expect_rejected(plate({{"thickness", 0.0}}), "contact.knee.parameters.thickness", HasSubstr("> 0"));
  expect_rejected(plate({{"back_asset", "bone"}}), "contact.knee.parameters.thickness", HasSubstr("found several"));
  PairSpec two = plate();
  two.main.materials.push_back(material(1e6, 0.3));
  expect_rejected(two, "contact.knee.parameters.thickness", HasSubstr("found 2"));
}

TEST(FoundationEntry, ThicknessPerVertex) {
  PairSpec pair = plate({{"vertex_thickness", std::vector<double>(80, 0.003)}});
  pair.parameters.erase("thickness");
  expect_rejected(pair, "contact.knee.parameters.vertex_thickness",
                  AllOf(HasSubstr("expected 81"), HasSubstr("found 80")));
  std::vector<double> values(81, 0.003);
  values[17] = -0.001;
  pair.parameters["vertex_thickness"] = values;
  expect_rejected(pair, "contact.knee.parameters.vertex_thickness",
                  AllOf(HasSubstr("-0.001 m at vertex 17"), HasSubstr("> 0")));
}

TEST(FoundationEntry, ThicknessPerVertexFromATable) {
  PairSpec pair = plate({{"vertex_thickness_file", "thickness_short.csv"}});
  const std::string key = "contact.knee.parameters.vertex_thickness_file";
  expect_rejected(pair, "contact.knee.parameters.thickness", HasSubstr("found several"));
  pair.parameters.erase("thickness");
  expect_rejected(pair, key, AllOf(HasSubstr("expected 81"), HasSubstr("found 1")));
  pair.parameters["vertex_thickness_file"] = "thickness_in_inches.csv";
  expect_rejected(pair, key, AllOf(HasSubstr("thickness_in_inches.csv:1"), HasSubstr("'thickness_m'")));
  pair.parameters["vertex_thickness_file"] = "thickness.csv";
  std::vector<double> values(81, 0.003);
  values[17] = 0.002;
  PairSpec listed = plate({{"vertex_thickness", values}});
  listed.parameters.erase("thickness");
  PairState state;
  state.X_AB.p.z() = 0.0249;
  // Also the layer of the other body, when the ball has the springs.
  for (const bool in_contact : {false, true}) {
    for (PairSpec* one : {&pair, &listed}) {
      if (!in_contact) continue;
      const std::string name = one == &pair ? "vertex_thickness_file" : "vertex_thickness";
      one->parameters["partner_" + name] = one->parameters.at(name);
      one->parameters.erase(name);
      one->parameters["spring_body"] = "partner";
    }
    const auto backend = make(pair);
    const auto same = make(listed);
    const Response r = backend->evaluate(*backend->initial_history(), state);
    EXPECT_GT(r.F_A.force.norm(), 1.0);
    EXPECT_EQ(bits_of(r), bits_of(same->evaluate(*same->initial_history(), state)));
  }
}

TEST(FoundationEntry, MissingFileIsReportedByItsKey) {
  PairSpec pair = plate({{"back_asset", "bone"}});
  pair.parameters.erase("thickness");
  const BackendEntry entry = elastic_foundation_entry();
  pair.parameters = checked_parameters(pair.parameters, entry.parameters, "contact.knee.parameters");
  PrepareContext context = files().context();
  context.asset = [](const AssetKey& key) -> const AssetContent& {
    if (key.name == "bone") throw not_found_error("asset 'bone' is not in the server's asset folder", "asset");
    static const PrepareContext all = files().context();
    return all.asset(key);
  };
  try {
    (void)entry.make(pair, context);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::not_found);
    EXPECT_EQ(e.field(), "contact.knee.parameters.back_asset");
    EXPECT_THAT(std::string(e.what()), AllOf(HasSubstr("back_asset"), HasSubstr("'bone' is not in the server's")));
  }
}

TEST(FoundationEntry, BackSurface) {
  PairSpec pair = plate({{"back_asset", "bone_in_front"}});
  pair.parameters.erase("thickness");
  expect_rejected(pair, "contact.knee.parameters.back_asset",
                  AllOf(HasSubstr("0.001 m in front"), HasSubstr("vertex")));
  pair.parameters["back_asset"] = "bone_far";
  expect_rejected(pair, "contact.knee.parameters.back_asset",
                  AllOf(HasSubstr("found it 0.5 m away"), HasSubstr("metres")));
  pair.parameters["back_asset"] = "bone";
  PairState state;
  state.X_AB.p.z() = 0.0249;
  const auto backend = make(pair);
  PairSpec constant = plate({{"thickness", 0.003}});
  const auto same = make(constant);
  const Response r = backend->evaluate(*backend->initial_history(), state);
  const Response expected = same->evaluate(*same->initial_history(), state);
  EXPECT_GT(r.F_A.force.norm(), 1.0);
  EXPECT_NEAR(r.F_A.force.norm() / expected.F_A.force.norm(), 1.0, 1e-12);
}

TEST(FoundationEntry, Surfaces) {
  PairSpec pair = plate();
  pair.main.surface = mesh_named("solid_inside_out");
  expect_rejected(pair, "contact.knee.main.surface",
                  AllOf(HasSubstr("point out of the body"), HasSubstr("--repair orientation")));
  pair.main.surface = mesh_named("solid");
  EXPECT_NO_THROW((void)make(pair));
  pair.main.surface = PlaneSurface{.normal = Vector3::UnitZ(), .point = Vector3::Zero()};
  expect_rejected(pair, "contact.knee.parameters.extent", HasSubstr("missing"));
  expect_rejected(plate({{"refine", 1.5}}), "contact.knee.parameters.refine", HasSubstr("found 1.5"));
}

TEST(FoundationEntry, Grid) {
  const std::string key = "contact.knee.parameters.grid";
  expect_rejected(plate({{"grid", std::vector<double>{20}}}), key,
                  AllOf(HasSubstr("two whole numbers"), HasSubstr("20")));
  expect_rejected(plate({{"grid", std::vector<double>{20, 2.5}}}), key, HasSubstr("2.5"));
  expect_rejected(plate({{"grid", std::vector<double>{20, 0}}}), key, HasSubstr("from 1 to 1000"));
  expect_rejected(plate({{"grid", std::vector<double>{20, 20}}, {"grid_side", "z-"}}), key,
                  AllOf(HasSubstr("20 x 20"), HasSubstr("grid_side")));  // the plate's back
  PairSpec pair = plate({{"grid", std::vector<double>{20, 20}}, {"vertex_thickness", std::vector<double>(81, 0.003)}});
  pair.parameters.erase("thickness");
  expect_rejected(pair, key, HasSubstr("vertex_thickness"));
}

// The outer side of an open surface is unknown until the other surface is behind it.
TEST(FoundationEntry, SurfacesThatDoNotFaceEachOther) {
  const auto backend = make(layer_pair(mesh_named("plate_turned"), condyle));
  PairState state;
  state.X_AB.p.z() = 0.0249;
  try {
    (void)backend->evaluate(*backend->initial_history(), state);
    FAIL();
  } catch (const RecoverableError& e) {
    EXPECT_THAT(std::string(e.what()),
                AllOf(HasSubstr("contact.knee"), HasSubstr("face each other"), HasSubstr("inside out")));
  }
}

// Of several pieces one may be correct and another one inverted: the load of the others does not hide it.
TEST(FoundationEntry, OneInvertedPieceOfSeveral) {
  const Surface down = PlaneSurface{.normal = -Vector3::UnitZ(), .point = Vector3::Zero()};
  PairState state;
  state.X_AB.p.z() = -1e-4;
  const auto response_of = [&](const Surface& main, const Surface& partner, const std::string& penetration) {
    const auto backend = make(layer_pair(main, partner, {{"penetration", penetration}}));
    return backend->evaluate(*backend->initial_history(), state);
  };
  for (const std::string penetration : {"ray", "nearest"}) {
    EXPECT_GT(response_of(mesh_named("two_plates"), down, penetration).F_A.force.norm(), 1.0);
    EXPECT_GT(response_of(mesh_named("wide_plate"), mesh_named("two_plates_down"), penetration).F_A.force.norm(), 1.0);
    const auto expect_facing_error = [&](const Surface& main, const Surface& partner, const std::string& piece) {
      try {
        const Response r = response_of(main, partner, penetration);
        FAIL() << "half of the load is missing without a message: " << r.F_A.force.transpose();
      } catch (const RecoverableError& e) {
        EXPECT_THAT(std::string(e.what()),
                    AllOf(HasSubstr(piece), HasSubstr("m of the casting body"), HasSubstr("inside out")));
      }
    };
    expect_facing_error(mesh_named("second_turned_down"), down, "piece 2 of 2 of the casting surface");
    expect_facing_error(mesh_named("wide_plate"), mesh_named("second_turned_up"),
                        "piece 2 of 2 of the partner's surface");
  }
}

// Around the deepest point of a ball the plane through a coarse triangle lies up to 0.2 mm deeper than every spring:
// layers exhausted at the plane only are reported with the position of that triangle.
TEST(FoundationEntry, ExhaustedLayersAreReportedWithTheirPlace) {
  Assets assets;
  assets.add("coarse", {{Vector3(0.0, 0.0, 0.0), Vector3(0.01, 0.0, 0.0), Vector3(0.01, 0.01, 0.0)}});
  const PairSpec pair = layer_pair(mesh_named("coarse"), condyle, {{"thickness", 0.0011}});
  const auto backend = make_backend(pair, assets.context());
  PairState state;
  state.X_AB.p = {0.02 / 3.0, 0.01 / 3.0, 0.024};  // 1 mm deep over the centre
  try {
    (void)backend->evaluate(*backend->initial_history(), state);
    FAIL();
  } catch (const RecoverableError& e) {
    EXPECT_THAT(std::string(e.what()),
                AllOf(HasSubstr("at (0.00666667, 0.00333333, 0) m"), HasSubstr("0.0011 m thick")));
  }
}

TEST(FoundationEntry, LawWithoutAPressureIsReportedWithItsPlace) {
  for (const std::string springs : {"vertices", "centres"}) {
    PairSpec pair = plate({{"springs", springs},
                           {"partner_thickness", 0.002},
                           {"material_law", "nonlinear"},
                           {"reference_strain", 1e-302}});
    pair.partner.materials = {material(1e6, 0.3)};
    const auto backend = make(pair);
    PairState state;
    state.X_AB.p.z() = 0.024;
    try {
      const Response r = backend->evaluate(*backend->initial_history(), state);
      FAIL() << springs << ": " << r.F_A.force.transpose() << " N, " << r.area << " m^2";
    } catch (const RecoverableError& e) {
      EXPECT_EQ(e.field(), "contact.knee");
      EXPECT_THAT(std::string(e.what()), AllOf(HasSubstr("contact.knee: triangle "), HasSubstr("m of the casting body"),
                                               HasSubstr("0.008 m and 0.002 m"), HasSubstr("reference_strain")));
    }
  }
}

TEST(FoundationEntry, ThicknessInAnotherUnitThanTheMeshIsAWarning) {
  const BackendEntry entry = elastic_foundation_entry();
  const auto warnings = [&](PairSpec pair) {
    pair.parameters = checked_parameters(pair.parameters, entry.parameters, "contact.knee.parameters");
    return entry.warnings(pair, files().context());
  };
  EXPECT_THAT(warnings(plate()), testing::IsEmpty());
  const std::string key = "contact.knee.parameters.thickness";
  EXPECT_THAT(warnings(plate({{"thickness", 3.0}})),
              testing::ElementsAre(AllOf(HasSubstr(key), HasSubstr("3 m thick on a body 0.04 m long"),
                                         HasSubstr("did you mean 3 mm?"), HasSubstr("0.003"))));
  EXPECT_THAT(warnings(plate({{"thickness", 3e-6}})),
              testing::ElementsAre(AllOf(HasSubstr(key), HasSubstr("3e-06 m"), HasSubstr("length_scale"))));
  PairSpec by_vertex = plate({{"vertex_thickness", std::vector<double>(81, 3.0)}});
  by_vertex.parameters.erase("thickness");
  EXPECT_THAT(warnings(by_vertex), testing::ElementsAre(HasSubstr("contact.knee.parameters.vertex_thickness: ")));
  // Of the partner, if it has the layer.
  PairSpec other = plate({{"partner_thickness", 2.0}});
  other.partner.materials = {material(1e6, 0.3)};
  EXPECT_THAT(warnings(other), testing::ElementsAre(HasSubstr("contact.knee.parameters.partner_thickness: ")));
}

TEST(FoundationEntry, MeshInMillimetresIsAWarning) {
  PairSpec pair = plate();
  pair.main.surface = mesh_named("in_millimetres");
  pair.parameters = checked_parameters(pair.parameters, elastic_foundation_entry().parameters, "");
  const auto warnings = elastic_foundation_entry().warnings(pair, files().context());
  ASSERT_FALSE(warnings.empty());
  EXPECT_THAT(warnings.front(), AllOf(HasSubstr("contact.knee.main.surface.mesh"), HasSubstr("length_scale")));
}

TEST(FoundationEntry, FieldsHaveThePressureOfEachFace) {
  const auto backend = make(plate());
  PairState state;
  state.X_AB.p.z() = 0.0249;
  const auto history = backend->initial_history();
  const std::string drawn = backend->fields(*history, state, {});
  EXPECT_THAT(drawn, AllOf(HasSubstr("contact_pressure"), HasSubstr("UnstructuredGrid")));
  FieldRequest partner;
  partner.part = FieldPart::partner;
  EXPECT_THAT(backend->fields(*history, state, partner), HasSubstr("UnstructuredGrid"));
  FieldRequest unknown;
  unknown.quantities = {"temperature"};
  EXPECT_THROW((void)backend->fields(*history, state, unknown), Error);
}

// Parametric shapes on either side: a foot on a plane, a block on a ball.
TEST(FoundationEntry, EveryPairOfKindsCanBeOpened) {
  const BackendEntry entry = elastic_foundation_entry();
  EXPECT_THAT(entry.surface_pairs, testing::Contains("foot-plane"));
  EXPECT_THAT(entry.surface_pairs, testing::Contains("mesh-block"));
  EXPECT_THAT(entry.surface_pairs, testing::Not(testing::Contains("points-plane")));
}

}  // namespace
}  // namespace heelstrike::fem
