// A point cloud pressed into a condensed block.
#include "fem_server/contact_solver/pairing/cloud.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "common/contact/gap_bound.hpp"
#include "common/errors/error.hpp"
#include "fem_server/contact_solver/deformable_partner.hpp"
#include "fem_server/fem/approximate_partner.hpp"
#include "fem_server/surfaces/mesh_distance.hpp"
#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/points.hpp"
#include "tests/unit/fem/test_contact.hpp"

namespace heelstrike::fem {
namespace {

/// Points every 2 mm over a square in the plane z = 0 of B, `n` in a row.
PointCloudSurface cloud(int n = 20) {
  PointCloudSurface cloud;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      cloud.points.emplace_back(0.002 * i - 0.001 * (n - 1), 0.002 * j - 0.001 * (n - 1), 0.0);
      cloud.areas.push_back(4e-6);
    }
  }
  return cloud;
}

/// A block of 40 x 40 x 20 mm, clamped at its top, with zero Poisson's ratio.
PairSpec block_on_cloud() {
  PairSpec pair;
  pair.name = "block-cloud";
  pair.backend = "fem_condensed";
  pair.main.surface = BlockSurface{.lengths = Vector3(0.04, 0.04, 0.02), .center = Vector3::Zero()};
  pair.main.materials = {{.youngs_modulus = 2e6, .poissons_ratio = 0.0, .density = 1000.0, .set = ""}};
  pair.partner.surface = cloud();
  pair.parameters = {{"element_size", 0.005}, {"clamped_set", std::string("top")}};
  return pair;
}

/// The cloud `depth` [m] above the sole.
PairState pressed(double depth) {
  PairState state;
  state.X_AB.p = Vector3(0.0, 0.0, -0.01 + depth);
  return state;
}

/// The approximate distance of a block like that of the contact below, and its error at the flat sole, relative to the
/// depth.
struct BlockDistance {
  BodyModel body{test::block_mesh({-0.02, -0.02, -0.01}, {0.02, 0.02, 0.01}, 8, 8, 4),
                 std::vector<Material>{test::soft_material(0.3)}};
  std::unique_ptr<SignedDistance> partner = make_approximate_partner(body, mean_edge_length(body));
};

double worst_error(const SignedDistance& partner) {
  double worst = 0.0;
  for (const double depth : {1e-4, 5e-4, 2e-3}) {
    for (const double x : {-0.0101, -0.0033, 0.0007, 0.0088}) {
      const SurfacePoint point = partner.closest(Vector3(x, 0.3 * x, -0.01 + depth));
      worst = std::max(worst, std::abs(point.gap + depth) / depth);
      EXPECT_LT((point.normal + Vector3::UnitZ()).norm(), 0.2) << x << " " << depth;
    }
  }
  return worst;
}

TEST(ApproximatePartner, EqualsTheDistanceToTheFaceWithinItsDocumentedError) {
  const BlockDistance block;
  const auto& partner = block.partner;
  const double worst = worst_error(*partner);
  std::printf("approximate distance at a flat face: %.1f %% off at most\n", 100.0 * worst);
  // The ball of approximate_distance_test has an error of 15 % at c = one mean edge, partly due to curvature.
  EXPECT_LT(worst, 0.15);
  EXPECT_NEAR(partner->closest(Vector3(0.001, 0.002, -0.013)).gap, 0.003, 1e-12) << "outside it is exact";
  EXPECT_GT(partner->gap(Vector3(0.0, 0.0, -0.05), 0.0), 0.0);
}

