#include "fem_server/backends/elastic_foundation/entry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "common/contact/preparation.hpp"
#include "common/errors/error.hpp"
#include "common/motion/motion_file.hpp"
#include "common/parameters/parameter.hpp"
#include "common/spatial/spatial.hpp"
#include "fem_server/backend_interface/body_surfaces.hpp"
#include "fem_server/backend_interface/surface_regions.hpp"
#include "fem_server/backends/elastic_foundation/casting_square.hpp"
#include "fem_server/backends/elastic_foundation/casting_surface.hpp"
#include "fem_server/backends/elastic_foundation/foundation_contact.hpp"
#include "fem_server/backends/elastic_foundation/surface_grid.hpp"
#include "fem_server/geometry/plausibility.hpp"
#include "fem_server/geometry/surface_mesh.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/surface_kind.hpp"
#include "scenario/surfaces/values.hpp"

namespace heelstrike::fem {

namespace {

/// Seven divisions make 16384 triangles of one: more than is ever needed.
constexpr double max_refinements = 7.0;
/// Along one edge: a million cells in total take some GB.
constexpr double max_grid_cells = 1000.0;

std::vector<ParameterSchema> geometry_parameters() {
  return {
      text_parameter("spring_body", "the body whose surface carries the springs", "main", {"main", "partner"}),
      text_parameter(
          "springs",
          "vertices = springs at the vertices and centres, with the pressure integrated over the loaded part of each "
          "triangle; "
          "centres = one in the centre of each triangle, as in the literature",
          "vertices", {"vertices", "centres"}),
      number_parameter(
          "refine", "-",
          "number of divisions of each triangle of the casting surface into four; default: 0 for meshes; for shapes as "
          "required by contact depths of a thousandth of the layers",
          std::nullopt, {.min = 0.0, .max = max_refinements}),
      list_parameter(
          "grid", "-",
          "two numbers of cells: the casting surface is remeshed by a rectangular grid, projected on it along "
          "grid_side; cells over its rim are omitted. Along the next axis of x, y, z and the one after it"),
      text_parameter("grid_side", "the end of the axis of the casting body's frame from which the grid is projected",
                     "z+", {"x-", "x+", "y-", "y+", "z-", "z+"}),
      number_parameter("element_size", "m",
                       "edge of the triangles of a foot or block; default: a twentieth of its smallest extent",
                       std::nullopt, positive),
      number_parameter("extent", "m", "edge of the square around its point on which a casting plane carries springs",
                       std::nullopt, positive),
      text_parameter("penetration",
                     "ray = along the normal of the spring; nearest = to the nearest point of the other surface", "ray",
                     {"ray", "nearest"}),
      text_parameter(
          "direction",
          "of the force. energy = derivative of the stored energy, so that energy is conserved; normal = "
          "along the spring; midsurface = along the bisector of both normals, with the penetration corrected "
          "to it. The last two conserve energy in the limit of fine meshes and flat surfaces",
          "energy", {"energy", "normal", "midsurface"}),
      text_parameter("normals",
                     "interpolated = between the vertices of a mesh: springs in the centres and the midsurface "
                     "direction on the other surface rotate smoothly; facets = of each triangle",
                     "interpolated", {"interpolated", "facets"}),
      number_parameter("search_distance", "m",
                       "maximum depth behind an open surface with spring contact; default: the thickness of the layers",
                       std::nullopt, positive)};
}

std::vector<ParameterSchema> layer_parameters() {
  return {
      number_parameter("thickness", "m", "of the main body's layer, if it has a material", std::nullopt, positive),
      number_parameter("partner_thickness", "m", "of the partner's layer, if it has a material", std::nullopt,
                       positive),
      list_parameter("vertex_thickness", "m",
                     "of the casting body's layer at each vertex of its mesh, in the order of the file (STL: of "
                     "first occurrence), instead of a constant one"),
      file_parameter("vertex_thickness_file",
                     "as vertex_thickness, a table with the column thickness_m (.csv), relative to the scenario file"),
      file_parameter("back_file",
                     "mesh below the casting body's layer, e.g. of the bone, relative to the scenario file: the layer "
                     "extends to it along the normals, instead of a constant thickness"),
      text_parameter("back_asset", "as back_file, by its name in the contact server's asset folder", ""),
      list_parameter("partner_vertex_thickness", "m",
                     "as vertex_thickness, for the layer of the target body; a mesh, or a "
                     "shape defined by triangles"),
      file_parameter("partner_vertex_thickness_file", "as vertex_thickness_file, for the layer of the target body"),
      file_parameter("partner_back_file", "as back_file, below the layer of the target body"),
      text_parameter("partner_back_asset", "as partner_back_file, by its name in the contact server's asset folder",
                     ""),
      number_parameter("back_search_distance", "m", "maximum distance of the back of a layer below its surface", 0.02,
                       positive),
      number_parameter(
          "back_min_thickness", "m",
          "minimum thickness of a layer, used where its back is nearer or in front, e.g. where cartilage tapers "
          "off at its rim; default none: a back in front is rejected",
          std::nullopt, positive),
      text_parameter("layers",
                     "two layers in series with equal pressure, each with its own material; or lumped, thickness added "
                     "and elastic constants averaged",
                     "series", {"series", "lumped"}),
      text_parameter("strain", "small = strain d / h; large = strain -ln(1 - d / h), which stiffens as the layer thins",
                     "small", {"small", "large"}),
      text_parameter(
          "material_law",
          "linear = Young's modulus of the material; nonlinear = modulus of polyethylene that decreases with the "
          "pressure, from reference_strain, reference_stress and exponent",
          "linear", {"linear", "nonlinear"}),
      number_parameter("reference_strain", "-", "eps0 of the nonlinear material", 0.0597, positive),
      number_parameter("reference_stress", "Pa", "p0 of the nonlinear material", 18.4e6, positive),
      number_parameter("exponent", "-", "n of the nonlinear material", 3.0, {.min = 1.0, .max = 20.0})};
}

std::vector<ParameterSchema> schema() {
  std::vector<ParameterSchema> all = geometry_parameters();
  std::ranges::move(layer_parameters(), std::back_inserter(all));
  for (const char* prefix : {"", "partner_"}) {
    for (ParameterSchema& set : body_set_parameters()) {
      set.meaning += fmt::format("; of a volume mesh of the {}", *prefix == '\0' ? "main body" : "partner");
      set.name.insert(0, prefix);
      all.push_back(std::move(set));
    }
  }
  all.push_back(number_parameter("dissipation", "s/m",
                                 "c of the factor 1 + c dd/dt of the pressure of each spring, never below 0", 0.0,
                                 not_negative));
  std::ranges::move(region_parameters("the casting surface", "the casting body"), std::back_inserter(all));
  all.push_back(number_parameter("friction", "-", "Coulomb coefficient; 0 = no friction", 0.0, not_negative));
  return all;
}

/// A pair with roles: C carries the springs, T is the target.
struct Roles {
  const PairSpec& pair;
  std::string where;  ///< "contact.NAME"
  bool casting_is_main;
  const ContactBody& casting;
  const ContactBody& target;

