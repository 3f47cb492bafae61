// The patch test of contact between two deformable bodies: a uniform stress passes an interface of non-matching meshes,
// for any position of their edges.
#include "fem_server/contact_solver/detection/body_interface.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <numeric>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/surfaces/mesh_distance.hpp"
#include "scenario/surfaces/block.hpp"
#include "tests/unit/fem/test_contact.hpp"
#include "tests/unit/fem/two_bodies.hpp"

namespace heelstrike::fem {
namespace {

using test::SolidBody;

using namespace test::columns;

/// Tolerance of the patch test.
constexpr double patch = 1e-8;

VolumeMesh placed(VolumeMesh mesh, const Pose& X) {
  for (Vector3& p : mesh.nodes) p = X * p;
  return mesh;
}

/// Pressure [Pa] at the nodes of the interface, minimum and maximum; `on` selects the nodes on it.
std::pair<double, double> pressures(const CondensedContact& contact, const PairState& state,
                                    const std::function<bool(const Vector3&)>& on) {
  const auto found = contact.surface_state(*contact.initial_history(), state).pressure;
  double least = std::numeric_limits<double>::infinity();
  double largest = -least;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!on(contact.model().points[i])) continue;
    least = std::min(least, found[i]);
    largest = std::max(largest, found[i]);
  }
  return {least, largest};
}

// Requirement: 1e-8 on matching and non-matching meshes, finer on either side, with the whole surfaces as contact
// surfaces and with their ends alone, straight and rotated in space. Nodes on the edges carry their part.
TEST(ContactPatch, UniformPressurePassesAnyInterfaceWithCommonEdges) {
  const Pose X_rotated{.R = rotation_from_vector(Vector3(0.4, -0.7, 1.1)), .p = Vector3(0.3, -0.2, 0.1)};
  const Pose X_other{.R = rotation_from_vector(Vector3(-0.2, 0.5, 0.3)), .p = Vector3(-0.1, 0.05, 0.2)};
  constexpr double depth = 2e-4;
  constexpr double pressure = depth / (length_A / E_A + length_B / E_B);
  std::printf("%4s %4s %8s %6s %14s %12s %12s\n", "A", "B", "surface", "turned", "F error", "p least", "p largest");
  for (const auto& [n_A, n_B] : {std::pair<std::size_t, std::size_t>{4, 4}, {4, 5}, {4, 9}, {7, 3}, {5, 5}}) {
    for (const bool whole : {false, true}) {
      for (const bool rotated : {false, true}) {
        const Pose X_A = rotated ? X_rotated : Pose{};
        const Pose X_B = rotated ? X_other : Pose{};
        const auto ends = [&](const Pose& X) {
          return [&whole, X](const Vector3& p) { return whole || std::abs((X.inverse() * p).z()) < 1e-9; };
        };
        const SolidBody A = test::solid_body(placed(above(n_A), X_A), material(E_A), "z1", ends(X_A));
        const SolidBody B = test::solid_body(placed(below(n_B), X_B), material(E_B), "z0", ends(X_B));
        const auto contact = test::two_bodies(A, B, {.max_penetration = 0.01});
        PairState state;
        state.X_AB = X_A * Pose{.R = Matrix3::Identity(), .p = Vector3(0.0, 0.0, depth)} * X_B.inverse();
        const Response r = contact->evaluate(*contact->initial_history(), state);
        const Vector3 force = X_A.R.transpose() * r.F_A.force;
        const double expected = pressure * side * side;
        const auto [least, largest] =
            pressures(*contact, state, [&](const Vector3& p) { return std::abs((X_A.inverse() * p).z()) < 1e-9; });
        std::printf("%4zu %4zu %8s %6d %14.2e %12.9f %12.9f\n", n_A, n_B, whole ? "whole" : "ends", rotated,
                    (force - Vector3(0.0, 0.0, expected)).norm() / expected, least / pressure, largest / pressure);
        EXPECT_LT((force - Vector3(0.0, 0.0, expected)).norm(), patch * expected);
        EXPECT_NEAR(least, pressure, patch * pressure);
        EXPECT_NEAR(largest, pressure, patch * pressure);
        EXPECT_NEAR(r.peak_pressure, pressure, patch * pressure);
        EXPECT_NEAR(r.area, side * side, patch * side * side);
        // The column's axis, up to the shortening of A.
        const Vector3 cop = X_A.inverse() * r.p_ACop;
        EXPECT_LT(cop.head<2>().norm(), patch * side);
        EXPECT_NEAR(r.dF_A_dX(5, 5), rotated ? r.dF_A_dX(5, 5) : expected / depth, patch * expected / depth);
        EXPECT_NEAR(r.stored_energy, 0.5 * expected * depth, patch * expected * depth);
        EXPECT_NEAR(r.gap, -depth, 1e-9 * depth);
      }
    }
  }
}