TEST(CloudContact, OnABlockFollowsItsClosedForm) {
  const auto contact = make_backend(block_on_cloud(), test::quiet());
  const auto history = contact->initial_history();
  EXPECT_EQ(contact->evaluate(*history, pressed(-1e-4)).F_A.vector(), Vector6(Vector6::Zero()));
  EXPECT_NEAR(contact->evaluate(*history, pressed(-1e-4)).gap, 1e-4, 1e-12);
  const Response r = contact->evaluate(*history, pressed(2e-4));
  const double expected = 2e6 * 0.04 * 0.04 * 2e-4 / 0.02;  // E A d / h
  std::printf("force %.3f N, bar %.3f N, %d points\n", r.F_A.force.z(), expected, r.statistics.active_points);
  // The rim of 1 mm beyond the outermost points may bulge; it is a fifth of an element wide.
  EXPECT_NEAR(r.F_A.force.z(), expected, 0.02 * expected) << "[N]";
  EXPECT_LT(r.F_A.force.head<2>().norm(), 1e-6 * r.F_A.force.z()) << "normals are those of the face";
  EXPECT_LT((r.p_ACop - Vector3(0.0, 0.0, -0.0098)).norm(), 1e-3) << r.p_ACop.transpose();
  EXPECT_EQ(r.F_A.vector(), contact->evaluate(*history, pressed(2e-4)).F_A.vector()) << "not pure";
  EXPECT_THROW((void)contact->evaluate(*history, pressed(8e-3)), RecoverableError);
}

TEST(CloudContact, ApproximateDistanceGivesTheForceOfTheExactOne) {
  PairSpec pair = block_on_cloud();
  pair.partner.surface = cloud(9);  // away from the edges, where elements have all their nodes on the surface
  const auto exact = make_backend(pair, test::quiet());
  pair.parameters["cloud_distance"] = std::string("approximate");
  const auto approximate = make_backend(pair, test::quiet());
  // The contact is a spring at each point: its force has the relative error of the distance.
  const double off = worst_error(*BlockDistance().partner);
  for (const double depth : {1e-4, 4e-4}) {
    const double reference = exact->evaluate(*exact->initial_history(), pressed(depth)).F_A.force.z();
    const double found = approximate->evaluate(*approximate->initial_history(), pressed(depth)).F_A.force.z();
    std::printf("depth %.1f mm: exact %.4f N, approximate %.4f N\n", 1e3 * depth, reference, found);
    ASSERT_GT(reference, 1.0);
    EXPECT_NEAR(found, reference, off * reference);
  }
}

TEST(CloudContact, TangentsAreDerivativesOfTheWrench) {
  PairSpec pair = block_on_cloud();
  pair.partner.surface = cloud(9);
  pair.parameters["restitution"] = 0.8;
  const auto contact = make_backend(pair, test::quiet());
  PairState state = pressed(3e-4);
  state.X_AB.R = rotation_from_vector(Vector3(0.004, -0.003, 0.3));
  state.X_AB.p.head<2>() = Eigen::Vector2d(0.0013, -0.0017);
  state.V_AB = {.w = Vector3(0.1, -0.2, 0.3), .v = Vector3(0.01, 0.02, 0.05)};
  const auto history = contact->initial_history();
  const Response r = contact->evaluate(*history, state);
  ASSERT_GT(r.F_A.force.z(), 1.0);
  const auto [dX, dV] = test::central_difference(*contact, *history, state, 1e-7, 1e-5);
  const double error_X = test::block_error(r.dF_A_dX, dX);
  const double error_V = test::block_error(r.dF_A_dV, dV);
  std::printf("tangents: pose %.2e, twist %.2e\n", error_X, error_V);
  EXPECT_LT(error_V, 1e-6) << "rounding of the differences";
  // As for two deformable bodies: the motion of the weights is neglected, which is of the order of the strain, 0.015.
  EXPECT_LT(error_X, 0.015) << "analytic\n" << r.dF_A_dX << "\nnumeric\n" << dX;
}

TEST(CloudContact, HistoryIsRestoredWithFriction) {
  PairSpec pair = block_on_cloud();
  pair.parameters["friction"] = 0.5;
  const auto contact = make_backend(pair, test::quiet());
  auto history = contact->commit(*contact->initial_history(), pressed(2e-4)).history;
  PairState tangentially_displaced = pressed(2e-4);
  tangentially_displaced.X_AB.p.x() += 2e-5;
  const Response r = contact->evaluate(*history, tangentially_displaced);
  EXPECT_GT(r.F_A.force.x(), 0.02 * r.F_A.force.z()) << "the body is dragged along";
  EXPECT_LT(r.F_A.force.x(), 0.5 * r.F_A.force.z() * (1.0 + 1e-6));
  const auto again = contact->load_history(history->save());
  EXPECT_EQ(contact->evaluate(*again, tangentially_displaced).F_A.vector(), r.F_A.vector());
}

