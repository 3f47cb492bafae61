#include "fem_server/backends/elastic_foundation/spring_bed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <numbers>
#include <queue>
#include <span>
#include <utility>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

namespace {

/// Exceeds the depth of a balanced binary tree over 2^32 springs.
constexpr std::size_t max_tree_depth = 40;
/// Maximum number of points of a triangle at which the surface is checked between springs, nearest ones first: a few
/// hundred find a ball as small as a hundredth of the triangle.
constexpr int max_box_searches = 500;
/// Margin of the precomputed search box around T: springs farther from T are skipped without a search.
constexpr double box_margin_fraction = 0.1;
/// Initial capacity: one in this many springs. Unused capacity costs nothing.
constexpr std::size_t expected_loaded_ratio = 4;
/// Covers the rounding of distances and coordinates by a few units in the last place.
constexpr double rounded_up = 1.0 + 1e-9;
/// [-] Maximum ratio of a ray to the shortest distance: the compression is the inverse fraction of the ray, and its
/// direction relative to T has few significant digits, so a longer ray has no contact.
constexpr double max_ray_length = 1e9;

/// [-] Cosine of the angle between a ray and the normal of the crossed face, in a sheet that deviates from this normal
/// by less than 45 degrees everywhere: the distance of the nearest point follows from the cosine of the sum of both
/// angles, and the ray is no longer than max_ray_ratio times this distance.
double min_short_ray_cosine() {
  constexpr double c = 1.0 / max_ray_ratio;
  return (c + std::sqrt(1.0 - c * c)) / std::numbers::sqrt2;
}
const double short_ray_cosine = min_short_ray_cosine();

/// [m] Springs around a point are not behind T if no part of T is among them and the point is in front of T, or lies
/// beyond its rim farther behind than the search distance.
double back_clearance(const TargetPoint& around, double search_distance) {
  if (around.gap > 0.0) return around.gap;
  return around.beside ? -around.gap - search_distance : 0.0;
}

void reverse_side(TargetPoint& point) {
  point.gap = -point.gap;
  point.normal = -point.normal;
  point.curvature = -point.curvature;
}

/// True if two points are closer than a distance >= 0 [m].
bool is_within(const Vector3& p, const Vector3& centre, double distance) {
  return rounded_up * (p - centre).squaredNorm() < distance * distance;
}

}  // namespace

double face_factor(const BedState& bed, std::size_t face, double dissipation, const Vector6& V_CT) {
  const auto factor = [&](double rate) { return std::max(0.0, 1.0 + dissipation * rate); };
  const auto rate_of = [&](std::uint32_t spring) { return bed.springs[spring].motion.rate.dot(V_CT); };
  if (!(dissipation > 0.0)) return 1.0;
  if (bed.planes.empty()) return factor(rate_of(bed.faces[face].springs.front()));
  const ActivePlane& plane = bed.planes[face];
  std::array<double, 4> rates{};
  for (std::size_t k = 0; k < 4; ++k) rates[k] = plane.shares[k] * rate_of(plane.springs[k]);
  const std::array<double, 3> corners = plane_of<double>(rates, plane.centre_weight);
  const double sum = plane.forces.sum();
  if (!(sum > 0.0)) return 1.0;
  return plane.forces.dot(Vector3(factor(corners[0]), factor(corners[1]), factor(corners[2]))) / sum;
}

/// Results of the last searches, for any pose.
struct SpringBed::CommittedState {
  struct SpringSearchState {
    /// [m] last position; initially none
    Vector3 p_T = Vector3::Constant(std::numeric_limits<double>::infinity());
    double free = 0.0;           ///< [m] no point of T's frame closer to p_T than this is behind T
    std::uint32_t triangle = 0;  ///< of T, last contact
    bool has_contact = false;
    /// True if a spring at q has not moved far enough to be behind T.
    [[nodiscard]] bool is_still_clear(const Vector3& q) const { return is_within(q, p_T, free); }
    [[nodiscard]] bool was_penetrating() const { return has_contact && !(free > 0.0); }
    void note(const Vector3& q, double clear, std::uint32_t where) {
      p_T = q;
      free = std::max(0.0, clear);
      triangle = where;
      has_contact = true;
    }
  };
  std::vector<SpringSearchState> springs;
  struct Place {
    std::uint32_t query_number = 0;  ///< query of the entry
    std::uint32_t place = 0;         ///< in BedState::springs
  };
  std::vector<Place> places;                                   ///< of each spring
  std::vector<std::uint32_t> loaded;                           ///< query of the load of a centre's triangle
  std::vector<std::pair<std::uint32_t, SpringContact>> steep;  ///< springs that meet a steep face of T
  std::vector<std::uint32_t> beside_steep;  ///< triangles of such springs beside others that meet an opposing face
  std::uint32_t query_number = 0;           ///< number of the current query

  void begin_evaluation() {
    steep.clear();
    beside_steep.clear();
    if (++query_number > 0) return;
    std::ranges::fill(places, Place{});
    std::ranges::fill(loaded, 0U);
    query_number = 1;
  }
  [[nodiscard]] bool is_placed(std::uint32_t spring) const { return places[spring].query_number == query_number; }
};

/// One state for each concurrent thread.
class SpringBed::SearchStateCache {
 public:
  explicit SearchStateCache(std::size_t n_springs) : n_springs_(n_springs) {}

  /// Reserved for the duration of one query.
  class Lease {
   public:
    explicit Lease(SearchStateCache& all) : all_(all), memory_(all.take()) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { all_.return_to_cache(std::move(memory_)); }
    [[nodiscard]] CommittedState& memory() { return *memory_; }

   private:
    SearchStateCache& all_;
    std::unique_ptr<CommittedState> memory_;
  };

 private:
  std::unique_ptr<CommittedState> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto memory = std::move(idle_.back());
        idle_.pop_back();
        return memory;
      }
    }
    auto memory = std::make_unique<CommittedState>();
    memory->springs.resize(n_springs_);
    memory->places.resize(n_springs_);
    memory->loaded.resize(n_springs_);
    return memory;
  }
  void return_to_cache(std::unique_ptr<CommittedState> memory) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(memory));
  }

  std::size_t n_springs_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<CommittedState>> idle_;
};

/// Springs of one connected piece of C's surface behind one of T's.
struct SpringBed::PieceOrientation {
  std::size_t behind = 0;
  std::size_t same_side_normals = 0;  ///< of these, with both normals to the same side
  std::uint32_t spring = 0;           ///< the last of them
};

/// Working data of one search.
struct SpringBed::Search {
  Pose X_CT;
  Pose X_TC;
  CommittedState& memory;
  bool tangents = true;
  BedState state{};
  SpringContact along{};                ///< contact of a spring's normal; only the members of flat contact are written
  SpringContact shortened_ray{};        ///< likewise, for a shortened ray
  std::optional<PlaneSurface> plane{};  ///< T in C if T is a plane; none = another surface
  std::uint32_t near = 0;               ///< triangle of the last result: neighbours are queried in succession
  Vector3 p_TNear = Vector3::Zero();    ///< [m] query point of this result
  Vector3 p_TFree = Vector3::Zero();    ///< [m] last point with a clearance from T found by a search
  double free = 0.0;                    ///< [m] see clearance_of
  using Pieces = std::pair<std::uint32_t, std::uint32_t>;  ///< of C and of T in contact
  std::map<Pieces, PieceOrientation> facing{};
  std::pair<const Pieces, PieceOrientation>* last_orientation = nullptr;
  void note(const Vector3& q, std::uint32_t triangle) {
    p_TNear = q;
    near = triangle;
  }
};

