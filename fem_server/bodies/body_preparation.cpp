#include "fem_server/bodies/body_preparation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <span>
#include <utility>

#include "common/errors/error.hpp"
#include "common/errors/pair_limit.hpp"
#include "common/parameters/parameter.hpp"
#include "common/spatial/spatial.hpp"
#include "fem_server/backend_interface/hysteresis.hpp"
#include "fem_server/backend_interface/preparation_locks.hpp"
#include "fem_server/backend_interface/surface_regions.hpp"
#include "fem_server/bodies/body_cut.hpp"
#include "fem_server/bodies/body_fields.hpp"
#include "fem_server/bodies/body_mesh.hpp"
#include "fem_server/bodies/contact_reach.hpp"
#include "fem_server/fem/compliance_cache.hpp"
#include "fem_server/fem/dense_kernels.hpp"
#include "fem_server/fem/element_kind.hpp"
#include "fem_server/geometry/plausibility.hpp"
#include "fem_server/geometry/read_mesh.hpp"
#include "fem_server/surfaces/mesh_distance.hpp"
#include "fem_server/surfaces/partner_shape.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike::fem {

namespace {

using Place = ParameterScope;

Support support_of(const VolumeMesh& mesh, const Place& place) {
  Support support;
  support.inertia_relief = text(place.parameters, "support") == "inertia_relief";
  support.clamped_nodes = clamped_nodes(mesh, place);
  return support;
}

/// Nodes of the chosen faces. Without a contact set, nodes on the clamp are omitted; a set that touches the clamp is an
/// error.
ContactNodes candidates_of(const BodyModel& body, const Support& support, std::span<const ElementFace> cut,
                           const Place& place) {
  const ContactNodes all = contact_nodes(body, contact_faces(body.mesh(), cut, place));
  std::vector<bool> keep(all.nodes.size(), true);
  if (text(place.parameters, "contact_set").empty()) {
    for (std::size_t i = 0; i < all.nodes.size(); ++i) {
      keep[i] = !std::ranges::binary_search(support.clamped_nodes, all.nodes[i]);
    }
  }
  return selected(all, keep);
}

void check_limit(const ContactNodes& contact, const std::string& pair, const Place& place) {
  const double limit = number(place.parameters, "max_candidates");
  const double n = static_cast<double>(contact.nodes.size());
  if (n <= limit || compression_tolerance(place.parameters, contact.nodes.size()) > 0.0) return;
  const bool may_compress = place.parameters.contains("compliance");
  throw PairLimit(
      "contact." + pair + ".parameters.max_candidates",
      fmt::format("{} candidate contact nodes, max_candidates is {}; their compliance would take {:.1f} GB. "
                  "Restrict them by contact_set, contact_box or contact_direction, {}, or raise the limit",
                  n, limit, 72e-9 * n * n,
                  may_compress ? "compress it (compliance: automatic)" : "use fem_condensed, which compresses it"));
}

/// Removes the candidates that the partner cannot reach and reports their number. Clamped nodes stay: they are rejected
/// later.
void restrict_to_reach(const PairSpec& pair, const BodyModel& body, const Support& support,
                       const PrepareContext& context, ParameterMap& parameters, ContactNodes& contact) {
  if (text(pair.parameters, "contact_nodes") == "all") return;
  const double depth = number(parameters, "max_penetration");
  const auto reach = partner_reach(pair.partner, depth);
  double n_skipped = 0.0;
  if (reach) {
    std::vector<Vector3> points;
    for (const std::uint32_t node : contact.nodes) points.push_back(body.mesh().nodes[node]);
    std::vector<bool> keep = reachable_points(points, contact.normals, *reach, context.stop);
    const bool fits = std::ranges::find(keep, true) != keep.end();
    const std::size_t n_before = keep.size();
    for (std::size_t i = 0; i < keep.size(); ++i) {
      if (!fits || std::ranges::binary_search(support.clamped_nodes, contact.nodes[i])) keep[i] = true;
    }
    contact = selected(contact, keep);
    n_skipped = static_cast<double>(n_before - contact.nodes.size());
    if (!fits && n_before > 0) {
      context.on_progress(
          fmt::format("{}: the {} overlaps the body by more than max_penetration = {} m at every contact point; all "
                      "contact nodes are kept",
                      pair.name, pair.partner.surface.kind, depth),
          0.0);
    } else if (n_skipped > 0.0) {
      context.on_progress(fmt::format("{}: {} of {} contact nodes omitted: the {} cannot reach them with an overlap up "
                                      "to max_penetration = {} m",
                                      pair.name, n_skipped, n_before, pair.partner.surface.kind, depth),
                          0.0);
    }
  }
  parameters["contact_nodes_left_out"] = n_skipped;
}

/// A mesh with its support and the faces of its cut.
struct ClampedMesh {
  VolumeMesh mesh;
  Support support;
  std::vector<ElementFace> cut;  ///< faces exposed by `body_box`, ascending
};

std::string places_of(std::span<const MeshPiece> pieces) {
  constexpr std::size_t shown = 5;
  std::string text;
  for (const MeshPiece& piece : pieces.first(std::min(shown, pieces.size()))) {
    text += fmt::format("{}{:.3g} cm^3 around ({:.4f}, {:.4f}, {:.4f}) m", text.empty() ? "" : ", ", 1e6 * piece.volume,
                        piece.center.x(), piece.center.y(), piece.center.z());
  }
  return pieces.size() > shown ? fmt::format("{} and {} more", text, pieces.size() - shown) : text;
}

/// Rejects a cut that leaves parts without support; isolated elements along the cut are removed and reported.
void remove_isolated_elements(ClampedMesh& body, const Place& place, const PrepareContext& context) {
  // Removed elements change forces by less than their volume fraction; one per cent is below the effect of the
  // element size.
  constexpr double max_isolated_volume_fraction = 0.01;
  const std::vector<MeshPiece> isolated = find_unsupported_pieces(body.mesh, body.support.clamped_nodes);
  if (isolated.empty()) return;
  double removed_volume = 0.0;
  double total = 0.0;
  for (const MeshPiece& piece : isolated) removed_volume += piece.volume;
  for (std::size_t e = 0; e < body.mesh.n_elements(); ++e) total += element_volume(body.mesh, e);
  if (removed_volume > max_isolated_volume_fraction * total) {
    throw input_error(
        place.where + "body_box",
        fmt::format("{}body_box: {} of the pieces left by the cut have no support, {:.3g} % of the volume: {}; extend "
                    "the clamp into each of them, or move the box",
                    place.where, isolated.size(), 100.0 * removed_volume / total, places_of(isolated)));
  }
  context.on_progress(fmt::format("{}body_box: {} isolated pieces along the cut, connected by an edge or corner only, "
                                  "are removed, {:.2g} % of the volume: {}",
                                  place.where, isolated.size(), 100.0 * removed_volume / total, places_of(isolated)),
                      0.0);
  remove_pieces(body.mesh, isolated, body.cut);
  body.support = support_of(body.mesh, place);
}

/// The body without the part that `body_box` removes.
ClampedMesh make_clamped_mesh(const Surface& surface, const Place& place, const PrepareContext& context) {
  ClampedMesh body{.mesh = body_mesh(surface, place, context), .support = {}, .cut = {}};
  const auto box = place.numbers("body_box", 6);
  if (!box.empty()) body.cut = clip_to_box(body.mesh, box);
  if (body.mesh.n_elements() == 0) {
    throw input_error(place.where + "body_box", place.where + "body_box: no element of the mesh lies in this box");
  }
  body.support = support_of(body.mesh, place);
  if (!body.cut.empty()) remove_isolated_elements(body, place, context);
  return body;
}

/// Contact pressures of the candidates; those on the rim of the cut have no pressure of their own, which is reported.
PressureRecovery pressure_of(const VolumeMesh& mesh, const ContactNodes& contact, std::span<const ElementFace> cut,
                             const Place& place, const PrepareContext& context) {
  const std::vector<std::uint32_t> rim = nodes_of_faces(mesh, cut);
  const auto n =
      std::ranges::count_if(contact.nodes, [&](std::uint32_t node) { return std::ranges::binary_search(rim, node); });
  if (n > 0) {
    context.on_progress(fmt::format("{}{}body_box: {} of {} contact nodes lie on the rim of the cut; they carry force, "
                                    "and the pressure reported there is that of their loaded neighbours, if any",
                                    note_mark, place.where, n, contact.nodes.size()),
                        0.0);
  }
  return {mesh, contact, rim};
}

/// Where sets overlap, the later material applies. This is reported: for groups of a mesh file it is often a mistake.
void warn_about_overlaps(const VolumeMesh& mesh, const ContactBody& body, const PrepareContext& context) {
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::uint32_t>> shared;
  std::vector<std::size_t> holder(mesh.n_elements(), body.materials.size());
  for (std::size_t i = 0; i < body.materials.size(); ++i) {
    const auto set = mesh.element_sets.find(body.materials[i].set);
    if (set == mesh.element_sets.end()) continue;
    for (const std::uint32_t e : set->second) {
      if (holder[e] < i) shared[{holder[e], i}].push_back(e);
      holder[e] = i;
    }
  }
  for (const auto& [pair, elements] : shared) {
    context.on_progress(
        fmt::format("{}materials of body '{}': element sets '{}' and '{}' share {} elements, the first is element {}; "
                    "the later material, '{}', applies there",
                    warning_mark, body.name, body.materials[pair.first].set, body.materials[pair.second].set,
                    elements.size(), elements.front(), body.materials[pair.second].set),
        0.0);
  }
}

/// @pre body_mesh made the mesh for the requested element
BodyModel body_of(VolumeMesh mesh, const ContactBody& body, const Place& place, const PrepareContext& context) {
  const ElementKind kind =
      named_element(text(place.parameters, "element")).value_or(default_element(mesh.nodes_per_element));
  warn_about_overlaps(mesh, body, context);
  return {std::move(mesh), body.materials, kind.pressure};
}

struct Partner {
  std::shared_ptr<const SignedDistance> surface;
  PartnerShape shape;
};

/// None for points, which act on the surface of the body, and for shapes that have a surface only after meshing:
/// prepare_partner.
Partner partner_of(const ContactBody& partner, const PrepareContext& context) {
  const Surface& surface = partner.surface;
  if (kind_of(surface).distance != nullptr) {
    return {.surface = signed_distance(surface), .shape = PartnerShape(surface)};
  }
  if (kind_of(surface).sheet != nullptr && partner.materials.empty()) {
    SurfaceMesh triangles = surface_mesh(kind_of(surface).sheet(surface));
    PartnerShape shape(triangles);
    return {.surface = mesh_distance(std::move(triangles)), .shape = std::move(shape)};
  }
  const auto mesh = MeshSurface::of(surface);
  if (!mesh) return {};
  const AssetContent& asset = context.asset(mesh->asset());
  const ReadOptions read = read_options(*mesh, asset, context);
  if (!partner.materials.empty() && is_volume_mesh(asset.content, read)) return {};
  SurfaceMesh triangles = read_surface(asset.content, read);
  for (Vector3& vertex : triangles.vertices) vertex = mesh->X_BodyMesh * vertex;
  PartnerShape shape(triangles);
  return {.surface = mesh_distance(std::move(triangles)), .shape = std::move(shape)};
}

}  // namespace

