// A rigid triangle mesh as contact partner: distance queries compared with the approximated sphere and with a
// brute-force search, then evaluations of a soft block pressed on the mesh compared with the sphere. Prints allocations
// per query too, which are not allowed in the hot path.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <numbers>
#include <random>
#include <utility>
#include <vector>

#include "benchmarks/clocks.hpp"
#include "fem_server/backends/fem_condensed/condensed_contact.hpp"
#include "fem_server/bodies/body_preparation.hpp"
#include "fem_server/fem/dense_kernels.hpp"
#include "fem_server/geometry/primitives.hpp"
#include "fem_server/geometry/triangle_tree.hpp"
#include "fem_server/surfaces/mesh_distance.hpp"
#include "scenario/surfaces/registry.hpp"
#include "scenario/surfaces/sphere.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace {
std::atomic<long> n_allocations{0};
}  // namespace

void* operator new(std::size_t size) {
  ++n_allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace heelstrike::fem {
namespace {

constexpr double radius = 0.05;  // [m]
constexpr int turns = 15;        // repetitions; compared work alternates, medians are used

/// An icosahedron with every triangle divided into four, `cuts` times; all vertices on the sphere.
SurfaceMesh ball_mesh(int cuts) {
  const double g = std::numbers::phi;
  SurfaceMesh mesh;
  mesh.vertices = {{-1, g, 0},  {1, g, 0},  {-1, -g, 0}, {1, -g, 0}, {0, -1, g},  {0, 1, g},
                   {0, -1, -g}, {0, 1, -g}, {g, 0, -1},  {g, 0, 1},  {-g, 0, -1}, {-g, 0, 1}};
  mesh.triangles = {{0, 11, 5},  {0, 5, 1},  {0, 1, 7},  {0, 7, 10}, {0, 10, 11}, {1, 5, 9}, {5, 11, 4},
                    {11, 10, 2}, {10, 7, 6}, {7, 1, 8},  {3, 9, 4},  {3, 4, 2},   {3, 2, 6}, {3, 6, 8},
                    {3, 8, 9},   {4, 9, 5},  {2, 4, 11}, {6, 2, 10}, {8, 6, 7},   {9, 8, 1}};
  for (int cut = 0; cut < cuts; ++cut) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> middles;
    const auto middle = [&](std::uint32_t a, std::uint32_t b) {
      const auto [place, is_new] =
          middles.try_emplace(std::minmax(a, b), static_cast<std::uint32_t>(mesh.vertices.size()));
      if (is_new) mesh.vertices.emplace_back(mesh.vertices[a] + mesh.vertices[b]);
      return place->second;
    };
    std::vector<Triangle> finer;
    for (const auto& [a, b, c] : mesh.triangles) {
      const std::uint32_t ab = middle(a, b);
      const std::uint32_t bc = middle(b, c);
      const std::uint32_t ca = middle(c, a);
      finer.insert(finer.end(), {{a, ab, ca}, {b, bc, ab}, {c, ca, bc}, {ab, bc, ca}});
    }
    mesh.triangles = std::move(finer);
    for (Vector3& p : mesh.vertices) p.normalize();
  }
  for (Vector3& p : mesh.vertices) p *= radius;
  return mesh;
}

std::vector<Vector3> points_between(double nearest, double farthest, std::size_t n) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> size(nearest, farthest);
  std::vector<Vector3> points;
  while (points.size() < n)
    points.emplace_back(Vector3(normal(random), normal(random), normal(random)).normalized() * size(random));
  return points;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

/// [s] of each work, alternating.
template <class... Works>
std::vector<double> timed(Works&&... works) {
  std::vector<std::vector<double>> times(sizeof...(works));
  const auto one = [](auto& work) {
    const double start = bench::thread_seconds();
    work();
    return bench::thread_seconds() - start;
  };
  for (int rotation = 0; rotation < turns; ++rotation) {
    std::size_t k = 0;
    (times[k++].push_back(one(works)), ...);
  }
  std::vector<double> result;
  for (auto& own : times) result.push_back(median(std::move(own)));
  return result;
}

double find_closest_brute_force(const SurfaceMesh& mesh, const Vector3& q) {
  double least = std::numeric_limits<double>::infinity();
  for (const Triangle& t : mesh.triangles) {
    const Vector3 point = closest_on_triangle(q, mesh.vertices[t[0]], mesh.vertices[t[1]], mesh.vertices[t[2]]);
    least = std::min(least, (q - point).squaredNorm());
  }
  return std::sqrt(least);
}

void print_queries() {
  fmt::print("{:>9}{:>16}{:>10}{:>10}{:>11}{:>9}{:>12}{:>12}{:>14}\n", "triangles", "points", "mesh ns", "gap ns",
             "/ sphere", "/ all", "allocations", "differ by", "sagitta bound");
  const auto sphere = signed_distance(SphereSurface{.radius = radius});
  for (const int cuts : {3, 5, 6}) {
    const SurfaceMesh mesh = ball_mesh(cuts);
    const auto distance = mesh_distance(mesh);
    for (const auto& [name, nearest, farthest] :
         {std::tuple{"within 2 %", 0.98, 1.02}, std::tuple{"1 to 3 radii", 1.0, 3.0}}) {
      const std::vector<Vector3> points = points_between(nearest * radius, farthest * radius, 4000);
      const std::vector<Vector3> few(points.begin(), points.begin() + 20);
      double sum = 0.0;
      const long before = n_allocations;
      for (const Vector3& p : points) sum += distance->closest(p).gap;
      const double allocations = static_cast<double>(n_allocations - before) / static_cast<double>(points.size());
      const auto of_points = [&](const SignedDistance& surface) {
        return [&] {
          for (const Vector3& p : points) sum += surface.closest(p).gap;
        };
      };
      const auto times = timed(
          of_points(*distance), of_points(*sphere),
          [&] {
            for (const Vector3& p : points) sum += distance->gap(p, 0.0);
          },
          [&] {
            for (const Vector3& p : few) sum += find_closest_brute_force(mesh, p);
          });
      double differ = 0.0;
      for (const Vector3& p : points)
        differ = std::max(differ, std::abs(distance->closest(p).gap - sphere->closest(p).gap));
      for (const Vector3& p : few) {
        if (std::abs(distance->closest(p).gap) != find_closest_brute_force(mesh, p))
          fmt::print("DIFFERENT from all triangles\n");
      }
      if (!std::isfinite(sum)) fmt::print("not finite\n");
      // A chord of length c has a sagitta of c^2 / (8 R); the circumcircle of a triangle with edges up to c has the
      // radius c / sqrt(3), and the sagitta of a chord of twice that length.
      double longest = 0.0;
      for (const Triangle& t : mesh.triangles)
        longest = std::max(longest, (mesh.vertices[t[0]] - mesh.vertices[t[1]]).norm());
      const double each = times[0] / static_cast<double>(points.size());
      fmt::print("{:>9}{:>16}{:>10.0f}{:>10.0f}{:>11.1f}{:>9.4f}{:>12.2f}{:>12.1e}{:>14.1e}\n", mesh.triangles.size(),
                 name, 1e9 * each, 1e9 * times[2] / static_cast<double>(points.size()), times[0] / times[1],
                 each / (times[3] / static_cast<double>(few.size())), allocations, differ,
                 longest * longest / (6.0 * radius));
    }
  }
}

/// A soft block, clamped at its top, in contact with the partner at its bottom.
CondensedModel block_model(std::shared_ptr<const SignedDistance> partner, double friction) {
  static const PreparedBody prepared = [] {
    BodyModel body(make_block({.lengths = {0.06, 0.06, 0.02}, .size = 0.0025, .limits = {}}),
                   std::vector<Material>{{.youngs_modulus = 1e6, .poissons_ratio = 0.3, .density = 1000.0, .set = ""}});
    Support support{.inertia_relief = false, .clamped_nodes = body.mesh().node_sets.at("top")};
    const ContactNodes all = contact_nodes(body, boundary_faces(body.mesh()));
    std::vector<bool> keep(all.nodes.size());
    for (std::size_t i = 0; i < keep.size(); ++i) keep[i] = body.mesh().nodes[all.nodes[i]].z() < -0.0099;
    ContactNodes contact = selected(all, keep);
    PressureRecovery pressure(body.mesh(), contact);
    return PreparedBody{.body = std::move(body),
                        .support = std::move(support),
                        .contact = std::move(contact),
                        .pressure = std::move(pressure),
                        .partner = nullptr,
                        .options = {}};
  }();
  static const SurfaceCompliance compliance =
      condense(prepared.body, prepared.support, prepared.contact.nodes, [](std::string_view, double) {}, {});
  CondensedModel model;
  for (const std::uint32_t node : prepared.contact.nodes) model.points.push_back(prepared.body.mesh().nodes[node]);
  model.areas = prepared.contact.areas;
  model.pressure = prepared.pressure;
  model.compliance = compliance;
  model.partner = std::move(partner);
  model.options.friction = friction;
  model.options.max_penetration = 0.01;
  return model;
}

PairState pressed(double depth) {
  PairState state;
  state.X_AB.p = Vector3(0.0, 0.0, -0.01 - radius + depth);
  return state;
}

void print_evaluations() {
  fmt::print("\n{:<24}{:>10}{:>8}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "block, 2 mm deep", "triangles", "active",
             "cold ms", "/ sphere", "warm ms", "/ sphere", "F ratio");
  for (const double friction : {0.0, 0.3}) {
    const CondensedContact on_sphere("fem_condensed",
                                     block_model(signed_distance(SphereSurface{.radius = radius}), friction), {});
    for (const int cuts : {3, 5, 6}) {
      SurfaceMesh mesh = ball_mesh(cuts);
      const std::size_t n_triangles = mesh.triangles.size();
      const CondensedContact on_mesh("fem_condensed", block_model(mesh_distance(std::move(mesh)), friction), {});
      const auto cold = [&](const CondensedContact& contact) {
        return [&] { (void)contact.evaluate(*contact.initial_history(), pressed(0.002)); };
      };
      const auto committed = on_mesh.commit(*on_mesh.initial_history(), pressed(0.002));
      const auto committed_sphere = on_sphere.commit(*on_sphere.initial_history(), pressed(0.002));
      const auto warm = [&](const CondensedContact& contact, const Committed& at) {
        return [&] { (void)contact.evaluate(*at.history, pressed(0.00201)); };
      };
      const auto times =
          timed(cold(on_mesh), cold(on_sphere), warm(on_mesh, committed), warm(on_sphere, committed_sphere));
      fmt::print("{:<24}{:>10}{:>8}{:>10.2f}{:>10.2f}{:>10.2f}{:>10.2f}{:>10.4f}\n",
                 fmt::format("friction {}", friction), n_triangles, committed.response.statistics.active_points,
                 1e3 * times[0], times[0] / times[1], 1e3 * times[2], times[2] / times[3],
                 committed.response.F_A.force.z() / committed_sphere.response.F_A.force.z());
    }
  }
}

}  // namespace
}  // namespace heelstrike::fem

int main() {
  heelstrike::fem::use_one_blas_thread();
  heelstrike::fem::print_queries();
  heelstrike::fem::print_evaluations();
  return 0;
}