// Quadratic elements on the main side: pressures live on the middles of their edges.
TEST(ContactPatch, QuadraticElementsPassIt) {
  constexpr double depth = 2e-4;
  constexpr double expected = side * side * depth / (length_A / E_A + length_B / E_B);
  for (const std::size_t n_B : {3, 5}) {
    const SolidBody A = test::solid_body(to_quadratic(above(3)), material(E_A), "z1");
    const SolidBody B = test::solid_body(below(n_B), material(E_B), "z0");
    const auto contact = test::two_bodies(A, B, {.max_penetration = 0.01});
    PairState state;
    state.X_AB.p.z() = depth;
    const Response r = contact->evaluate(*contact->initial_history(), state);
    EXPECT_LT((r.F_A.force - Vector3(0.0, 0.0, expected)).norm(), patch * expected) << n_B;
    EXPECT_NEAR(r.peak_pressure, expected / (side * side), patch * expected / (side * side));
  }
}

// Quadrilateral sides, none of them a parallelogram, and the triangles of prisms, in any pairing.
TEST(ContactPatch, PrismsAndHexahedraPassIt) {
  constexpr double depth = 2e-4;
  constexpr double pressure = depth / (length_A / E_A + length_B / E_B);
  for (const auto& [corners_A, corners_B] :
       {std::pair<std::uint32_t, std::uint32_t>{8, 8}, {8, 4}, {4, 8}, {8, 6}, {6, 8}, {6, 6}, {4, 6}}) {
    for (const auto& [n_A, n_B] : {std::pair<std::size_t, std::size_t>{4, 4}, {4, 7}, {5, 3}}) {
      const SolidBody A = test::solid_body(above(n_A, corners_A), material(E_A), "z1");
      const SolidBody B = test::solid_body(below(n_B, corners_B), material(E_B), "z0");
      const auto contact = test::two_bodies(A, B, {.max_penetration = 0.01});
      PairState state;
      state.X_AB.p.z() = depth;
      const Response r = contact->evaluate(*contact->initial_history(), state);
      const auto [least, largest] = pressures(*contact, state, [](const Vector3& p) { return std::abs(p.z()) < 1e-9; });
      const double expected = pressure * side * side;
      std::printf("%u corners (%zu) on %u (%zu): F error %.2e, p %.12f to %.12f\n", corners_A, n_A, corners_B, n_B,
                  r.F_A.force.z() / expected - 1.0, least / pressure, largest / pressure);
      EXPECT_LT((r.F_A.force - Vector3(0.0, 0.0, expected)).norm(), patch * expected);
      EXPECT_NEAR(least, pressure, patch * pressure);
      EXPECT_NEAR(largest, pressure, patch * pressure);
      EXPECT_NEAR(r.area, side * side, patch * side * side);
      EXPECT_NEAR(r.stored_energy, 0.5 * expected * depth, patch * expected * depth);
    }
  }
}

// A face that ends within the other one. The wide body is so stiff that its face remains plane to 1e-9.
TEST(ContactPatch, OverhangingFacesOfEitherBodyPassIt) {
  constexpr double depth = 2e-4;
  constexpr double stiff = 1e16;
  for (const double wide : {0.5001, 0.53, 0.62, 0.9}) {
    for (const bool main_is_wide : {false, true}) {
      const SolidBody A = test::solid_body(above(5, 4, main_is_wide ? wide * side : 0.5 * side),
                                           material(main_is_wide ? stiff : E_A), "z1");
      const SolidBody B = test::solid_body(below(6, 4, main_is_wide ? 0.5 * side : wide * side),
                                           material(main_is_wide ? E_B : stiff), "z0");
      const auto contact = test::two_bodies(A, B, {.max_penetration = 0.01});
      const double expected = side * side * depth * (main_is_wide ? E_B / length_B : E_A / length_A);
      PairState state;
      state.X_AB.p.z() = depth;
      const Response r = contact->evaluate(*contact->initial_history(), state);
      std::printf("%s is %.4f wide: F error %.2e, area error %.2e\n", main_is_wide ? "A" : "B", 2.0 * wide,
                  r.F_A.force.z() / expected - 1.0, r.area / (side * side) - 1.0);
      EXPECT_LT((r.F_A.force - Vector3(0.0, 0.0, expected)).norm(), patch * expected);
      EXPECT_LT(r.p_ACop.head<2>().norm(), patch * side);
      EXPECT_NEAR(r.area, side * side, patch * side * side);
    }
  }
}

