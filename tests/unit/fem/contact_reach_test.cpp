// Reach of a rigid partner: closed forms, random poses, and the same response without the excluded nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/bodies/contact_reach.hpp"
#include "fem_server/geometry/write_mesh.hpp"
#include "scenario/surfaces/cylinder.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/points.hpp"
#include "scenario/surfaces/signed_distance.hpp"
#include "scenario/surfaces/sphere.hpp"
#include "scenario/surfaces/surface_kind.hpp"
#include "tests/unit/fem/test_meshes.hpp"

namespace heelstrike::fem {
namespace {

ContactBody rigid(const Surface& surface) {
  return {.name = "partner", .surface = surface, .materials = {}};
}

std::vector<bool> reachable(const std::vector<Vector3>& points, const Surface& partner, double max_penetration) {
  const std::vector<Vector3> no_hints(points.size(), Vector3::Zero());
  return reachable_points(points, no_hints, partner_reach(rigid(partner), max_penetration).value(), {});
}

/// Surface of a cube of 100 mm, in steps of 5 mm, with a square pit of 40 mm in the middle of its top.
std::vector<Vector3> cube_with_pit(double pit_depth) {
  std::vector<Vector3> points;
  for (int i = 0; i <= 20; ++i) {
    for (int j = 0; j <= 20; ++j) {
      const double a = 0.005 * i;
      const double b = 0.005 * j;
      const bool pit = std::max(std::abs(a - 0.05), std::abs(b - 0.05)) < 0.0201;
      points.emplace_back(a, b, pit ? 0.1 - pit_depth : 0.1);
      for (const double side : {0.0, 0.1}) {
        points.emplace_back(side, a, b);
        points.emplace_back(a, side, b);
      }
      points.emplace_back(a, b, 0.0);
    }
  }
  return points;
}

// A plane reaches nodes no deeper than 2 d below the convex hull. The floor of the pit is 20 mm deep and everything
// else is on the hull; the rim is 32 mm from the farthest node of the floor: resolution 0.0221 * 32 mm = 0.7 mm.
TEST(ContactReach, PlaneReachesThePitUpToTwiceTheMaximumPenetration) {
  const auto points = cube_with_pit(0.02);
  for (const double max_penetration : {2e-3, 9.6e-3, 10.01e-3, 0.1}) {
    const auto found = reachable(points, PlaneSurface{}, max_penetration);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Vector3& p = points[i];
      const double below_hull = std::min({p.minCoeff(), (Vector3::Constant(0.1) - p).minCoeff()});
      EXPECT_EQ(found[i], below_hull <= 2.0 * max_penetration)
          << p.transpose() << " m, max_penetration " << max_penetration;
    }
  }
}

/// Block under z = 0 with two ridges along y at x = -20 and 20 mm, and a groove of the given depth between them.
std::vector<Vector3> groove(double depth) {
  std::vector<Vector3> points;
  for (int j = -25; j <= 25; ++j) {
    const double y = 0.004 * j;
    for (const double side : {-1.0, 1.0}) {
      points.emplace_back(side * 0.02, y, 0.0);
      for (int k = 1; k <= 10; ++k) points.emplace_back(side * 0.02, y, -0.01 * k);
    }
    for (int k = -4; k <= 4; ++k) points.emplace_back(0.004 * k, y, -0.1);
    points.emplace_back(0.0, y, -depth);
  }
  return points;
}

// In contact with both ridges with an overlap d, a ball of radius R comes down to the floor of the groove, with a gap
// of at most d, if p <= R + d - sqrt((R - d)^2 - a^2) = 6.27 mm (R = 50, a = 20, d = 1 mm); between the nodes of the
// ridges, 4 mm apart, it descends 0.04 mm more, and the cells of directions resolve 0.0221 * 21 mm = 0.5 mm.
TEST(ContactReach, BallReachesTheBottomOfAFittingGroove) {
  for (const auto& [depth, fits] : {std::pair{5.8e-3, true}, {6.2e-3, true}, {7e-3, false}, {20e-3, false}}) {
    for (const Surface& partner : {Surface(SphereSurface{.radius = 0.05}), Surface(CylinderSurface{.radius = 0.05})}) {
      const auto points = groove(depth);
      const auto found = reachable(points, partner, 1e-3);
      for (std::size_t i = 0; i < points.size(); ++i) {
        const Vector3& p = points[i];
        // Not near the ends of the groove, where the ball enters sideways.
        if (p.x() == 0.0 && p.z() == -depth && std::abs(p.y()) < 0.04) {
          EXPECT_EQ(found[i], fits) << "depth " << depth << " m, node " << p.transpose();
        }
        EXPECT_TRUE(p.z() != 0.0 || found[i]) << "ridge, node " << p.transpose();
      }
    }
  }
}

/// Points on a ball, uniform; every 40th is moved inwards.
std::vector<Vector3> dented_ball(double radius, double dent, int n = 2000) {
  std::vector<Vector3> points;
  for (int i = 0; i < n; ++i) {
    const double z = 1.0 - (2.0 * i + 1.0) / n;
    const double angle = i * std::numbers::pi * (3.0 - std::sqrt(5.0));
    const double r = std::sqrt(1.0 - z * z);
    points.emplace_back((radius - (i % 40 == 7 ? dent : 0.0)) * Vector3(r * std::cos(angle), r * std::sin(angle), z));
  }
  return points;
}

// In a socket of 50 mm a ball of 45 mm, moved so that its surface is d inside the wall, leaves a gap of dent - d at an
// inner point: reached up to dent = 2 d, its neighbours 2 mm beside it being 0.04 mm lower.
TEST(ContactReach, SocketReachesConvexParts) {
  const SphereSurface socket{.radius = -0.05};
  for (const double dent : {0.0, 1.9e-3, 2.3e-3, 6e-3}) {
    const auto found = reachable(dented_ball(0.045, dent), socket, 1e-3);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i], i % 40 != 7 || dent < 2e-3) << "node " << i << ", dent " << dent << " m";
    }
  }
  const auto too_large = reachable(dented_ball(0.06, 0.0), socket, 1e-3);
  EXPECT_THAT(too_large, testing::Each(false)) << "a ball of 60 mm does not fit into a socket of 50 mm";
}

