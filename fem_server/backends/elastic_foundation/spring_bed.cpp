#include "fem_server/backends/elastic_foundation/spring_bed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

namespace {

/// More than the depth of a tree of halves of equal size over 2^32 springs.
constexpr std::size_t deepest_tree = 40;
constexpr std::int32_t not_met = -1;
/// Distances round by a few units in the last place, and so do the coordinates that they come from.
constexpr double rounded_up = 1.0 + 1e-9;

}  // namespace

/// What is found on the way.
struct SpringBed::Search {
  Pose X_CT;
  Pose X_TC;
  MotionParts parts;
  BedTrace* next = nullptr;  ///< to be filled
  BedState state{};
  std::vector<std::int32_t> slots{};  ///< of springs at vertices: where they stand in state.springs
  std::uint32_t near = 0;             ///< triangle of the last answer: neighbours are asked one after the other
  Vector3 p_TFree = Vector3::Zero();  ///< [m] the last point of which a search showed how far it is clear of T
  double free = 0.0;                  ///< [m] see clear_of
  std::size_t behind = 0;             ///< springs behind T's surface
  std::size_t averted = 0;            ///< of these, with both normals to the same side
  std::uint32_t averted_spring = 0;
};

SpringBed::SpringBed(CastingSurface casting, std::unique_ptr<TargetSurface> target, const BedLaw& law,
                     BedOptions options)
    : casting_(std::move(casting)), target_(std::move(target)), law_(law), options_(std::move(options)) {}

std::array<double, 2> SpringBed::layers(double own) const {
  if (options_.lumped) return {own + options_.target_thickness, 0.0};
  return {own, options_.target_thickness};
}

double SpringBed::pressure(std::uint32_t spring, double d) const {
  return law_.at(d, layers(casting_.springs()[spring].thickness)).pressure;
}

double SpringBed::gap(std::uint32_t spring, const Pose& X_CT) const {
  return target_->closest(X_CT.inverse() * casting_.springs()[spring].point, 0).gap;
}

void SpringBed::check_depth(std::uint32_t spring, double d) const {
  const Spring& s = casting_.springs()[spring];
  const double thickness = law_.thickness(layers(s.thickness));
  if (d < thickness) return;
  throw RecoverableError(
      fmt::format(
          "{}: the surfaces overlap by {:g} m at ({:g}, {:g}, {:g}) m of the casting body, where the layers are "
          "{:g} m thick: nothing would be left of them; take smaller steps, or place the bodies less deep",
          options_.where, d, s.point.x(), s.point.y(), s.point.z(), thickness),
      options_.where);
}

/// A spring that is passed over bears nothing: a load that breaks off with the depth is told, and not computed.
void SpringBed::check_reach(std::uint32_t spring, double d) const {
  const Vector3& p = casting_.springs()[spring].point;
  throw RecoverableError(
      fmt::format("{}: the surfaces overlap by {:g} m at ({:g}, {:g}, {:g}) m of the casting body, more than "
                  "search_distance, {:g} m, up to which springs are looked for behind an open surface; increase it, or "
                  "place the bodies less deep",
                  options_.where, d, p.x(), p.y(), p.z(), options_.search_distance),
      options_.where);
}

void SpringBed::check_facing(const Search& search) const {
  if (search.state.compressed > 0 || search.averted == 0 || search.averted < search.behind) return;
  const Vector3& p = casting_.springs()[search.averted_spring].point;
  throw RecoverableError(
      fmt::format("{}: expected surfaces that face each other, found {} springs behind the partner's surface, all with "
                  "its normal to the same side as theirs, one at ({:g}, {:g}, {:g}) m of the casting body; one of the "
                  "surfaces is inside out (turn its triangles round), or the bodies have passed through each other",
                  options_.where, search.averted, p.x(), p.y(), p.z()),
      options_.where);
}

