// A nonlinear layer over a condensed interior: exact where it must be, between its neighbours elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <tuple>

#include "common/errors/error.hpp"
#include "fem_server/backends/fem_full/condensed_interior.hpp"
#include "fem_server/backends/fem_full/full_contact.hpp"
#include "scenario/surfaces/sphere.hpp"
#include "scenario/surfaces/surface_kind.hpp"
#include "tests/unit/fem/test_contact.hpp"

namespace heelstrike::fem {
namespace {

struct BlockCase {
  double friction = 0.0;
  bool inertia_relief = false;
  double clamp_height = 0.03;  ///< [m] nodes above are held
  std::shared_ptr<const SignedDistance> partner = std::make_shared<test::Plane>();
};

/// Block 40 x 40 x 30 mm in three rows of 10 mm, contact at its bottom.
PreparedBody prepared_block(const BlockCase& setup) {
  BodyModel body(test::block_mesh({0.01, -0.02, 0.0}, {0.05, 0.02, 0.03}, 4, 4, 3),
                 std::vector<Material>{test::soft_material(0.3)});
  Support support{.inertia_relief = setup.inertia_relief, .clamped_nodes = {}};
  for (std::uint32_t n = 0; n < body.mesh().nodes.size() && !setup.inertia_relief; ++n) {
    if (body.mesh().nodes[n].z() > setup.clamp_height - 1e-6) support.clamped_nodes.push_back(n);
  }
  ContactNodes contact = contact_nodes(body, test::bottom_faces(body.mesh()));
  PressureRecovery pressure(body.mesh(), contact);
  return {.body = std::move(body),
          .support = std::move(support),
          .contact = std::move(contact),
          .pressure = std::move(pressure),
          .partner = setup.partner,
          .options = {.friction = setup.friction, .max_penetration = 0.02}};
}

/// Elements with their centre in one of the rows, counted from the bottom.
std::vector<std::uint32_t> rows(const PreparedBody& body, const std::vector<int>& chosen) {
  std::vector<std::uint32_t> elements;
  const VolumeMesh& mesh = body.body.mesh();
  for (std::uint32_t e = 0; e < mesh.n_elements(); ++e) {
    double z = 0.0;
    for (const std::uint32_t n : mesh.element(e)) z += 0.25 * mesh.nodes[n].z();
    if (std::ranges::find(chosen, static_cast<int>(z / 0.01)) != chosen.end()) elements.push_back(e);
  }
  return elements;
}

using Contact = std::unique_ptr<FullContact>;

Contact full(const BlockCase& setup, MaterialLaw law) {
  return std::make_unique<FullContact>("fem_full", prepared_block(setup), law, ParameterMap{});
}

std::shared_ptr<const CondensedInterior> interior_of(const BlockCase& setup, const std::vector<int>& layer) {
  PreparedBody whole = prepared_block(setup);
  const auto elements = rows(whole, layer);
  return std::make_shared<const CondensedInterior>(std::move(whole), elements, 1e6, test::quiet());
}

Contact layered(const BlockCase& setup, const std::vector<int>& layer, MaterialLaw law) {
  auto interior = interior_of(setup, layer);
  PreparedBody outer = interior->layer();
  return std::make_unique<FullContact>("fem_layered", std::move(outer), law, ParameterMap{}, SurfaceCompliance{},
                                       std::stop_token(), std::move(interior));
}

PairState tilted(double depth) {
  PairState state;
  state.X_AB.R = rotation_from_vector(Vector3(0.02, -0.03, 0.4));
  state.X_AB.p = Vector3(0.004, -0.003, depth);
  return state;
}

/// Force of a first evaluation [N].
double force(const Contact& contact, double depth) {
  return contact->evaluate(*contact->initial_history(), tilted(depth)).F_A.force.z();
}

class LinearLayer : public testing::TestWithParam<std::tuple<double, bool, std::vector<int>>> {};

// Newton's method ends at 1e-10 of the force (without friction) and of the step (1e-9, with friction).
TEST_P(LinearLayer, EqualsTheLinearBody) {
  const auto& [friction, inertia_relief, layer] = GetParam();
  const BlockCase setup{.friction = friction, .inertia_relief = inertia_relief};
  const auto whole = full(setup, MaterialLaw::linear);
  const auto split = layered(setup, layer, MaterialLaw::linear);
  const auto condensed = test::make_block(
      {.inertia_relief = inertia_relief, .options = {.friction = friction, .max_penetration = 0.02}}, setup.partner);
  for (const double depth : {0.2e-3, 3e-3}) {
    const Committed a = split->commit(*split->initial_history(), tilted(depth));
    const Committed b = whole->commit(*whole->initial_history(), tilted(depth));
    const Response c = condensed->evaluate(*condensed->initial_history(), tilted(depth));
    const Vector6 F = b.response.F_A.vector();
    const double to_full = (a.response.F_A.vector() - F).norm() / F.norm();
    const double to_condensed = (a.response.F_A.vector() - c.F_A.vector()).norm() / F.norm();
    std::printf("depth %.1f mm: layered %.9f N, full %.9f N, differences %.1e (full), %.1e (condensed)\n", 1e3 * depth,
                a.response.F_A.force.z(), b.response.F_A.force.z(), to_full, to_condensed);
    EXPECT_LT(to_full, 1e-8);
    EXPECT_LT(to_condensed, 1e-7);
    EXPECT_NEAR(a.response.stored_energy, b.response.stored_energy, 1e-7 * b.response.stored_energy) << "[J]";
    EXPECT_LT(test::block_error(a.response.dF_A_dX, b.response.dF_A_dX), 1e-6);
    // What the condensation left out comes back.
    const auto& of_split = dynamic_cast<const FullHistory&>(*a.history);
    const auto& of_whole = dynamic_cast<const FullHistory&>(*b.history);
    const auto interior = interior_of(setup, layer);
    std::vector<Vector3> forces;
    for (Eigen::Index i = 0; i < of_split.lambda.size(); ++i) {
      forces.emplace_back(of_split.lambda[i] * (tilted(depth).X_AB.R * Vector3::UnitZ()));
      if (friction > 0.0) forces.back() += of_split.tau.segment<3>(3 * i);
    }
    EXPECT_LT((interior->displacement(of_split.u, forces) - of_whole.u).cwiseAbs().maxCoeff(), 1e-7 * depth) << "[m]";
  }
}

// The clamp on the interior, on the layer, on both; the interior in the middle, or below the clamp.
INSTANTIATE_TEST_SUITE_P(Blocks, LinearLayer,
                         testing::Combine(testing::Values(0.0, 0.3), testing::Bool(),
                                          testing::Values(std::vector<int>{0}, std::vector<int>{0, 1},
                                                          std::vector<int>{0, 2})));

// Nothing of the interior can move: its nodes are clamped. So the layer is the whole body, up to rounding.
TEST(LayeredContact, WholeBodyAsLayerEqualsTheFullOrder) {
  for (const double friction : {0.0, 0.3}) {
    const BlockCase setup{.friction = friction, .clamp_height = 0.02};
    const double a = force(layered(setup, {0, 1}, MaterialLaw::neo_hookean), 3e-3);
    const double b = force(full(setup, MaterialLaw::neo_hookean), 3e-3);
    std::printf("layered %.12g N, full %.12g N\n", a, b);
    EXPECT_NEAR(a, b, 1e-9 * b) << "the solvers' accuracy, 1e-10 of the force and 1e-9 of the step";
  }
}

TEST(LayeredContact, ConvergesToTheFullOrderAsTheLayerGrows) {
  for (const bool inertia_relief : {false, true}) {
    const BlockCase setup{.inertia_relief = inertia_relief};
    const double depth = inertia_relief ? 1e-3 : 6e-3;
    const double linear = force(full(setup, MaterialLaw::linear), depth);
    const double one = force(layered(setup, {0}, MaterialLaw::neo_hookean), depth);
    const double two = force(layered(setup, {0, 1}, MaterialLaw::neo_hookean), depth);
    const double finite = force(full(setup, MaterialLaw::neo_hookean), depth);
    std::printf("linear %.4f N, one row %.4f N, two rows %.4f N, all %.4f N\n", linear, one, two, finite);
    EXPECT_LT(std::abs(two - finite), std::abs(one - finite));
    EXPECT_LT(std::abs(one - finite), std::abs(linear - finite));
  }
}

TEST(LayeredContact, TangentsAreDerivativesOfTheWrench) {
  const Surface ball = SphereSurface{.radius = 0.05, .center = Vector3(0.03, 0.0, -0.05)};
  for (const bool inertia_relief : {false, true}) {
    const BlockCase setup{
        .friction = inertia_relief ? 0.0 : 0.3, .inertia_relief = inertia_relief, .partner = signed_distance(ball)};
    const auto contact = layered(setup, {0}, MaterialLaw::neo_hookean);
    // A free body is pushed away as a whole: less depth is enough.
    const double depth = inertia_relief ? 2e-4 : 2e-3;
    const auto history = contact->commit(*contact->initial_history(), tilted(depth)).history;
    PairState state = tilted(1.05 * depth);
    state.X_AB.p.x() += 0.3e-3;
    const Response r = contact->evaluate(*history, state);
    const auto [dX, dV] = test::central_difference(*contact, *history, state, 1e-6, 1e-4);
    std::printf("%d active, error of dF/dX %.1e\n", r.statistics.active_points, test::block_error(r.dF_A_dX, dX));
    EXPECT_LT(test::block_error(r.dF_A_dX, dX), 1e-4) << "analytic\n" << r.dF_A_dX << "\nnumeric\n" << dX;
  }
}

TEST(OuterLayer, SelectsElementsByDepthFromTheContactNodes) {
  const PreparedBody body = prepared_block({});
  EXPECT_EQ(layer_of_depth(body.body, body.contact, 0.0), rows(body, {0})) << "those with a contact node";
  EXPECT_EQ(layer_of_depth(body.body, body.contact, 0.0185), rows(body, {0, 1}));
  EXPECT_EQ(layer_of_depth(body.body, body.contact, 1.0).size(), body.body.mesh().n_elements());
}

TEST(OuterLayer, RejectsATooLargeInterface) {
  PreparedBody body = prepared_block({});
  const auto layer = rows(body, {0});
  try {
    (void)CondensedInterior(std::move(body), layer, 24.0, test::quiet());
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::limit);
    EXPECT_THAT(error.what(), testing::HasSubstr("the interface of layer and interior has 25 nodes"));
  }
}

}  // namespace
}  // namespace heelstrike::fem
