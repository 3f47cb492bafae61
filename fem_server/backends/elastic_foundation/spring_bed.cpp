#include "fem_server/backends/elastic_foundation/spring_bed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <span>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/geometry/surface_topology.hpp"

namespace heelstrike::fem {

namespace {

/// More than the depth of a tree of halves of equal size over 2^32 springs.
constexpr std::size_t deepest_tree = 40;
constexpr std::int32_t not_met = -1;
/// By which the box that is searched beforehand is larger than T: springs that far from T are passed over unsearched.
constexpr double share_of_box = 0.1;
/// One spring in so many has its place from the start; what is not used costs nothing.
constexpr std::size_t usually_loaded = 4;
/// Distances round by a few units in the last place, and so do the coordinates that they come from.
constexpr double rounded_up = 1.0 + 1e-9;

/// [m] Springs around a point are not behind T when no part of T is among them and the point is in front of it, or
/// looks past its rim from farther behind than springs are looked for.
double clear_behind(const TargetPoint& around, double search_distance) {
  if (around.gap > 0.0) return around.gap;
  return around.beside ? -around.gap - search_distance : 0.0;
}

}  // namespace

/// What springs found last, whatever the pose was.
struct SpringBed::Memory {
  struct OfSpring {
    Vector3 p_T = Vector3::Zero();  ///< [m] where it was
    double free = 0.0;              ///< [m] no point of T's frame nearer to that than this is behind T
    std::uint32_t triangle = 0;     ///< of T, that it met
    bool has_met = false;           ///< the triangle is known
    /// A spring at q has not come so far that it could be behind T.
    [[nodiscard]] bool still_free(const Vector3& q) const { return rounded_up * (q - p_T).norm() < free; }
    void note(const Vector3& q, double clear, std::uint32_t where) {
      p_T = q;
      free = clear;
      triangle = where;
      has_met = true;
    }
  };
  std::vector<OfSpring> springs;
};

/// One memory for every thread that asks at the same time.
class SpringBed::Memories {
 public:
  explicit Memories(std::size_t n_springs) : n_springs_(n_springs) {}

  /// Taken for the time of one question.
  class Lease {
   public:
    explicit Lease(Memories& all) : all_(all), memory_(all.take()) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { all_.give_back(std::move(memory_)); }
    [[nodiscard]] Memory& memory() { return *memory_; }

   private:
    Memories& all_;
    std::unique_ptr<Memory> memory_;
  };

 private:
  std::unique_ptr<Memory> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto memory = std::move(idle_.back());
        idle_.pop_back();
        return memory;
      }
    }
    auto memory = std::make_unique<Memory>();
    memory->springs.resize(n_springs_);
    return memory;
  }
  void give_back(std::unique_ptr<Memory> memory) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(memory));
  }

  std::size_t n_springs_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Memory>> idle_;
};

/// Springs of one connected piece of C's surface behind one of T's.
struct SpringBed::Facing {
  std::size_t behind = 0;
  std::size_t averted = 0;   ///< of these, with both normals to the same side
  std::uint32_t spring = 0;  ///< the last of them
};

/// What is found on the way.
struct SpringBed::Search {
  Pose X_CT;
  Pose X_TC;
  Memory& memory;
  bool tangents = true;
  BedState state{};
  std::vector<std::int32_t> slots{};  ///< of springs at vertices: where they stand in state.springs
  std::uint32_t near = 0;             ///< triangle of the last answer: neighbours are asked one after the other
  Vector3 p_TFree = Vector3::Zero();  ///< [m] the last point of which a search showed how far it is clear of T
  double free = 0.0;                  ///< [m] see clear_of
  std::map<std::pair<std::uint32_t, std::uint32_t>, Facing> facing{};  ///< by the pieces of C and of T that met
};