std::optional<SpringMotion> SpringBed::motion_of(const Search& search, std::uint32_t spring,
                                                 const TargetPoint& nearest) const {
  const Spring& s = casting_.springs()[spring];
  const bool behind = nearest.gap <= 0.0 && !nearest.beside;
  if (options_.by_ray) {
    const double reach = target_->closed() ? std::numeric_limits<double>::max() : options_.search_distance;
    const Vector3 q = search.X_TC * s.point;
    const Vector3 away = search.X_TC.R * s.normal;
    const auto met = target_->crossing(q, behind ? Vector3(-away) : away, reach, behind, nearest.triangle);
    if (met)
      return spring_motion(s, turned(*met, search.X_CT.R), true, options_.direction, search.X_CT.p, search.parts);
    if (behind) return std::nullopt;
  }
  TargetPoint point = turned(nearest, search.X_CT.R);
  const bool faces = point.normal.dot(s.normal) < 0.0;
  if (behind && !faces) return std::nullopt;
  if (!behind) point.gap = std::abs(point.gap);
  // Where nothing is met the spring only says how far the load reaches into its triangles.
  const bool meets = !options_.by_ray && !nearest.beside && faces;
  const ForceDirection direction =
      meets || options_.direction == ForceDirection::normal ? options_.direction : ForceDirection::energy;
  return spring_motion(s, point, false, direction, search.X_CT.p, search.parts);
}

void SpringBed::meet(Search& search, std::uint32_t spring, const TargetPoint& nearest) const {
  if (nearest.gap > 0.0 || nearest.beside) return;
  if (!target_->closed() && -nearest.gap > options_.search_distance) {
    if (turned(nearest, search.X_CT.R).normal.dot(casting_.springs()[spring].normal) < 0.0) {
      check_depth(spring, -nearest.gap);
      check_reach(spring, -nearest.gap);
    }
    return;
  }
  ++search.behind;
  const auto motion = motion_of(search, spring, nearest);
  if (!motion) {
    ++search.averted;
    search.averted_spring = spring;
    return;
  }
  add(search, spring, *motion);
}

void SpringBed::add(Search& search, std::uint32_t spring, const SpringMotion& motion) const {
  if (!(motion.d > 0.0)) return;
  check_depth(spring, motion.d);
  BedState& state = search.state;
  if (motion.d > state.deepest) {
    state.deepest = motion.d;
    state.deepest_spring = state.springs.size();
  }
  if (!search.slots.empty()) search.slots[spring] = static_cast<std::int32_t>(state.springs.size());
  state.springs.push_back({.spring = spring, .motion = motion});
  ++state.compressed;
}

std::optional<TargetPoint> SpringBed::met_close_by(const Search& search, std::uint32_t spring) const {
  if (!options_.by_ray) return std::nullopt;
  const Spring& s = casting_.springs()[spring];
  auto met = target_->local_crossing(search.X_TC * s.point, search.X_TC.R * s.normal, search.near);
  if (met && !target_->closed() && std::abs(met->gap) > options_.search_distance) return std::nullopt;
  return met;
}

void SpringBed::meet_springs(Search& search, const SpringGroup& group) const {
  for (const std::uint32_t spring : casting_.order().subspan(group.first, group.count)) {
    const Spring& s = casting_.springs()[spring];
    const Vector3 q = search.X_TC * s.point;
    // Neighbours of a spring that is far from T are, too.
    if (rounded_up * (q - search.p_TFree).norm() < search.free) continue;
    if (const auto met = met_close_by(search, spring)) {
      search.near = met->triangle;
      if (met->gap > 0.0) continue;
      ++search.behind;
      add(search, spring,
          spring_motion(s, turned(*met, search.X_CT.R), true, options_.direction, search.X_CT.p, search.parts));
      continue;
    }
    const TargetPoint nearest = target_->closest(q, search.near);
    search.near = nearest.triangle;
    if (target_->is_distance() && clear_of(nearest) > 0.0) {
      search.p_TFree = q;
      search.free = clear_of(nearest);
      continue;
    }
    meet(search, spring, nearest);
  }
}

/// Springs around a point are not behind T when no part of T is among them and the point is in front of it, or looks
/// past its rim from farther behind than springs are looked for.
double SpringBed::clear_of(const TargetPoint& around) const {
  if (around.gap > 0.0) return around.gap;
  return around.beside ? -around.gap - options_.search_distance : 0.0;
}