TEST(ContactReach, SharpSmallAndDeformablePartnersReachEverything) {
  EXPECT_TRUE(partner_reach(rigid(PlaneSurface{}), 0.01));
  EXPECT_TRUE(partner_reach(rigid(CylinderSurface{.radius = 0.1}), 0.01)) << "endless";
  CylinderSurface ends{.radius = 0.1};
  ends.length = 10.0;
  EXPECT_FALSE(partner_reach(rigid(ends), 0.01)) << "its rims are sharp";
  EXPECT_FALSE(partner_reach(rigid(MeshSurface{}), 0.01));
  EXPECT_FALSE(partner_reach(rigid(PointCloudSurface{}), 0.01));
  for (const double radius : {0.01, -0.01}) {
    EXPECT_FALSE(partner_reach(rigid(SphereSurface{.radius = radius}), 0.01)) << "fits into an overlap";
  }
  ContactBody soft = rigid(SphereSurface{.radius = 0.1});
  soft.materials = {Material{}};
  EXPECT_FALSE(partner_reach(soft, 0.01));
  std::stop_source stop;
  stop.request_stop();
  const auto points = cube_with_pit(0.02);
  EXPECT_THROW((void)reachable_points(points, points, {.curvature = 0.0, .max_penetration = 1e-3}, stop.get_token()),
               Error);
}

/// Bumps of 20 mm on a ball of 80 mm, random but reproducible.
std::vector<Vector3> bumpy_ball(std::mt19937& random) {
  std::vector<Vector3> bumps;
  std::normal_distribution<double> normal;
  const auto direction = [&] { return Vector3(normal(random), normal(random), normal(random)).normalized(); };
  for (int i = 0; i < 14; ++i) bumps.push_back(direction());
  std::vector<Vector3> points = dented_ball(0.08, 0.0, 1000);
  for (Vector3& p : points) {
    double height = 0.0;
    for (const Vector3& b : bumps) {
      height = std::max(height, 0.02 * std::exp(-20.0 * (p.normalized() - b).squaredNorm()));
    }
    p *= 1.0 + height / 0.08;
  }
  return points;
}

/// Partner's pose with the given rotation of A and a random position on the body: moved along a random direction until
/// the deepest point has the given depth. @return gaps of all points there
std::vector<double> gaps_at_depth(const std::vector<Vector3>& points, const SignedDistance& partner, double depth,
                                  const Pose& start, const Vector3& push) {
  double low = -1.0;
  double high = 1.0;
  std::vector<double> gaps(points.size());
  const auto smallest = [&](double path) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      gaps[i] = partner.closest(start.R * (points[i] + path * push) + start.p).gap;
    }
    return *std::ranges::min_element(gaps);
  };
  for (int k = 0; k < 45; ++k) {
    const double middle = 0.5 * (low + high);
    (smallest(middle) < -depth ? high : low) = middle;
  }
  (void)smallest(low);
  return gaps;
}