SpringBed::SpringBed(CastingSurface casting, std::unique_ptr<TargetSurface> target, const BedLaw& law,
                     BedOptions options, std::optional<TargetLayer> layer)
    : casting_(std::move(casting)),
      target_(std::move(target)),
      law_(law),
      options_(std::move(options)),
      layer_(std::move(layer)),
      search_states_(std::make_unique<SearchStateCache>(casting_.springs().size())) {
  n_pieces_ = 1 + *std::ranges::max_element(casting_.pieces());
  for (std::uint32_t s = 0; s < casting_.springs().size(); ++s) {
    const bool of_triangle = casting_.places() == SpringPlaces::centres;
    const auto triangles = of_triangle ? std::span(&s, 1) : casting_.triangles_of(s);
    pieces_.push_back(triangles.empty() ? 0 : casting_.pieces()[triangles.front()]);
  }
  for (const Spring& s : casting_.springs()) {
    const double of_target = layer_ ? layer_->max_thickness() : options_.target_thickness;
    max_layers_ = std::max(max_layers_, law_.thickness(layers(s.thickness, of_target)));
  }
  if (!target_->plane()) {
    casting_.measure_body_depth(max_layers_);
    own_surface_ = std::make_unique<TriangleSurface>(casting_.mesh());
  }
  if (target_->closed() && !options_.sharp_faces.triangles.empty())
    sharp_faces_ = std::make_unique<TriangleSurface>(options_.sharp_faces);
  if (!options_.target_pieces.empty()) n_target_pieces_ = 1 + *std::ranges::max_element(options_.target_pieces);
  const auto box = target_->box();
  if (!box) return;
  const auto& [low, high] = *box;
  const Vector3 margin = box_margin_fraction * (high - low) + Vector3::Constant(options_.search_distance);
  clearance_ = ClearanceGrid(
      low - margin, high + margin,
      [target = target_.get(), search_distance = options_.search_distance](const Vector3& p, std::uint32_t near) {
        return back_clearance(target->closest(p, near), search_distance);
      });
}

SpringBed::~SpringBed() = default;
SpringBed::SpringBed(SpringBed&& other) noexcept = default;

double SpringBed::target_thickness(std::uint32_t spring, const Pose& X_CT) const {
  if (!layer_) return options_.target_thickness;
  const Vector3 q = X_CT.inverse() * casting_.springs()[spring].point;
  return layer_->nearest(target_->closest(q, 0).triangle, q).thickness;
}

double SpringBed::gap(std::uint32_t spring, const Pose& X_CT) const {
  return target_->closest(X_CT.inverse() * casting_.springs()[spring].point, 0).gap;
}

void SpringBed::too_deep(std::uint32_t spring, double depth, double target_thickness) const {
  const Spring& s = casting_.springs()[spring];
  const double thickness = law_.thickness(layers(s.thickness, target_thickness));
  throw RecoverableError(
      fmt::format(
          "{}: the surfaces overlap by {:g} m at ({:g}, {:g}, {:g}) m of the casting body, where the layers are "
          "{:g} m thick: they would be fully compressed; use smaller steps, or place the bodies with less overlap",
          options_.where, depth, s.point.x(), s.point.y(), s.point.z(), thickness),
      options_.where);
}

/// A skipped spring carries no load: a load that would vanish with increasing depth is reported as an error instead.
void SpringBed::check_reach(std::uint32_t spring, double d) const {
  const Vector3& p = casting_.springs()[spring].point;
  throw RecoverableError(
      fmt::format("{}: the surfaces overlap by {:g} m at ({:g}, {:g}, {:g}) m of the casting body, more than "
                  "search_distance = {:g} m, the limit of spring contact behind an open surface; increase it, or "
                  "place the bodies with less overlap",
                  options_.where, d, p.x(), p.y(), p.z(), options_.search_distance),
      options_.where);
}

// Functions called for every spring or triangle are inline: a call would take about as long as the work.
inline SpringBed::PieceOrientation& SpringBed::facing(Search& search, std::uint32_t spring,
                                                      std::uint32_t triangle) const {
  if (search.last_orientation != nullptr && n_pieces_ * n_target_pieces_ == 1) return search.last_orientation->second;
  const Search::Pieces pieces{pieces_[spring], options_.target_pieces.empty() ? 0 : options_.target_pieces[triangle]};
  if (search.last_orientation == nullptr || search.last_orientation->first != pieces) {
    search.last_orientation = &*search.facing.try_emplace(pieces).first;
  }
  return search.last_orientation->second;
}

void SpringBed::check_orientation(const Search& search) const {
  const auto piece = [](std::uint32_t index, std::uint32_t count, const char* surface) {
    return count == 1 ? fmt::format("{} surface", surface)
                      : fmt::format("piece {} of {} of {} surface", index + 1, count, surface);
  };
  for (const auto& [pieces, facing] : search.facing) {
    if (facing.same_side_normals == 0 || facing.same_side_normals < facing.behind) continue;
    const Vector3& p = casting_.springs()[facing.spring].point;
    throw RecoverableError(
        fmt::format("{}: expected surfaces that face each other, found {} springs of {} behind {}, all with its normal "
                    "to the same side as theirs, one at ({:g}, {:g}, {:g}) m of the casting body; one of the two is "
                    "inside out (reverse its triangles), or the bodies have passed through each other",
                    options_.where, facing.same_side_normals, piece(pieces.first, n_pieces_, "the casting"),
                    piece(pieces.second, n_target_pieces_, "the partner's"), p.x(), p.y(), p.z()),
        options_.where);
  }
}

/// The ray of a spring leaves its body before it leaves T: the other side of the body is the one that T presses, unless
/// it does not face T either.
/// @param q, away  point and normal of the spring, in T
void SpringBed::check_other_side(const Spring& s, const Vector3& q, const Vector3& away) const {
  const TargetPoint of_other = target_->closest(q - s.body_depth * away, 0);
  if (of_other.gap > 0.0 || of_other.normal.dot(away) > 0.0) return;
  throw RecoverableError(
      fmt::format(
          "{}: at ({:g}, {:g}, {:g}) m of the casting body, where the layers are {:g} m thick and both bodies are "
          "thinner (this one {:g} m), both of its sides lie so deep in the partner that neither faces it; use smaller "
          "steps, or place the bodies with less overlap",
          options_.where, s.point.x(), s.point.y(), s.point.z(), max_layers_, s.body_depth),
      options_.where);
}

/// True if the line from a spring through its body leaves it within that distance [m]; at a vertex, beside it in one of
/// its triangles.
bool SpringBed::body_ends(std::uint32_t spring, double distance) const {
  const Spring& s = casting_.springs()[spring];
  const bool of_triangle = casting_.places() == SpringPlaces::centres;
  const auto triangles = of_triangle ? std::span(&spring, 1) : casting_.triangles_of(spring);
  return std::ranges::any_of(triangles, [&](std::uint32_t t) {
    const auto& [a, b, c] = own_surface_->mesh().triangles[t];
    const std::vector<Vector3>& vertices = own_surface_->mesh().vertices;
    const Vector3 beside = 0.99 * s.point + 0.01 / 3.0 * (vertices[a] + vertices[b] + vertices[c]);
    return own_surface_->crossing(beside, -s.normal, distance, true, t).has_value();
  });
}

/// Springs that have passed through a thin T are in front of its far side and carry no load, whatever the depth.
void SpringBed::check_passage(Search& search) const {
  if (!options_.thin_target || !target_->closed()) return;
  const auto check = [&](std::uint32_t spring) {
    const Spring& s = casting_.springs()[spring];
    const Vector3 q = search.X_TC * s.point;
    const TargetPoint nearest = target_->closest(q, search.near);
    search.note(q, nearest.triangle);
    const Vector3 inwards = -(search.X_TC.R * s.normal);
    if (!(nearest.gap > 0.0) || nearest.gap > max_layers_ || !(nearest.normal.dot(inwards) < opposite_sides_cosine))
      return;
    const auto entry = target_->crossing(q, inwards, max_layers_, false, nearest.triangle);
    if (!entry) return;
    const double beyond = rounded_up * entry->gap;
    const auto exit = target_->crossing(q + beyond * inwards, inwards, max_layers_ - beyond, true, nearest.triangle);
    if (!exit || body_ends(spring, beyond - exit->gap)) return;
    throw RecoverableError(
        fmt::format("{}: the casting surface has passed through the partner at ({:g}, {:g}, {:g}) m of the casting "
                    "body: the partner is {:g} m thick there, less than the layers ({:g} m), and springs beyond it "
                    "carry no load; use smaller steps, or place the bodies with less overlap",
                    options_.where, s.point.x(), s.point.y(), s.point.z(), -exit->gap, max_layers_),
        options_.where);
  };
  visit_groups(
      [&](const SpringGroup& group) {
        return clearance_around(search, search.X_TC * group.centre) > group.radius * rounded_up + max_layers_;
      },
      [&](const SpringGroup& group) {
        for (const std::uint32_t spring : casting_.order().subspan(group.first, group.count)) check(spring);
      });
}