void SpringBed::examine(Search& search, std::uint32_t leaf) const {
  const SpringGroup& group = casting_.groups()[casting_.leaves()[leaf]];
  const std::size_t before = search.state.compressed;
  meet_springs(search, group);
  if (search.next == nullptr) return;
  BedTrace::Leaf& trace = search.next->leaves[leaf];
  trace = {.p_TLeaf = search.X_TC * group.centre, .clear = 0.0, .near = search.near};
  if (search.state.compressed > before) return;
  const TargetPoint around = target_->closest(trace.p_TLeaf, search.near);
  trace.clear = clear_of(around);
  trace.near = around.triangle;
}

/// Groups of springs of which none is behind T are passed over: their sphere lies in front of it.
void SpringBed::find_compressed(Search& search) const {
  const bool skips = target_->is_distance();
  struct Visit {
    std::uint32_t group;
    double farthest;  // [m] T is not farther from the centre
  };
  std::array<Visit, deepest_tree> visits;
  std::size_t n_visits = 0;
  visits[n_visits++] = {0, std::numeric_limits<double>::infinity()};
  while (n_visits > 0) {
    auto [index, farthest] = visits[--n_visits];
    const SpringGroup& group = casting_.groups()[index];
    // Where T is among the springs nothing is passed over.
    if (skips && farthest > group.radius) {
      const TargetPoint around = target_->closest(search.X_TC * group.centre, search.near);
      search.near = around.triangle;
      farthest = std::abs(around.gap);
      const double clear = clear_of(around);
      if (clear > group.radius * rounded_up) {
        if (search.next != nullptr) pass_over(search, group, clear);
        continue;
      }
    }
    if (group.count == 0) {
      for (const std::uint32_t child : {group.right, group.first}) {
        visits[n_visits++] = {child, farthest + (casting_.groups()[child].centre - group.centre).norm()};
      }
      continue;
    }
    examine(search, group.first_leaf);
  }
}

/// Bounds of the leaves below a group that is clear of T.
void SpringBed::pass_over(Search& search, const SpringGroup& group, double clear) const {
  for (std::uint32_t leaf = group.first_leaf; leaf < group.end_leaf; ++leaf) {
    const Vector3& centre = casting_.groups()[casting_.leaves()[leaf]].centre;
    search.next->leaves[leaf] = {.p_TLeaf = search.X_TC * centre,
                                 .clear = clear - rounded_up * (centre - group.centre).norm(),
                                 .near = search.near};
  }
}

/// A leaf whose centre has moved in T by less than it was clear of T, its radius aside, still is.
void SpringBed::find_again(Search& search, const BedTrace& last) const {
  for (std::uint32_t leaf = 0; leaf < last.leaves.size(); ++leaf) {
    const SpringGroup& group = casting_.groups()[casting_.leaves()[leaf]];
    const BedTrace::Leaf& before = last.leaves[leaf];
    const Vector3 p_TLeaf = search.X_TC * group.centre;
    const double clear = before.clear - rounded_up * (p_TLeaf - before.p_TLeaf).norm();
    if (clear > group.radius * rounded_up) {
      if (search.next != nullptr) {
        search.next->leaves[leaf] = {.p_TLeaf = p_TLeaf, .clear = clear, .near = before.near};
      }
      continue;
    }
    search.near = before.near;
    examine(search, leaf);
  }
}

void SpringBed::load_centres(BedState& state) const {
  for (LoadedSpring& loaded : state.springs) {
    const double area = casting_.area(loaded.spring);
    const BedPressure p = law_.at(loaded.motion.d, layers(casting_.springs()[loaded.spring].thickness));
    loaded.force = area * p.pressure;
    loaded.dforce = area * p.slope * loaded.motion.dd;
    state.energy += area * p.energy;
    state.area += area;
    state.faces.push_back({.triangle = loaded.spring, .pressure = p.pressure, .area = area});
  }
}

/// Of a spring that is not compressed, whose gap says how far the load reaches into its triangles.
std::optional<SpringMotion> SpringBed::motion_at_rim(Search& search, std::uint32_t spring) const {
  const Spring& s = casting_.springs()[spring];
  if (const auto met = met_close_by(search, spring)) {
    search.near = met->triangle;
    return spring_motion(s, turned(*met, search.X_CT.R), true, options_.direction, search.X_CT.p, search.parts);
  }
  const TargetPoint nearest = target_->closest(search.X_TC * s.point, search.near);
  search.near = nearest.triangle;
  return motion_of(search, spring, nearest);
}

