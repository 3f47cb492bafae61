#include "fem_server/bodies/pair_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "common/contact/material_laws.hpp"
#include "common/errors/error.hpp"
#include "common/spatial/spatial.hpp"
#include "fem_server/bodies/body_mesh.hpp"
#include "fem_server/bodies/body_preparation.hpp"
#include "fem_server/fem/materials/material_kind.hpp"
#include "fem_server/geometry/plausibility.hpp"
#include "fem_server/geometry/read_mesh.hpp"
#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "scenario/surfaces/sphere.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike::fem {

namespace {

/// True if the body is filled with tetrahedra here; false while the content of its file is unknown.
bool is_meshed_by_backend(const Surface& surface) {
  const auto mesh = MeshSurface::of(surface);
  return !mesh || named_kind(*mesh) == MeshKind::surface;
}

void check_support(const ContactBody& body, const ParameterScope& place) {
  const std::string key = place.where + "support";
  const bool clamped = !text(place.parameters, "clamped_set").empty() || !place.numbers("clamped_box", 6).empty();
  if (text(place.parameters, "support") != "inertia_relief") {
    if (clamped) return;
    throw input_error(key, fmt::format("{}: the body is not supported: translations along x, y, z and rotations "
                                       "about x, y, z are free; set clamped_set or clamped_box, or use support: "
                                       "inertia_relief",
                                       key));
  }
  if (clamped) {
    throw input_error(key, fmt::format("{}: expected either inertia relief (a body in free flight) or a clamp, found "
                                       "both; remove clamped_set and clamped_box, or the support",
                                       key));
  }
  if (std::ranges::all_of(body.materials, [](const Material& m) { return m.density == 0.0; })) {
    throw input_error(key, fmt::format("{}: inertia relief balances the load by the body's inertia; its "
                                       "material needs a density [kg/m^3] above 0",
                                       key));
  }
}

/// Only bodies that Gmsh fills have finer elements at the contact; others are divided regularly.
void reject_refinement(const ContactBody& body, const ParameterScope& place) {
  if (SphereSurface::of(body.surface) || is_filled_from_triangles(body.surface)) return;
  for (const char* name : {"contact_size", "contact_radius"}) {
    if (!(number(place.parameters, name) > 0.0)) continue;
    throw input_error(place.where + name,
                      fmt::format("{}{}: expected a ball, or a surface that is filled with tetrahedra, found a {}, "
                                  "which is divided into equal elements; remove it and use a smaller element_size, or "
                                  "use a mesh of this body (heelstrike mesh) with contact_direction",
                                  place.where, name, body.surface.kind));
  }
}

void check_body(const ContactBody& body, const ParameterScope& place) {
  check_support(body, place);
  for (const char* box : {"body_box", "contact_box"}) {
    if (place.parameters.contains(box)) (void)place.numbers(box, 6);
  }
  const bool directed = !place.numbers("contact_direction", 3).empty();
  if (!is_meshed_by_backend(body.surface)) return;
  reject_blocks_elements(body.surface, place);
  reject_refinement(body, place);
  if (is_layer(body.surface)) {
    (void)count_elements_through(body.surface, place);
    return;
  }
  (void)element_size_of(place);
  const auto sphere = SphereSurface::of(body.surface);
  if (sphere && !(sphere->radius > 0.0)) {
    throw input_error("main.surface.radius",
                      fmt::format("a deformable ball needs a radius > 0 m, found {} m", sphere->radius));
  }
  if (is_filled_from_triangles(body.surface) && number(place.parameters, "contact_size") > 0.0 && !directed) {
    throw input_error(place.where + "contact_size",
                      fmt::format("{}contact_size: {} m needs contact_direction, which locates the fine elements",
                                  place.where, number(place.parameters, "contact_size")));
  }
}

void check_rigid_partner(const PairSpec& pair) {
  for (const ParameterSchema& s : partner_parameters()) {
    const auto given = pair.parameters.find(s.name);
    if (given == pair.parameters.end() || (s.fallback && given->second == *s.fallback)) continue;
    throw pair_error(pair, "parameters." + s.name, "the partner is rigid; give it a material, or remove this");
  }
  const SurfaceKind& kind = kind_of(pair.partner.surface);
  const auto mesh = MeshSurface::of(pair.partner.surface);
  if (mesh ? named_kind(*mesh) != MeshKind::volume : kind.is_cloud || kind.distance != nullptr || kind.sheet != nullptr)
    return;
  throw pair_error(pair, "partner.material",
                   fmt::format("a {} has no surface as rigid partner; give it a material, or name a surface mesh",
                               pair.partner.surface.kind));
}

/// None while the element depends on a file.
std::optional<ElementKind> predict_element_kind(const Surface& surface, const ParameterMap& parameters) {
  if (const auto named = named_element(text(parameters, "element"))) return named;
  if (MeshSurface::of(surface)) return std::nullopt;
  return default_element(4);
}

void check_like_elements(const PairSpec& pair, const ElementKind& main, const ElementKind& partner) {
  if (main.mixed() == partner.mixed()) return;
  throw pair_error(pair, "parameters.partner_element",
                   fmt::format("'{}' is combined with '{}' of the main body: expected both elements with independent "
                               "pressures, or both without, because the locking one would dominate the response; set "
                               "element and partner_element",
                               partner.name, main.name));
}

void check_linear_partner(const PairSpec& pair, const ElementKind& partner) {
  if (partner.n_nodes != 10) return;
  throw pair_error(pair, "parameters.partner_element",
                   "expected a deformable partner of linear elements, tetrahedra with 4 nodes, prisms or hexahedra, "
                   "found 10 nodes; exchange main and partner, or use one of these");
}

void check_deformable_partner(const PairSpec& pair) {
  if (const SurfaceKind& kind = kind_of(pair.partner.surface); !kind.fills) {
    throw pair_error(pair, "partner.material",
                     fmt::format("a partner of this surface ({}: {}) is rigid; remove the material, or use another "
                                 "surface, e.g. a block",
                                 kind.name(), kind.keys.meaning));
  }
  const ParameterMap own = partner_map(pair);
  check_body(pair.partner, {"contact." + pair.name + ".parameters.partner_", own});
  const auto main_kind = predict_element_kind(pair.main.surface, pair.parameters);
  const auto partner_kind = predict_element_kind(pair.partner.surface, own);
  if (partner_kind) check_linear_partner(pair, *partner_kind);
  if (main_kind && partner_kind) check_like_elements(pair, *main_kind, *partner_kind);
}

/// Data of a deformable body available before meshing.
struct InspectedBody {
  std::optional<Vector3> extents;  ///< [m]
  ElementKind element;             ///< of the body
};

/// @throws Error{invalid_input} if the elements of a volume file do not support the requested element
InspectedBody seen(const ContactBody& body, const ParameterScope& place, const PrepareContext& context) {
  const auto file = MeshSurface::of(body.surface);
  const AssetContent* asset = file && !body.materials.empty() ? &context.asset(file->asset()) : nullptr;
  if (asset != nullptr && is_volume_mesh(asset->content, read_options(*file, *asset, context))) {
    const VolumeMesh mesh = read_volume(asset->content, read_options(*file, *asset, context));
    return {.extents = extents_of(mesh.nodes),
            .element = find_supported_element(mesh.nodes_per_element, place, asset->name)};
  }
  const auto named = named_element(text(place.parameters, "element"));
  return {.extents = surface_extents(body.surface, context), .element = named.value_or(default_element(4))};
}

/// Adds warnings, with the key before those that have none.
void add(Warnings warnings, const std::string& key, std::vector<std::string>& all) {
  for (std::string& warning : warnings)
    all.push_back(key.empty() ? std::move(warning) : fmt::format("{}: {}", key, warning));
}

void check_body_plausibility(const ContactBody& body, const std::string& side, const Vector3& extents,
                             const ParameterScope& place, std::vector<std::string>& all) {
  if (const auto mesh = MeshSurface::of(body.surface)) {
    add(find_extent_warnings(extents, mesh->length_scale, "length_scale"), side + ".surface.mesh", all);
  }
  if (body.materials.empty() || !is_meshed_by_backend(body.surface)) return;
  const auto element = named_element(text(place.parameters, "element"));
  const bool is_quadratic = element && element_topology(element->n_nodes).quadratic();
  for (const char* name : {"element_size", "contact_size"}) {
    const double size = optional_number(place.parameters, name).value_or(0.0);
    if (size > 0.0) add(find_element_size_warnings(place.where + name, size, extents, is_quadratic), "", all);
  }
}

/// Poisson's ratio from which displacement-only elements are reported to lock: at this value, locking stiffens the foot
/// of foot_element_test by more than the error of its element size.
constexpr double locking_poissons_ratio = 0.49;

/// Mixed elements of the back-end that the present mesh of the body supports; all of them if there are none.
std::vector<std::string> mixed_choices(const ContactBody& body, const ElementKind& present,
                                       const std::string& backend) {
  const ParameterSchema& element =
      *std::ranges::find(find_backend(backend).parameters, element_key, &ParameterSchema::name);
  const auto corners = [](const ElementKind& kind) { return element_topology(kind.n_nodes).n_corners; };
  std::vector<std::string> fitting, all;
  for (const ElementKind& kind : element_kinds()) {
    if (!kind.mixed() || std::ranges::find(element.choices, kind.name) == element.choices.end()) continue;
    all.emplace_back(kind.name);
    const bool fits = corners(kind) == corners(present) && kind.n_nodes >= present.n_nodes;
    if (fits || BlockSurface::of(body.surface)) fitting.emplace_back(kind.name);
  }
  return fitting.empty() ? all : fitting;
}

void check_volumetric_locking(const ContactBody& body, const ElementKind& kind, const std::string& backend,
                              const ParameterScope& place, std::vector<std::string>& all) {
  if (kind.mixed() || body.materials.empty()) return;
  const double nu = std::ranges::max(body.materials, {}, &Material::poissons_ratio).poissons_ratio;
  if (nu < locking_poissons_ratio) return;
  all.push_back(
      fmt::format("{}element: Poisson's ratio {} with '{}', a displacement-only element that locks, makes "
                  "the body too stiff; use a mixed element ({})",
                  place.where, nu, kind.name, fmt::join(mixed_choices(body, kind, backend), ", ")));
}

}  // namespace