  explicit Roles(const PairSpec& p)
      : pair(p),
        where("contact." + p.name),
        casting_is_main(text(p.parameters, "spring_body") == "main"),
        casting(casting_is_main ? p.main : p.partner),
        target(casting_is_main ? p.partner : p.main) {}

  [[nodiscard]] std::string surface_key(bool is_casting) const {
    return where + (is_casting == casting_is_main ? ".main" : ".partner") + ".surface";
  }
  [[nodiscard]] std::string parameter_key(const std::string& name) const { return where + ".parameters." + name; }
  [[nodiscard]] std::string thickness_name(bool is_casting) const {
    return is_casting == casting_is_main ? "thickness" : "partner_thickness";
  }
  /// Parameter for the thickness at the vertices of one body's layer.
  [[nodiscard]] static std::string by_vertex(bool is_casting) {
    return is_casting ? "vertex_thickness" : "partner_vertex_thickness";
  }
  [[nodiscard]] static std::string vertex_thickness_file_parameter(bool is_casting) {
    return by_vertex(is_casting) + "_file";
  }
  [[nodiscard]] static std::string back_file_parameter(bool is_casting) {
    return is_casting ? "back_file" : "partner_back_file";
  }
  [[nodiscard]] static std::string back_asset_parameter(bool is_casting) {
    return is_casting ? "back_asset" : "partner_back_asset";
  }
  /// Empty digest and name: no back surface.
  [[nodiscard]] AssetKey back(bool is_casting) const {
    return {.sha256 = text(pair.parameters, back_file_parameter(is_casting)),
            .name = text(pair.parameters, back_asset_parameter(is_casting))};
  }
  [[nodiscard]] bool has_back(bool is_casting) const {
    const AssetKey file = back(is_casting);
    return !file.sha256.empty() || !file.name.empty();
  }
  [[nodiscard]] bool has_vertex_thickness(bool is_casting) const {
    return !numbers(pair.parameters, by_vertex(is_casting)).empty() ||
           !text(pair.parameters, vertex_thickness_file_parameter(is_casting)).empty();
  }
  /// True if the thickness varies.
  [[nodiscard]] bool varies(bool is_casting) const {
    return has_vertex_thickness(is_casting) || has_back(is_casting) || has_clamp_thickness(is_casting);
  }
  [[nodiscard]] const ContactBody& body(bool is_casting) const { return is_casting ? casting : target; }
  /// Prefix of the parameters that select the clamp and the contact faces of the body.
  [[nodiscard]] std::string set_prefix(bool is_casting) const {
    return is_casting == casting_is_main ? "" : "partner_";
  }
  /// These parameters under the names used by finite-element bodies.
  [[nodiscard]] ParameterMap sets(bool is_casting) const {
    ParameterMap own;
    for (const ParameterSchema& set : body_set_parameters()) {
      own[set.name] = pair.parameters.at(set_prefix(is_casting) + set.name);
    }
    return own;
  }
  /// True for a volume mesh with a clamp and no other thickness: its layer extends to the clamp.
  [[nodiscard]] bool has_clamp_thickness(bool is_casting) const {
    const std::string prefix = set_prefix(is_casting);
    const bool clamped = !text(pair.parameters, prefix + "clamped_set").empty() ||
                         !numbers(pair.parameters, prefix + "clamped_box").empty();
    return clamped && has_layer(is_casting) && MeshSurface::of(body(is_casting).surface) &&
           n_thicknesses(is_casting) == 0;
  }
  /// Number of given thickness definitions of the body's layer.
  [[nodiscard]] int n_thicknesses(bool is_casting) const {
    const auto& given = pair.parameters;
    return (optional_number(given, thickness_name(is_casting)) ? 1 : 0) +
           (numbers(given, by_vertex(is_casting)).empty() ? 0 : 1) +
           (text(given, vertex_thickness_file_parameter(is_casting)).empty() ? 0 : 1) +
           (text(given, back_file_parameter(is_casting)).empty() ? 0 : 1) +
           (text(given, back_asset_parameter(is_casting)).empty() ? 0 : 1);
  }
  [[nodiscard]] bool is(const std::string& name, const std::string& choice) const {
    return text(pair.parameters, name) == choice;
  }
  [[nodiscard]] bool has_layer(bool is_casting) const { return !body(is_casting).materials.empty(); }
  [[nodiscard]] bool lumped() const { return has_layer(true) && has_layer(false) && is("layers", "lumped"); }
};

void check_layer(const Roles& roles, bool is_casting) {
  const std::string name = roles.thickness_name(is_casting);
  const std::string key = roles.parameter_key(name);
  const auto& parameters = roles.pair.parameters;
  const bool given = optional_number(parameters, name).has_value();
  const bool by_vertex = !numbers(parameters, Roles::by_vertex(is_casting)).empty();
  const bool vertex_thickness_file_parameter =
      !text(parameters, Roles::vertex_thickness_file_parameter(is_casting)).empty();
  const bool by_asset = !text(parameters, Roles::back_asset_parameter(is_casting)).empty();
  const std::string side = is_casting == roles.casting_is_main ? "main body" : "partner";
  const int n_thicknesses = roles.n_thicknesses(is_casting);
  if (!roles.has_layer(is_casting)) {
    if (n_thicknesses == 0) return;
    throw input_error(key, fmt::format("{}: expected no thickness, because the {} has no material and is rigid; give "
                                       "it a material, or remove the thickness",
                                       key, side));
  }
  if (roles.body(is_casting).materials.size() > 1) {
    throw input_error(key, fmt::format("{}: expected one material for the {}'s layer, found {}; springs have no "
                                       "element sets",
                                       key, side, roles.body(is_casting).materials.size()));
  }
  if (roles.has_clamp_thickness(is_casting)) return;
  if (n_thicknesses != 1) {
    throw input_error(
        key, fmt::format("{}: expected one thickness [m] of the {}'s layer, found {}; give {}, or {}, or {}, or of a "
                         "volume mesh {}clamped_set, the nodes at its base",
                         key, side, n_thicknesses == 0 ? "none" : "several", name, Roles::by_vertex(is_casting),
                         Roles::back_file_parameter(is_casting), roles.set_prefix(is_casting)));
  }
  const bool by_formula = PlaneSurface::of(roles.target.surface) || kind_of(roles.target.surface).distance != nullptr;
  if (is_casting || given || !by_formula) return;
  const std::string varying =
      roles.parameter_key(by_vertex                         ? Roles::by_vertex(false)
                          : vertex_thickness_file_parameter ? Roles::vertex_thickness_file_parameter(false)
                          : by_asset                        ? Roles::back_asset_parameter(false)
                                                            : Roles::back_file_parameter(false));
  throw input_error(varying, fmt::format("{}: expected a target surface of triangles, found "
                                         "a {}, whose layer has a uniform thickness; give {} [m], or a mesh",
                                         varying, kind_of(roles.target.surface).name(), name));
}

void check_surfaces(const Roles& roles) {
  if (PlaneSurface::of(roles.casting.surface) && !optional_number(roles.pair.parameters, "extent")) {
    const std::string key = roles.parameter_key("extent");
    throw input_error(key, fmt::format("{}: missing; a plane that carries springs needs the edge [m] of its square; "
                                       "give it, or let the other body carry them with spring_body",
                                       key));
  }
  check_region_center(roles.pair.parameters, roles.parameter_key(""));
  const double refinements = optional_number(roles.pair.parameters, "refine").value_or(0.0);
  if (refinements != std::floor(refinements)) {
    const std::string key = roles.parameter_key("refine");
    throw input_error(key, fmt::format("{}: expected a whole number, found {:g}", key, refinements));
  }
}

void check_grid(const Roles& roles) {
  const std::vector<double>& cells = numbers(roles.pair.parameters, "grid");
  const std::string key = roles.parameter_key("grid");
  if (cells.empty()) return;
  const bool whole =
      std::ranges::all_of(cells, [](double n) { return n >= 1.0 && n <= max_grid_cells && n == std::floor(n); });
  if (cells.size() != 2 || !whole) {
    throw input_error(key, fmt::format("{}: expected two whole numbers of cells from 1 to {:g}, found {}: {}", key,
                                       max_grid_cells, cells.size(), fmt::join(cells, ", ")));
  }
  if (roles.has_vertex_thickness(true)) {
    throw input_error(key,
                      fmt::format("{}: expected no grid beside vertex_thickness, whose values belong to the vertices "
                                  "of the mesh; give thickness or back_file",
                                  key));
  }
}

/// Adds the default layer thickness of shapes, if none is given.
PairSpec add_shape_thickness(PairSpec pair) {
  for (const bool is_casting : {true, false}) {
    const Roles roles(pair);
    const Surface& surface = roles.body(is_casting).surface;
    const SurfaceKind& kind = kind_of(surface);
    if (kind.layer == nullptr || !roles.has_layer(is_casting) || roles.n_thicknesses(is_casting) > 0) continue;
    if (const auto layer = kind.layer(surface)) pair.parameters[roles.thickness_name(is_casting)] = layer->thickness;
  }
  return pair;
}

void check_foundation(const PairSpec& given) {
  const PairSpec pair = add_shape_thickness(given);
  const Roles roles(pair);
  if (!roles.has_layer(true) && !roles.has_layer(false)) {
    const std::string key = roles.where + ".main.material";
    throw input_error(key, fmt::format("{}: missing, and the partner has none either; an elastic foundation needs a "
                                       "layer: give one body youngs_modulus [Pa] and poissons_ratio, and its thickness",
                                       key));
  }
  check_layer(roles, true);
  check_layer(roles, false);
  check_surfaces(roles);
  check_grid(roles);
}

LayerLaw law_of(const Roles& roles, double youngs_modulus, double poissons_ratio) {
  const double K = LayerLaw::confined_modulus_factor(poissons_ratio);
  LayerLaw law{.modulus = K * youngs_modulus, .large = roles.is("strain", "large")};
  if (roles.is("material_law", "linear")) return law;
  const ParameterMap& parameters = roles.pair.parameters;
  law.reference = number(parameters, "reference_stress");
  law.exponent = number(parameters, "exponent");
  law.modulus = K * 2.0 * law.reference / number(parameters, "reference_strain");
  return law;
}

BedLaw bed_law(const Roles& roles) {
  const auto of = [&](const ContactBody& body) {
    return law_of(roles, body.materials.front().youngs_modulus, body.materials.front().poissons_ratio);
  };
  if (!roles.has_layer(false)) return BedLaw(of(roles.casting));
  if (!roles.has_layer(true)) return BedLaw(of(roles.target));
  if (!roles.lumped()) return {of(roles.casting), of(roles.target)};
  const Material& one = roles.casting.materials.front();
  const Material& other = roles.target.materials.front();
  return BedLaw(law_of(roles, 0.5 * (one.youngs_modulus + other.youngs_modulus),
                       0.5 * (one.poissons_ratio + other.poissons_ratio)));
}

/// Faces of a volume mesh at the base of the layer.
const SurfaceMesh& clamped_back_surface(const Roles& roles, bool is_casting, const CastingTriangles& cast) {
  const std::string prefix = roles.set_prefix(is_casting);
  const std::string key = roles.parameter_key(prefix + "clamped_set");
  if (!cast.back) {
    throw input_error(key, fmt::format("{}: expected a volume mesh, whose layer extends to its clamp, found one "
                                       "of triangles; give {}, or {}",
                                       key, roles.thickness_name(is_casting), Roles::back_file_parameter(is_casting)));
  }
  if (cast.back->triangles.empty()) {
    throw input_error(key, fmt::format("{}: expected clamped faces of the mesh, to which its layer extends, "
                                       "found nodes that form none; give {} [m]",
                                       key, roles.thickness_name(is_casting)));
  }
  const ParameterMap sets = roles.sets(is_casting);
  if (text(sets, "contact_set").empty() && numbers(sets, "contact_box").empty() &&
      numbers(sets, "contact_direction").empty()) {
    const std::string missing = roles.parameter_key(prefix + "contact_set");
    throw input_error(missing, fmt::format("{}: missing; springs extend from the contact faces to the clamped "
                                           "faces, unlike the sides of a volume mesh: name the face set",
                                           missing));
  }
  return *cast.back;
}

/// Prefixes errors of a file with the key of the parameter that names it.
template <class Read>
decltype(auto) with_error_key(const std::string& key, const Read& read) {
  try {
    return read();
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("{}: {}", key, e.what()), key);
  }
}

PrepareContext prefix_error_key(const PrepareContext& context, const std::string& key) {
  PrepareContext named = context;
  named.asset = [&context, key](const AssetKey& file) -> const AssetContent& {
    return with_error_key(key, [&]() -> const AssetContent& { return context.asset(file); });
  };
  return named;
}

/// [m] One per vertex; empty when not defined per vertex.
/// @param key  that defines them: the list or the file
std::vector<double> vertex_thickness(const Roles& roles, bool is_casting, const PrepareContext& context,
                                     std::string& key) {
  const std::string& file = text(roles.pair.parameters, Roles::vertex_thickness_file_parameter(is_casting));
  key = roles.parameter_key(file.empty() ? Roles::by_vertex(is_casting)
                                         : Roles::vertex_thickness_file_parameter(is_casting));
  if (file.empty()) return numbers(roles.pair.parameters, Roles::by_vertex(is_casting));
  return with_error_key(key, [&] {
    const AssetContent& table = context.asset({.sha256 = file, .name = {}});
    return motion_column(table.content, table.name, "thickness_m");
  });
}

/// [m] Layer of one of the bodies: one number, or one per vertex of its mesh.
std::vector<double> layer_thickness(const Roles& roles, bool is_casting, const CastingTriangles& cast,
                                    const PrepareContext& context) {
  const ParameterMap& parameters = roles.pair.parameters;
  const SurfaceMesh& mesh = cast.mesh;
  if (roles.has_vertex_thickness(is_casting)) {
    std::string key;
    std::vector<double> by_vertex = vertex_thickness(roles, is_casting, context, key);
    if (by_vertex.size() != mesh.vertices.size()) {
      throw input_error(key, fmt::format("{}: expected {} values, one per vertex of the {} surface, found {}", key,
                                         mesh.vertices.size(), is_casting ? "casting" : "target", by_vertex.size()));
    }
    for (std::size_t v = 0; v < by_vertex.size(); ++v) {
      if (by_vertex[v] > 0.0) continue;
      const Vector3& p = mesh.vertices[v];
      throw input_error(key, fmt::format("{}: expected thicknesses > 0 m, found {:g} m at vertex {} at ({:g}, {:g}, "
                                         "{:g}) m",
                                         key, by_vertex[v], v, p.x(), p.y(), p.z()));
    }
    return by_vertex;
  }
  const BackSurfaceSearch search{.reach = number(parameters, "back_search_distance"),
                                 .least = optional_number(parameters, "back_min_thickness").value_or(0.0)};
  if (roles.has_clamp_thickness(is_casting))
    return thickness_over(mesh, clamped_back_surface(roles, is_casting, cast), search,
                          roles.parameter_key(roles.set_prefix(is_casting) + "clamped_set"));
  if (!roles.has_back(is_casting)) return {number(parameters, roles.thickness_name(is_casting))};
  const AssetKey back = roles.back(is_casting);
  const std::string key = roles.parameter_key(back.sha256.empty() ? Roles::back_asset_parameter(is_casting)
                                                                  : Roles::back_file_parameter(is_casting));
  const SurfaceMesh bone = asset_triangles(back, roles.body(is_casting).surface, prefix_error_key(context, key), key);
  return thickness_over(mesh, bone, search, key);
}

/// [m] of the casting body's layer. If only the target has a layer, it takes this place: as one number, or, if its
/// thickness varies, added to zero.
std::vector<double> thickness_of(const Roles& roles, const CastingTriangles& cast, const PrepareContext& context) {
  if (roles.has_layer(true)) return layer_thickness(roles, true, cast, context);
  return {roles.varies(false) ? 0.0 : number(roles.pair.parameters, roles.thickness_name(false))};
}

/// [N/m] of each spring in shear: G / h of the layers in series, times the area that belongs to the spring.
void compute_shear_stiffness(const Roles& roles, const CastingSurface& casting, FoundationOptions& foundation) {
  double target = 0.0;   // [m/Pa]
  double own = 0.0;      // [1/Pa]
  double varying = 0.0;  // [1/Pa] of the target's layer, if its thickness varies
  const auto compliance = [&](const ContactBody& body) {
    const Material& material = body.materials.front();
    const double E = roles.is("material_law", "linear") ? material.youngs_modulus
                                                        : 2.0 * number(roles.pair.parameters, "reference_stress") /
                                                              number(roles.pair.parameters, "reference_strain");
    return 2.0 * (1.0 + material.poissons_ratio) / E;
  };
  if (roles.has_layer(true)) {
    own = compliance(roles.casting);
    if (roles.has_layer(false) && !roles.varies(false)) {
      target = compliance(roles.target) * number(roles.pair.parameters, roles.thickness_name(false));
    }
  } else {
    own = compliance(roles.target);  // its thickness replaces that of the casting body
  }
  if (roles.varies(false)) varying = compliance(roles.target);
  for (std::uint32_t i = 0; i < casting.springs().size(); ++i) {
    double area = 0.0;
    if (casting.places() == SpringPlaces::centres) {
      area = casting.area(i);
    } else {
      const double share = cubature_weights[i < casting.mesh().vertices.size() ? 0 : 3];
      for (const std::uint32_t t : casting.triangles_of(i)) area += casting.area(t) * share;
    }
    foundation.shear_stiffness.push_back(area / (own * casting.springs()[i].thickness + target));
    if (roles.varies(false)) foundation.shear_compliance_slope.push_back(varying / area);
  }
}

/// [m] 0 = the target has no layer, one that replaces that of the casting body, or one that varies.
double constant_target_thickness(const Roles& roles) {
  const bool two = roles.has_layer(true) && roles.has_layer(false);
  return two && !roles.varies(false) ? number(roles.pair.parameters, roles.thickness_name(false)) : 0.0;
}

/// @param deepest  [m] maximum thickness of all layers
BedOptions bed_options(const Roles& roles, double deepest) {
  BedOptions options;
  options.where = roles.where;
  options.by_ray = roles.is("penetration", "ray");
  if (roles.is("direction", "normal")) options.direction = ForceDirection::normal;
  if (roles.is("direction", "midsurface")) options.direction = ForceDirection::midsurface;
  options.target_thickness = constant_target_thickness(roles);
  // A layer of the target alone is added to zero thickness.
  options.lumped = roles.lumped() || (!roles.has_layer(true) && roles.varies(false));
  const bool has_dissipation = number(roles.pair.parameters, "dissipation") > 0.0;
  const bool has_friction = number(roles.pair.parameters, "friction") > 0.0;
  // Friction acts across the direction of the rate, which along `energy` is that of the wrench.
  options.rates = has_dissipation || (has_friction && options.direction != ForceDirection::energy);
  options.planes = has_dissipation || has_friction;
  options.search_distance = optional_number(roles.pair.parameters, "search_distance").value_or(deepest);
  return options;
}

/// True if T is thinner than that somewhere [m].
bool is_thinner(const Surface& target, const SurfaceMesh* triangles, double layers) {
  if (triangles != nullptr) return std::ranges::min(body_depths(*triangles, layers)) < layers;
  const SurfaceKind& kind = kind_of(target);
  const auto extents = kind.extents == nullptr ? std::nullopt : kind.extents(target);
  return extents && extents->minCoeff() < layers;
}

void remesh_by_grid(const Roles& roles, SurfaceMesh& mesh) {
  const std::vector<double>& cells = numbers(roles.pair.parameters, "grid");
  if (cells.empty()) return;
  const std::string& side = text(roles.pair.parameters, "grid_side");
  const SurfaceGrid grid{.axis = side[0] - 'x',
                         .side = side[1] == '+' ? 1.0 : -1.0,
                         .cells = {static_cast<std::size_t>(cells[0]), static_cast<std::size_t>(cells[1])}};
  mesh = over_grid(mesh, grid, roles.parameter_key("grid"));
}

/// Only volume meshes have face sets.
void warn_about_unused_sets(const Roles& roles, bool is_casting, const PrepareContext& context) {
  const auto mesh = MeshSurface::of(roles.body(is_casting).surface);
  if (mesh) {
    const AssetContent& asset = context.asset(mesh->asset());
    if (is_volume_mesh(asset.content, read_options(*mesh, asset, context))) return;
  }
  for (const ParameterSchema& set : body_set_parameters()) {
    const std::string name = roles.set_prefix(is_casting) + set.name;
    if (set.fallback && roles.pair.parameters.at(name) == *set.fallback) continue;
    context.on_progress(fmt::format("{}: ignored; only volume meshes have face sets, and springs cover all of this {}",
                                    roles.parameter_key(name), roles.body(is_casting).surface.kind),
                        0.0);
  }
}

/// Required resolution of the casting surface, and whether the user has set it.
ResolvedContact find_resolved_contact(const Roles& roles, const SurfaceMesh* target_mesh, double deepest) {
  const auto has_known_curvature = [](const Surface& surface) {
    const SurfaceKind& kind = kind_of(surface);
    return kind.curvature == nullptr ? std::nullopt : kind.curvature(surface);
  };
  const auto least = [&](const Surface& surface) {
    const SurfaceKind& kind = kind_of(surface);
    const auto extents = kind.extents == nullptr ? std::nullopt : kind.extents(surface);
    return extents ? 2.0 / extents->minCoeff() : 0.0;
  };
  const Surface& own = roles.casting.surface;
  const Surface& other = roles.target.surface;
  const double of_other = target_mesh != nullptr ? 2.0 / extents_of(target_mesh->vertices).norm() : least(other);
  return {.key = roles.parameter_key("refine"),
          .curvature = std::max(0.0, has_known_curvature(own).value_or(0.0) + has_known_curvature(other).value_or(0.0)),
          .min_curvature = std::max(
              0.0, has_known_curvature(own).value_or(least(own)) + has_known_curvature(other).value_or(of_other)),
          .layers = deepest};
}

/// Divides the triangles as given; shapes without a user-defined size as the contact requires. @returns the number of
/// divisions
int refine_to_resolution(const Roles& roles, const ResolvedContact& seen, CastingTriangles& cast,
                         std::vector<double>& of_vertices) {
  const ParameterMap& given = roles.pair.parameters;
  const auto levels = optional_number(given, "refine");
  const bool chosen = levels || optional_number(given, "element_size") || !numbers(given, "grid").empty();
  if (!chosen && cast.shape) return refine_to_curvature(seen, cast.mesh, of_vertices, *cast.shape);
  const int cuts = static_cast<int>(levels.value_or(0.0));
  refine(cast.mesh, of_vertices, cuts, cast.shape.get());
  return cuts;
}

std::unique_ptr<ContactBackend> make_foundation(const PairSpec& is_pair_given, const PrepareContext& context) {
  const PairSpec pair = add_shape_thickness(is_pair_given);
  const Roles roles(pair);
  const ParameterMap& given = pair.parameters;
  for (const bool is_casting : {true, false}) warn_about_unused_sets(roles, is_casting, context);
  context.on_progress("surfaces", 0.0);
  const TriangleSize size{.edge = optional_number(given, "element_size").value_or(0.0),
                          .extent = optional_number(given, "extent").value_or(0.0)};
  const bool interpolate = roles.is("normals", "interpolated");
  const ParameterMap casting_sets = roles.sets(true);
  const ParameterScope casting_place{roles.parameter_key(roles.set_prefix(true)), casting_sets};
  CastingTriangles cast = cast_triangles(roles.casting.surface, size, context, roles.surface_key(true), &casting_place);
  const SurfaceMesh whole_square = PlaneSurface::of(roles.casting.surface) ? cast.mesh : SurfaceMesh{};
  remesh_by_grid(roles, cast.mesh);
  CastingOptions casting;
  casting.thickness = thickness_of(roles, cast, context);
  casting.places = roles.is("springs", "vertices") ? SpringPlaces::vertices : SpringPlaces::centres;
  casting.interpolate_normals = interpolate;
  if (!PlaneSurface::of(roles.casting.surface)) casting.shape = cast.shape;
  const ParameterMap target_sets = roles.sets(false);
  const auto partner_triangles_of = find_target_triangles(roles.target.surface, context, roles.surface_key(false),
                                                          {roles.parameter_key(roles.set_prefix(false)), target_sets});
  const SurfaceMesh* partner_mesh = partner_triangles_of ? &partner_triangles_of->mesh : nullptr;
  std::optional<TargetLayer> layer;
  if (partner_triangles_of && roles.varies(false))
    layer.emplace(*partner_mesh, layer_thickness(roles, false, *partner_triangles_of, context));
  const double deepest = *std::ranges::max_element(casting.thickness) +
                         (layer ? layer->max_thickness() : constant_target_thickness(roles));
  const ResolvedContact seen = find_resolved_contact(roles, partner_mesh, deepest);
  const int cuts = refine_to_resolution(roles, seen, cast, casting.thickness);
  if (const auto lost =
          describe_resolution_error(seen, cast.shape ? mean_edge(cast.mesh) : min_edge_length_of_mesh(cast.mesh))) {
    context.on_progress(*lost, 0.0);
  }
  BedOptions options = bed_options(roles, deepest);
  if (partner_mesh) options.target_pieces = connected_components(*partner_mesh).of_triangle;
  if (partner_mesh) options.sharp_faces = sharp_faces(*partner_mesh);
  options.thin_target = is_thinner(roles.target.surface, partner_mesh, deepest);
  // Only the midsurface direction needs smooth normals of T.
  TargetGeometry target_mesh =
      make_target_surface(roles.target.surface, partner_mesh, interpolate && roles.is("direction", "midsurface"),
                          options.by_ray ? deepest : 0.0);
  std::unique_ptr<CastingSquare> square;
  if (const auto plane = PlaneSurface::of(roles.casting.surface))
    square = std::make_unique<CastingSquare>(*plane, whole_square, roles.target.surface, partner_mesh,
                                             roles.parameter_key("extent"));
  CastingSurface surface(std::move(cast.mesh), casting);
  FoundationOptions foundation{.casting_is_main = roles.casting_is_main,
                               .dissipation = number(given, "dissipation"),
                               .friction = number(given, "friction"),
                               .max_undetected_penetration = min_resolved_penetration * deepest,
                               .regions = {},
                               .square = std::move(square)};
  foundation.regions =
      surface_regions(text(given, regions_parameter), numbers(given, "region_center"),
                      cut_surface("casting surface", surface.mesh()), roles.parameter_key(regions_parameter));
  if (foundation.friction > 0.0) compute_shear_stiffness(roles, surface, foundation);
  ParameterMap parameters = given;
  parameters["search_distance"] = options.search_distance;
  parameters["refine"] = static_cast<double>(cuts);
  SpringBed bed(std::move(surface), std::move(target_mesh.target), bed_law(roles), options, std::move(layer));
  return std::make_unique<FoundationContact>(pair.backend, std::move(bed), std::move(target_mesh.shape),
                                             std::move(foundation), std::move(parameters));
}

/// [m] Maximum of layers in number form, with its key; none without a layer, and for back surfaces, which have the
/// length unit of the body.
std::optional<std::pair<double, std::string>> max_prescribed_thickness(const Roles& roles, bool is_casting,
                                                                       const PrepareContext& context) {
  const std::string& name = roles.thickness_name(is_casting);
  if (const auto one = optional_number(roles.pair.parameters, name)) return std::pair(*one, roles.parameter_key(name));
  std::string key;
  const std::vector<double> by_vertex = vertex_thickness(roles, is_casting, context, key);
  if (by_vertex.empty()) return std::nullopt;
  return std::pair(*std::ranges::max_element(by_vertex), key);
}

/// Layers of cartilage and polyethylene are a 200th to a fifth of their body: a wrong unit of one of the two changes
/// this by a factor of a thousand.
Warnings find_thickness_warnings(double thickness, const std::string& key, const Vector3& extents) {
  constexpr double millimetre = 1e-3;
  constexpr double thinnest = 1.0 / 5000.0;
  const double extent = extents.maxCoeff();
  if (!(extent > 0.0)) return {};
  const std::string found = fmt::format("the layer is {:.4g} m thick on a body {:.4g} m long", thickness, extent);
  if (thickness > extent) {
    return {fmt::format("{}; did you mean {:.4g} mm? Set {}: {:.4g}", found, thickness, key, millimetre * thickness)};
  }
  if (thickness >= thinnest * extent) return {};
  return {found + "; is the mesh in mm? Check length_scale of its surface"};
}

std::vector<std::string> find_foundation_warnings(const PairSpec& pair, const PrepareContext& context) {
  const Roles roles(pair);
  std::vector<std::string> all;
  const auto add = [&](Warnings warnings, const std::string& key) {
    for (const std::string& warning : warnings) all.push_back(fmt::format("{}: {}", key, warning));
  };
  const std::string where = "contact." + pair.name;
  const auto main = surface_extents(pair.main.surface, context);
  const auto partner = surface_extents(pair.partner.surface, context);
  for (const auto& [body, extents, side] :
       {std::tuple{&pair.main, &main, ".main"}, std::tuple{&pair.partner, &partner, ".partner"}}) {
    const auto mesh = MeshSurface::of(body->surface);
    if (!mesh || !*extents) continue;
    const std::string key = where + side + ".surface.mesh";
    add(find_extent_warnings(**extents, mesh->length_scale, "length_scale"), key);
    if (const std::size_t repeated = count_repeated_triangles(*mesh, context); repeated > 0) {
      add({fmt::format("{} triangles repeat others and are ignored; to remove them from the file: heelstrike mesh FILE "
                       "--repair duplicates",
                       repeated)},
          key);
    }
  }
  for (const bool is_casting : {true, false}) {
    const auto& extents = is_casting == roles.casting_is_main ? main : partner;
    const auto layer = extents ? max_prescribed_thickness(roles, is_casting, context) : std::nullopt;
    if (layer) add(find_thickness_warnings(layer->first, layer->second, *extents), layer->second);
  }
  if (main && partner) add(find_proportion_warnings(*main, *partner), where);
  return all;
}

std::vector<std::string> foundation_pairs() {
  std::vector<std::string> pairs;
  for (const SurfaceKind& main : surface_kinds()) {
    for (const SurfaceKind& partner : surface_kinds()) {
      if (has_surface(main) && has_surface(partner)) pairs.push_back(fmt::format("{}-{}", main.name(), partner.name()));
    }
  }
  return pairs;
}

}  // namespace

BackendEntry elastic_foundation_entry() {
  return {.name = "elastic_foundation",
          .summary =
              "a bed of springs on one surface against any other surface: thin layers of cartilage or polyethylene, "
              "linear or nonlinear, small or large strain",
          .reference = "bei2004",
          .parameters = schema(),
          .surface_pairs = foundation_pairs(),
          .make = make_foundation,
          .check = check_foundation,
          .warnings = find_foundation_warnings,
          .tunable = {"reference_strain", "reference_stress", "exponent", "dissipation", "friction"}};
}

}  // namespace heelstrike::fem