void SpringBed::load_triangles(Search& search) const {
  BedState& state = search.state;
  std::vector<std::uint32_t> triangles;
  for (const LoadedSpring& loaded : state.springs) {
    const auto around = casting_.triangles_of(loaded.spring);
    triangles.insert(triangles.end(), around.begin(), around.end());
  }
  std::ranges::sort(triangles);
  triangles.erase(std::unique(triangles.begin(), triangles.end()), triangles.end());
  for (const std::uint32_t t : triangles) {
    std::array<std::size_t, 3> corners{};
    bool complete = true;
    for (std::size_t k = 0; k < 3; ++k) {
      const std::uint32_t v = casting_.mesh().triangles[t][k];
      if (search.slots[v] == not_met) {
        const auto motion = motion_at_rim(search, v);
        complete = complete && motion.has_value();
        if (!motion) break;
        search.slots[v] = static_cast<std::int32_t>(state.springs.size());
        state.springs.push_back({.spring = v, .motion = *motion});
      }
      corners[k] = static_cast<std::size_t>(search.slots[v]);
    }
    if (!complete) continue;
    Vector3 d;
    for (std::size_t k = 0; k < 3; ++k) d[static_cast<Eigen::Index>(k)] = state.springs[corners[k]].motion.d;
    const TriangleLoad load = triangle_load(law_, casting_.area(t), layers(casting_.thickness(t)), d);
    state.energy += load.energy;
    state.area += load.area;
    state.faces.push_back({.triangle = t, .pressure = load.forces.sum() / casting_.area(t), .area = load.area});
    for (std::size_t k = 0; k < 3; ++k) {
      LoadedSpring& spring = state.springs[corners[k]];
      const auto row = static_cast<Eigen::Index>(k);
      spring.force += load.forces[row];
      for (std::size_t m = 0; m < 3; ++m) {
        spring.dforce += load.slopes(row, static_cast<Eigen::Index>(m)) * state.springs[corners[m]].motion.dd;
      }
    }
  }
}

BedState SpringBed::at(const Pose& X_CT, bool tangents, const BedTrace* last, BedTrace* next) const {
  Search search{.X_CT = X_CT,
                .X_TC = X_CT.inverse(),
                .parts = {.tangents = tangents, .rates = tangents && options_.rates},
                .next = target_->is_distance() ? next : nullptr};
  const bool at_vertices = casting_.places() == SpringPlaces::vertices;
  if (at_vertices) search.slots.assign(casting_.springs().size(), not_met);
  if (search.next != nullptr) search.next->leaves.resize(casting_.leaves().size());
  if (last != nullptr && !last->leaves.empty()) {
    find_again(search, *last);
  } else {
    find_compressed(search);
  }
  check_facing(search);
  if (at_vertices) {
    load_triangles(search);
  } else {
    load_centres(search.state);
  }
  return std::move(search.state);
}

NearestSpring SpringBed::nearest(const Pose& X_CT) const {
  const Pose X_TC = X_CT.inverse();
  const bool skips = target_->is_distance();
  double best = std::numeric_limits<double>::infinity();
  NearestSpring result;
  TargetPoint best_point;
  std::uint32_t near = 0;
  std::array<std::uint32_t, deepest_tree> visits{};
  std::size_t n_visits = 1;
  while (n_visits > 0) {
    const SpringGroup& group = casting_.groups()[visits[--n_visits]];
    if (skips) {
      const TargetPoint around = target_->closest(X_TC * group.centre, near);
      near = around.triangle;
      if (std::abs(around.gap) - group.radius > best) continue;
    }
    if (group.count == 0) {
      visits[n_visits++] = group.right;
      visits[n_visits++] = group.first;
      continue;
    }
    for (const std::uint32_t spring : casting_.order().subspan(group.first, group.count)) {
      const TargetPoint point = target_->closest(X_TC * casting_.springs()[spring].point, near);
      near = point.triangle;
      const double gap = std::abs(point.gap);
      if (gap > best || (gap == best && spring > result.spring)) continue;
      best = gap;
      best_point = point;
      result.spring = spring;
    }
  }
  best_point.gap = best;
  result.motion = spring_motion(casting_.springs()[result.spring], turned(best_point, X_CT.R), false,
                                ForceDirection::energy, X_CT.p);
  return result;
}

}  // namespace heelstrike::fem