// Requirement: no pose with overlaps up to max_penetration brings the partner nearer to an excluded node than the
// largest gap that the solver considers.
TEST(ContactReach, RandomPosesTouchNoExcludedNode) {
  std::mt19937 random(7);
  const auto points = bumpy_ball(random);
  const auto number = [&] { return std::uniform_real_distribution<double>(-1.0, 1.0)(random); };
  constexpr double max_penetration = 2e-3;
  for (const Surface& surface : {Surface(PlaneSurface{}), Surface(SphereSurface{.radius = 0.15}),
                                 Surface(SphereSurface{.radius = 0.5}), Surface(CylinderSurface{.radius = 0.15})}) {
    const auto found = reachable(points, surface, max_penetration);
    const auto partner = signed_distance(surface);
    std::vector<bool> touched(points.size(), false);
    int poses = 0;
    for (int trial = 0; trial < 250; ++trial) {
      Pose start;
      start.R = Quaternion(number(), number(), number(), number()).normalized().toRotationMatrix();
      start.p = 0.04 * Vector3(number(), number(), number());
      // Away from the axis of a cylinder and its centre, into the plane.
      const Vector3 push = start.R.transpose() *
                           (PlaneSurface::of(surface).has_value() ? Vector3(0.0, 0.0, -1.0) : Vector3(-1.0, 0.0, 0.0));
      const auto gaps = gaps_at_depth(points, *partner, max_penetration, start, push);
      if (std::ranges::min_element(gaps)[0] > 0.0) continue;
      ++poses;
      for (std::size_t i = 0; i < points.size(); ++i) {
        if (gaps[i] > max_penetration) continue;
        touched[i] = true;
        EXPECT_TRUE(found[i]) << surface.kind << ", node " << i << ", gap " << gaps[i] << " m";
      }
    }
    const auto n_found = std::ranges::count(found, true);
    const auto n_in_contact = std::ranges::count(touched, true);
    std::printf("%s: %td of %zu nodes reachable, %td touched in %d poses\n", surface.kind.c_str(), n_found,
                points.size(), n_in_contact, poses);
    EXPECT_LT(n_found, std::ssize(points));
    EXPECT_GT(n_in_contact, 0.4 * static_cast<double>(n_found)) << "the poses are not significant";
    EXPECT_GT(poses, 200);
  }
}

/// Block 80 x 80 x 40 mm clamped at its top, with two grooves in its underside: 10 mm wide and deep.
class GroovedBlock : public testing::Test {
 protected:
  GroovedBlock() {
    VolumeMesh mesh = test::block_mesh({-0.04, -0.04, 0.0}, {0.04, 0.04, 0.04}, 16, 4, 8);
    std::vector<std::uint32_t> kept;
    for (std::size_t e = 0; e < mesh.n_elements(); ++e) {
      Vector3 center = Vector3::Zero();
      for (const std::uint32_t n : mesh.element(e)) center += 0.25 * mesh.nodes[n];
      const bool groove = center.z() < 0.01 && std::abs(std::abs(center.x()) - 0.015) < 0.005;
      if (!groove) kept.insert(kept.end(), mesh.element(e).begin(), mesh.element(e).end());
    }
    mesh.connectivity = kept;
    asset_ = {.sha256 = "", .name = "grooves.msh", .content = write_msh(used_nodes(mesh))};
    pair_.name = "block-ground";
    pair_.backend = "fem_condensed";
    pair_.main.surface = MeshSurface{.sha256 = "", .asset_name = "grooves.msh", .format = "", .X_BodyMesh = {}};
    pair_.main.materials = {{.youngs_modulus = 3.62e6, .poissons_ratio = 0.3, .density = 1000.0, .set = ""}};
    pair_.partner.surface = PlaneSurface{};
    pair_.parameters = {{"clamped_box", std::vector<double>{-1.0, -1.0, 0.0399, 1.0, 1.0, 1.0}},
                        {"friction", 0.3},
                        {"max_penetration", 4e-3}};
    context_.asset = [this](const AssetKey&) -> const AssetContent& { return asset_; };
    context_.on_progress = [this](std::string_view stage, double) { stages_.emplace_back(stage); };
  }

  /// Without the nodes of no element.
  static VolumeMesh used_nodes(const VolumeMesh& mesh) {
    std::vector<std::uint32_t> place(mesh.nodes.size(), 0);
    for (const std::uint32_t n : mesh.connectivity) place[n] = 1;
    VolumeMesh result;
    for (std::size_t n = 0; n < mesh.nodes.size(); ++n) {
      if (place[n] == 0) continue;
      place[n] = static_cast<std::uint32_t>(result.nodes.size());
      result.nodes.push_back(mesh.nodes[n]);
    }
    for (const std::uint32_t n : mesh.connectivity) result.connectivity.push_back(place[n]);
    return result;
  }

