// Requirements on every kind of surface: a new one is tested through the registry.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <random>

#include "common/errors/error.hpp"
#include "mbs_server/analysis/catalog.hpp"
#include "scenario/scenario.hpp"
#include "scenario/surfaces/cylinder.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike {
namespace {

using config::KeyKind;
using config::KeyRole;
using config::KeySchema;

/// A value that the key accepts, as YAML; empty for optional keys.
std::string example_of(const KeySchema& key) {
  if (key.role == KeyRole::file) return "shape.stl";
  if (!key.required) return {};
  if (key.kind == KeyKind::number) return "0.1";
  if (key.kind == KeyKind::list && key.keys.front().sizes == std::vector<std::size_t>{2}) {
    return "[[0.1, 0.02], [0, 0.12], [-0.1, 0], [0.03, -0.1]]";  // an outline needs more than one point
  }
  if (key.kind == KeyKind::list) return fmt::format("[{}]", example_of(key.keys.front()));
  return fmt::format(
      "[{}]",
      fmt::join(key.sizes == std::vector<std::size_t>{3} ? std::vector{0.1, 0.2, 0.3} : std::vector{0.1}, ", "));
}

/// The simplest surface of a kind as a scenario file gives it.
Surface example_of(const SurfaceKind& kind) {
  std::string values;
  for (const KeySchema& key : kind.keys.keys) {
    const std::string value = example_of(key);
    if (!value.empty()) values += fmt::format("{}{}: {}", values.empty() ? "" : ", ", key.name, value);
  }
  const std::string yaml = fmt::format(
      "heelstrike: 1\ngravity: [0, 0, -9.81]\nbodies:\n  a: {{mass: 1, inertia: [1, 1, 1]}}\ncontact:\n  a-ground:\n"
      "    backend: any\n    main: {{body: a, surface: {{{}: {{{}}}}}}}\n"
      "    partner: {{body: ground, surface: {{plane: {{}}}}}}\nanalysis: {{end_time: 1}}\noutput: {{interval: 1}}\n",
      kind.name(), values);
  return parse_scenario(yaml, "kinds.yaml", mbs::scenario_catalog()).pairs.at(0).spec.main.surface;
}

class EverySurfaceKind : public testing::TestWithParam<std::string> {
 protected:
  const SurfaceKind& kind_ = kind_of(Surface{.kind = GetParam()});
  const Surface surface_ = example_of(kind_);
};

TEST_P(EverySurfaceKind, ValuesOfAFileRoundTripBetweenProcesses) {
  EXPECT_EQ(checked_surface(surface_, false, "surface"), surface_);
  for (const KeySchema& key : kind_.keys.keys) {
    if (!key.required && !key.fallback) continue;
    Surface without = surface_;
    without.values.erase(key.name);
    try {
      (void)checked_surface(without, false, "surface");
      FAIL() << key.name << " is missing";
    } catch (const Error& error) {
      EXPECT_EQ(error.field(), fmt::format("surface.{}.{}", kind_.name(), key.name));
    }
  }
}

TEST_P(EverySurfaceKind, PositionIsAKeyOfThreeNumbers) {
  if (kind_.place.empty()) return;
  const auto key = std::ranges::find(kind_.keys.keys, kind_.place, &KeySchema::name);
  ASSERT_NE(key, kind_.keys.keys.end());
  EXPECT_EQ(key->sizes, std::vector<std::size_t>{3});
  EXPECT_EQ(location_of(surface_), Vector3::Zero());
}

// The gap is a smooth function with the normal as gradient and `curvature` as Hessian: central differences with a step
// h of gaps of size L have errors of h^2 / L^2 by the curve and 1e-16 L / h by rounding; the tolerances are those of h
// = 1e-5 and L = 0.1 for the gradient with a factor of 100, and likewise for differences of the normal.
TEST_P(EverySurfaceKind, NormalAndCurvatureAreDerivativesOfTheGap) {
  if (kind_.distance == nullptr) return;
  const auto distance = kind_.distance(surface_);
  std::mt19937 random(3);
  std::uniform_real_distribution<double> coordinate(0.15, 0.4);
  const double h = 1e-5;
  for (int trial = 0; trial < 20; ++trial) {
    const Vector3 p(coordinate(random), coordinate(random), coordinate(random));
    const SurfacePoint at = distance->closest(p);
    EXPECT_EQ(distance->gap(p, 1.0), at.gap);
    EXPECT_NEAR(at.normal.norm(), 1.0, 1e-14);
    for (int k = 0; k < 3; ++k) {
      const Vector3 step = h * Vector3::Unit(k);
      const SurfacePoint after = distance->closest(p + step);
      const SurfacePoint before = distance->closest(p - step);
      EXPECT_NEAR((after.gap - before.gap) / (2.0 * h), at.normal[k], 1e-6);
      const Vector3 rotation = (after.normal - before.normal) / (2.0 * h);
      EXPECT_LT((rotation - at.curvature.col(k)).norm(), 1e-6 / 0.1);
    }
  }
}

TEST_P(EverySurfaceKind, DrawnPointsLieOnTheSurface) {
  ASSERT_EQ(kind_.drawing == nullptr, kind_.distance == nullptr) << "every contact surface can be drawn";
  if (kind_.drawing == nullptr) return;
  const Triangles drawn = kind_.drawing(surface_, {.center = {0.1, 0.2, 0.3}, .extent = 0.5});
  ASSERT_FALSE(drawn.triangles.empty());
  const auto distance = kind_.distance(surface_);
  for (const Vector3& vertex : drawn.vertices) EXPECT_NEAR(distance->closest(vertex).gap, 0.0, 1e-12);
  for (const auto& triangle : drawn.triangles) EXPECT_LT(std::ranges::max(triangle), drawn.vertices.size());
}

TEST_P(EverySurfaceKind, BoundaryIsClosedWithOutwardNormals) {
  if (kind_.boundary == nullptr) return;
  const Triangles boundary = kind_.boundary(surface_, 0.02);
  std::map<std::array<std::uint32_t, 2>, int> edges;
  double volume = 0.0;
  for (const auto& t : boundary.triangles) {
    for (std::size_t k = 0; k < 3; ++k) ++edges[{t[k], t[(k + 1) % 3]}];
    volume += boundary.vertices[t[0]].dot(boundary.vertices[t[1]].cross(boundary.vertices[t[2]])) / 6.0;
  }
  EXPECT_GT(volume, 0.0);
  for (const auto& [edge, count] : edges) {
    EXPECT_EQ(count, 1);
    EXPECT_TRUE(edges.contains({edge[1], edge[0]})) << "a hole at " << boundary.vertices[edge[0]].transpose();
  }
}

TEST_P(EverySurfaceKind, PageDrawsItsSolid) {
  if (kind_.outline == nullptr) return;
  const ParameterMap outline = kind_.outline(surface_);
  const std::map<std::string, std::vector<std::string>> needed = {{"sphere", {"radius", "center"}},
                                                                  {"plane", {"normal", "point"}},
                                                                  {"cylinder", {"radius", "axis", "center"}},
                                                                  {"block", {"lengths", "center", "rough"}}};
  const auto solid = needed.find(text(outline, "kind"));
  ASSERT_NE(solid, needed.end());
  for (const std::string& name : solid->second) EXPECT_TRUE(outline.contains(name)) << name;
}

std::vector<std::string> kind_names() {
  std::vector<std::string> names;
  for (const SurfaceKind& kind : surface_kinds()) names.push_back(kind.name());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Registry, EverySurfaceKind, testing::ValuesIn(kind_names()),
                         [](const auto& info) { return info.param; });

TEST(SurfaceKinds, UnknownNamesAreRejectedWithTheNearest) {
  try {
    (void)kind_of(Surface{.kind = "sphera"}, "contact.a.main.surface");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.field(), "contact.a.main.surface");
    EXPECT_NE(std::string(error.what()).find("did you mean 'sphere'?"), std::string::npos) << error.what();
  }
}