Error pair_error(const PairSpec& pair, const std::string& key, const std::string& message) {
  const std::string full = "contact." + pair.name + "." + key;
  return input_error(full, full + ": " + message);
}

void check_rigid_pair(const PairSpec& pair) {
  if (!pair.partner.materials.empty()) {
    throw pair_error(pair, "partner.material",
                     fmt::format("{} has a rigid partner; remove the material, exchange main and partner, or use "
                                 "fem_condensed or fem_full",
                                 pair.backend));
  }
  check_body_pair(pair);
}

void check_body_pair(const PairSpec& given) {
  const PairSpec pair = add_shape_sets(given);
  if (pair.main.materials.empty()) {
    throw pair_error(pair, "main.material",
                     "missing; the deformable body needs youngs_modulus [Pa] and poissons_ratio");
  }
  check_body(pair.main, {"contact." + pair.name + ".parameters.", pair.parameters});
  if (pair.partner.materials.empty()) {
    check_rigid_partner(pair);
  } else {
    check_deformable_partner(pair);
  }
}

std::vector<std::string> find_body_pair_warnings(const PairSpec& pair, const PrepareContext& context) {
  std::vector<std::string> all;
  const std::string where = "contact." + pair.name;
  const ParameterScope place{where + ".parameters.", pair.parameters};
  const InspectedBody main = seen(pair.main, place, context);
  if (main.extents) check_body_plausibility(pair.main, where + ".main", *main.extents, place, all);
  check_volumetric_locking(pair.main, main.element, pair.backend, place, all);
  const ParameterMap own = partner_map(pair);
  const ParameterScope partner_place{where + ".parameters.partner_", own};
  std::optional<Vector3> partner_extents;
  if (pair.partner.materials.empty()) {
    partner_extents = surface_extents(pair.partner.surface, context);
  } else {
    const InspectedBody partner = seen(pair.partner, partner_place, context);
    check_linear_partner(pair, partner.element);
    check_like_elements(pair, main.element, partner.element);
    partner_extents = partner.extents;
    check_volumetric_locking(pair.partner, partner.element, pair.backend, partner_place, all);
  }
  if (partner_extents) check_body_plausibility(pair.partner, where + ".partner", *partner_extents, partner_place, all);
  if (main.extents && partner_extents) add(find_proportion_warnings(*main.extents, *partner_extents), where, all);
  return all;
}