void SpringBed::rethrow_at_triangle(std::uint32_t triangle, const RecoverableError& why) const {
  const auto& [a, b, c] = casting_.mesh().triangles[triangle];
  const auto& vertices = casting_.mesh().vertices;
  const Vector3 p = (vertices[a] + vertices[b] + vertices[c]) / 3.0;
  throw RecoverableError(fmt::format("{}: triangle {} at ({:g}, {:g}, {:g}) m of the casting body: {}", options_.where,
                                     triangle, p.x(), p.y(), p.z(), why.what()),
                         options_.where);
}

inline const SpringContact& SpringBed::along_normal(Search& search, std::uint32_t spring,
                                                    const LocalCrossing& crossing) const {
  TargetPoint& target_point = search.along.target_point;
  if (options_.direction == ForceDirection::midsurface) {
    const Spring& s = casting_.springs()[spring];
    const Vector3 p_T = search.X_TC * s.point + crossing.gap * (search.X_TC.R * s.normal);
    target_point = rotated(target_->at(crossing, p_T), search.X_CT.R);
    return search.along;
  }
  target_point.gap = crossing.gap;
  target_point.normal = search.X_CT.R * crossing.normal;
  target_point.triangle = crossing.triangle;
  return search.along;
}

/// Contact of a ray in its full length.
/// @param target_point  in C
SpringContact SpringBed::along_whole_ray(const TargetPoint& target_point) const {
  return {.target_point = target_point,
          .by_ray = true,
          .direction = options_.direction,
          .flat = options_.direction == ForceDirection::energy && target_point.curvature.isZero(0.0)};
}

/// Contact of a ray with a flat face, shortened where it runs along this face.
/// @param target_point  in C
SpringContact SpringBed::on_flat_face(const Spring& s, const TargetPoint& target_point) const {
  SpringContact spring_contact = along_whole_ray(target_point);
  const double slope = -target_point.normal.dot(s.normal);
  if (slope * max_ray_ratio >= 1.0) return spring_contact;
  spring_contact.flat = false;
  spring_contact.shortest = target_point;
  spring_contact.shortest->gap = slope * target_point.gap;
  return spring_contact;
}

/// Contact of a ray, shortened where the ray runs along T, or where T near the spring does not face it.
/// @param target_point, shortest  crossing of the ray and T's nearest point, in C
SpringContact SpringBed::along_ray(const Spring& s, const TargetPoint& target_point, TargetPoint shortest) const {
  if ((target_point.gap > 0.0) != (shortest.gap > 0.0)) reverse_side(shortest);
  SpringContact spring_contact = along_whole_ray(target_point);
  const double ray_length = max_ray_ratio * std::abs(shortest.gap);
  if (target_point.gap < 0.0 && shortest.curvature.isZero(0.0)) {
    const double facing = -shortest.normal.dot(s.normal);
    if (max_ray_ratio * facing < std::min(1.0, ray_length / -target_point.gap)) spring_contact.facing = facing;
  }
  if (spring_contact.facing || std::abs(target_point.gap) > ray_length) {
    spring_contact.shortest = shortest;
    spring_contact.flat = false;
  }
  return spring_contact;
}

/// True if the bodies overlap along a ray by no more than across it, although the face of T nearest to the spring lies
/// along the ray, as a wall. A spring below an edge of T is near two faces, and which of them presses the bodies apart
/// does not follow from their distances: the lower face of a box over the edge of a plate, and its side wall, are each
/// near the plate's upper face and its wall. Of all faces that one separates two bodies along which they overlap least.
/// @param target_point, nearest  crossing of the ray and T's nearest point, in C
bool SpringBed::is_pressed_along(const Search& search, const Spring& s, const TargetPoint& target_point,
                                 const TargetPoint& nearest) const {
  const double ray = -target_point.gap;
  const double along_wall = nearest.normal.dot(s.normal);
  // A ray that meets no face but one along itself is shortened by the inclination of this face.
  if (!(ray > 0.0) || -target_point.normal.dot(s.normal) * max_ray_ratio < 1.0) return false;
  if (-along_wall * max_ray_ratio >= 1.0 || along_wall > min_opposing_cosine) return false;
  // How far both bodies continue from a point inside them, up to the length of the ray.
  const auto extent = [&](const Vector3& p, const Vector3& direction) {
    const auto of_C = own_surface_->crossing(p, direction, ray, true, 0);
    const auto of_T = target_->crossing(search.X_TC * p, search.X_TC.R * direction, ray, true, target_point.triangle);
    return std::min(of_C ? of_C->ray_distance : ray, of_T ? -of_T->gap : ray);
  };
  const Vector3 across = s.normal.cross(nearest.normal).normalized();
  const Vector3 inwards = s.normal.cross(across);
  const Vector3 below_face = s.point - ray / max_ray_ratio * s.normal;
  const double away = extent(below_face, inwards);
  if (away - nearest.gap < ray) return false;
  // On an edge of C a line across would run within its face.
  const Vector3 inside = below_face + 0.5 * away * inwards;
  return extent(inside, across) + extent(inside, -across) >= ray;
}

std::optional<SpringContact> SpringBed::find_spring_contact(const Search& search, const Spring& s,
                                                            const TargetPoint& nearest) const {
  const bool behind = nearest.gap <= 0.0 && !nearest.beside;
  TargetPoint point = rotated(nearest, search.X_CT.R);
  const bool faces = point.normal.dot(s.normal) < 0.0;
  if (options_.by_ray || (behind && !faces)) {
    const double reach = target_->closed() ? std::numeric_limits<double>::max() : options_.search_distance;
    const Vector3 q = search.X_TC * s.point;
    const Vector3 away = search.X_TC.R * s.normal;
    const auto ray_end = target_->crossing(q, behind ? Vector3(-away) : away, reach, behind, nearest.triangle);
    if (ray_end && behind && !faces && nearest.normal.dot(ray_end->normal) < opposite_sides_cosine) {
      // The nearest point lies on the far side of a thin T.
      // A ray that is far longer than the layers is no contact of a punch: one of the surfaces may be inside out.
      if (-ray_end->gap > 2.0 * max_layers_) return std::nullopt;
      if (point.normal.dot(s.normal) > -opposite_sides_cosine && -ray_end->gap > s.body_depth) {
        check_other_side(s, q, away);
        return std::nullopt;
      }
      const TargetPoint target_point = rotated(*ray_end, search.X_CT.R);
      return target_point.curvature.isZero(0.0) ? on_flat_face(s, target_point) : along_whole_ray(target_point);
    }
    if (options_.by_ray && ray_end) {
      const TargetPoint target_point = rotated(*ray_end, search.X_CT.R);
      if (behind && is_pressed_along(search, s, target_point, point)) return along_whole_ray(target_point);
      if (std::abs(ray_end->gap) <= max_ray_length * std::abs(nearest.gap)) return along_ray(s, target_point, point);
    }
    if (behind) return std::nullopt;
  }
  // Beyond the rim the side is undefined: the gap is the distance, regardless of the side of the rim's triangles, and
  // increases away from the rim.
  if (!behind && point.gap < 0.0) reverse_side(point);
  // Without contact, the spring only defines how far the load extends into its triangles.
  const bool is_facing = !options_.by_ray && !nearest.beside && faces;
  const ForceDirection direction =
      is_facing || options_.direction == ForceDirection::normal ? options_.direction : ForceDirection::energy;
  return SpringContact{.target_point = point, .by_ray = false, .direction = direction};
}

