// Closed forms of the elastic foundation: a paraboloid and a ball on a flat layer, convergence, friction, dissipation.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "fem_server/backends/elastic_foundation/bed_law.hpp"
#include "fem_server/backends/elastic_foundation/entry.hpp"
#include "fem_server/surfaces/target_surface.hpp"
#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/cylinder.hpp"
#include "scenario/surfaces/surface_kind.hpp"
#include "tests/unit/elastic_foundation/foundation_examples.hpp"

namespace heelstrike::fem {
namespace {

using namespace testing_support;

std::unique_ptr<ContactBackend> opened(PairSpec pair, const Assets& assets) {
  const BackendEntry entry = elastic_foundation_entry();
  pair.parameters = checked_parameters(pair.parameters, entry.parameters, "contact.knee.parameters");
  entry.check(pair);
  return entry.make(pair, assets.context());
}

constexpr double layer = 0.008;  // [m] layer
constexpr double R = 0.025;      // [m]
constexpr double depth = 1e-4;   // [m]
const double modulus = LayerLaw::confined_modulus_factor(0.46) * 463e6;
const Surface flat = PlaneSurface{.normal = Vector3::UnitZ(), .point = Vector3::Zero()};

/// Off the vertices and axes of the grid, a general position.
Response pressed(const ContactBackend& backend, double z) {
  PairState state;
  state.X_AB.p = {3.1e-4, -2.3e-4, z};
  return backend.evaluate(*backend.initial_history(), state);
}

struct Errors {
  double force, area, peak;
};

/// Four meshes, each with half the edge length; the errors of the last and the order of convergence of the force.
template <typename Errors4>
void expect_second_order(const Errors4& of_level, const char* what) {
  std::array<Errors, 4> errors{};
  for (int level = 0; level < 4; ++level) {
    errors[static_cast<std::size_t>(level)] = of_level(level);
    const Errors& e = errors[static_cast<std::size_t>(level)];
    std::printf("%-28s level %d  force %+.5f %%  area %+.5f %%  peak %+.5f %%\n", what, level, 100 * e.force,
                100 * e.area, 100 * e.peak);
  }
  const double order = std::log2(std::abs(errors[1].force / errors[3].force)) / 2.0;
  std::printf("%-28s observed order of the force %.2f\n", what, order);
  EXPECT_GT(order, 1.5) << what;
  EXPECT_LT(std::abs(errors[3].force), 1e-3) << what;
  EXPECT_LT(std::abs(errors[3].area), 1e-2) << what;
}

// A paraboloid z = r^2 / (2 R) pressed by d: F = pi M R d^2 / layer, A = 2 pi R d, p = M d / layer. A ball: the depth
// over r is d - R + sqrt(R^2 - r^2), whose integral over the circle of radius a is a closed form too.
TEST(ElasticFoundation, ParaboloidOnALayerConverges) {
  expect_second_order(
      [](int level) {
        Assets assets;
        const int n = 16 << level;
        assets.add("paraboloid", height_field(0.012, n, [](double x, double y) { return -(x * x + y * y) / (2 * R); }));
        PairSpec pair = layer_pair(mesh_named("paraboloid"), flat);
        // Its springs are directed at the plane: compression along their normals, which equal those of the plane to 0.2
        // %, is longer by as much; the closed form uses the nearest point of a plane.
        pair.parameters["penetration"] = "nearest";
        const auto backend = opened(pair, assets);
        PairState state;
        state.X_AB = {.R = Eigen::AngleAxisd(std::numbers::pi, Vector3::UnitX()).toRotationMatrix(),
                      .p = {3.1e-4, -2.3e-4, -depth}};
        const Response r = backend->evaluate(*backend->initial_history(), state);
        const double F = std::numbers::pi * modulus * R * depth * depth / layer;
        return Errors{r.F_A.force.norm() / F - 1.0, r.area / (2 * std::numbers::pi * R * depth) - 1.0,
                      r.peak_pressure / (modulus * depth / layer) - 1.0};
      },
      "paraboloid, curved casting");
}

TEST(ElasticFoundation, BallOnALayerConverges) {
  for (const std::string springs : {"vertices", "centres"}) {
    const auto of_level = [&](int level) {
      PairSpec pair = layer_pair(flat, SphereSurface{.radius = R, .center = Vector3::Zero()});
      pair.parameters["extent"] = 0.008;
      pair.parameters["refine"] = 4.0 + level;
      pair.parameters["springs"] = springs;
      const Response r = pressed(*opened(pair, {}), R - depth);
      const double a2 = 2 * R * depth - depth * depth;
      const double volume = std::numbers::pi * ((depth - R) * a2 + 2.0 / 3.0 * (R * R * R - std::pow(R - depth, 3)));
      return Errors{r.F_A.force.norm() / (modulus * volume / layer) - 1.0, r.area / (std::numbers::pi * a2) - 1.0,
                    r.peak_pressure / (modulus * depth / layer) - 1.0};
    };
    if (springs == "vertices") {
      expect_second_order(of_level, "ball, springs at vertices");
    } else {
      const Errors finest = of_level(3);
      std::printf("ball, springs in centres: finest  force %+.5f %%  area %+.5f %%\n", 100 * finest.force,
                  100 * finest.area);
      EXPECT_LT(std::abs(finest.force), 1e-3);
    }
  }
}

// Meshes of the source's grid test: 30 x 30 mm, a ball of 25 mm 0.1 mm deep, off the grid. A depth that is linear
// between the vertices is too low by edge^2 / (6 R) on average, which is the fraction edge^2 / (3 R depth) of the
// force; a rule exact for quadratic depths has an error of the next even power of the edge, at most about the square of
// that fraction.
TEST(ElasticFoundation, CoarseGridsConvergeWithFourthOrder) {
  const double a2 = 2 * R * depth - depth * depth;
  const double volume = std::numbers::pi * ((depth - R) * a2 + 2.0 / 3.0 * (R * R * R - std::pow(R - depth, 3)));
  double force_error = 1.0;
  for (const int n : {25, 30, 50, 100}) {
    Assets assets;
    assets.add("flat", height_field(0.03, n, [](double, double) { return 0.0; }));
    const PairSpec pair = layer_pair(mesh_named("flat"), SphereSurface{.radius = R, .center = Vector3::Zero()});
    const Response r = pressed(*opened(pair, assets), R - depth);
    force_error = std::abs(r.F_A.force.norm() / (modulus * volume / layer) - 1.0);
    const double area_error = std::abs(r.area / (std::numbers::pi * a2) - 1.0);
    const double edge = 0.03 / n;
    const double of_linear = edge * edge / (3 * R * depth);
    fmt::print("{:4} cells: force {:.2e}, area {:.2e}, linear {:.2e}\n", n, force_error, area_error, of_linear);
    EXPECT_LT(force_error, of_linear * of_linear) << n;
    // The rim is found to second order, above and below alternately.
    EXPECT_LT(area_error, 0.1 * of_linear) << n;
    // The nearest of vertices and centres is at most the radius of a quarter of a cell away from the deepest place.
    EXPECT_LT(std::abs(r.peak_pressure / (modulus * depth / layer) - 1.0), edge * edge / (8 * R * depth)) << n;
  }
  EXPECT_LT(force_error, 1e-3);
}

/// A row of the table of grids: errors in per cent, and loaded cells.
struct GridRow {
  int n;
  double force, area, peak, mean;
  int active;
};

/// The sum over the cells of a square grid of 30 mm about the deepest point, a spring at the centre of each.
GridRow sampled(int n) {
  const double edge = 0.03 / n, F = std::numbers::pi * modulus * R * depth * depth / layer;
  const double A = 2 * std::numbers::pi * R * depth, p = modulus * depth / layer;
  double force = 0.0, peak = 0.0;
  int active = 0;
  for (int i = 0; i < n * n; ++i) {
    const double x = edge * (i % n + 0.5) - 0.015, y = edge * (i / n + 0.5) - 0.015;
    const double pressure = modulus * (depth - (x * x + y * y) / (2 * R)) / layer;
    if (pressure <= 0.0) continue;
    ++active;
    force += pressure * edge * edge;
    peak = std::max(peak, pressure);
  }
  const double area = active * edge * edge;
  return {n,     100 * (force / F - 1), 100 * (area / A - 1), 100 * (peak / p - 1), 100 * (force / area / (F / A) - 1),
          active};
}

// Bei and Fregly's sensitivity to the grid [bei2004], evaluated for a paraboloid of 25 mm, 0.1 mm deep in a flat layer:
// the result of one spring per cell, to the table's digits, and that of the program for a ball on the same squares,
// divided into triangles: smaller errors of force and area in every row, and of the mean pressure except in row 30,
// where both errors of the table happen to be equal.
TEST(ElasticFoundation, GridTableEqualsTheSource) {
  const std::array<GridRow, 6> table{{{20, -11.2, -42.7, -22.5, 55.0, 4},
                                      {30, 1.9, 1.9, -10.0, 0.0, 16},
                                      {31, -1.5, 25.2, 0.0, -21.3, 21},
                                      {50, -0.6, 0.8, -3.6, -1.5, 44},
                                      {100, -0.05, -1.45, -0.9, 1.4, 172},
                                      {200, -0.01, -0.9, -0.2, 0.9, 692}}};
  const double a2 = 2 * R * depth - depth * depth;
  const double volume = std::numbers::pi * ((depth - R) * a2 + 2.0 / 3.0 * (R * R * R - std::pow(R - depth, 3)));
  const double F = modulus * volume / layer, A = std::numbers::pi * a2, p = modulus * depth / layer;
  fmt::print("{:>4}  one spring a cell: F, A, peak, mean %; springs     the program: F, A, peak, mean %\n", "N");
  for (const GridRow& row : table) {
    const GridRow cells = sampled(row.n);
    // The middle of the grid, wider than the contact, with as many cells from the deepest point to its rim.
    const int n = row.n / 4 + (row.n - row.n / 4) % 2;
    Assets assets;
    assets.add("flat", height_field(0.03 * n / row.n, n, [](double, double) { return 0.0; }));
    PairState state;
    state.X_AB.p = {0, 0, R - depth};
    const PairSpec pair = layer_pair(mesh_named("flat"), SphereSurface{.radius = R, .center = Vector3::Zero()});
    const auto backend = opened(pair, assets);
    const Response r = backend->evaluate(*backend->initial_history(), state);
    const double force = 100 * (r.F_A.force.norm() / F - 1), area = 100 * (r.area / A - 1);
    const double peak = 100 * (r.peak_pressure / p - 1), mean = 100 * (r.F_A.force.norm() / r.area / (F / A) - 1);
    fmt::print("{:>4}  {:+8.2f} {:+8.2f} {:+8.2f} {:+8.2f} {:5d}     {:+8.3f} {:+8.3f} {:+8.3f} {:+8.3f}\n", row.n,
               cells.force, cells.area, cells.peak, cells.mean, cells.active, force, area, peak, mean);
    const double digit = row.n < 100 ? 0.051 : 0.055;  // half of the last given one, and rounding
    EXPECT_NEAR(cells.force, row.force, digit) << row.n;
    EXPECT_NEAR(cells.area, row.area, digit) << row.n;
    EXPECT_NEAR(cells.peak, row.peak, digit) << row.n;
    EXPECT_NEAR(cells.mean, row.mean, digit) << row.n;
    EXPECT_EQ(cells.active, row.active) << row.n;
    EXPECT_LT(std::abs(force), std::abs(cells.force)) << row.n;
    EXPECT_LT(std::abs(area), std::abs(cells.area)) << row.n;
    EXPECT_LT(std::abs(mean), row.n == 30 ? 2.0 : std::abs(cells.mean)) << row.n;
  }
}

// Both normals of a plane are equal: the corrected penetrations agree (AB = AC cos, card of the source, section 5.2).
// As in Bei and Fregly's method: springs at the centres of the cells of a grid over 30 x 30 mm, here two triangles per
// cell, under a ball of 25 mm, 0.1 mm deep in a tilted layer.
TEST(ElasticFoundation, GridRedividesTheSurface) {
  Assets assets;
  assets.add("dish", height_field(0.03, 7, [](double x, double y) { return 0.2 * x + 0.1 * y; }));
  const Vector3 normal = Vector3(-0.2, -0.1, 1.0).normalized();
  fmt::print("{:>8}{:>12}{:>12}\n", "cells", "F error", "A error");
  double before = 1.0;
  for (const double n : {25.0, 100.0, 400.0}) {
    PairSpec pair = layer_pair(mesh_named("dish"), SphereSurface{.radius = R, .center = Vector3::Zero()});
    pair.parameters["springs"] = "centres";
    pair.parameters["penetration"] = "nearest";
    pair.parameters["grid"] = std::vector<double>{n, n};
    const auto backend = opened(pair, assets);
    PairState state;
    state.X_AB.p = (R - depth) * normal + Vector3(3.1e-4, -2.3e-4, 0.2 * 3.1e-4 - 0.1 * 2.3e-4);
    const Response r = backend->evaluate(*backend->initial_history(), state);
    // To the nearest point of the sphere the springs are compressed by R - s, s^2 = r^2 + (R - d)^2, over the circle
    // s < R; the energy's derivative by d is pi M (R - d) d^2 / layer.
    const double c = R - depth;
    const double F = std::numbers::pi * modulus * c * depth * depth / layer;
    const double A = std::numbers::pi * (R * R - c * c);
    const double force_error = r.F_A.force.norm() / F - 1.0;
    fmt::print("{:>8}{:>12.2e}{:>12.2e}\n", n, force_error, r.area / A - 1.0);
    EXPECT_LT(std::abs(force_error), before);
    before = std::abs(force_error);
  }
  EXPECT_LT(before, 1e-3);
}

TEST(ElasticFoundation, MidsurfaceOfAPlaneByRayAndNearestAgree) {
  Assets assets;
  assets.add("bowl", height_field(0.02, 20, [](double x, double y) { return -(x * x + y * y) / (2 * R) + 2e-4; }));
  std::array<Response, 2> responses;
  for (const bool ray : {true, false}) {
    PairSpec pair = layer_pair(mesh_named("bowl"), PlaneSurface{.normal = -Vector3::UnitZ(), .point = Vector3::Zero()});
    pair.parameters["direction"] = "midsurface";
    pair.parameters["penetration"] = ray ? "ray" : "nearest";
    pair.parameters["springs"] = "centres";
    responses[ray ? 0 : 1] = pressed(*opened(pair, assets), 0.0);
  }
  EXPECT_GT(responses[0].F_A.force.norm(), 10.0);
  EXPECT_LT((responses[0].F_A.vector() - responses[1].F_A.vector()).norm(), 1e-12 * responses[0].F_A.force.norm());
  EXPECT_LT((responses[0].dF_A_dX - responses[1].dF_A_dX).norm(), 1e-10 * responses[0].dF_A_dX.norm());
}

// The choice of the casting body changes the discretisation, not the physics; exchanged bodies have equal responses up
// to rounding.
TEST(ElasticFoundation, ExchangedBodiesGiveEqualResponses) {
  Assets assets;
  assets.add("dish", height_field(0.03, 20, [](double x, double y) { return 5.0 * (x * x + y * y); }));
  PairSpec pair = layer_pair(mesh_named("dish"), SphereSurface{.radius = R, .center = Vector3::Zero()});
  PairSpec swapped = pair;
  std::swap(swapped.main, swapped.partner);
  swapped.parameters.erase("thickness");
  swapped.parameters["partner_thickness"] = layer;
  swapped.parameters["spring_body"] = "partner";
  PairState state;
  state.X_AB = {.R = rotation_from_vector({0.1, 0.2, -0.1}), .p = {4e-4, 3e-4, R - 2e-4}};
  state.V_AB = {.w = {0.1, 0.2, 0.3}, .v = {0.01, 0.02, -0.03}};
  const Matrix3 R_BA = state.X_AB.R.transpose();
  const PairState rotated{
      .t = 0.0,
      .X_AB = state.X_AB.inverse(),
      .V_AB = {.w = -(R_BA * state.V_AB.w), .v = -(R_BA * (state.V_AB.v - state.V_AB.w.cross(state.X_AB.p)))}};
  const auto one = opened(pair, assets);
  const auto other = opened(swapped, assets);
  const Response a = one->evaluate(*one->initial_history(), state);
  const Response b = other->evaluate(*other->initial_history(), rotated);
  const Vector6 expected = opposite_wrench(a.F_A, state.X_AB).vector();
  EXPECT_LT((b.F_A.vector() - expected).norm(), 1e-10 * expected.norm());
  EXPECT_NEAR(a.gap, b.gap, 1e-15);
  EXPECT_NEAR(a.gap_rate, b.gap_rate, 1e-13);
  EXPECT_LT((state.X_AB * b.p_ACop - a.p_ACop).norm(), 1e-12);
}

// A ball pressed on and displaced laterally: first the shear of the springs, then mu F; the work is recovered or
// dissipated.
TEST(ElasticFoundation, FrictionSticksThenSlides) {
  PairSpec pair = layer_pair(flat, SphereSurface{.radius = R, .center = Vector3::Zero()});
  pair.parameters["extent"] = 0.012;
  pair.parameters["refine"] = 4.0;
  pair.parameters["direction"] = "normal";  // the lateral force is friction alone
  pair.parameters["friction"] = 0.3;
  pair.parameters["springs"] = "centres";
  const auto backend = opened(pair, {});
  PairState state;
  state.X_AB.p = {0.0, 0.0, R + 1e-5};
  Committed committed = backend->commit(*backend->initial_history(), state);
  state.X_AB.p.z() = R - depth;
  committed = backend->commit(*committed.history, state);
  const double normal = committed.response.F_A.force.z();
  EXPECT_LT(committed.response.F_A.force.head<2>().norm(), 1e-9 * std::abs(normal));
  // [Pa/m] shear modulus over the thickness; the active springs carry it by their area until the first of them slips.
  const double shear = 463e6 / (2.0 * 1.46) / layer;
  const double before = committed.response.stored_energy;
  double work = 0.0;
  double dissipated = 0.0;
  double last = 0.0;
  const double step = 5e-6;  // a mu p / k of 4e-4 m until the middle slips
  for (int i = 1; i <= 200; ++i) {
    state.X_AB.p.x() = i * step;
    committed = backend->commit(*committed.history, state);
    const double now = committed.response.F_A.force.x();
    EXPECT_LE(now, 0.3 * std::abs(committed.response.F_A.force.z()) * (1.0 + 1e-12));
    if (i == 1) {
      EXPECT_NEAR(now, shear * committed.response.area * step, 0.02 * now);
    }
    work += 0.5 * (last + now) * step;
    dissipated += committed.response.dissipated_increment;
    last = now;
  }
  // Springs that have just become active still stick.
  EXPECT_GT(last, 0.9 * 0.3 * std::abs(committed.response.F_A.force.z()));
  EXPECT_GT(dissipated, 0.0);
  // Springs become active within steps: first order, of the step over the path of all steps.
  EXPECT_NEAR(work, committed.response.stored_energy - before + dissipated, work / 200.0);
}

// The flat end of a cylinder on a plane and on a block, and a block on such an end: M A d / layer. Without ends the
// force was zero.
TEST(ElasticFoundation, FlatEndOfACylinderCarriesLoad) {
  constexpr double radius = 0.02, half_length = 0.01;
  const Surface cylinder = CylinderSurface{.radius = radius, .length = 2.0 * half_length};
  const double pressure = modulus * depth / layer;
  const auto force = [&](const Surface& casting, const Surface& target, double refine, double height) {
    PairSpec pair = layer_pair(casting, target);
    pair.parameters["refine"] = refine;
    PairState state;
    state.X_AB.p.z() = height - depth;
    const auto backend = opened(pair, {});
    // The casting body is the lower one.
    return backend->evaluate(*backend->initial_history(), state).F_A.force.z();
  };
  const double area = std::numbers::pi * radius * radius;
  const Surface floor = PlaneSurface{.normal = -Vector3::UnitZ(), .point = Vector3::Zero()};
  const Surface slab = BlockSurface{.lengths = {0.08, 0.08, 0.02}, .center = {0.0, 0.0, 0.01}};
  for (const Surface& target : {floor, slab}) {
    EXPECT_NEAR(force(cylinder, target, 3.0, half_length) / (-pressure * area), 1.0, 1e-3) << target.kind;
  }
  const Surface small = BlockSurface{.lengths = {0.02, 0.02, 0.02}};
  EXPECT_NEAR(force(small, cylinder, 0.0, 0.01 + half_length) / (-pressure * 4e-4), 1.0, 1e-9);
}

// The side of a finite cylinder on a plane has the peak of an infinite one at every division, also beside its rims.
TEST(ElasticFoundation, SideOfACylinderConvergesBesideItsRims) {
  for (const double refine : {2.0, 3.0, 4.0}) {
    PairSpec pair = layer_pair(CylinderSurface{.radius = 0.03, .axis = Vector3::UnitY(), .length = 0.04},
                               PlaneSurface{.normal = -Vector3::UnitZ(), .point = Vector3::Zero()});
    pair.parameters["refine"] = refine;
    PairState state;
    state.X_AB.p.z() = 0.03 - 10.0 * depth;
    const auto backend = opened(pair, {});
    const Response r = backend->evaluate(*backend->initial_history(), state);
    EXPECT_NEAR(r.peak_pressure / (10.0 * modulus * depth / layer), 1.0, 1e-4) << refine;
    EXPECT_NEAR(r.gap, -10.0 * depth, 1e-9) << refine;
  }
}

// Lines cross a solid cylinder where its distance vanishes, from inside and outside, through ends and side.
TEST(ElasticFoundation, LinesCrossACylinderWhereItsDistanceVanishes) {
  const CylinderSurface cylinder{
      .radius = 0.03, .axis = Vector3(1, 2, 2) / 3.0, .center = {0.1, 0, -0.1}, .length = 0.05};
  const auto target = cylinder_target(cylinder);
  const auto distance = signed_distance(cylinder);
  std::mt19937 engine(3);
  std::uniform_real_distribution<double> place(-0.06, 0.06);
  std::normal_distribution<double> normal;
  int found = 0;
  for (int i = 0; i < 5000; ++i) {
    const Vector3 q = cylinder.center + Vector3(place(engine), place(engine), place(engine));
    const Vector3 d = Vector3(normal(engine), normal(engine), normal(engine)).normalized();
    const bool inside = distance->closest(q).gap < 0.0;
    const auto at = target->crossing(q, d, 1.0, inside, 0);
    if (!at) continue;
    ++found;
    const double along = inside ? -at->gap : at->gap;
    const SurfacePoint there = distance->closest(q + along * d);
    EXPECT_NEAR(there.gap, 0.0, 1e-14);
    EXPECT_GT((inside ? 1.0 : -1.0) * at->normal.dot(d), 0.0);
    // Up to there the line stays on its side.
    if (along > 0.0) {
      EXPECT_EQ(distance->closest(q + 0.5 * along * d).gap < 0.0, inside);
    }
  }
  EXPECT_GT(found, 1000);
}

}  // namespace
}  // namespace heelstrike::fem