SpringBed::SpringBed(CastingSurface casting, std::unique_ptr<TargetSurface> target, const BedLaw& law,
                     BedOptions options, std::optional<TargetLayer> layer)
    : casting_(std::move(casting)),
      target_(std::move(target)),
      law_(law),
      options_(std::move(options)),
      layer_(std::move(layer)),
      memories_(std::make_unique<Memories>(casting_.springs().size())) {
  const Components components = connected_components(casting_.mesh());
  n_pieces_ = components.count;
  for (std::uint32_t s = 0; s < casting_.springs().size(); ++s) {
    const bool of_triangle = casting_.places() == SpringPlaces::centres;
    const auto triangles = of_triangle ? std::span(&s, 1) : casting_.triangles_of(s);
    pieces_.push_back(triangles.empty() ? 0 : components.of_triangle[triangles.front()]);
  }
  if (!options_.target_pieces.empty()) n_target_pieces_ = 1 + *std::ranges::max_element(options_.target_pieces);
  const auto box = target_->box();
  if (!box) return;
  const auto& [low, high] = *box;
  const Vector3 margin = share_of_box * (high - low) + Vector3::Constant(options_.search_distance);
  clearance_ = ClearanceGrid(
      low - margin, high + margin,
      [target = target_.get(), search_distance = options_.search_distance](const Vector3& p, std::uint32_t near) {
        return clear_behind(target->closest(p, near), search_distance);
      });
}

SpringBed::~SpringBed() = default;
SpringBed::SpringBed(SpringBed&& other) noexcept = default;

double SpringBed::pressure(const BedState& state, std::size_t i) const {
  const LoadedSpring& loaded = state.springs[i];
  const double own = casting_.springs()[loaded.spring].thickness;
  return law_.at(loaded.motion.d, layers(own, target_thickness_of(state, i))).pressure;
}

double SpringBed::target_thickness(std::uint32_t spring, const Pose& X_CT) const {
  if (!layer_) return options_.target_thickness;
  const Vector3 q = X_CT.inverse() * casting_.springs()[spring].point;
  return layer_->nearest(target_->closest(q, 0).triangle, q).thickness;
}

double SpringBed::gap(std::uint32_t spring, const Pose& X_CT) const {
  return target_->closest(X_CT.inverse() * casting_.springs()[spring].point, 0).gap;
}