void SpringBed::evaluate_contact(Search& search, std::uint32_t spring, const TargetPoint& nearest) const {
  if (nearest.gap > 0.0 || nearest.beside) return;
  if (!target_->closed() && -nearest.gap > options_.search_distance) {
    if (rotated(nearest, search.X_CT.R).normal.dot(casting_.springs()[spring].normal) < 0.0) {
      check_depth(spring, -nearest.gap, target_thickness(spring, search.X_CT));
      check_reach(spring, -nearest.gap);
    }
    return;
  }
  const auto spring_contact = find_spring_contact(search, casting_.springs()[spring], nearest);
  // A side wall next to the load faces neither T nor away from it.
  const double across = (search.X_CT.R * nearest.normal).dot(casting_.springs()[spring].normal);
  if (!spring_contact && std::abs(across) * max_ray_ratio < 1.0) return;
  PieceOrientation& facing = this->facing(search, spring, nearest.triangle);
  ++facing.behind;
  if (!spring_contact) {
    ++facing.same_side_normals;
    facing.spring = spring;
    return;
  }
  add(search, spring, *spring_contact);
}

[[gnu::always_inline]] inline void SpringBed::place(Search& search, std::uint32_t spring,
                                                    const SpringContact& spring_contact) const {
  BedState& state = search.state;
  const Spring& s = casting_.springs()[spring];
  search.memory.places[spring] = {search.memory.query_number, static_cast<std::uint32_t>(state.springs.size())};
  ActiveSpring& loaded = state.springs.emplace_back(spring);
  loaded.is_outside_rim = options_.by_ray && !spring_contact.by_ray;
  loaded.is_shortened = spring_contact.shortest.has_value();
  evaluate_spring_kinematics(s, spring_contact, search.X_CT.p, loaded.motion);
  if (search.tangents) set_derivatives(search, loaded, spring_contact);
  if (layer_) place_layer(search, spring, spring_contact);
}

void SpringBed::set_derivatives(Search& search, ActiveSpring& loaded, const SpringContact& spring_contact) const {
  BedState& state = search.state;
  loaded.flat = spring_contact.flat;
  SpringDerivatives& slopes = state.slopes.emplace_back(loaded.motion.rate);
  if (loaded.flat && !options_.rates) return;
  Matrix6* const drate = options_.rates ? &state.drate.emplace_back() : nullptr;
  SpringKinematicsDerivatives motion;
  differentiate_spring_kinematics(casting_.springs()[loaded.spring], spring_contact, search.X_CT.p, motion, drate);
  slopes.dd = motion.dd;
  if (loaded.flat) return;
  loaded.bent = static_cast<std::uint32_t>(state.dwrench.size());
  state.dwrench.push_back(motion.dwrench);
}

void SpringBed::place_layer(Search& search, std::uint32_t spring, const SpringContact& spring_contact) const {
  const Spring& s = casting_.springs()[spring];
  const TargetPoint& target_point = spring_contact.target_point;
  const Vector3 p_C = spring_contact.by_ray ? Vector3(s.point + target_point.gap * s.normal) : s.point;
  const Vector3 p_T = search.X_TC * p_C;
  LayerPoint place =
      spring_contact.by_ray ? layer_->at(target_point.triangle, p_T) : layer_->nearest(target_point.triangle, p_T);
  place.gradient = search.X_CT.R * place.gradient;
  // The thickness contributes a force only where the force is the derivative of the energy.
  const bool second = search.tangents && options_.direction == ForceDirection::energy;
  if (search.state.layers.empty()) {
    const std::size_t some = search.state.springs.capacity();
    search.state.layers.reserve(some);
    if (second) search.state.ddh.reserve(some);
  }
  Matrix6* const ddh = second ? &search.state.ddh.emplace_back() : nullptr;
  search.state.layers.push_back({.motion = layer_motion(s, spring_contact, place, search.X_CT.p, ddh)});
}

/// Adds a spring behind T.
inline void SpringBed::add(Search& search, std::uint32_t spring, const SpringContact& spring_contact) const {
  // A compression has the sign of the raw one, with or without correction to the midsurface.
  if (!(spring_contact.target_point.gap < 0.0) || spring_contact.is_unloaded()) return;
  const bool is_steep =
      -spring_contact.target_point.normal.dot(casting_.springs()[spring].normal) < min_opposing_cosine;
  if (is_steep && spring_contact.by_ray && extends_faces()) {
    search.memory.steep.emplace_back(spring, spring_contact);
    return;
  }
  add_active(search, spring, spring_contact);
}

inline void SpringBed::add_active(Search& search, std::uint32_t spring, const SpringContact& spring_contact) const {
  place(search, spring, spring_contact);
  BedState& state = search.state;
  ActiveSpring& loaded = state.springs.back();
  const double d = loaded.motion.d;
  loaded.cosine = spring_contact.cosine(casting_.springs()[spring].normal, d);
  check_depth(spring, law_.depth_in_layer(d, loaded.cosine),
              layer_ ? state.layers.back().motion.h : options_.target_thickness);
  if (d > state.deepest) {
    state.deepest = d;
    state.deepest_spring = state.springs.size() - 1;
  }
  ++state.compressed;
}

/// Adds the springs that meet a steep face of T, but for those beside a spring that meets a face opposing it: near an
/// edge of a tilted T the rays leave it through its wall, and RimLoad takes account of both faces there.
void SpringBed::add_steep(Search& search) const {
  const std::uint32_t first_centre = casting_.centre_spring(0);
  const auto is_beside_opposing = [&](std::uint32_t spring) {
    return std::ranges::any_of(casting_.triangles_of(spring), [&](std::uint32_t t) {
      const auto& [a, b, c] = casting_.mesh().triangles[t];
      return std::ranges::any_of(std::array{a, b, c, first_centre + t}, [&](std::uint32_t s) {
        return search.memory.is_placed(s) && !search.state.springs[search.memory.places[s].place].is_shortened;
      });
    });
  };
  auto& steep = search.memory.steep;
  const auto beside =
      std::ranges::stable_partition(steep, [&](const auto& found) { return !is_beside_opposing(found.first); });
  for (const auto& [spring, _] : beside) {
    const std::span<const std::uint32_t> triangles = casting_.triangles_of(spring);
    search.memory.beside_steep.insert(search.memory.beside_steep.end(), triangles.begin(), triangles.end());
  }
  steep.erase(beside.begin(), beside.end());
  for (const auto& [spring, spring_contact] : steep) add_active(search, spring, spring_contact);
}

/// Walks over T from the last triangle of the spring or from that of its neighbour, whichever is nearer, then from the
/// other.
inline bool SpringBed::find_local_crossing(Search& search, std::uint32_t spring, const Vector3& q,
                                           LocalCrossing& target_point) const {
  if (!options_.by_ray) return false;
  const CommittedState::SpringSearchState& last = search.memory.springs[spring];
  std::array<std::uint32_t, 2> near{last.triangle, search.near};
  if (!((q - last.p_T).squaredNorm() < (q - search.p_TNear).squaredNorm())) std::swap(near[0], near[1]);
  const Vector3 away = search.X_TC.R * casting_.springs()[spring].normal;
  const bool is_facing = target_->local_crossing(q, away, near[0], target_point) ||
                         (near[0] != near[1] && target_->local_crossing(q, away, near[1], target_point));
  if (!is_facing || (!target_->closed() && std::abs(target_point.gap) > options_.search_distance)) return false;
  if (-target_point.normal.dot(away) < short_ray_cosine) return false;
  search.note(q, target_point.triangle);
  return true;
}

inline void SpringBed::project_spring(Search& search, std::uint32_t spring, const Vector3& q) const {
  CommittedState::SpringSearchState& last = search.memory.springs[spring];
  LocalCrossing target_point;
  if (find_local_crossing(search, spring, q, target_point)) {
    last.note(q, target_point.clear, target_point.triangle);
    if (target_point.gap > 0.0) return;
    ++facing(search, spring, target_point.triangle).behind;
    add(search, spring, along_normal(search, spring, target_point));
    return;
  }
  const TargetPoint nearest = target_->closest(q, last.has_contact ? last.triangle : search.near);
  search.note(q, nearest.triangle);
  const double clear = target_->is_distance() ? clearance_of(nearest) : 0.0;
  last.note(q, clear, nearest.triangle);
  if (clear > 0.0) {
    search.p_TFree = q;
    search.free = clear;
    return;
  }
  evaluate_contact(search, spring, nearest);
}