// Requirement: with friction too. A column under uniform stress is cut by an oblique plane, which then carries uniform
// pressure and uniform shear. It sticks where the slope is below the coefficient of friction.
TEST(ContactPatch, ObliqueInterfaceStickingByFrictionPassesPressureAndShear) {
  constexpr double slope = 0.25;
  constexpr double depth = 2e-4;
  const double expected = side * side * depth / ((length_A + length_B) / E_A);
  const auto leans = [](const Vector3& p) { return std::abs(p.z() - slope * p.x()) < 1e-9; };
  for (const auto& [n_A, n_B] : {std::pair<std::size_t, std::size_t>{4, 4}, {4, 5}, {3, 7}, {6, 4}}) {
    const SolidBody A = test::solid_body(leaning(above(n_A), length_A, slope), material(E_A), "z1", leans);
    const SolidBody B = test::solid_body(leaning(below(n_B), -length_B, slope), material(E_A), "z0", leans);
    const auto contact = test::two_bodies(A, B, {.friction = 0.3, .max_penetration = 0.01});
    PairState state;  // faces in one plane
    auto history = contact->commit(*contact->initial_history(), state).history;
    for (const double part : {0.3, 1.0}) {  // the first part is stored in the stick points
      state.X_AB.p.z() = part * depth;
      const Committed c = contact->commit(*history, state);
      history = c.history;
      const Vector3& f = c.response.F_A.force;
      std::printf("%zu on %zu: error of F %.2e, dissipated %.1e J\n", n_A, n_B,
                  (f - Vector3(0.0, 0.0, part * expected)).norm() / (part * expected), c.response.dissipated_increment);
      EXPECT_LT((f - Vector3(0.0, 0.0, part * expected)).norm(), patch * expected);
      EXPECT_NEAR(c.response.dissipated_increment, 0.0, patch * expected * depth);
      EXPECT_NEAR(c.response.stored_energy, 0.5 * part * part * expected * depth, patch * expected * depth);
      // Pressure on the oblique face is that of the column times the square of the cosine.
      const double oblique = part * expected / (side * side) / (1.0 + slope * slope);
      EXPECT_NEAR(c.response.peak_pressure, oblique, patch * oblique);
    }
    // After save and restore it responds with the same bits, and a repeated commit saves the same bytes.
    const auto restored = contact->load_history(history->save());
    state.X_AB.p += Vector3(3e-5, 1e-5, 2e-5);
    EXPECT_EQ(contact->evaluate(*restored, state).F_A.vector(), contact->evaluate(*history, state).F_A.vector());
    EXPECT_EQ(contact->commit(*restored, state).history->save(), contact->commit(*history, state).history->save());
  }
}