void SpringBed::check_depth(std::uint32_t spring, double d, double target_thickness) const {
  const Spring& s = casting_.springs()[spring];
  const double thickness = law_.thickness(layers(s.thickness, target_thickness));
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

SpringBed::Facing& SpringBed::facing(Search& search, std::uint32_t spring, std::uint32_t triangle) const {
  const std::uint32_t target_piece = options_.target_pieces.empty() ? 0 : options_.target_pieces[triangle];
  return search.facing[{pieces_[spring], target_piece}];
}

void SpringBed::check_facing(const Search& search) const {
  const auto piece = [](std::uint32_t index, std::uint32_t count, const char* surface) {
    return count == 1 ? fmt::format("{} surface", surface)
                      : fmt::format("piece {} of {} of {} surface", index + 1, count, surface);
  };
  for (const auto& [pieces, facing] : search.facing) {
    if (facing.averted == 0 || facing.averted < facing.behind) continue;
    const Vector3& p = casting_.springs()[facing.spring].point;
    throw RecoverableError(
        fmt::format("{}: expected surfaces that face each other, found {} springs of {} behind {}, all with its normal "
                    "to the same side as theirs, one at ({:g}, {:g}, {:g}) m of the casting body; one of the two is "
                    "inside out (turn its triangles round), or the bodies have passed through each other",
                    options_.where, facing.averted, piece(pieces.first, n_pieces_, "the casting"),
                    piece(pieces.second, n_target_pieces_, "the partner's"), p.x(), p.y(), p.z()),
        options_.where);
  }
}

template <class Ask>
auto SpringBed::law_over(std::uint32_t triangle, const Ask& ask) const {
  try {
    return ask();
  } catch (const RecoverableError& e) {
    const auto& [a, b, c] = casting_.mesh().triangles[triangle];
    const auto& vertices = casting_.mesh().vertices;
    const Vector3 p = (vertices[a] + vertices[b] + vertices[c]) / 3.0;
    throw RecoverableError(fmt::format("{}: triangle {} at ({:g}, {:g}, {:g}) m of the casting body: {}",
                                       options_.where, triangle, p.x(), p.y(), p.z(), e.what()),
                           options_.where);
  }
}

SpringMeeting SpringBed::along_normal(const Search& search, const TargetPoint& met) const {
  return {.met = turned(met, search.X_CT.R), .by_ray = true, .direction = options_.direction};
}

std::optional<SpringMeeting> SpringBed::meeting_of(const Search& search, std::uint32_t spring,
                                                   const TargetPoint& nearest) const {
  const Spring& s = casting_.springs()[spring];
  const bool behind = nearest.gap <= 0.0 && !nearest.beside;
  if (options_.by_ray) {
    const double reach = target_->closed() ? std::numeric_limits<double>::max() : options_.search_distance;
    const Vector3 q = search.X_TC * s.point;
    const Vector3 away = search.X_TC.R * s.normal;
    const auto met = target_->crossing(q, behind ? Vector3(-away) : away, reach, behind, nearest.triangle);
    if (met) return along_normal(search, *met);
    if (behind) return std::nullopt;
  }
  TargetPoint point = turned(nearest, search.X_CT.R);
  const bool faces = point.normal.dot(s.normal) < 0.0;
  if (behind && !faces) return std::nullopt;
  if (!behind && point.gap < 0.0) {
    // Past the rim there is no side: the gap is the distance, whatever side the rim's triangles would show, and grows
    // away from the rim.
    point.gap = -point.gap;
    point.normal = -point.normal;
    point.curvature = -point.curvature;
  }
  // Where nothing is met the spring only says how far the load reaches into its triangles.
  const bool meets = !options_.by_ray && !nearest.beside && faces;
  const ForceDirection direction =
      meets || options_.direction == ForceDirection::normal ? options_.direction : ForceDirection::energy;
  return SpringMeeting{.met = point, .by_ray = false, .direction = direction};
}

void SpringBed::meet(Search& search, std::uint32_t spring, const TargetPoint& nearest) const {
  if (nearest.gap > 0.0 || nearest.beside) return;
  if (!target_->closed() && -nearest.gap > options_.search_distance) {
    if (turned(nearest, search.X_CT.R).normal.dot(casting_.springs()[spring].normal) < 0.0) {
      check_depth(spring, -nearest.gap, target_thickness(spring, search.X_CT));
      check_reach(spring, -nearest.gap);
    }
    return;
  }
  Facing& facing = this->facing(search, spring, nearest.triangle);
  ++facing.behind;
  const auto meeting = meeting_of(search, spring, nearest);
  if (!meeting) {
    ++facing.averted;
    facing.spring = spring;
    return;
  }
  add(search, spring, *meeting);
}

void SpringBed::place(Search& search, std::uint32_t spring, const SpringMeeting& meeting) const {
  BedState& state = search.state;
  const bool rates = search.tangents && options_.rates;
  if (state.springs.empty()) {
    const std::size_t some = casting_.order().size() / usually_loaded;
    state.springs.reserve(some);
    if (search.tangents) state.dwrench.reserve(some);
    if (rates) state.drate.reserve(some);
  }
  Matrix6* const dwrench = search.tangents ? &state.dwrench.emplace_back() : nullptr;
  Matrix6* const drate = rates ? &state.drate.emplace_back() : nullptr;
  state.springs.push_back(
      {.spring = spring, .motion = spring_motion(casting_.springs()[spring], meeting, search.X_CT.p, dwrench, drate)});
  if (layer_) place_layer(search, spring, meeting);
}

void SpringBed::place_layer(Search& search, std::uint32_t spring, const SpringMeeting& meeting) const {
  const Spring& s = casting_.springs()[spring];
  const TargetPoint& met = meeting.met;
  const Vector3 p_C = meeting.by_ray ? Vector3(s.point + met.gap * s.normal) : s.point;
  const Vector3 p_T = search.X_TC * p_C;
  LayerPlace place = meeting.by_ray ? layer_->at(met.triangle, p_T) : layer_->nearest(met.triangle, p_T);
  place.gradient = search.X_CT.R * place.gradient;
  // Only where the force is the derivative of the energy does the thickness bring one of its own.
  const bool second = search.tangents && options_.direction == ForceDirection::energy;
  if (search.state.layers.empty()) {
    const std::size_t some = search.state.springs.capacity();
    search.state.layers.reserve(some);
    if (second) search.state.ddh.reserve(some);
  }
  Matrix6* const ddh = second ? &search.state.ddh.emplace_back() : nullptr;
  search.state.layers.push_back({.motion = layer_motion(s, meeting, place, search.X_CT.p, ddh)});
}

/// Of a spring behind T.
void SpringBed::add(Search& search, std::uint32_t spring, const SpringMeeting& meeting) const {
  // Corrected to the midsurface or not, a compression has the sign of the raw one.
  if (!(meeting.met.gap < 0.0)) return;
  place(search, spring, meeting);
  BedState& state = search.state;
  const double d = state.springs.back().motion.d;
  check_depth(spring, d, layer_ ? state.layers.back().motion.h : options_.target_thickness);
  if (d > state.deepest) {
    state.deepest = d;
    state.deepest_spring = state.springs.size() - 1;
  }
  if (!search.slots.empty()) search.slots[spring] = static_cast<std::int32_t>(state.springs.size() - 1);
  ++state.compressed;
}

std::optional<TargetPoint> SpringBed::met_close_by(const Search& search, std::uint32_t spring,
                                                   std::uint32_t near) const {
  if (!options_.by_ray) return std::nullopt;
  const Spring& s = casting_.springs()[spring];
  auto met = target_->local_crossing(search.X_TC * s.point, search.X_TC.R * s.normal, near);
  if (met && !target_->closed() && std::abs(met->gap) > options_.search_distance) return std::nullopt;
  return met;
}

void SpringBed::meet_spring(Search& search, std::uint32_t spring, const Vector3& q) const {
  Memory::OfSpring& last = search.memory.springs[spring];
  const std::uint32_t near = last.has_met ? last.triangle : search.near;
  if (const auto met = met_close_by(search, spring, near)) {
    search.near = met->triangle;
    last.note(q, met->gap > 0.0 ? met->clear : 0.0, met->triangle);
    if (met->gap > 0.0) return;
    ++facing(search, spring, met->triangle).behind;
    add(search, spring, along_normal(search, *met));
    return;
  }
  const TargetPoint nearest = target_->closest(q, near);
  search.near = nearest.triangle;
  const double clear = target_->is_distance() ? clear_of(nearest) : 0.0;
  last.note(q, clear, nearest.triangle);
  if (clear > 0.0) {
    search.p_TFree = q;
    search.free = clear;
    return;
  }
  meet(search, spring, nearest);
}

void SpringBed::meet_springs(Search& search, const SpringGroup& group) const {
  for (const std::uint32_t spring : casting_.order().subspan(group.first, group.count)) {
    const Vector3 q = search.X_TC * casting_.springs()[spring].point;
    // Neighbours of a spring that is far from T are, too, and so is the same spring after a short way.
    if (search.memory.springs[spring].still_free(q)) continue;
    if (rounded_up * (q - search.p_TFree).norm() < search.free) continue;
    if (clearance_.about(q, search.near).value_or(0.0) > 0.0) continue;
    meet_spring(search, spring, q);
  }
}

double SpringBed::clear_of(const TargetPoint& around) const {
  return clear_behind(around, options_.search_distance);
}

/// [m] no spring nearer to a point than this is behind T; <= 0: perhaps one is.
double SpringBed::clear_around(Search& search, const Vector3& p_T) const {
  if (const auto known = clearance_.about(p_T, search.near)) return *known;
  if (!target_->is_distance()) return 0.0;
  const TargetPoint around = target_->closest(p_T, search.near);
  search.near = around.triangle;
  return clear_of(around);
}

template <class PassesOver, class Meet>
void SpringBed::visit_groups(const PassesOver& passes_over, const Meet& meet) const {
  std::array<std::uint32_t, deepest_tree> visits{};
  std::size_t n_visits = 1;
  while (n_visits > 0) {
    const SpringGroup& group = casting_.groups()[visits[--n_visits]];
    if (passes_over(group)) continue;
    if (group.count == 0) {
      visits[n_visits++] = group.right;
      visits[n_visits++] = group.first;
      continue;
    }
    meet(group);
  }
}

/// Groups of springs of which none is behind T are passed over: their sphere lies in front of it.
void SpringBed::find_compressed(Search& search) const {
  if (const auto plane = target_->plane()) return find_over_plane(search, *plane);
  visit_groups(
      [&](const SpringGroup& group) {
        return clear_around(search, search.X_TC * group.centre) > group.radius * rounded_up;
      },
      [&](const SpringGroup& group) { meet_springs(search, group); });
}

/// Seen from C, one product tells how far a point is in front of the plane. It rounds otherwise than the query in T, so
/// it passes over only what is in front by more than both may round; the others are asked as ever. All meet the same
/// normal.
void SpringBed::find_over_plane(Search& search, const PlaneSurface& plane) const {
  const Vector3 normal = search.X_CT.R * plane.normal;
  const Vector3 through = search.X_CT * plane.point;
  const SpringGroup& all = casting_.groups().front();
  const double largest = search.X_CT.p.norm() + plane.point.norm() + all.centre.norm() + all.radius;
  const double in_front = normal.dot(through) + (rounded_up - 1.0) * largest;
  SpringMeeting meeting{
      .met = {.normal = normal, .smooth_normal = normal}, .by_ray = true, .direction = options_.direction};
  const auto meet = [&](std::uint32_t spring) {
    const Spring& s = casting_.springs()[spring];
    const Vector3 q = search.X_TC * s.point;
    const auto gap = options_.by_ray ? crossing_gap(plane, q, search.X_TC.R * s.normal) : std::nullopt;
    if (!gap) return meet_spring(search, spring, q);
    if (*gap > 0.0) return;
    ++facing(search, spring, 0).behind;
    meeting.met.gap = *gap;
    add(search, spring, meeting);
  };
  visit_groups([&](const SpringGroup& group) { return normal.dot(group.centre) - group.radius > in_front; },
               [&](const SpringGroup& group) {
                 for (const std::uint32_t spring : casting_.order().subspan(group.first, group.count)) {
                   if (normal.dot(casting_.springs()[spring].point) <= in_front) meet(spring);
                 }
               });
}

void SpringBed::load_centres(BedState& state) const {
  const auto load = [&](std::uint32_t i, double of_target) {
    LoadedSpring& loaded = state.springs[i];
    const double area = casting_.area(loaded.spring);
    const std::array<double, 2> h = layers(casting_.springs()[loaded.spring].thickness, of_target);
    const BedPressure p = law_over(loaded.spring, [&] { return law_.at(loaded.motion.d, h); });
    loaded.force = area * p.pressure;
    loaded.dforce = area * p.slope * loaded.motion.dd;
    state.energy += area * p.energy;
    state.area += area;
    state.faces.push_back({.triangle = loaded.spring, .pressure = p.pressure, .area = area, .springs = {i, i, i, i}});
    return p;
  };
  if (!layer_) {
    for (std::uint32_t i = 0; i < state.springs.size(); ++i) load(i, options_.target_thickness);
    return;
  }
  for (std::uint32_t i = 0; i < state.springs.size(); ++i) {
    LoadedLayer& layer = state.layers[i];
    const ThicknessSlopes by = law_.by_thickness(load(i, layer.motion.h), target_layer());
    LoadedSpring& loaded = state.springs[i];
    const double area = casting_.area(loaded.spring);
    loaded.dforce += area * by.pressure * layer.motion.dh;
    layer.slope = area * by.energy;
    layer.dslope = area * (by.pressure * loaded.motion.dd + by.energy_curvature * layer.motion.dh);
  }
}

/// Of a spring that is not compressed, whose gap says how far the load reaches into its triangles.
std::optional<SpringMeeting> SpringBed::meeting_at_rim(Search& search, std::uint32_t spring) const {
  const Memory::OfSpring& last = search.memory.springs[spring];
  const std::uint32_t near = last.has_met ? last.triangle : search.near;
  if (const auto met = met_close_by(search, spring, near)) {
    search.near = met->triangle;
    return along_normal(search, *met);
  }
  const TargetPoint nearest = target_->closest(search.X_TC * casting_.springs()[spring].point, near);
  search.near = nearest.triangle;
  return meeting_of(search, spring, nearest);
}

void SpringBed::load_triangles(Search& search) const {
  BedState& state = search.state;
  const FourToPlane plane = four_to_plane();
  std::vector<std::uint32_t> triangles;
  for (const LoadedSpring& loaded : state.springs) {
    const auto around = casting_.triangles_of(loaded.spring);
    triangles.insert(triangles.end(), around.begin(), around.end());
  }
  std::ranges::sort(triangles);
  triangles.erase(std::unique(triangles.begin(), triangles.end()), triangles.end());
  for (const std::uint32_t t : triangles) {
    std::array<std::uint32_t, 4> places{};
    bool complete = true;
    for (std::size_t k = 0; k < 4; ++k) {
      const std::uint32_t v = k < 3 ? casting_.mesh().triangles[t][k] : casting_.centre_spring(t);
      if (search.slots[v] == not_met) {
        const auto meeting = meeting_at_rim(search, v);
        complete = complete && meeting.has_value();
        if (!meeting) break;
        search.slots[v] = static_cast<std::int32_t>(state.springs.size());
        place(search, v, *meeting);
      }
      places[k] = static_cast<std::uint32_t>(search.slots[v]);
    }
    if (!complete) continue;
    Eigen::Vector4d of_places;
    for (std::size_t k = 0; k < 4; ++k) of_places[static_cast<Eigen::Index>(k)] = state.springs[places[k]].motion.d;
    const Vector3 d = plane * of_places;
    double of_target = options_.target_thickness;
    if (layer_) {
      of_target = 0.0;
      for (std::size_t k = 0; k < 3; ++k) of_target += state.layers[places[k]].motion.h / 3.0;
    }
    const std::array<double, 2> h = layers(casting_.thickness(t), of_target);
    // The plane lies deeper than the springs by what bends away from it.
    check_depth(places[3], d.maxCoeff(), of_target);
    const TriangleLoad load = law_over(t, [&] { return triangle_load(law_, casting_.area(t), h, d); });
    const Eigen::Vector4d forces = plane.transpose() * load.forces;
    const Eigen::Matrix4d slopes = plane.transpose() * load.slopes * plane;
    state.energy += load.energy;
    state.area += load.area;
    state.faces.push_back(
        {.triangle = t, .pressure = load.forces.sum() / casting_.area(t), .area = load.area, .springs = places});
    for (std::size_t k = 0; k < 4; ++k) {
      LoadedSpring& spring = state.springs[places[k]];
      const auto row = static_cast<Eigen::Index>(k);
      spring.force += forces[row];
      for (std::size_t m = 0; m < 4; ++m) {
        spring.dforce += slopes(row, static_cast<Eigen::Index>(m)) * state.springs[places[m]].motion.dd;
      }
    }
    if (layer_) {
      load_layers(state, state.faces.back(), triangle_thickness(law_, casting_.area(t), h, d, target_layer()));
    }
  }
}

/// T's layer is as thick over a triangle as on average at its corners.
void SpringBed::load_layers(BedState& state, const LoadedFace& face, const TriangleThickness& by) const {
  Vector6 dh = Vector6::Zero();
  Vector6 dslope = Vector6::Zero();
  const Eigen::Vector4d forces = four_to_plane().transpose() * by.forces;
  for (std::size_t k = 0; k < 3; ++k) dh += state.layers[face.springs[k]].motion.dh / 3.0;
  for (std::size_t k = 0; k < 4; ++k) {
    LoadedSpring& spring = state.springs[face.springs[k]];
    const double force = forces[static_cast<Eigen::Index>(k)];
    spring.dforce += force * dh;
    dslope += force * spring.motion.dd;
  }
  dslope += by.curvature * dh;
  for (std::size_t k = 0; k < 3; ++k) {
    state.layers[face.springs[k]].slope += by.slope / 3.0;
    state.layers[face.springs[k]].dslope += dslope / 3.0;
  }
}

BedState SpringBed::at(const Pose& X_CT, bool tangents) const {
  Memories::Lease lease(*memories_);
  Search search{.X_CT = X_CT, .X_TC = X_CT.inverse(), .memory = lease.memory(), .tangents = tangents};
  const bool at_vertices = casting_.places() == SpringPlaces::vertices;
  if (at_vertices) search.slots.assign(casting_.springs().size(), not_met);
  find_compressed(search);
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
  result.motion =
      spring_motion(casting_.springs()[result.spring],
                    {.met = turned(best_point, X_CT.R), .by_ray = false, .direction = ForceDirection::energy}, X_CT.p,
                    nullptr, nullptr);
  return result;
}

}  // namespace heelstrike::fem