void SpringBed::project_springs(Search& search, const SpringGroup& group) const {
  for (const std::uint32_t spring : casting_.order().subspan(group.first, group.count)) {
    const Vector3 q = search.X_TC * casting_.springs()[spring].point;
    // The neighbours of a spring far from T are also far from T, and so is the same spring after a short motion.
    if (search.memory.springs[spring].is_still_clear(q)) continue;
    if (is_within(q, search.p_TFree, search.free)) continue;
    // The grid is hardly useful for a spring that was behind T.
    if (!search.memory.springs[spring].was_penetrating() && clearance_.about(q, search.near).value_or(0.0) > 0.0)
      continue;
    project_spring(search, spring, q);
  }
}

double SpringBed::clearance_of(const TargetPoint& around) const {
  return back_clearance(around, options_.search_distance);
}

/// [m] no spring nearer to a point than this is behind T; <= 0: no bound.
double SpringBed::clearance_around(Search& search, const Vector3& p_T) const {
  if (const auto known = clearance_.about(p_T, search.near)) return *known;
  if (!target_->is_distance()) return 0.0;
  const TargetPoint around = target_->closest(p_T, search.near);
  search.note(p_T, around.triangle);
  return clearance_of(around);
}

template <class CanSkip, class Visit>
void SpringBed::visit_groups(const CanSkip& can_skip, const Visit& evaluate_contact) const {
  std::array<std::uint32_t, max_tree_depth> visits{};
  std::size_t n_visits = 1;
  while (n_visits > 0) {
    const SpringGroup& group = casting_.groups()[visits[--n_visits]];
    if (can_skip(group)) continue;
    if (group.count == 0) {
      visits[n_visits++] = group.right;
      visits[n_visits++] = group.first;
      continue;
    }
    evaluate_contact(group);
  }
}

/// Skips groups of springs whose sphere lies in front of T.
void SpringBed::find_compressed(Search& search) const {
  if (const auto plane = target_->plane()) return find_over_plane(search, *plane);
  visit_groups(
      [&](const SpringGroup& group) {
        return clearance_around(search, search.X_TC * group.centre) > group.radius * rounded_up;
      },
      [&](const SpringGroup& group) { project_springs(search, group); });
}

/// Contact of the spring's normal if T is a plane; null = T is another surface, or the normal does not reach it.
inline const SpringContact* SpringBed::over_plane(Search& search, std::uint32_t spring) const {
  if (!search.plane || !options_.by_ray) return nullptr;
  const Spring& s = casting_.springs()[spring];
  const auto gap = crossing_gap(*search.plane, s.point, s.normal);
  if (!gap) return nullptr;
  const double slope = -search.plane->normal.dot(s.normal);
  if (slope * max_ray_ratio >= 1.0) {
    search.along.target_point.gap = *gap;
    return &search.along;
  }
  if (slope * max_ray_length < 1.0) return nullptr;
  search.shortened_ray.target_point.gap = *gap;
  search.shortened_ray.shortest->gap = slope * *gap;
  return &search.shortened_ray;
}

/// In C, one product gives the distance of a point in front of the plane. Its rounding differs from that of the query
/// in T, so only points in front by more than both roundings are skipped. All springs have the same target normal.
void SpringBed::find_over_plane(Search& search, const PlaneSurface& plane) const {
  const Vector3 normal = search.X_CT.R * plane.normal;
  const Vector3 through = search.X_CT * plane.point;
  const SpringGroup& all = casting_.groups().front();
  const double largest = search.X_CT.p.norm() + plane.point.norm() + all.centre.norm() + all.radius;
  const double in_front = normal.dot(through) + (rounded_up - 1.0) * largest;
  search.plane = {.normal = normal, .point = through};
  search.along.target_point.normal = search.along.target_point.smooth_normal = normal;
  search.shortened_ray = search.along;
  search.shortened_ray.flat = false;
  search.shortened_ray.shortest = search.along.target_point;
  const auto evaluate_contact = [&](std::uint32_t spring) {
    const SpringContact* over = over_plane(search, spring);
    if (over == nullptr) return project_spring(search, spring, search.X_TC * casting_.springs()[spring].point);
    if (over->target_point.gap > 0.0) return;
    ++facing(search, spring, 0).behind;
    add(search, spring, *over);
  };
  visit_groups([&](const SpringGroup& group) { return normal.dot(group.centre) - group.radius > in_front; },
               [&](const SpringGroup& group) {
                 for (const std::uint32_t spring : casting_.order().subspan(group.first, group.count)) {
                   if (normal.dot(casting_.springs()[spring].point) <= in_front) evaluate_contact(spring);
                 }
               });
}

void SpringBed::load_centres(BedState& state) const {
  const auto load = [&](std::uint32_t i, double of_target) {
    ActiveSpring& loaded = state.springs[i];
    const double area = casting_.area(loaded.spring);
    const std::array<double, 2> h = layers(casting_.springs()[loaded.spring].thickness, of_target);
    const BedPressure p = evaluate_law_at(loaded.spring, [&] { return law_.at(loaded.motion.d, h); });
    loaded.force = area * p.pressure;
    if (!state.slopes.empty()) state.slopes[i].dforce = area * p.slope * state.slopes[i].dd;
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
    ActiveLayer& layer = state.layers[i];
    const ThicknessDerivatives by = law_.by_thickness(load(i, layer.motion.h), target_layer());
    const double area = casting_.area(state.springs[i].spring);
    layer.slope = area * by.energy;
    if (state.slopes.empty()) continue;
    SpringDerivatives& slopes = state.slopes[i];
    slopes.dforce += area * by.pressure * layer.motion.dh;
    layer.dslope = area * (by.pressure * slopes.dd + by.energy_curvature * layer.motion.dh);
  }
}

/// Contact of the normal of a spring beside T with the extension of the flat face of T below another spring: the extent
/// of a load that begins on this face depends on the position of the face, and where T ends over a triangle, the depth
/// of the loaded part does.
std::optional<SpringContact> SpringBed::project_beyond_rim(const Search& search, const Spring& s,
                                                           const Spring& behind) const {
  const Vector3 q = search.X_TC * behind.point;
  const double reach = target_->closed() ? std::numeric_limits<double>::max() : options_.search_distance;
  const auto face =
      target_->crossing(q, -(search.X_TC.R * behind.normal), reach, true, target_->closest(q, 0).triangle);
  if (!face || !face->curvature.isZero(0.0)) return std::nullopt;
  TargetPoint target_point = rotated(*face, search.X_CT.R);
  const double height = target_point.normal.dot(s.point - behind.point - target_point.gap * behind.normal);
  const double slope = -target_point.normal.dot(s.normal);
  const double min_slope = height > 0.0 ? 1.0 / max_ray_length : min_opposing_cosine;
  if (!(slope >= min_slope) || (height <= 0.0 && !target_->has_flat_faces())) return std::nullopt;
  target_point.gap = height / slope;
  return on_flat_face(s, target_point);
}

/// Adds a spring without compression, whose gap defines the extent of the load in its triangles. false = no contact.
/// @param behind  a compressed spring of such a triangle
bool SpringBed::project_at_rim(Search& search, std::uint32_t spring, std::uint32_t behind) const {
  if (const SpringContact* over = over_plane(search, spring)) {
    place(search, spring, *over);
    return true;
  }
  const CommittedState::SpringSearchState& last = search.memory.springs[spring];
  const Spring& s = casting_.springs()[spring];
  const Vector3 q = search.X_TC * s.point;
  LocalCrossing target_point;
  if (find_local_crossing(search, spring, q, target_point)) {
    place(search, spring, along_normal(search, spring, target_point));
    return true;
  }
  const TargetPoint nearest = target_->closest(q, last.has_contact ? last.triangle : search.near);
  search.note(q, nearest.triangle);
  auto spring_contact = find_spring_contact(search, s, nearest);
  bool is_overhanging = false;
  const auto opposes = [&](const SpringContact& found) {
    return found.by_ray && -found.target_point.normal.dot(s.normal) >= min_opposing_cosine;
  };
  if (options_.by_ray && !(spring_contact && opposes(*spring_contact)) && !layer_) {
    const bool is_shortened = search.state.springs[search.memory.places[behind].place].is_shortened;
    const auto beyond = project_beyond_rim(search, s, casting_.springs()[behind]);
    if (beyond && (beyond->target_point.gap > 0.0 ? spring_contact.has_value() : !is_shortened)) {
      spring_contact = beyond;
      is_overhanging = opposes(*beyond) && target_->has_flat_faces();
    }
  }
  if (!spring_contact) return false;
  place(search, spring, *spring_contact);
  search.state.springs.back().is_overhanging = is_overhanging;
  return true;
}