namespace {

ParameterSchema element_parameter() {
  ParameterSchema s = text_parameter(
      element_key,
      "finite element: tet4 and tet10 are tetrahedra with 4 and 10 nodes, wedge6 prisms, hex8 and hex27 hexahedra of a "
      "mesh file (with 20 or 27 nodes for hex27; 8 are converted to 27) or a block; _mixed ones and hexahedra have "
      "independent pressures for nearly incompressible tissue; from_mesh = elements of the mesh file, tet4 for a body "
      "that is meshed here",
      std::string(from_mesh), element_names());
  s.removed_choices = {
      {"hex20",
       "sides with eight nodes have corners with negative areas, which cannot carry a pressure; expected hex27, which "
       "a mesh with 20 nodes is converted to"}};
  return s;
}

}  // namespace

std::vector<ParameterSchema> body_parameters(std::string contact_nodes) {
  std::vector<ParameterSchema> s;
  s.push_back(number_parameter("element_size", "m", "edge length of the tetrahedra when the body is meshed here",
                               std::nullopt, positive));
  s.push_back(element_parameter());
  s.push_back(number_parameter("contact_size", "m",
                               "edge length at the contact pole of a ball, or at the faces that point along "
                               "contact_direction; 0 = element_size",
                               0.0, not_negative));
  s.push_back(number_parameter("contact_radius", "m",
                               "distance from the pole or these faces up to which contact_size applies", 0.0,
                               not_negative));
  s.push_back(number_parameter("max_meshing_time", "s", "time limit of the mesher", 600.0, positive));
  s.push_back(list_parameter(
      "body_box", "m",
      "elements with their centre outside this box (lower corner, then upper) are removed, e.g. the toes; every "
      "remaining piece needs support, and the faces exposed by the cut carry no contact"));
  s.push_back(text_parameter("support",
                             "support of the body: clamped nodes, or inertia relief of a body in free flight, whose "
                             "load is balanced by its own inertia",
                             "clamped", {"clamped", "inertia_relief"}));
  std::ranges::move(body_set_parameters(), std::back_inserter(s));
  s.push_back(text_parameter("contact_nodes",
                             "kept contact nodes: all of the chosen ones, or those that a rigid plane, sphere or "
                             "infinite cylinder can reach with overlaps up to max_penetration (others reach all)",
                             std::move(contact_nodes), {"reachable", "all"}));
  s.push_back(
      number_parameter("max_candidates", "-",
                       "maximum number of candidate contact nodes whose compliance is dense (2.6 GB for the default)",
                       6000.0, {.min = 1.0}));
  s.push_back(number_parameter("max_memory", "B",
                               "maximum memory of condensation or factorisation of a body; checked before it starts",
                               8e9, positive));
  s.push_back(number_parameter("friction", "-", "Coulomb coefficient", 0.0, not_negative));
  s.push_back(number_parameter("restitution", "-",
                               "nominal coefficient of restitution c_r of the pressure hysteresis "
                               "[flores2011]; 1 is elastic",
                               1.0, {.min = 0.0, .max = 1.0, .min_excluded = true}));
  s.push_back(number_parameter("min_approach_velocity", "m/s", "lower bound of the approach velocity in the damping",
                               1e-3, positive));
  s.push_back(number_parameter("max_penetration", "m",
                               "maximum overlap that is solved; default: a quarter of the smallest extent of "
                               "the body",
                               std::nullopt, positive));
  std::ranges::move(region_parameters("the main body's contact surface", "the main body"), std::back_inserter(s));
  return s;
}