/// The cloud on the block as in CondensedContact; the point compliance is a fraction of the body's compliance.
std::unique_ptr<CondensedContact> cloud_on_block(int n, double share) {
  const BodyModel body(test::block_mesh({-0.02, -0.02, -0.01}, {0.02, 0.02, 0.01}, 8, 8, 4),
                       std::vector<Material>{test::soft_material(0.3)});
  const Support support{.inertia_relief = false, .clamped_nodes = body.mesh().node_sets.at("z1")};
  std::vector<std::uint32_t> candidates;
  for (const std::uint32_t node : body.mesh().node_sets.at("z0")) candidates.push_back(node);
  SurfaceCompliance compliance = condense(body, support, candidates, [](std::string_view, double) {}, {});
  CondensedModel model;
  const PointCloudSurface points = cloud(n);
  model.points = points.points;
  model.areas = points.areas;
  model.point_compliance = find_cloud_compliance(compliance, share);
  model.partner = mesh_distance(boundary_surface(body.mesh()).surface);
  model.deformable = std::make_shared<const DeformablePartner>(
      contact_surface(body.mesh(), boundary_faces(body.mesh()), candidates, support.clamped_nodes),
      std::move(compliance));
  model.options.max_penetration = 0.005;
  return std::make_unique<CondensedContact>("fem_condensed", std::move(model), ParameterMap{});
}

// Requirement: the point compliance lowers the force by no more than its fraction of the body's energy, and by c sum
// |f|^2 / d to first order; docs/theory/contact_fem.md, section 8.
TEST(CloudContact, PointComplianceEqualsItsDerivation) {
  const double depth = 2e-4;
  // 9 points in a row are 2 mm apart on elements of 5 mm (several on one triangle); 3 in a row are hardly coupled.
  for (const int n : {3, 9}) {
    // Half a millimetre off the symmetric position, so that no points lie on edges.
    PairState state = pressed(depth);
    state.X_AB.p -= Vector3(5e-4, 7e-4, 0.0);
    const auto force_at = [&](double share) {
      const auto contact = cloud_on_block(n, share);
      return std::abs(contact->evaluate(*contact->initial_history(), state).F_A.force.z());
    };
    const double rigid = force_at(1e-7);
    for (const double share : {1e-3, 1e-2, 0.1}) {
      const auto contact = cloud_on_block(n, share);
      const double found = std::abs(contact->evaluate(*contact->initial_history(), state).F_A.force.z());
      const auto pressure = contact->surface_state(*contact->initial_history(), state).pressure;
      double squares = 0.0;
      for (std::size_t i = 0; i < pressure.size(); ++i) squares += std::pow(pressure[i] * 4e-6, 2);
      const double predicted = contact->model().point_compliance * squares / depth;
      std::printf("%2d^2 points, share %.3f: rigid %.6f N, found %.6f N, lower by %.2e, predicted %.2e\n", n, share,
                  rigid, found, 1.0 - found / rigid, predicted / found);
      EXPECT_LE(found, rigid * (1.0 + 1e-6));
      EXPECT_GE(found, rigid / (1.0 + share) * (1.0 - 1e-6));
      // Second order: the relative difference of the two is of the order of the difference itself, times a few.
      EXPECT_NEAR(rigid - found, predicted, (0.02 + 2.0 * share) * predicted) << "[N]";
    }
  }
}

