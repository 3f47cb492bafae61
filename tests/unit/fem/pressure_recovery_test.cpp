// Contact pressure from nodal forces: exact where it is uniform, conserving force, equal in tables and in fields.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/fem/pressure_recovery.hpp"
#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/plane.hpp"
#include "tests/support/vtu_array.hpp"
#include "tests/unit/fem/test_contact.hpp"

namespace heelstrike::fem {
namespace {

BodyModel block_of(std::uint32_t nodes_per_element) {
  VolumeMesh mesh = test::block_mesh_of(nodes_per_element, {0.0, 0.0, 0.0}, {0.04, 0.03, 0.02}, 16, 10, 4);
  return {std::move(mesh), std::vector<Material>{test::soft_material(0.3)}};
}

/// Nodes of the whole surface with the forces of a uniform pressure on the bottom.
struct Pressed {
  ContactNodes surface;
  std::vector<std::uint32_t> touching;
  std::vector<Vector3> normals;
  Eigen::VectorXd forces;
};

Pressed loaded_bottom(const BodyModel& body, double pressure) {
  Pressed result{
      .surface = contact_nodes(body, boundary_faces(body.mesh())), .touching = {}, .normals = {}, .forces = {}};
  const ContactNodes bottom = contact_nodes(body, test::bottom_faces(body.mesh()));
  result.forces.resize(static_cast<Eigen::Index>(bottom.nodes.size()));
  for (std::size_t i = 0; i < bottom.nodes.size(); ++i) {
    const auto place = std::ranges::lower_bound(result.surface.nodes, bottom.nodes[i]);
    result.touching.push_back(static_cast<std::uint32_t>(place - result.surface.nodes.begin()));
    result.normals.push_back(Vector3::UnitZ());
    result.forces[static_cast<Eigen::Index>(i)] = pressure * bottom.areas[i];
  }
  return result;
}

// Rounding: sums of about ten numbers.
TEST(PressureRecovery, UniformPressureIsExactUpToTheEdgesOfABlock) {
  for (const std::uint32_t n_nodes : {4U, 10U, 6U, 8U, 27U}) {
    const BodyModel body = block_of(n_nodes);
    const Pressed load = loaded_bottom(body, 5e4);
    const PressureRecovery recovery(body.mesh(), load.surface);
    const RecoveredPressure found = recovery.recover(load.touching, load.normals, load.forces);
    EXPECT_NEAR(found.area, 0.04 * 0.03, 1e-15) << "the sides carry no load";
    EXPECT_EQ(found.faces.size(), n_nodes == 27 ? 1280U : 320U) << "160 sides in two parts, or in eight";
    for (const double p : found.at_faces.reshaped()) EXPECT_NEAR(p, 5e4, 1e-8);
    for (std::size_t v = 0; v < recovery.vertex_nodes().size(); ++v) {
      const bool below = body.mesh().nodes[recovery.vertex_nodes()[v]].z() == 0.0;
      EXPECT_NEAR(found.at_vertices(static_cast<Eigen::Index>(v), 0), below ? 5e4 : 0.0, 1e-8)
          << body.mesh().nodes[recovery.vertex_nodes()[v]].transpose();
    }
  }
}

// Prisms along z have triangles below, prisms along y quadrilateral sides: both in one plane, with a common edge.
TEST(PressureRecovery, UniformPressureIsExactBetweenTrianglesAndQuadrilaterals) {
  VolumeMesh mesh;
  mesh.nodes_per_element = 6;
  for (const double z : {0.0, 0.01}) {
    for (const double y : {0.0, 0.01}) {
      for (const double x : {0.0, 0.01, 0.02}) mesh.nodes.emplace_back(x, y, z);
    }
  }
  mesh.connectivity = {0, 1, 4, 6, 7, 10, 0, 4, 3, 6, 10, 9, 5, 11, 4, 2, 8, 1, 4, 11, 10, 1, 8, 7};
  const BodyModel body(std::move(mesh), std::vector<Material>{test::soft_material(0.3)});
  const Pressed load = loaded_bottom(body, 5e4);
  ASSERT_EQ(load.touching.size(), 6U);
  EXPECT_NEAR(load.forces.sum(), 5e4 * 2e-4, 1e-12);
  const PressureRecovery recovery(body.mesh(), load.surface);
  const RecoveredPressure found = recovery.recover(load.touching, load.normals, load.forces);
  EXPECT_NEAR(found.area, 2e-4, 1e-17);
  EXPECT_EQ(found.faces.size(), 4U) << "two triangles and the halves of one side";
  for (const double p : found.at_faces.reshaped()) EXPECT_NEAR(p, 5e4, 1e-8);
  for (std::size_t v = 0; v < recovery.vertex_nodes().size(); ++v) {
    const bool below = body.mesh().nodes[recovery.vertex_nodes()[v]].z() == 0.0;
    EXPECT_NEAR(found.at_vertices(static_cast<Eigen::Index>(v), 0), below ? 5e4 : 0.0, 1e-8);
  }
}

// For any forces: no negative pressure, faces sum to the forces, and so do vertices where the contact has no edge of
// the body beside it. Forces of very different magnitudes, so that losses are visible.
TEST(PressureRecovery, ConservesForceWithoutTension) {
  for (const std::uint32_t n_nodes : {4U, 10U, 6U, 8U, 27U}) {
    const BodyModel body = block_of(n_nodes);
    const Pressed all = loaded_bottom(body, 1.0);
    Pressed some{.surface = all.surface, .touching = {}, .normals = {}, .forces = {}};
    std::vector<double> forces;
    for (const std::uint32_t i : all.touching) {
      const Vector3& x = body.mesh().nodes[all.surface.nodes[i]];
      if ((x.head<2>() - Eigen::Vector2d(0.02, 0.015)).norm() > 0.0085) continue;
      some.touching.push_back(i);
      some.normals.push_back(Vector3::UnitZ());
      forces.push_back(std::pow(10.0, static_cast<double>(forces.size() * 7 % 5) - 2.0));
    }
    ASSERT_GT(forces.size(), 10U);
    some.forces = Eigen::Map<Eigen::VectorXd>(forces.data(), static_cast<Eigen::Index>(forces.size()));
    const PressureRecovery recovery(body.mesh(), some.surface);
    const RecoveredPressure found = recovery.recover(some.touching, some.normals, some.forces);
    const double sum = some.forces.sum();
    const auto area = [&](ElementFace face) {
      const Triangle c = face_corners(body.mesh(), face);
      const auto& x = body.mesh().nodes;
      return 0.5 * (x[c[1]] - x[c[0]]).cross(x[c[2]] - x[c[0]]).norm();
    };
    double over_faces = 0.0;
    for (std::size_t k = 0; k < found.faces.size(); ++k) {
      const double p = found.at_faces(static_cast<Eigen::Index>(k), 0);
      EXPECT_GE(p, 0.0);
      over_faces += p * area(recovery.faces()[found.faces[k]]);
    }
    EXPECT_NEAR(over_faces, sum, 1e-13 * sum);
    EXPECT_GE(found.at_vertices.minCoeff(), 0.0);
    std::map<std::uint32_t, double> at;
    for (std::size_t v = 0; v < recovery.vertex_nodes().size(); ++v) {
      at[recovery.vertex_nodes()[v]] = found.at_vertices(static_cast<Eigen::Index>(v), 0);
    }
    double over_vertices = 0.0;
    for (const ElementFace face : recovery.faces()) {
      for (const std::uint32_t corner : face_corners(body.mesh(), face)) over_vertices += at[corner] * area(face) / 3.0;
    }
    // On parts of quadrilateral sides the areas of vertices are not those of their hat functions.
    if (n_nodes == 8 || n_nodes == 27) continue;
    EXPECT_NEAR(over_vertices, sum, 1e-13 * sum);
  }
}

/// A load on the bottom of a block whose end x = 0 is a cut, and its recovered pressure.
struct LoadedCut {
  std::vector<std::uint32_t> rim;  ///< nodes at x = 0
  std::map<std::uint32_t, double> at;
  double over_faces = 0.0;
};

/// @param pressure  [Pa] at a position, on the area of its node
LoadedCut loaded_cut(bool quadratic, const std::function<double(const Vector3&)>& pressure) {
  const BodyModel body = block_of(quadratic ? 10 : 4);
  const auto& x = body.mesh().nodes;
  Pressed load = loaded_bottom(body, 1.0);
  for (std::size_t i = 0; i < load.touching.size(); ++i) {
    load.forces[static_cast<Eigen::Index>(i)] *= pressure(x[load.surface.nodes[load.touching[i]]]);
  }
  LoadedCut result;
  for (std::uint32_t n = 0; n < x.size(); ++n) {
    if (x[n].x() == 0.0) result.rim.push_back(n);
  }
  const PressureRecovery recovery(body.mesh(), load.surface, result.rim);
  const RecoveredPressure found = recovery.recover(load.touching, load.normals, load.forces);
  for (std::size_t v = 0; v < recovery.vertex_nodes().size(); ++v) {
    const std::uint32_t node = recovery.vertex_nodes()[v];
    if (x[node].z() == 0.0) result.at[node] = found.at_vertices(static_cast<Eigen::Index>(v), 0);
  }
  for (std::size_t k = 0; k < found.faces.size(); ++k) {
    const Triangle c = face_corners(body.mesh(), recovery.faces()[found.faces[k]]);
    const double area = 0.5 * (x[c[1]] - x[c[0]]).cross(x[c[2]] - x[c[0]]).norm();
    result.over_faces += area * found.at_faces(static_cast<Eigen::Index>(k), 0);
  }
  return result;
}

// The force on nodes along a cut is no pressure there: however large, it causes no peak, and no force is lost.
// Rounding: sums of several hundred numbers.
TEST(PressureRecovery, RimOfACutHasThePressureOfItsNeighbours) {
  for (const bool quadratic : {false, true}) {
    const LoadedCut even = loaded_cut(quadratic, [](const Vector3&) { return 5e4; });
    for (const auto& [node, p] : even.at) EXPECT_NEAR(p, 5e4, 1e-8);
    const auto spike = [](const Vector3& x) { return x.x() == 0.0 ? 5e5 : 5e4; };
    const LoadedCut spiked = loaded_cut(quadratic, spike);
    for (const auto& [node, p] : spiked.at) EXPECT_NEAR(p, 5e4, 1e-8) << "order " << (quadratic ? 2 : 1);
    // The areas of the nodes at x = 0: half an element of 2.5 mm along x of linear elements; of quadratic ones two
    // thirds of a triangle's area belong to the midside nodes inside, a third of that of every second one to those at x
    // = 0.
    const double strip = 0.03 * 0.0025 * (quadratic ? 1.0 / 6.0 : 0.5);
    EXPECT_NEAR(spiked.over_faces, 5e4 * 0.04 * 0.03 + 4.5e5 * strip, 1e-10);
    const LoadedCut tipped = loaded_cut(quadratic, [](const Vector3& x) { return x.x() == 0.0 ? 5e4 : 0.0; });
    // Where only the rim carries load, it has the mean pressure of the contact: a loaded body has a peak pressure.
    const double mean = 5e4 * strip / (0.04 * 0.03);
    double peak = 0.0;
    for (const auto& [node, p] : tipped.at) {
      if (std::ranges::binary_search(tipped.rim, node)) peak = std::max(peak, p);
      EXPECT_LE(p, quadratic ? 5e4 : mean * (1.0 + 1e-12)) << "no peak of the serrated edge";
    }
    EXPECT_GE(peak, mean * (1.0 - 1e-12));
    EXPECT_NEAR(tipped.over_faces, 5e4 * strip, 1e-10);
  }
}

// Requirement: the maximum of a field is the peak pressure of the table, for either order, wherever the contact is.
TEST(PressureRecovery, FieldAndTableHaveTheSamePeakPressure) {
  for (const std::string element : {"tet4", "tet10", "tet10_mixed"}) {
    PairSpec pair;
    pair.name = "block-plate";
    pair.backend = "fem_condensed";
    pair.main.surface = BlockSurface{.lengths = {0.04, 0.04, 0.02}, .center = {0.0, 0.0, 0.0}};
    pair.main.materials = {test::soft_material(0.3)};
    pair.partner.surface = PlaneSurface{};
    pair.parameters = {{"element_size", 0.005}, {"element", element}, {"clamped_set", std::string("top")}};
    PrepareContext context;
    context.on_progress = [](std::string_view, double) {};
    const auto contact = make_backend(pair, context);
    for (const double tilt : {0.0, 0.02, 0.05}) {
      PairState state;
      state.X_AB = {.R = rotation_from_vector(Vector3(tilt, 0.3 * tilt, 0.0)), .p = Vector3(0.0, 0.0, -0.0096)};
      const Response r = contact->evaluate(*contact->initial_history(), state);
      for (const FieldMesh mesh : {FieldMesh::surface, FieldMesh::volume}) {
        FieldRequest request;
        request.mesh = mesh;
        const auto drawn = heelstrike::test::array_of(contact->fields(*contact->initial_history(), state, request),
                                                      "contact_pressure");
        EXPECT_NEAR(*std::ranges::max_element(drawn), r.peak_pressure, 1e-12 * r.peak_pressure)
            << element << ", tilt " << tilt;
      }
      if (tilt == 0.0) {
        EXPECT_NEAR(r.area, 0.0016, 1e-15) << "the sides carry no load";
      }
    }
  }
}

// A block cut irregularly through its elements and tipped onto the cut: the edge causes no peak, and a note reports the
// number of nodes without a pressure of their own.
TEST(PressureRecovery, BodyTippingOntoItsCutHasNoPeakThere) {
  PairSpec pair;
  pair.name = "block-plate";
  pair.backend = "fem_condensed";
  pair.main.surface = BlockSurface{.lengths = {0.08, 0.04, 0.02}, .center = {0.0, 0.0, 0.0}};
  pair.main.materials = {test::soft_material(0.3)};
  pair.partner.surface = PlaneSurface{};
  pair.parameters = {{"element_size", 0.005},
                     {"clamped_set", std::string("top")},
                     {"body_box", std::vector<double>{-1.0, -1.0, -1.0, 0.0013, 1.0, 1.0}}};
  std::string notes;
  PrepareContext context;
  context.on_progress = [&](std::string_view note, double) { notes += std::string(note) + "\n"; };
  const auto contact = make_backend(pair, context);
  EXPECT_NE(notes.find("lie on the rim of the cut"), std::string::npos) << notes;
  // The plate is rotated about y so that it rises to the end with the cut: 1 mm of depth there, none 20 mm behind.
  PairState state;
  state.X_AB = {.R = rotation_from_vector(Vector3(0.0, -0.05, 0.0)), .p = Vector3(-0.02, 0.0, -0.01)};
  const Response r = contact->evaluate(*contact->initial_history(), state);
  ASSERT_GT(r.p_ACop.x(), -0.012) << "the end with the cut carries load";
  FieldRequest request;
  const std::string vtu = contact->fields(*contact->initial_history(), state, request);
  const auto drawn = heelstrike::test::array_of(vtu, "contact_pressure");
  EXPECT_NEAR(*std::ranges::max_element(drawn), r.peak_pressure, 1e-12 * r.peak_pressure);
  // One-dimensional compression of a layer, the stiffest a node can be, by the deepest overlap.
  const Material m = test::soft_material(0.3);
  const double oedometric =
      m.youngs_modulus * (1.0 - m.poissons_ratio) / ((1.0 + m.poissons_ratio) * (1.0 - 2.0 * m.poissons_ratio));
  EXPECT_LT(r.peak_pressure, oedometric * -r.gap / 0.02);
  EXPECT_GT(r.peak_pressure, 0.0);
}

}  // namespace
}  // namespace heelstrike::fem