// Inside a cylinder the nearer of side and end counts: measured to the side only, a body pressed on an end had the
// depth of the radius.
TEST(SurfaceKinds, CylinderHasEnds) {
  const CylinderSurface cylinder{.radius = 0.05, .length = 0.2};
  const auto distance = signed_distance(cylinder);
  const SurfacePoint below_end = distance->closest({0.01, 0.0, 0.099});
  EXPECT_NEAR(below_end.gap, -0.001, 1e-15);
  EXPECT_EQ(below_end.normal, Vector3::UnitZ());
  const SurfacePoint below_side = distance->closest({0.0, -0.0495, 0.09});
  EXPECT_NEAR(below_side.gap, -0.0005, 1e-15);
  EXPECT_EQ(below_side.normal, -Vector3::UnitY());
  // Volume by the divergence theorem: closed, with ends, normals out of it.
  const Triangles drawn = kind_of(Surface(cylinder)).drawing(cylinder, {.center = {}, .extent = 1.0});
  double volume = 0.0;
  for (const auto& [a, b, c] : drawn.triangles) {
    volume += drawn.vertices[a].dot(drawn.vertices[b].cross(drawn.vertices[c])) / 6.0;
  }
  EXPECT_NEAR(volume / (std::numbers::pi * 0.05 * 0.05 * 0.2), 1.0, 0.005);
}

}  // namespace
}  // namespace heelstrike