namespace {

std::string location_of(const PairSpec& pair, const char* side, const Material& material) {
  return fmt::format("contact.{}.{}.{}", pair.name, side, law_key(material));
}

ParameterMap completed(const PairSpec& pair, const char* side, const Material& material) {
  return checked_parameters(material.law, material_parameters(""), location_of(pair, side, material));
}

void check_side(const PairSpec& pair, const char* side, const ContactBody& body) {
  for (const Material& material : body.materials) {
    if (material.law.empty()) continue;
    const ParameterMap law = completed(pair, side, material);
    (void)material_law({location_of(pair, side, material) + ".", law});
  }
}

/// The law of the pair's parameters.
ParameterMap law_of_parameters(const PairSpec& pair) {
  ParameterMap law;
  for (const ParameterSchema& schema : material_parameters("")) {
    const auto given = pair.parameters.find(schema.name);
    if (given != pair.parameters.end()) law.insert(*given);
  }
  return law;
}

void reject_unused_law(const PairSpec& pair) {
  for (const ParameterSchema& schema : material_parameters("")) {
    const auto given = pair.parameters.find(schema.name);
    if (given == pair.parameters.end() || (schema.fallback && given->second == *schema.fallback)) continue;
    throw pair_error(pair, "parameters." + schema.name,
                     "every material of the body has its own law, and none uses this one; remove it, or remove the "
                     "`law` of the materials that should use it");
  }
}

}  // namespace