namespace {

/// Parameters of the main body that also exist for a deformable partner.
constexpr std::array shared_names{"element_size", "element",           "contact_size", "contact_radius",
                                  "support",      "clamped_set",       "clamped_box",  "contact_set",
                                  "contact_box",  "contact_direction", "contact_angle"};

}  // namespace

std::vector<ParameterSchema> partner_parameters() {
  std::vector<ParameterSchema> parameters;
  for (ParameterSchema& s : body_parameters("all")) {
    if (std::ranges::find(shared_names, s.name) == shared_names.end()) continue;
    s.meaning = fmt::format("{} of a deformable partner (one with a material), in its frame", s.name);
    s.name = "partner_" + s.name;
    parameters.push_back(std::move(s));
  }
  return parameters;
}

ParameterMap partner_map(const PairSpec& pair) {
  ParameterMap own;
  for (const ParameterSchema& s : partner_parameters()) {
    const auto given = pair.parameters.find(s.name);
    if (given != pair.parameters.end()) own.emplace(s.name.substr(std::string_view("partner_").size()), given->second);
  }
  for (const char* name : {"max_candidates", "max_meshing_time"}) own[name] = pair.parameters.at(name);
  for (const ParameterSchema& s : compression_parameters()) {
    const auto given = pair.parameters.find(s.name);
    if (given != pair.parameters.end()) own.insert(*given);
  }
  return own;
}

