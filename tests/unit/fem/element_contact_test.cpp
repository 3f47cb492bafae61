// Every finite element in every back-end that uses it: a block on a plate.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/fem/element_kind.hpp"
#include "fem_server/geometry/write_mesh.hpp"
#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/sphere.hpp"
#include "tests/unit/fem/test_contact.hpp"

namespace heelstrike::fem {
namespace {

constexpr double width = 0.04;   // [m]
constexpr double height = 0.02;  // [m]
constexpr double modulus = 1e6;  // [Pa]

PairSpec block_pair(const std::string& backend, std::string_view element, double nu) {
  PairSpec pair;
  pair.name = "block-plate";
  pair.backend = backend;
  pair.main.surface = BlockSurface{.lengths = {width, width, height}, .center = {0.0, 0.0, 0.0}};
  pair.main.materials = {{.youngs_modulus = modulus, .poissons_ratio = nu, .density = 1000.0, .set = ""}};
  pair.partner.surface = PlaneSurface{};
  pair.parameters = {{"element_size", 0.01},
                     {"element", std::string(element)},
                     {"clamped_set", std::string("top")},
                     {"contact_direction", std::vector<double>{0.0, 0.0, -1.0}}};
  return pair;
}

/// @param depth [m] of the plate in the block
Response pressed(const PairSpec& pair, double depth) {
  const auto contact = make_backend(pair, test::quiet());
  PairState state;
  state.X_AB.p = Vector3(0.0, 0.0, -0.5 * height + depth);
  return contact->evaluate(*contact->initial_history(), state);
}

class ElementContact : public testing::TestWithParam<ElementKind> {};

// Requirement: a uniform state remains uniform through the contact, with any element.
TEST_P(ElementContact, UniformPressureIsUniform) {
  const double depth = 1e-4;
  const Response r = pressed(block_pair("fem_condensed", GetParam().name, 0.0), depth);
  const double pressure = modulus * depth / height;
  EXPECT_NEAR(r.F_A.force.z(), pressure * width * width, 1e-9 * pressure * width * width);
  EXPECT_NEAR(r.peak_pressure, pressure, 1e-9 * pressure);
  EXPECT_NEAR(r.area, width * width, 1e-9 * width * width);
}

/// The same, pressed from its right: of vertical prisms the quadrilateral sides are in contact.
TEST_P(ElementContact, UniformPressureIsUniformOnASideToo) {
  PairSpec pair = block_pair("fem_condensed", GetParam().name, 0.0);
  pair.partner.surface = PlaneSurface{.normal = Vector3::UnitY(), .point = Vector3::Zero()};
  pair.parameters["clamped_set"] = std::string("left");
  pair.parameters["contact_direction"] = std::vector<double>{0.0, -1.0, 0.0};
  const double depth = 1e-4;
  const auto contact = make_backend(pair, test::quiet());
  PairState state;
  state.X_AB.p = Vector3(0.0, -0.5 * width + depth, 0.0);
  const Response r = contact->evaluate(*contact->initial_history(), state);
  const double pressure = modulus * depth / width;
  EXPECT_NEAR(r.F_A.force.y(), pressure * width * height, 1e-9 * pressure * width * height);
  EXPECT_NEAR(r.peak_pressure, pressure, 1e-9 * pressure);
  EXPECT_NEAR(r.area, width * height, 1e-9 * width * height);
}

TEST_P(ElementContact, FullAndLayeredAgreeWithTheCondensedBody) {
  const double nu = GetParam().mixed() ? 0.4999 : 0.4;
  const double depth = 5e-4;
  const Response condensed = pressed(block_pair("fem_condensed", GetParam().name, nu), depth);
  const double force = condensed.F_A.force.z();
  ASSERT_GT(force, 0.0);
  PairSpec pair = block_pair("fem_full", GetParam().name, nu);
  pair.parameters["material_law"] = std::string("linear");
  const Response full = pressed(pair, depth);
  EXPECT_NEAR(full.F_A.force.z(), force, 1e-6 * force);
  EXPECT_NEAR(full.peak_pressure, condensed.peak_pressure, 1e-6 * condensed.peak_pressure);
  pair.parameters["material_law"] = std::string("neo_hookean");
  const double finite = pressed(pair, depth).F_A.force.z();
  // A strain of 0.025 in a block that is wider than high and laterally fixed at its top: of the order of the strain.
  EXPECT_NEAR(finite, force, 0.1 * force);
  pair = block_pair("fem_layered", GetParam().name, nu);
  pair.parameters["material_law"] = std::string("linear");
  pair.parameters["layer_depth"] = 0.004;
  const bool nodal = GetParam().pressure == PressureKind::nodal;
  if (nodal && !element_topology(GetParam().n_nodes).quadratic()) {
    EXPECT_THAT(test::rejection_error(pair, test::quiet()),
                testing::HasSubstr(
                    fmt::format("; '{}' is not available: it has pressures around its corners", GetParam().name)));
    return;
  }
  const double layered = pressed(pair, depth).F_A.force.z();
  // Pressures around corners are divided at the end of the layer: a body with more pressures, slightly stiffer.
  EXPECT_NEAR(layered, force, (nodal ? 0.01 : 1e-6) * force);
  std::printf("%12s: condensed %.4f N, full neo-Hookean %.4f N, layered linear %.4f N\n",
              std::string(GetParam().name).c_str(), force, finite, layered);
}

// A body without vibration modes equals the condensed one, and so does one that starts at rest; a microsecond later,
// before its modes have responded, it is stiffer under a new load.
TEST_P(ElementContact, VibratesAroundTheCondensedBody) {
  const double depth = 5e-4;
  const double force = pressed(block_pair("fem_condensed", GetParam().name, 0.3), depth).F_A.force.z();
  PairSpec pair = block_pair("fem_modal", GetParam().name, 0.3);
  pair.parameters["modes"] = 0.0;
  EXPECT_NEAR(pressed(pair, depth).F_A.force.z(), force, 1e-9 * force);
  pair.parameters["modes"] = 20.0;
  const auto contact = make_backend(pair, test::quiet());
  PairState state;
  state.X_AB.p = Vector3(0.0, 0.0, -0.5 * height + 0.5 * depth);
  const Committed half = contact->commit(*contact->initial_history(), state);
  EXPECT_NEAR(half.response.F_A.force.z(), 0.5 * force, 1e-6 * force);
  state.t = 1e-6;
  state.X_AB.p.z() += 0.5 * depth;
  EXPECT_GT(contact->evaluate(*half.history, state).F_A.force.z(), 1.01 * force);
}

// Two blocks of different meshes on each other: half of the stiffness, and a uniform pressure.
TEST_P(ElementContact, UniformPressurePassesFromBodyToBody) {
  PairSpec pair = block_pair("fem_condensed", GetParam().name, 0.0);
  pair.partner.surface = BlockSurface{.lengths = {width, width, height}, .center = {0.0, 0.0, -0.5 * height}};
  pair.partner.materials = pair.main.materials;
  pair.parameters["partner_element"] = std::string(GetParam().name);
  pair.parameters["partner_element_size"] = 0.008;
  pair.parameters["partner_clamped_set"] = std::string("bottom");
  pair.parameters["partner_contact_direction"] = std::vector<double>{0.0, 0.0, 1.0};
  if (GetParam().n_nodes == 10) {
    EXPECT_THAT(test::rejection_error(pair, test::quiet()),
                testing::HasSubstr("partner_element: expected a deformable partner of linear elements"));
    return;
  }
  const double depth = 1e-4;
  const Response r = pressed(pair, depth);
  const double pressure = modulus * depth / (2.0 * height);
  EXPECT_NEAR(r.F_A.force.z(), pressure * width * width, 1e-6 * pressure * width * width);
  EXPECT_NEAR(r.peak_pressure, pressure, 1e-6 * pressure);
}

INSTANTIATE_TEST_SUITE_P(Elements, ElementContact, testing::ValuesIn(element_kinds().begin(), element_kinds().end()),
                         [](const auto& info) { return std::string(info.param.name); });

// The content of a file is known after it has been read.
TEST(ElementInput, UnsuitableBodiesAreReported) {
  PairSpec pair = block_pair("fem_condensed", "from_mesh", 0.3);
  PrepareContext context = test::quiet();
  AssetContent file{.sha256 = "1", .name = "block.msh", .content = {}};
  context.asset = [&](const AssetKey&) -> const AssetContent& { return file; };
  file.content = write_msh(test::block_mesh(Vector3::Zero(), Vector3(0.1, 0.1, 0.1), 3, 3, 3));
  MeshSurface surface;
  surface.asset_name = file.name;
  pair.main.surface = surface;
  pair.parameters = {{"clamped_box", std::vector<double>{-1.0, -1.0, 0.09, 1.0, 1.0, 1.0}}};
  pair.partner.surface = BlockSurface{.lengths = {0.1, 0.1, 0.1}, .center = {0.05, 0.05, -0.05}};
  pair.partner.materials = pair.main.materials;
  pair.parameters["partner_element_size"] = 0.05;
  pair.parameters["partner_clamped_set"] = std::string("bottom");
  pair.parameters["partner_element"] = std::string("tet4_mixed");
  EXPECT_THAT(test::rejection_error(pair, context),
              testing::HasSubstr("partner_element: 'tet4_mixed' is combined with 'tet4' of the main body"));
  pair.parameters["element"] = std::string("tet10_mixed");
  EXPECT_EQ(test::rejection_error(pair, context), "accepted");
  file.content = write_msh(test::block_mesh(Vector3::Zero(), Vector3(0.1, 0.1, 0.1), 3, 3, 3, 8));
  pair.parameters["element"] = std::string("from_mesh");
  EXPECT_EQ(test::rejection_error(pair, context), "accepted");
  file.content = write_msh(test::block_mesh(Vector3::Zero(), Vector3(0.1, 0.1, 0.1), 3, 3, 3, 6));
  pair.parameters["element"] = std::string("wedge6_mixed");
  EXPECT_EQ(test::rejection_error(pair, context), "accepted");
  pair.parameters["element"] = std::string("wedge6");
  pair.parameters["partner_element"] = std::string("hex8");
  EXPECT_THAT(test::rejection_error(pair, context),
              testing::HasSubstr("partner_element: 'hex8' is combined with 'wedge6' of the main body"));
  pair.parameters["partner_element"] = std::string("tet10");
  EXPECT_THAT(test::rejection_error(pair, context),
              testing::HasSubstr("partner_element: expected a deformable partner of linear"));
}

TEST(ElementInput, HexahedraAreReadFromFilesAndBlocks) {
  PairSpec pair = block_pair("fem_condensed", "hex8", 0.49);
  PrepareContext context = test::quiet();
  AssetContent file{.sha256 = "1", .name = "block.msh", .content = {}};
  context.asset = [&](const AssetKey&) -> const AssetContent& { return file; };
  MeshSurface surface;
  surface.asset_name = file.name;
  pair.main.surface = surface;
  pair.parameters = {{"clamped_box", std::vector<double>{-1.0, -1.0, 0.09, 1.0, 1.0, 1.0}},
                     {"element", std::string("hex8")}};
  const Vector3 size(0.1, 0.1, 0.1);
  file.content = write_msh(test::block_mesh(Vector3::Zero(), size, 3, 3, 3, 8));
  EXPECT_EQ(test::rejection_error(pair, context), "accepted");
  pair.parameters["element"] = std::string("from_mesh");
  EXPECT_EQ(test::rejection_error(pair, context), "accepted");
  pair.parameters["element"] = std::string("tet10_mixed");
  EXPECT_THAT(test::rejection_error(pair, context),
              testing::HasSubstr("tet10_mixed has 10 nodes, the elements of 'block.msh' have 8"));
  pair.parameters["element"] = std::string("hex27");
  EXPECT_EQ(test::rejection_error(pair, context), "accepted") << "raised by nodes between the eight";
  file.content = write_msh(test::block_mesh_of(27, Vector3::Zero(), size, 2, 2, 2));
  for (const char* element : {"from_mesh", "hex27"}) {
    pair.parameters["element"] = std::string(element);
    EXPECT_EQ(test::rejection_error(pair, context), "accepted") << element;
  }
  pair.parameters["element"] = std::string("hex8");
  EXPECT_THAT(test::rejection_error(pair, context),
              testing::HasSubstr("hex8 has 8 nodes, the elements of 'block.msh' have 27 and "
                                 "do not support it; expected one of from_mesh, hex27"));
  file.content = write_msh(test::block_mesh(Vector3::Zero(), size, 3, 3, 3));
  pair.parameters["element"] = std::string("hex8");
  EXPECT_THAT(test::rejection_error(pair, context),
              testing::HasSubstr("hex8 has 8 nodes, the elements of 'block.msh' have 4"));
  pair.main.surface = SphereSurface{.radius = 0.05, .center = Vector3::Zero()};
  pair.parameters["element_size"] = 0.02;
  EXPECT_THAT(test::rejection_error(pair, context),
              testing::HasSubstr("element: surface 'sphere' cannot be filled with hexahedra"));
  pair.parameters["element"] = std::string("hex20");
  EXPECT_THAT(test::rejection_error(pair, context),
              testing::HasSubstr("; 'hex20' is not available: sides with eight nodes"));
  EXPECT_THAT(test::rejection_error(pair, context), testing::HasSubstr("expected hex27"));
}

TEST(ElementInput, PrismsAreReadFromFilesAndBlocks) {
  PairSpec pair = block_pair("fem_condensed", "wedge6", 0.3);
  PrepareContext context = test::quiet();
  AssetContent file{.sha256 = "1", .name = "layer.vtu", .content = {}};
  context.asset = [&](const AssetKey&) -> const AssetContent& { return file; };
  MeshSurface surface;
  surface.asset_name = file.name;
  pair.main.surface = surface;
  pair.parameters = {{"clamped_box", std::vector<double>{-1.0, -1.0, 0.09, 1.0, 1.0, 1.0}}};
  const Vector3 size(0.1, 0.1, 0.1);
  file.content = write_vtu(test::block_mesh(Vector3::Zero(), size, 3, 3, 3, 6));
  for (const char* element : {"from_mesh", "wedge6", "wedge6_mixed"}) {
    pair.parameters["element"] = std::string(element);
    EXPECT_EQ(test::rejection_error(pair, context), "accepted") << element;
  }
  pair.parameters["element"] = std::string("tet4_mixed");
  EXPECT_THAT(test::rejection_error(pair, context),
              testing::HasSubstr("tet4_mixed has 4 nodes, the elements of 'layer.vtu' have 6 and do not support it; "
                                 "expected one of from_mesh, wedge6, wedge6_mixed"));
  file.content = write_vtu(test::block_mesh(Vector3::Zero(), size, 3, 3, 3));
  pair.parameters["element"] = std::string("wedge6");
  EXPECT_THAT(test::rejection_error(pair, context),
              testing::HasSubstr("wedge6 has 6 nodes, the elements of 'layer.vtu' have 4"));
  pair.main.surface = SphereSurface{.radius = 0.05, .center = Vector3::Zero()};
  pair.parameters["element_size"] = 0.02;
  EXPECT_THAT(test::rejection_error(pair, context),
              testing::HasSubstr("element: surface 'sphere' cannot be filled with prisms, only a block can; expected a "
                                 "mesh file of prisms (Gmsh, VTU, Abaqus; heelstrike mesh --layer"));
}

}  // namespace
}  // namespace heelstrike::fem