void check_material_laws(const PairSpec& pair) {
  check_side(pair, "main", pair.main);
  check_side(pair, "partner", pair.partner);
}

PairSpec with_laws(PairSpec pair) {
  const ParameterMap common = law_of_parameters(pair);
  (void)material_law({"contact." + pair.name + ".parameters.", common});
  check_material_laws(pair);
  const auto has_own = [](const Material& material) { return !material.law.empty(); };
  const bool any = !pair.main.materials.empty() || !pair.partner.materials.empty();
  if (any && std::ranges::all_of(pair.main.materials, has_own) &&
      std::ranges::all_of(pair.partner.materials, has_own)) {
    reject_unused_law(pair);
  }
  const auto complete = [&](const char* side, ContactBody& body) {
    for (Material& material : body.materials) {
      material.law = has_own(material) ? completed(pair, side, material) : common;
    }
  };
  complete("main", pair.main);
  complete("partner", pair.partner);
  return pair;
}

namespace {

MaterialLaws laws_of(const PairSpec& pair, const char* side, const ContactBody& body) {
  std::vector<MaterialLaw> laws;
  for (const Material& material : body.materials) {
    laws.push_back(material_law({location_of(pair, side, material) + ".", material.law}));
  }
  return MaterialLaws(std::move(laws));
}

}  // namespace

MaterialLaws laws_of_main(const PairSpec& pair) {
  return laws_of(pair, "main", pair.main);
}

MaterialLaws laws_of_partner(const PairSpec& pair) {
  return laws_of(pair, "partner", pair.partner);
}

PairSpec linearised(PairSpec pair, const PrepareContext& context) {
  const auto linearise = [&](const char* side, ContactBody& body) {
    for (Material& material : body.materials) {
      if (std::exchange(material.law, {}).empty()) continue;
      context.on_progress(fmt::format("{}: {} is linear and uses the moduli only, the response to small strain",
                                      location_of(pair, side, material), pair.backend),
                          0.0);
    }
  };
  linearise("main", pair.main);
  linearise("partner", pair.partner);
  return pair;
}

}  // namespace heelstrike::fem