std::optional<PreparedPartner> prepare_partner(const PairSpec& pair, const PrepareContext& context) {
  if (pair.partner.materials.empty()) return std::nullopt;
  const ParameterMap own = partner_map(add_shape_sets(pair));
  const Place place{"contact." + pair.name + ".parameters.partner_", own};
  VolumeMesh mesh = body_mesh(pair.partner.surface, place, context);
  BodyModel body = body_of(std::move(mesh), pair.partner, place, context);
  Support support = support_of(body.mesh(), place);
  ContactNodes contact = candidates_of(body, support, {}, place);
  check_limit(contact, pair.name, place);
  return PreparedPartner{.body = std::move(body), .support = std::move(support), .contact = std::move(contact)};
}

PartnerSurface partner_surface(PreparedPartner partner) {
  const VolumeMesh& mesh = partner.body.mesh();
  SurfaceMesh boundary = boundary_surface(mesh).surface;
  PartnerShape shape(boundary);
  PressureRecovery pressure(mesh, partner.contact);
  PartnerSurface made{
      .distance = mesh_distance(std::move(boundary)),
      .surface = contact_surface(mesh, boundary_faces(mesh), partner.contact.nodes, partner.support.clamped_nodes),
      .fields = nullptr};
  made.fields = std::make_shared<const BodyFields>(std::move(partner.body), partner.support, std::move(partner.contact),
                                                   std::move(shape), std::move(pressure));
  return made;
}

