#include "fem_server/backends/rigid/entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>
#include <utility>

#include "common/parameters/parameter.hpp"
#include "fem_server/backend_interface/body_surfaces.hpp"
#include "fem_server/backend_interface/saved_history.hpp"
#include "fem_server/backends/rigid/rigid_geometry.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike::fem {

namespace {

/// History of rigid bodies: only the start of the next search, which changes no result and is not saved.
struct RigidHistory final : SavedHistory<RigidHistory> {
  static constexpr std::string_view format = "heelstrike rigid history 1";
  std::shared_ptr<const ProbeCache> near{};  ///< null = none
  template <class Archive, class Self>
  static void transfer(Archive& /*archive*/, Self& /*self*/) {}
};

/// Radius of the probe cache over the reach of the responses: a larger one costs more per evaluation, a smaller one
/// needs more searches. Any value gives the same points; others were not measured.
constexpr double probe_cache_radius = 8.0;

class RigidContact final : public ContactBackend {
 public:
  RigidContact(std::string name, RigidGeometry geometry, double reach, ParameterMap parameters)
      : ContactBackend({.parameters = std::move(parameters), .history_independent = true}),
        name_(std::move(name)),
        geometry_(std::move(geometry)),
        reach_(reach) {}

  [[nodiscard]] std::shared_ptr<const History> initial_history() const override {
    return RigidHistory::of_backend(name_);
  }
  [[nodiscard]] std::shared_ptr<const History> load_history(std::string_view bytes) const override {
    return RigidHistory::load(bytes, name_);
  }
  [[nodiscard]] Response evaluate(const History& history, const PairState& state,
                                  const EvaluateOptions& /*options*/) const override {
    Response r;
    auto [points, nearest] = geometry_.points(state.X_AB, reach_, RigidHistory::from(history).near.get());
    // Below the reach, a point that only bounds the distance is no contact point.
    if (points.empty() && nearest.gap > reach_) points.push_back(nearest);
    r.points = std::move(points);
    r.gap = nearest.gap;
    r.gap_rate = nearest.n_A.dot(point_velocity(state.V_AB, nearest.p_AC - state.X_AB.p));
    r.p_ACop = nearest.p_AC;
    r.statistics.active_points =
        static_cast<int>(std::ranges::count_if(r.points, [](const ContactPoint& p) { return p.gap <= 0.0; }));
    return r;
  }
  [[nodiscard]] Committed commit(const History& history, const PairState& state,
                                 const EvaluateOptions& options) const override {
    auto next = RigidHistory::of_backend(name_);
    next->near = RigidHistory::from(history).near;
    const double margin = probe_cache_radius * reach_;
    if (!next->near || 2.0 * geometry_.max_displacement(next->near->X_AB, state.X_AB) > margin) {
      next->near = std::make_shared<ProbeCache>(geometry_.cached_probes(state.X_AB, margin));
    }
    return {.history = next, .response = evaluate(*next, state, options)};
  }

 private:
  std::string name_;
  RigidGeometry geometry_;
  double reach_;
};

/// Reach of the responses over the size of the smaller body: no body moves this far in a step that resolves its motion.
constexpr double default_reach = 1e-3;

std::vector<ParameterSchema> schema(bool friction) {
  std::vector<ParameterSchema> parameters{
      number_parameter("restitution", "-", "coefficient of restitution: 1 is elastic, 0 without rebound", 0.0,
                       {.min = 0.0, .max = 1.0})};
  if (friction) {
    parameters.push_back(number_parameter("friction", "-", "Coulomb coefficient", 0.0, {.min = 0.0}));
  }
  parameters.push_back(text_parameter(
      impact_law_parameter,
      "newton = the separation velocity is the coefficient times the approach velocity, poisson = the impulse of "
      "restitution is the coefficient times that of compression; neither creates energy. sequential = newton, and a "
      "contact that does not approach takes part only after earlier impacts have set it in motion: bodies in contact "
      "transmit motion as in Newton's cradle",
      "newton", {"newton", "poisson", "sequential"}));
  // [piazza2001] uses 5 mm/s for an implant; one millimetre per second is a fall from 51 nm, below any roughness.
  parameters.push_back(number_parameter("restitution_threshold", "m/s",
                                        "slower approaches cause no impact: the bodies stay in contact", 1e-3,
                                        not_negative));
  parameters.push_back(number_parameter("contact_margin", "m",
                                        "points are reported up to this gap; default: a thousandth of the smaller body",
                                        std::nullopt, not_negative));
  return parameters;
}

/// Any two bodies of which one has a surface, except two planes, which always intersect.
std::vector<std::string> pairs() {
  const auto meets = [](const SurfaceKind& kind) { return kind.distance != nullptr || has_surface(kind); };
  const auto endless = [](const SurfaceKind& kind) { return kind.distance != nullptr && kind.extents == nullptr; };
  std::vector<std::string> names;
  for (const SurfaceKind& main : surface_kinds()) {
    for (const SurfaceKind& partner : surface_kinds()) {
      const bool apart = !(endless(main) && endless(partner)) && !(main.is_cloud && partner.is_cloud);
      if (apart && (meets(main) || meets(partner))) names.push_back(main.name() + "-" + partner.name());
    }
  }
  return names;
}

/// Bodies with triangulated curves roll as polyhedra.
std::vector<std::string> find_rolling_warnings(const PairSpec& pair, const PrepareContext& context) {
  std::vector<std::string> warnings;
  for (const auto& [side, body] : {std::pair{"main", &pair.main}, std::pair{"partner", &pair.partner}}) {
    const double rotation_angle =
        RigidGeometry::edge_rotation(body->surface, context, fmt::format("contact.{}.{}.surface", pair.name, side));
    if (rotation_angle == 0.0) continue;
    warnings.push_back(
        fmt::format("contact.{}.{}.surface: flat triangles approximate a curve, with angles of up to {:.2g} degrees: "
                    "the body rolls as a polyhedron and loses energy at its edges; a sphere or a cylinder "
                    "rolls smoothly, finer triangles lose less",
                    pair.name, side, rotation_angle * 180.0 / std::numbers::pi));
  }
  return warnings;
}

BackendEntry entry(std::string name, std::string summary, bool friction) {
  BackendEntry entry;
  entry.summary = std::move(summary);
  entry.reference = "baraff1994";
  entry.parameters = schema(friction);
  entry.surface_pairs = pairs();
  entry.make = [name](const PairSpec& pair, const PrepareContext& context) -> std::unique_ptr<ContactBackend> {
    RigidGeometry geometry(pair, context);
    ParameterMap parameters = pair.parameters;
    const double reach = optional_number(parameters, "contact_margin").value_or(default_reach * geometry.size());
    parameters["contact_margin"] = reach;
    return std::make_unique<RigidContact>(name, std::move(geometry), reach, std::move(parameters));
  };
  entry.warnings = find_rolling_warnings;
  entry.name = std::move(name);
  return entry;
}

}  // namespace

std::vector<BackendEntry> rigid_entries() {
  return {entry("rigid", "rigid bodies without friction: points of contact, impulses by complementarity", false),
          entry("rigid_coulomb", "rigid bodies with Coulomb friction: points of contact, impulses by complementarity",
                true)};
}

}  // namespace heelstrike::fem