// Partly overlapping faces, at an angle: the weights refer to the same piece of plane on both bodies.
TEST(BodyInterface, BothBodiesHaveEqualPressureAtEqualPlaces) {
  const SolidBody A = test::solid_body(above(5), material(E_A), "z1");
  const SolidBody B = test::solid_body(below(7), material(E_B), "z0");
  const auto partner = test::deformable(B);
  const BodyInterface interface(
      contact_surface(A.body.mesh(), A.contact.faces, A.contact.nodes, A.support.clamped_nodes), A.contact.nodes.size(),
      partner, 0.01);
  const auto gaps_B = mesh_distance(boundary_surface(B.body.mesh()).surface);
  Pose X_AB{.R = rotation_from_vector(Vector3(0.0, 0.0, M_PI / 4.0)), .p = Vector3(0.0, 0.0, 1e-4)};
  std::vector<double> gaps;
  for (const std::uint32_t node : A.contact.nodes) {
    gaps.push_back(gaps_B->closest(X_AB.inverse() * A.body.mesh().nodes[node]).gap);
  }
  const Interface found = interface.at(X_AB, gaps);
  // Two equal squares at 45 degrees overlap in an octagon: 2 (sqrt 2 - 1) of the area.
  double area = 0.0;
  Matrix3 moments_A = Matrix3::Zero();  // of a pressure that grows with the position
  Matrix3 moments_B = Matrix3::Zero();
  for (const InterfacePoint& place : found.places) {
    area += place.area;
    EXPECT_NEAR(place.gap, -1e-4, 1e-15);
    Vector3 x_A = Vector3::Zero();
    Vector3 x_B = Vector3::Zero();
    double sum_A = 0.0;
    double sum_B = 0.0;
    for (const auto& [node, weight] : place.on_A) {
      x_A += weight * A.body.mesh().nodes[A.contact.nodes[node]];
      sum_A += weight;
      EXPECT_GE(weight, 0.0);
    }
    for (const auto& [node, weight] : place.on_B) {
      x_B += weight * (X_AB * B.body.mesh().nodes[B.contact.nodes[node]]);
      sum_B += weight;
      EXPECT_GE(weight, 0.0);
    }
    EXPECT_NEAR(sum_A, 1.0, 1e-12);
    EXPECT_NEAR(sum_B, 1.0, 1e-12);
    EXPECT_LT((x_A - place.point).norm(), 1e-14);
    EXPECT_LT((x_B - x_A - Vector3(0.0, 0.0, 1e-4)).norm(), 1e-14) << "linear fields are passed exactly";
    moments_A += place.area * x_A * x_A.transpose();
    moments_B += place.area * x_B * x_A.transpose();
  }
  EXPECT_NEAR(area, 2.0 * (std::sqrt(2.0) - 1.0) * side * side, 1e-12 * side * side);
  const double difference = (moments_A - moments_B).topLeftCorner<2, 2>().norm();
  EXPECT_LT(difference, 1e-12 * moments_A.norm());
}

// A small block penetrates one element of a large one: none of A's nodes lies over B.
TEST(BodyInterface, DetectsAPartnerSmallerThanAnElement) {
  constexpr double narrow = 0.004;
  const SolidBody A =
      test::solid_body(test::block_mesh({-0.03, -0.03, 0.0}, {0.03, 0.03, 0.03}, 2, 2, 2), material(1e14), "z1");
  const SolidBody B = test::solid_body(test::block_mesh({-narrow, -narrow, -0.01}, {narrow, narrow, 0.0}, 2, 2, 4),
                                       material(E_B), "z0");
  const auto contact = test::two_bodies(A, B, {.max_penetration = 0.005});
  PairState state;
  state.X_AB.p = Vector3(0.012, 0.017, 1e-5);
  const Response r = contact->evaluate(*contact->initial_history(), state);
  const double expected = 4.0 * narrow * narrow * E_B * 1e-5 / 0.01;
  EXPECT_NEAR(r.gap, -1e-5, 1e-12);
  EXPECT_NEAR(r.F_A.force.z(), expected, 1e-6 * expected);
  EXPECT_LT((r.p_ACop.head<2>() - Eigen::Vector2d(0.012, 0.017)).norm(), 1e-6);
  state.X_AB.p.z() = -1e-5;
  const Response apart = contact->evaluate(*contact->initial_history(), state);
  EXPECT_NEAR(apart.gap, 1e-5, 1e-12);
  EXPECT_EQ(apart.F_A.vector(), Vector6(Vector6::Zero()));
}

TEST(BodyInterface, ReportsContactOfExcludedFaces) {
  const auto bottom = [](const Vector3& p) { return std::abs(p.z()) < 1e-9; };
  const SolidBody A = test::solid_body(above(4), material(E_A), "z1", bottom);
  const SolidBody B = test::solid_body(below(4), material(E_B), "z0");
  const auto contact = test::two_bodies(A, B, {.max_penetration = 0.01});
  PairState state;  // A's side goes into B's side
  state.X_AB.p = Vector3(side - 1e-4, 0.0, 0.02);
  try {
    (void)contact->evaluate(*contact->initial_history(), state);
    FAIL() << "accepted";
  } catch (const RecoverableError& error) {
    EXPECT_NE(std::string(error.what()).find("no contact faces face each other"), std::string::npos) << error.what();
  }
}