/// Positions in the state of the springs at a triangle's corners and centre; adds those without load. false = one of
/// them has no contact.
inline bool SpringBed::find_spring_positions(Search& search, std::uint32_t triangle,
                                             std::array<std::uint32_t, 4>& places) const {
  const auto& [a, b, c] = casting_.mesh().triangles[triangle];
  const std::array<std::uint32_t, 4> springs{a, b, c, casting_.centre_spring(triangle)};
  const auto depth = [&](std::uint32_t spring) {
    constexpr double none = -std::numeric_limits<double>::infinity();
    if (!search.memory.is_placed(spring)) return none;
    const ActiveSpring& placed = search.state.springs[search.memory.places[spring].place];
    return placed.is_overhanging ? none : placed.motion.d;
  };
  for (std::size_t k = 0; k < 4; ++k) {
    if (!search.memory.is_placed(springs[k]) &&
        !project_at_rim(search, springs[k], *std::ranges::max_element(springs, {}, depth))) {
      return false;
    }
    places[k] = search.memory.places[springs[k]].place;
  }
  return true;
}

/// Loads each triangle with an active spring once: with the spring in its centre, or else with the first one at its
/// corners, after which the centre has a position, too.
void SpringBed::load_triangles(Search& search) const {
  const std::size_t n_compressed = search.state.springs.size();
  const std::uint32_t first_centre = casting_.centre_spring(0);
  search.state.faces.reserve(n_compressed);
  for (std::size_t i = 0; i < n_compressed; ++i) {
    const std::uint32_t spring = search.state.springs[i].spring;
    if (spring >= first_centre) {
      load_triangle(search, spring - first_centre);
      continue;
    }
    for (const std::uint32_t t : casting_.triangles_of(spring)) {
      if (!search.memory.is_placed(first_centre + t)) load_triangle(search, t);
    }
  }
  if (loads_between_springs()) return load_between_springs(search);
  std::vector<std::uint32_t>& beside = search.memory.beside_steep;
  std::ranges::sort(beside);
  const auto repeated = std::ranges::unique(beside);
  beside.erase(repeated.begin(), repeated.end());
  for (const std::uint32_t t : beside) {
    if (!search.memory.is_placed(first_centre + t)) load_steep(search, t);
  }
}

/// A triangle without a spring that meets an opposing face of T, next to one that has: below the walls of T.
void SpringBed::load_steep(Search& search, std::uint32_t triangle) const {
  BedState& state = search.state;
  const RimLoad rim = evaluate_law_at(triangle, [&] { return rim_load(search, triangle, nullptr); });
  state.energy += rim.load.energy;
  state.area += rim.load.area;
  add_rim(state, rim);
}

/// [-] If T ends at a random point over an edge of a triangle, the covered part stores on average half the energy of
/// the whole edge; so does a depth that decreases linearly to this fraction: (1 + g + g^2) / 3 = 1 / 2.
const double overhang_fraction = 0.5 * (std::numbers::sqrt3 - 1.0);

/// Compressions of the springs of a triangle, each a fraction of that of one spring. If T ends over the triangle, the
/// compressions are discontinuous there, and the distance beyond the rim is independent of the depth.
struct SpringBed::TriangleDepths {
  std::array<std::uint32_t, 4> springs;  ///< in BedState::springs
  std::array<double, 4> shares{1.0, 1.0, 1.0, 1.0};
  std::array<double, 4> d{};  ///< [m]
  /// Contact at three corners without contact in the centre, or vice versa, is no quadratic function.
  double centre_weight = cubature_weights[3];
  double loaded = 1.0;          ///< [-] fraction of the triangle covered by T
  bool is_overhanging = false;  ///< T ends over the triangle, and its face is extended below the other springs
  double cosine = 1.0;          ///< [-] of the deepest spring
  TriangleDepths(const SpringBed& bed, const BedState& state, const std::array<std::uint32_t, 4>& places)
      : springs(places) {
    std::size_t deepest = 0;
    bool all_in_contact = true;
    for (std::size_t k = 0; k < 4; ++k) {
      const ActiveSpring& spring = state.springs[places[k]];
      d[k] = spring.motion.d;
      if (d[k] > d[deepest]) deepest = k;
      all_in_contact = all_in_contact && !spring.is_outside_rim;
      is_overhanging = is_overhanging || spring.is_overhanging;
    }
    cosine = state.springs[places[deepest]].cosine;
    if (all_in_contact) return;
    for (std::size_t k = 0; k < 3; ++k) {
      if (!state.springs[places[k]].is_outside_rim) centre_weight = 0.0;
    }
    for (std::size_t k = 0; k < 4; ++k) {
      if (!bed.ends_before_neighbour(state.springs[places[deepest]], state.springs[places[k]])) continue;
      springs[k] = places[deepest];
      shares[k] = overhang_fraction;
      d[k] = overhang_fraction * d[deepest];
      if (k < 3) loaded -= 1.0 / 3.0;
    }
    loaded = std::max(loaded, cubature_weights[0]);
  }
};

/// True if the face of T below the deepest spring ends before the other spring, which its extension would reach.
bool SpringBed::ends_before_neighbour(const ActiveSpring& deepest, const ActiveSpring& beside) const {
  if (!beside.is_outside_rim || deepest.is_outside_rim || deepest.is_shortened) return false;
  const Spring& below = casting_.springs()[deepest.spring];
  const Vector3 target_point = below.point - deepest.motion.d * below.normal;
  const Vector3 out_of_T = deepest.motion.rate.tail<3>();
  return out_of_T.dot(casting_.springs()[beside.spring].point - target_point) <= 0.0;
}

/// Depths at the corners of a triangle over which T ends, and their derivatives.
struct SpringBed::RimDepths {
  Vector3 d = Vector3::Zero();
  Eigen::Matrix<double, 3, 6> dd = Eigen::Matrix<double, 3, 6>::Zero();
};

/// @param opposing    below the face of T that opposes the triangle; null = only steep faces
/// @param own_planes  each face of T that presses the triangle has the depth below its own plane
RimLoad SpringBed::rim_load(const Search& search, std::uint32_t triangle, const RimDepths* opposing,
                            bool own_planes) const {
  const auto& [i, j, k] = casting_.mesh().triangles[triangle];
  const std::vector<Vector3>& vertices = casting_.mesh().vertices;
  const LoadedTriangle loaded{.corners = {vertices[i], vertices[j], vertices[k]},
                              .area = casting_.area(triangle),
                              .normal = triangle_cross(casting_.mesh(), triangle).normalized(),
                              .h = layers(casting_.thickness(triangle), options_.target_thickness),
                              .d = opposing ? opposing->d : Vector3(Vector3::Zero()),
                              .dd = opposing ? opposing->dd : Eigen::Matrix<double, 3, 6>::Zero()};
  // Faces above the triangle count, too: the load may end within it.
  const double above = std::max((vertices[j] - vertices[i]).norm(), (vertices[k] - vertices[i]).norm());
  const double below = above + law_.thickness(loaded.h);
  Vector3 low = Vector3::Constant(std::numeric_limits<double>::infinity());
  Vector3 high = -low;
  for (const Vector3& corner : loaded.corners) {
    for (const double height : {above, -below}) {
      const Vector3 p = search.X_TC * (corner + height * loaded.normal);
      low = low.cwiseMin(p);
      high = high.cwiseMax(p);
    }
  }
  RimIntegral rim(law_, loaded, search.X_CT.p, search.tangents);
  target_->for_flat_faces(low, high, [&](const std::array<Vector3, 3>& p) {
    const std::array face{search.X_CT * p[0], search.X_CT * p[1], search.X_CT * p[2]};
    if (!own_planes) return rim.add(face);
    const auto point = rim.point_below(face);
    if (!point) return;
    Spring below = casting_.springs()[casting_.centre_spring(triangle)];
    below.point = *point;
    below.normal = loaded.normal;
    if (is_pressed_by(search, below, (face[1] - face[0]).cross(face[2] - face[0]).normalized())) rim.add(face, true);
  });
  if (rim.sum().deepest >= law_.thickness(loaded.h))
    too_deep(casting_.centre_spring(triangle), rim.sum().deepest, options_.target_thickness);
  return rim.sum();
}