TEST(CloudContact, BoundsTheGapByTheMotionOfTheCloud) {
  PairSpec pair = block_on_cloud();
  pair.main.surface = BlockSurface{.lengths = Vector3(0.2, 0.04, 0.02), .center = Vector3::Zero()};
  pair.partner.surface = cloud(3);
  pair.parameters["element_size"] = 0.01;
  const auto contact = make_backend(pair, test::quiet());
  const auto history = contact->initial_history();
  const PairState below = pressed(-0.19);
  // Around the long block the small cloud comes closer by 0.09 m, although the block does not move in its frame.
  PairState beside = below;
  beside.X_AB.R = rotation_from_vector(Vector3(0.0, std::acos(0.0), 0.0));
  beside.X_AB.p = beside.X_AB.R * below.X_AB.p;
  const Response r = contact->evaluate(*history, below);
  ASSERT_TRUE(r.bound.known);
  const GapInterval range = gap_interval(r.bound, r.gap, below.X_AB, beside);
  const double gap = contact->evaluate(*history, beside).gap;
  EXPECT_LE(range.lower, gap) << "[m]";
  EXPECT_GE(range.upper, gap) << "[m]";
}

TEST(CloudContact, WritesTheBodyWithItsFieldsAndTheCloudAsPoints) {
  const auto contact = make_backend(block_on_cloud(), test::quiet());
  const auto history = contact->initial_history();
  FieldRequest request;
  const std::string body = contact->fields(*history, pressed(2e-4), request);
  for (const char* name : {"displacement", "contact_pressure", "traction", "von_mises", "principal_stress"}) {
    EXPECT_THAT(body, testing::HasSubstr("Name=\"" + std::string(name) + "\""));
  }
  // Block of 8 x 8 x 4 cells: 2 (64 + 32 + 32) faces of two triangles.
  EXPECT_THAT(body, testing::HasSubstr("NumberOfPoints=\"258\" NumberOfCells=\"512\""));
  // Without contact the field is that of the block at rest.
  EXPECT_NE(body, contact->fields(*history, pressed(-1e-4), request));
  request.part = FieldPart::partner;
  EXPECT_THAT(contact->fields(*history, pressed(2e-4), request),
              testing::HasSubstr("NumberOfPoints=\"400\" NumberOfCells=\"400\""));
  request.part = FieldPart::main;
  request.quantities = {"nonsense"};
  EXPECT_THROW((void)contact->fields(*history, pressed(2e-4), request), Error);
}

TEST(CloudContact, ReportsMismatch) {
  PairSpec pair = block_on_cloud();
  pair.partner.materials = pair.main.materials;
  EXPECT_THAT(test::rejection_error(pair), testing::HasSubstr("(points: point cloud) is rigid"));
  pair = block_on_cloud();
  pair.parameters["contact_box"] = std::vector<double>{-0.01, -0.01, -1.0, 0.01, 0.01, 1.0};
  const auto narrow = make_backend(pair, test::quiet());
  try {
    (void)narrow->evaluate(*narrow->initial_history(), pressed(2e-4));
    ADD_FAILURE() << "points touch outside of the contact box";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("points of the cloud touch the body outside its contact nodes"));
  }
  pair = block_on_cloud();
  // The whole surface of the block has 258 nodes: only the cloud of 400 points is too large.
  pair.parameters["max_candidates"] = 300.0;
  EXPECT_THAT(test::rejection_error(pair),
              testing::HasSubstr("partner.surface.points: 400 points, max_candidates is 300"));
  pair = block_on_cloud();
  pair.parameters["element"] = std::string("tet10");
  for (const char* distance : {"exact", "approximate"}) {
    pair.parameters["cloud_distance"] = std::string(distance);
    EXPECT_THAT(test::rejection_error(pair), testing::HasSubstr("linear tetrahedra (4 nodes), found 10"));
  }
  pair = block_on_cloud();
  pair.partner.surface = PlaneSurface{};
  pair.parameters["distance_length"] = 0.01;
  EXPECT_THAT(test::rejection_error(pair), testing::HasSubstr("only with a point cloud"));
  pair = block_on_cloud();
  pair.parameters["distance_length"] = 0.01;
  EXPECT_THAT(test::rejection_error(pair), testing::HasSubstr("only with cloud_distance: approximate"));
}

}  // namespace
}  // namespace heelstrike::fem