  [[nodiscard]] std::unique_ptr<ContactBackend> open(const char* contact_nodes) {
    pair_.parameters["contact_nodes"] = std::string(contact_nodes);
    stages_.clear();
    return make_backend(pair_, context_);
  }

  AssetContent asset_;
  PairSpec pair_;
  PrepareContext context_;
  std::vector<std::string> stages_;
};

// The ending gives the format in upper case too, and otherwise the content does.
TEST_F(GroovedBlock, IsReadWithAnyFileName) {
  for (const char* name : {"GROOVES.MSH", "grooves"}) {
    asset_.name = name;
    pair_.main.surface = MeshSurface{.sha256 = "", .asset_name = name, .format = "", .X_BodyMesh = {}};
    EXPECT_NO_THROW((void)open("reachable")) << name;
  }
}

// The compliance is computed in another order of elimination: rounding times the condition number, below 1e-9.
TEST_F(GroovedBlock, ResponseDoesNotChangeWithoutNodesOutOfReach) {
  const auto ball = SphereSurface{.radius = 0.1, .center = Vector3(0.0, 0.0, -0.1)};
  for (const Surface& partner : {Surface(PlaneSurface{}), Surface(ball)}) {
    pair_.partner.surface = partner;
    for (const char* backend : {"fem_condensed", "fem_full"}) {
      if (backend == std::string("fem_full") && !PlaneSurface::of(partner).has_value()) continue;  // slow
      pair_.backend = backend;
      const auto all = open("all");
      EXPECT_FALSE(all->traits().parameters.contains("contact_nodes_left_out"));
      const auto narrow = open("reachable");
      // The roofs of the grooves, 10 mm above the underside, with 3 x 3 nodes each farther than 8 mm from all sides.
      EXPECT_EQ(number(narrow->traits().parameters, "contact_nodes_left_out"), 18.0) << partner.kind;
      EXPECT_THAT(stages_, testing::Contains(testing::HasSubstr("contact nodes omitted")));
      auto history_all = all->initial_history();
      auto history_narrow = narrow->initial_history();
      for (int k = 0; k < 4; ++k) {
        PairState state;
        state.t = 0.01 * k;
        state.X_AB.R = rotation_from_vector(Vector3(0.01 * k, -0.02, 0.1 * k));
        state.X_AB.p = Vector3(0.001 * k, 0.0, k == 3 ? -0.01 : 1e-3 * k);
        const Committed a = all->commit(*history_all, state);
        const Committed b = narrow->commit(*history_narrow, state);
        EXPECT_EQ(a.response.gap, b.response.gap) << "[m]";
        EXPECT_EQ(a.response.statistics.active_points, b.response.statistics.active_points);
        const double error = (a.response.F_A.vector() - b.response.F_A.vector()).norm();
        EXPECT_LE(error, 1e-9 * a.response.F_A.vector().norm())
            << a.response.F_A.vector().transpose() << " or " << b.response.F_A.vector().transpose();
        history_all = a.history;
        history_narrow = b.history;
      }
    }
  }
}

TEST_F(GroovedBlock, KeepsNamedAndUncertainNodes) {
  const auto n_skipped = [&] { return number(open("reachable")->traits().parameters, "contact_nodes_left_out"); };
  pair_.parameters.erase("max_penetration");
  EXPECT_EQ(n_skipped(), 0.0) << "half the smallest extent reaches the middle of every body";
  pair_.parameters["max_penetration"] = 4e-3;
  pair_.parameters["contact_box"] = std::vector<double>{-0.011, -1.0, -1.0, 0.011, 1.0, 0.001};
  EXPECT_EQ(n_skipped(), 0.0) << "only the middle ridge may touch: no node is hidden by another";
  pair_.parameters.erase("contact_box");
  pair_.partner.surface = SphereSurface{.radius = -0.03};
  EXPECT_EQ(n_skipped(), 0.0) << "a socket that is too small";
  EXPECT_THAT(stages_, testing::Contains(testing::HasSubstr("all contact nodes are kept")));
  // A default of the full order: its rule for the reach differs from that of the choice.
  pair_.partner.surface = PlaneSurface{};
  pair_.parameters.erase("contact_nodes");
  EXPECT_EQ(text(make_backend(pair_, context_)->traits().parameters, "contact_nodes"), "reachable");
  pair_.backend = "fem_full";
  EXPECT_EQ(text(make_backend(pair_, context_)->traits().parameters, "contact_nodes"), "all");
  try {
    (void)open("near");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("contact_nodes"), testing::HasSubstr("reachable"),
                                             testing::HasSubstr("all")));
  }
}

}  // namespace
}  // namespace heelstrike::fem