/// True if a spring at that point of C would be compressed by a face of T with that normal, along its whole ray.
bool SpringBed::is_pressed_by(const Search& search, const Spring& s, const Vector3& face_normal) const {
  const TargetPoint nearest = target_->closest(search.X_TC * s.point, search.near);
  if (!(nearest.gap < 0.0)) return false;
  const auto contact = find_spring_contact(search, s, nearest);
  if (!contact || !contact->by_ray || contact->shortest || !(contact->target_point.gap < 0.0)) return false;
  return contact->target_point.normal.dot(face_normal) * rounded_up >= 1.0;
}

/// True if T's faces at a sharp edge lie within the thickness of the layers around a triangle.
bool SpringBed::is_near_edge(const Search& search, std::uint32_t triangle) const {
  Vector3 low = Vector3::Constant(std::numeric_limits<double>::infinity());
  Vector3 high = -low;
  for (const std::uint32_t v : casting_.mesh().triangles[triangle]) {
    const Vector3 p = search.X_TC * casting_.mesh().vertices[v];
    low = low.cwiseMin(p);
    high = high.cwiseMax(p);
  }
  const Vector3 margin = Vector3::Constant(max_layers_);
  bool is_near = false;
  sharp_faces_->for_overlapping(low - margin, high + margin, [&](std::uint32_t) { is_near = true; });
  return is_near;
}

/// True if the springs of a triangle meet faces of T, or extensions of them, on both sides of a sharp edge: their four
/// depths do not belong to one plane.
bool SpringBed::is_across_edge(const BedState& state, const std::array<std::uint32_t, 4>& places) const {
  std::optional<Vector3> first;
  bool is_across = false;
  for (const std::uint32_t i : places) {
    const ActiveSpring& spring = state.springs[i];
    if (spring.is_shortened) return false;
    if (spring.is_outside_rim) continue;
    const Vector3 towards = spring.motion.rate.tail<3>().normalized();
    if (!first) first = towards;
    is_across = is_across || first->dot(towards) < min_opposing_cosine;
  }
  return is_across;
}

/// Triangles that T's edges press between their springs, so that none is compressed or they do not meet the same face.
void SpringBed::load_between_springs(Search& search) const {
  BedState& state = search.state;
  const std::uint32_t first_centre = casting_.centre_spring(0);
  const double reach = casting_.max_reach() * rounded_up;
  const auto load = [&](std::uint32_t triangle) {
    const Vector3 q = search.X_TC * casting_.springs()[first_centre + triangle].point;
    if (clearance_.about(q, search.near).value_or(0.0) > reach || !is_near_edge(search, triangle)) return;
    const RimLoad rim = evaluate_law_at(triangle, [&] { return rim_load(search, triangle, nullptr, true); });
    if (!(rim.load.energy > 0.0)) return;
    state.energy += rim.load.energy;
    state.area += rim.load.area;
    const double force = rim.wrench.tail<3>().norm();
    // The rate is that of the energy: the deepest point moves along the edge.
    if (rim.deepest > state.between_deepest.d && force > 0.0)
      state.between_deepest = {.wrench = rim.wrench / force, .rate = rim.wrench / force, .d = rim.deepest};
    state.between_force += force;
    state.between_moment += force * casting_.springs()[first_centre + triangle].point;
    add_rim(state, rim);
  };
  visit_groups(
      [&](const SpringGroup& group) {
        return clearance_around(search, search.X_TC * group.centre) > group.radius * rounded_up + reach;
      },
      [&](const SpringGroup& group) {
        for (const std::uint32_t spring : casting_.order().subspan(group.first, group.count)) {
          if (spring < first_centre || search.memory.loaded[spring] == search.memory.query_number) continue;
          load(spring - first_centre);
        }
      });
}

/// Adds what the forces of the springs do not contain.
void SpringBed::add_rim(BedState& state, const RimLoad& rim) const {
  state.rim_peak = std::max(state.rim_peak, rim.peak);
  if (options_.direction != ForceDirection::energy) return;
  state.rim_wrench += rim.wrench;
  state.rim_dwrench += rim.dwrench;
}

/// @param d  [m] of the plane over the triangle
SpringBed::RimDepths SpringBed::rim_depths(const Search& search, const TriangleDepths& four, const Vector3& d) const {
  // Along `energy` both are equal, and forces have the same bits with and without tangents.
  const bool is_rate = options_.direction == ForceDirection::energy || !search.tangents;
  const auto dd = [&](std::size_t c) -> Vector6 {
    const std::uint32_t spring = four.springs[c];
    return four.shares[c] * (is_rate ? search.state.springs[spring].motion.rate : search.state.slopes[spring].dd);
  };
  const auto [a, b, c] = plane_of<Vector6>({dd(0), dd(1), dd(2), dd(3)}, four.centre_weight);
  RimDepths depths{.d = d};
  depths.dd << a.transpose(), b.transpose(), c.transpose();
  return depths;
}

inline void SpringBed::load_triangle(Search& search, std::uint32_t triangle) const {
  BedState& state = search.state;
  std::array<std::uint32_t, 4> places;
  if (!find_spring_positions(search, triangle, places)) return;
  if (loads_between_springs()) {
    if (is_across_edge(state, places)) return;
    search.memory.loaded[casting_.centre_spring(triangle)] = search.memory.query_number;
  }
  const TriangleDepths four(*this, state, places);
  const auto [d_0, d_1, d_2] = plane_of<double>(four.d, four.centre_weight);
  const Vector3 d(d_0, d_1, d_2);
  double of_target = options_.target_thickness;
  if (layer_) {
    of_target = 0.0;
    for (std::size_t k = 0; k < 3; ++k) of_target += state.layers[places[k]].motion.h / 3.0;
  }
  const double area = casting_.area(triangle);
  const std::array<double, 2> h = layers(casting_.thickness(triangle), of_target);
  // The plane lies deeper than the springs by the lift of the centre.
  const double deepest = law_.depth_in_layer(std::max({d_0, d_1, d_2}), four.cosine);
  if (!four.is_overhanging && deepest >= law_.thickness(h))
    too_deep(casting_.centre_spring(triangle), deepest, of_target);
  std::optional<RimLoad> rim;
  const TriangleLoad load = evaluate_law_at(triangle, [&] {
    if (!four.is_overhanging) return triangle_load(law_, area, h, d, search.tangents);
    const RimDepths depths = rim_depths(search, four, d);
    return rim.emplace(rim_load(search, triangle, &depths)).load;
  });
  state.energy += load.energy;
  const double loaded_area = four.loaded * load.area;
  state.area += loaded_area;
  state.faces.push_back(
      {.triangle = triangle, .pressure = load.forces.sum() / area, .area = loaded_area, .springs = places});
  const auto forces = by_four_points<double>({load.forces[0], load.forces[1], load.forces[2]}, four.centre_weight);
  for (std::size_t k = 0; k < 4; ++k) state.springs[four.springs[k]].force += four.shares[k] * forces[k];
  if (options_.planes) {
    state.planes.push_back(
        {.springs = four.springs, .shares = four.shares, .centre_weight = four.centre_weight, .forces = load.forces});
    state.planes.back().dforces.fill(Vector6::Zero());
  }
  if (layer_) load_layers(search, state.faces.back(), four, triangle_thickness(law_, area, h, d, target_layer()));
  if (rim) add_rim(state, *rim);
  if (!search.tangents) return;
  std::array<SpringDerivatives*, 4> slopes;
  for (std::size_t k = 0; k < 4; ++k) slopes[k] = &state.slopes[four.springs[k]];
  // Two components of the pose at a time fit into the registers of a processor.
  using Two = Eigen::Vector2d;
  const Matrix3 K = rim ? Matrix3(Matrix3::Zero()) : load.slopes;
  for (Eigen::Index i = 0; i < 6; i += 2) {
    const auto dd = [&](std::size_t k) -> Two { return four.shares[k] * slopes[k]->dd.segment<2>(i); };
    std::array<Two, 3> dplane;
    if (rim) {
      for (Eigen::Index k = 0; k < 3; ++k) dplane[static_cast<std::size_t>(k)] = rim->dforces.row(k).segment<2>(i);
    } else {
      const auto [a, b, c] = plane_of<Two>({dd(0), dd(1), dd(2), dd(3)}, four.centre_weight);
      dplane = {K(0, 0) * a + K(0, 1) * b + K(0, 2) * c, K(1, 0) * a + K(1, 1) * b + K(1, 2) * c,
                K(2, 0) * a + K(2, 1) * b + K(2, 2) * c};
    }
    for (std::size_t k = 0; k < 3 && options_.planes; ++k) state.planes.back().dforces[k].segment<2>(i) += dplane[k];
    const auto dforces = by_four_points<Two>(dplane, four.centre_weight);
    for (std::size_t k = 0; k < 4; ++k) slopes[k]->dforce.segment<2>(i) += four.shares[k] * dforces[k];
  }
}