// Vertical prisms: through their quadrilateral sides, which carry the pressure, along y.
TEST(ContactPatch, BlocksOfPrismsAndHexahedraPassItThroughTheirSides) {
  for (const auto& [main, partner] : {std::pair<const char*, const char*>{"wedge6", "wedge6"},
                                      {"wedge6", "tet4"},
                                      {"tet4", "wedge6"},
                                      {"hex8", "wedge6_mixed"},
                                      {"wedge6_mixed", "hex8"},
                                      {"tet4_mixed", "hex8"},
                                      {"tet10_mixed", "hex8"}}) {
    PairSpec pair;
    pair.name = "block-block";
    pair.backend = "fem_condensed";
    pair.main.surface =
        BlockSurface{.lengths = Vector3(side, length_A, side), .center = Vector3(0.0, 0.5 * length_A, 0.0)};
    pair.partner.surface =
        BlockSurface{.lengths = Vector3(side, length_B, side), .center = Vector3(0.0, -0.5 * length_B, 0.0)};
    pair.main.materials = {material(E_A)};
    pair.partner.materials = {material(E_B)};
    pair.parameters = {{"element", std::string(main)},
                       {"element_size", 0.010},
                       {"clamped_set", std::string("left")},
                       {"contact_direction", std::vector<double>{0.0, -1.0, 0.0}},
                       {"partner_element", std::string(partner)},
                       {"partner_element_size", 0.0137},
                       {"partner_clamped_set", std::string("right")},
                       {"partner_contact_direction", std::vector<double>{0.0, 1.0, 0.0}}};
    PrepareContext context;
    context.on_progress = [](std::string_view, double) {};
    const auto contact = make_backend(pair, context);
    constexpr double depth = 2e-4;
    constexpr double expected = side * side * depth / (length_A / E_A + length_B / E_B);
    PairState state;
    state.X_AB.p.y() = depth;
    const Response r = contact->evaluate(*contact->initial_history(), state);
    std::printf("%s on %s: F error %.2e, p error %.2e\n", main, partner, r.F_A.force.y() / expected - 1.0,
                r.peak_pressure * side * side / expected - 1.0);
    EXPECT_LT((r.F_A.force - Vector3(0.0, expected, 0.0)).norm(), patch * expected);
    EXPECT_NEAR(r.peak_pressure, expected / (side * side), patch * expected / (side * side));
  }
}

// The same through a specification, on meshes of the mesher: contact_set on both sides.
TEST(ContactPatch, BlocksOfAScenarioPassItWithContactSets) {
  for (const double size_B : {0.010, 0.0137, 0.006}) {
    PairSpec pair;
    pair.name = "block-block";
    pair.backend = "fem_condensed";
    pair.main.surface =
        BlockSurface{.lengths = Vector3(side, side, length_A), .center = Vector3(0.0, 0.0, 0.5 * length_A)};
    pair.partner.surface =
        BlockSurface{.lengths = Vector3(side, side, length_B), .center = Vector3(0.0, 0.0, -0.5 * length_B)};
    pair.main.materials = {material(E_A)};
    pair.partner.materials = {material(E_B)};
    pair.parameters = {{"element_size", 0.010},
                       {"clamped_set", std::string("top")},
                       {"contact_set", std::string("bottom")},
                       {"partner_element_size", size_B},
                       {"partner_clamped_set", std::string("bottom")},
                       {"partner_contact_set", std::string("top")}};
    PrepareContext context;
    context.on_progress = [](std::string_view, double) {};
    const auto contact = make_backend(pair, context);
    constexpr double depth = 2e-4;
    constexpr double expected = side * side * depth / (length_A / E_A + length_B / E_B);
    PairState state;
    state.X_AB.p.z() = depth;
    const Response r = contact->evaluate(*contact->initial_history(), state);
    std::printf("element sizes 10 and %.1f mm: F error %.2e, p error %.2e\n", 1e3 * size_B,
                r.F_A.force.z() / expected - 1.0, r.peak_pressure * side * side / expected - 1.0);
    EXPECT_LT((r.F_A.force - Vector3(0.0, 0.0, expected)).norm(), patch * expected);
    EXPECT_NEAR(r.peak_pressure, expected / (side * side), patch * expected / (side * side));
  }
}

}  // namespace
}  // namespace heelstrike::fem