std::vector<std::string> body_surface_pairs(bool with_clouds) {
  std::vector<std::string> pairs;
  for (const SurfaceKind& main : surface_kinds()) {
    if (!main.fills) continue;
    for (const SurfaceKind& partner : surface_kinds()) {
      const bool meets = partner.fills || partner.distance != nullptr || (with_clouds && partner.is_cloud);
      if (meets) pairs.push_back(fmt::format("{}-{}", main.name(), partner.name()));
    }
  }
  return pairs;
}

PreparedBody prepare_body(const PairSpec& given, const PrepareContext& context, ParameterMap& parameters) {
  const PairSpec pair = add_shape_sets(given);
  // Set here and not only in the condensation: cached products are evaluated and written with the same kernels.
  use_one_blas_thread();
  const Place place{"contact." + pair.name + ".parameters.", pair.parameters};
  ClampedMesh clamped = make_clamped_mesh(pair.main.surface, place, context);
  BodyModel body = body_of(std::move(clamped.mesh), pair.main, place, context);
  const Support support = std::move(clamped.support);
  ContactNodes contact = candidates_of(body, support, clamped.cut, place);
  const Vector3 size = extents_of(body.mesh().nodes);
  ContactOptions options;
  options.friction = number(pair.parameters, "friction");
  options.hysteresis_factor = flores_factor(number(pair.parameters, "restitution"));
  options.min_approach_velocity = number(pair.parameters, "min_approach_velocity");
  options.max_penetration = optional_number(pair.parameters, "max_penetration").value_or(0.25 * size.minCoeff());
  parameters = pair.parameters;
  parameters["max_penetration"] = options.max_penetration;
  restrict_to_reach(pair, body, support, context, parameters, contact);
  check_limit(contact, pair.name, place);
  Partner partner = partner_of(pair.partner, context);
  PressureRecovery pressure = pressure_of(body.mesh(), contact, clamped.cut, place, context);
  std::vector<ContactRegion> regions = contact_regions(pair, body.mesh(), pressure);
  return {.body = std::move(body),
          .support = support,
          .contact = std::move(contact),
          .pressure = std::move(pressure),
          .regions = std::move(regions),
          .partner = std::move(partner.surface),
          .options = options,
          .shape = std::move(partner.shape),
          .max_memory = {.bytes = number(pair.parameters, "max_memory"), .key = place.where + "max_memory"}};
}

std::vector<ParameterSchema> compression_parameters() {
  return {
      text_parameter("compliance",
                     "compliance of the candidates: dense takes 72 B for each pair of nodes; compressed stores pairs "
                     "of distant clusters by their leading singular vectors; automatic = compressed above "
                     "max_candidates",
                     "automatic", {"automatic", "dense", "compressed"}),
      number_parameter("compression_tolerance", "-",
                       "maximum error of contact forces in the energy norm due to the compression; the total "
                       "normal force differs by about as much",
                       1e-6, {.min = 1e-9, .max = 1e-2})};
}

double compression_tolerance(const ParameterMap& parameters, std::size_t n_candidates) {
  if (!parameters.contains("compliance")) return 0.0;
  const std::string choice = text(parameters, "compliance");
  const bool many = static_cast<double>(n_candidates) > number(parameters, "max_candidates");
  return choice == "compressed" || (choice == "automatic" && many) ? number(parameters, "compression_tolerance") : 0.0;
}

SurfaceCompliance prepared_compliance(const BodyModel& body, const Support& support, const ContactNodes& contact,
                                      const PrepareContext& context, const MemoryLimit& limit, double tolerance) {
  const std::string key =
      context.locks == nullptr ? std::string() : compliance_key(body, support, contact.nodes, tolerance);
  return prepare_once<SurfaceCompliance>(context.locks, key, context.stop, [&] {
    return cached_compliance(context.cache_directory, body, support, contact.nodes, context.on_progress, context.stop,
                             limit, tolerance);
  });
}

}  // namespace heelstrike::fem