/// The thickness of T's layer over a triangle is the mean of its corners.
void SpringBed::load_layers(Search& search, const ActiveFace& face, const TriangleDepths& four,
                            const TriangleThickness& by) const {
  BedState& state = search.state;
  for (std::size_t k = 0; k < 3; ++k) state.layers[face.springs[k]].slope += by.slope / 3.0;
  if (!search.tangents) return;
  Vector6 dh = Vector6::Zero();
  Vector6 dslope = Vector6::Zero();
  const auto forces = by_four_points<double>({by.forces[0], by.forces[1], by.forces[2]}, four.centre_weight);
  for (std::size_t k = 0; k < 3; ++k) dh += state.layers[face.springs[k]].motion.dh / 3.0;
  for (std::size_t k = 0; k < 4; ++k) {
    SpringDerivatives& slopes = state.slopes[four.springs[k]];
    slopes.dforce += four.shares[k] * forces[k] * dh;
    dslope += four.shares[k] * forces[k] * slopes.dd;
  }
  dslope += by.curvature * dh;
  for (Eigen::Index k = 0; k < 3 && options_.planes; ++k) {
    state.planes.back().dforces[static_cast<std::size_t>(k)] += by.forces[k] * dh;
  }
  for (std::size_t k = 0; k < 3; ++k) state.layers[face.springs[k]].dslope += dslope / 3.0;
}

BedState SpringBed::at(const Pose& X_CT, bool tangents) const {
  SearchStateCache::Lease lease(*search_states_);
  Search search{.X_CT = X_CT,
                .X_TC = X_CT.inverse(),
                .memory = lease.memory(),
                .tangents = tangents,
                .along = {.target_point = {},
                          .by_ray = true,
                          .direction = options_.direction,
                          .flat = options_.direction == ForceDirection::energy}};
  search.memory.begin_evaluation();
  search.state.springs.reserve(casting_.order().size() / expected_loaded_ratio);
  if (tangents) search.state.slopes.reserve(search.state.springs.capacity());
  find_compressed(search);
  if (extends_faces()) add_steep(search);
  check_orientation(search);
  check_passage(search);
  if (casting_.places() == SpringPlaces::vertices) {
    load_triangles(search);
  } else {
    load_centres(search.state);
  }
  // The derivative by a rotation that follows another one, instead of by their sum in the exponential.
  search.state.rim_dwrench.topLeftCorner<3, 3>() -= 0.5 * skew(search.state.rim_wrench.head<3>());
  return std::move(search.state);
}

/// Recursively divides the triangle into four where it may be deepest; parts that cannot be this deep are discarded.
std::optional<UndetectedPenetration> SpringBed::find_penetration_between(Search& search, std::uint32_t triangle,
                                                                         double min_penetration) const {
  struct Part {
    std::array<Vector3, 3> corners;
    double highest;  ///< [m] lower bound of the gap of all its points
    bool operator<(const Part& other) const { return highest > other.highest; }
  };
  const SurfaceMesh& mesh = casting_.mesh();
  const auto& [a, b, c] = mesh.triangles[triangle];
  Spring spring{.normal = triangle_cross(mesh, triangle).normalized(), .thickness = casting_.thickness(triangle)};
  std::priority_queue<Part> parts;
  parts.push({{mesh.vertices[a], mesh.vertices[b], mesh.vertices[c]}, -std::numeric_limits<double>::infinity()});
  for (int looks = 0; looks < max_box_searches && !parts.empty(); ++looks) {
    const std::array<Vector3, 3> p = parts.top().corners;
    parts.pop();
    spring.point = (p[0] + p[1] + p[2]) / 3.0;
    double reach = 0.0;
    for (const Vector3& corner : p) reach = std::max(reach, (corner - spring.point).norm());
    const Vector3 q = search.X_TC * spring.point;
    const TargetPoint nearest = target_->closest(q, search.near);
    search.note(q, nearest.triangle);
    const double clear = clearance_of(nearest);
    if (clear + min_penetration > reach) continue;
    const auto in_front = [&](const Vector3& corner) {
      return nearest.gap + nearest.normal.dot(search.X_TC.R * (corner - spring.point)) + min_penetration > 0.0;
    };
    if (target_->convex() && std::ranges::all_of(p, in_front)) continue;
    const bool in_reach = target_->closed() || -nearest.gap <= options_.search_distance;
    if (-nearest.gap > min_penetration && !nearest.beside && in_reach && find_spring_contact(search, spring, nearest)) {
      const Vector3 centre = (mesh.vertices[a] + mesh.vertices[b] + mesh.vertices[c]) / 3.0;
      return UndetectedPenetration{
          .depth = -nearest.gap, .point = spring.point, .spacing = (mesh.vertices[a] - centre).norm()};
    }
    const std::array<Vector3, 3> middles{0.5 * (p[0] + p[1]), 0.5 * (p[1] + p[2]), 0.5 * (p[2] + p[0])};
    for (std::size_t k = 0; k < 3; ++k) parts.push({{p[k], middles[k], middles[(k + 2) % 3]}, clear - reach});
    parts.push({middles, clear - reach});
  }
  return std::nullopt;
}

std::optional<UndetectedPenetration> SpringBed::find_undetected_penetration(const Pose& X_CT,
                                                                            double min_penetration) const {
  // Over a plane, the deepest points of a triangle are its corners.
  const bool at_vertices = casting_.places() == SpringPlaces::vertices;
  if (!target_->is_distance() || (at_vertices && target_->plane())) return std::nullopt;
  SearchStateCache::Lease lease(*search_states_);
  Search search{.X_CT = X_CT, .X_TC = X_CT.inverse(), .memory = lease.memory()};
  const std::uint32_t first_centre = at_vertices ? casting_.centre_spring(0) : 0;
  std::optional<UndetectedPenetration> found;
  visit_groups(
      [&](const SpringGroup& group) {
        const double reach = group.radius + casting_.max_reach();
        return found || clearance_around(search, search.X_TC * group.centre) + min_penetration > reach;
      },
      [&](const SpringGroup& group) {
        for (const std::uint32_t spring : casting_.order().subspan(group.first, group.count)) {
          if (!found && spring >= first_centre)
            found = find_penetration_between(search, spring - first_centre, min_penetration);
        }
      });
  return found;
}

NearestSpring SpringBed::nearest(const Pose& X_CT) const {
  const Pose X_TC = X_CT.inverse();
  const bool skips = target_->is_distance();
  double best = std::numeric_limits<double>::infinity();
  NearestSpring result;
  TargetPoint best_point;
  std::uint32_t near = 0;
  std::array<std::uint32_t, max_tree_depth> visits{};
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
  evaluate_spring_kinematics(
      casting_.springs()[result.spring],
      {.target_point = rotated(best_point, X_CT.R), .by_ray = false, .direction = ForceDirection::energy}, X_CT.p,
      result.motion);
  return result;
}

}  // namespace heelstrike::fem
