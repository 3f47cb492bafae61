#include "fem_server/bodies/body_mesh.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "common/errors/error.hpp"
#include "common/files/digest.hpp"
#include "fem_server/backend_interface/preparation_locks.hpp"
#include "fem_server/backend_interface/saved_history.hpp"
#include "fem_server/fem/compliance_cache.hpp"
#include "fem_server/fem/element_kind.hpp"
#include "fem_server/geometry/foot.hpp"
#include "fem_server/geometry/layer_mesh.hpp"
#include "fem_server/geometry/mesher.hpp"
#include "fem_server/geometry/plausibility.hpp"
#include "fem_server/geometry/primitives.hpp"
#include "fem_server/geometry/read_mesh.hpp"
#include "fem_server/geometry/volume_mesh.hpp"
#include "fem_server/surfaces/partner_shape.hpp"
#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/cylinder.hpp"
#include "scenario/surfaces/foot.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "scenario/surfaces/sphere.hpp"
#include "scenario/surfaces/surface_kind.hpp"
#include "scenario/surfaces/values.hpp"

namespace heelstrike::fem {

namespace {

VolumeMesh placed(VolumeMesh mesh, const Pose& X_BodyMesh) {
  for (Vector3& node : mesh.nodes) node = X_BodyMesh * node;
  return mesh;
}

}  // namespace

double element_size_of(const ParameterScope& place) {
  const auto size = optional_number(place.parameters, "element_size");
  if (!size) {
    throw input_error(place.where + "element_size",
                      fmt::format("{}element_size: missing; this body has no volume mesh and "
                                  "is filled with tetrahedra of this size [m]",
                                  place.where));
  }
  return *size;
}

namespace {

/// Topology of the requested elements.
const ElementTopology& requested_topology(const ParameterScope& place) {
  const auto kind = named_element(text(place.parameters, "element"));
  return element_topology(kind ? kind->n_nodes : 4);
}

std::uint32_t order_of(const ParameterScope& place) {
  return requested_topology(place).quadratic() ? 2 : 1;
}

/// Corners of the requested elements: 4, 6 or 8.
std::uint32_t find_requested_corners(const ParameterScope& place) {
  return requested_topology(place).n_corners;
}

}  // namespace

void reject_blocks_elements(const Surface& surface, const ParameterScope& place) {
  const std::uint32_t corners = find_requested_corners(place);
  if (corners == 4 || BlockSurface::of(surface) || (corners == 6 && is_layer(surface))) return;
  throw input_error(
      place.where + "element",
      fmt::format("{0}element: surface '{1}' cannot be filled with {2}, only a block can; expected a mesh file of {2} "
                  "(Gmsh, VTU, Abaqus{3}), or tetrahedra, e.g. tet10_mixed",
                  place.where, surface.kind, element_shapes(corners),
                  corners == 6 ? "; heelstrike mesh --layer OUTER INNER --prisms makes one" : ""));
}

ElementKind find_supported_element(std::uint32_t nodes_per_element, const ParameterScope& place,
                                   const std::string& file) {
  const auto kind = named_element(text(place.parameters, "element"));
  if (!kind) return default_element(nodes_per_element);
  const auto carries = [&](const ElementKind& other) {
    return other.n_nodes == nodes_per_element || other.n_nodes == element_topology(nodes_per_element).n_nodes_quadratic;
  };
  if (carries(*kind)) return *kind;
  std::vector<std::string> possible{std::string(from_mesh)};
  for (const ElementKind& other : element_kinds()) {
    if (carries(other)) possible.emplace_back(other.name);
  }
  throw input_error(
      place.where + "element",
      fmt::format("{}element: {} has {} nodes, the elements of '{}' have {} and do not support it; expected "
                  "one of {}, or another mesh",
                  place.where, kind->name, kind->n_nodes, file, nodes_per_element, fmt::join(possible, ", ")));
}

namespace {

/// The mesh of a file, with the nodes that the requested element needs.
VolumeMesh carried(VolumeMesh mesh, const ParameterScope& place, const std::string& file) {
  const ElementKind kind = find_supported_element(mesh.nodes_per_element, place, file);
  return kind.n_nodes == mesh.nodes_per_element ? mesh : to_quadratic(mesh);
}

std::optional<Vector3> direction_of(const ParameterScope& place) {
  const auto direction = place.numbers("contact_direction", 3);
  if (direction.empty()) return std::nullopt;
  return Vector3(direction[0], direction[1], direction[2]);
}

MeshingOptions meshing_options(const ParameterScope& place, const PrepareContext& context) {
  MeshingOptions meshing;
  meshing.size.size = element_size_of(place);
  meshing.order = order_of(place);
  meshing.limits.max_elements = context.max_elements;
  meshing.timeout = number(place.parameters, "max_meshing_time");
  meshing.stop = context.stop;
  meshing.on_wait = [&context] { context.on_progress("mesh", 0.0); };
  return meshing;
}

/// Refines the mesh below the faces that point towards the partner.
void refine_contact(const SurfaceMesh& surface, const ParameterScope& place, SizeField& field) {
  const double size = number(place.parameters, "contact_size");
  if (size == 0.0) return;
  const auto direction = direction_of(place);
  const double min_cosine = std::cos(number(place.parameters, "contact_angle"));
  SetRegion region{.set = {}, .distance = number(place.parameters, "contact_radius")};
  region.set.vertices = surface.vertices;
  for (std::size_t t = 0; t < surface.triangles.size(); ++t) {
    if (triangle_cross(surface, t).normalized().dot(direction->normalized()) >= min_cosine) {
      region.set.triangles.push_back(surface.triangles[t]);
    }
  }
  field.refinements.push_back({.region = std::move(region), .size = size});
}

/// Rejects element sizes that far exceed the element limit, before the mesher uses up time and memory.
void check_element_count(double volume, double size, const ParameterScope& place, const PrepareContext& context) {
  constexpr double regular = 8.485281374;  // regular tetrahedra of edge 1 in a unit cube; meshes have 0.8 to 1.3 times
                                           // this
  const double expected = regular * std::abs(volume) / (size * size * size);
  if (expected < 2.0 * static_cast<double>(context.max_elements)) return;
  throw limit_error(
      place.where + "element_size",
      fmt::format("{}element_size: {} m fills the {:.4g} m^3 of this body with about {:.2g} tetrahedra, the "
                  "limit here is {}; use larger elements, check length_scale, or raise the limit",
                  place.where, size, std::abs(volume), expected, context.max_elements));
}

double volume_of(const SurfaceMesh& surface) {
  double volume = 0.0;
  for (const Triangle& t : surface.triangles) {
    volume += surface.vertices[t[0]].dot(surface.vertices[t[1]].cross(surface.vertices[t[2]])) / 6.0;
  }
  return volume;
}

/// Digest of the mesh inputs, besides the version of the mesher.
class MeshKey {
 public:
  MeshKey(std::string_view kind, const ParameterScope& place) {
    writer_.put(std::string_view("heelstrike mesh key 2"));
    writer_.put(kind);
    const auto put_number = [&](const char* name) {
      writer_.put(optional_number(place.parameters, name).value_or(0.0));
    };
    put_number("element_size");
    // Not the element kind: mixed elements have the same mesh.
    writer_.put(static_cast<double>(order_of(place)));
    for (const char* name : {"contact_size", "contact_radius", "contact_angle"}) put_number(name);
    for (const double x : place.numbers("contact_direction", 3)) writer_.put(x);
  }
  void put(double value) { writer_.put(value); }
  void put(std::string_view text) { writer_.put(text); }
  void put(const ParameterMap& values) {
    for (const auto& [name, value] : values) {
      writer_.put(std::string_view(name));
      std::visit([this](const auto& v) { write_value(v); }, value);
    }
  }
  [[nodiscard]] std::string digest() { return sha256_hex(writer_.take()); }

 private:
  void write_value(bool value) { writer_.put(static_cast<std::uint64_t>(value)); }
  void write_value(double value) { writer_.put(value); }
  void write_value(const std::string& value) { writer_.put(std::string_view(value)); }
  void write_value(const std::vector<double>& values) {
    writer_.put(static_cast<std::uint64_t>(values.size()));
    for (const double x : values) writer_.put(x);
  }

  StateWriter writer_;
};

VolumeMesh cached_or_new_mesh(MeshKey key, const PrepareContext& context, const std::function<VolumeMesh()>& make) {
  const std::string digest = key.digest();
  const auto begin = [&] {
    context.on_progress("mesh", 0.0);
    return make();
  };
  return prepare_once<VolumeMesh>(context.locks, digest, context.stop, [&] {
    return cached_mesh(context.cache_directory, digest, begin, context.on_progress, context.stop);
  });
}

VolumeMesh filled(const SurfaceMesh& surface, const ParameterScope& place, const PrepareContext& context) {
  MeshingOptions meshing = meshing_options(place, context);
  refine_contact(surface, place, meshing.size);
  check_element_count(volume_of(surface), meshing.size.size, place, context);
  return mesh_surface(surface, meshing).mesh;
}

void report_warnings(const Warnings& warnings, const PrepareContext& context) {
  for (const std::string& warning : warnings) context.on_progress(fmt::format("{}{}", warning_mark, warning), 0.0);
}

/// Called for cached meshes too, because the mesh has lost the same volume.
void warn_about_volume_loss(const VolumeMesh& mesh, double input_volume, const ParameterScope& place,
                            const PrepareContext& context) {
  const VolumeReport report = check_volume(mesh);
  const std::string key = place.where + "element_size";
  report_warnings(find_volume_warnings(report.volume, input_volume, key, element_size_of(place)), context);
  report_warnings(find_quality_warnings(key, report), context);
}

VolumeMesh mesh_from_asset(const MeshSurface& surface, const ParameterScope& place, const PrepareContext& context) {
  const AssetContent& asset = context.asset(surface.asset());
  const ReadOptions read = read_options(surface, asset, context);
  if (is_volume_mesh(asset.content, read)) {
    VolumeMesh mesh = read_volume(asset.content, read);
    report_warnings(find_quality_warnings(asset.name, check_volume(mesh)), context);
    return placed(carried(std::move(mesh), place, asset.name), surface.X_BodyMesh);
  }
  reject_blocks_elements(surface, place);
  MeshKey key("surface", place);
  key.put(std::string_view(asset.sha256));
  key.put(std::string_view(mesh_format(surface.format.empty() ? asset.name : surface.format)));
  key.put(surface.length_scale);
  const SurfaceMesh triangles = read_surface(asset.content, read);
  VolumeMesh mesh = cached_or_new_mesh(key, context, [&] { return filled(triangles, place, context); });
  warn_about_volume_loss(mesh, volume_of(triangles), place, context);
  return placed(std::move(mesh), surface.X_BodyMesh);
}

VolumeMesh ball_mesh(const SphereSurface& sphere, const ParameterScope& place, const PrepareContext& context) {
  BallOptions ball;
  ball.radius = sphere.radius;
  ball.size = element_size_of(place);
  ball.contact_size = number(place.parameters, "contact_size");
  ball.contact_radius = number(place.parameters, "contact_radius");
  ball.contact_direction = direction_of(place).value_or(ball.contact_direction);
  ball.meshing = meshing_options(place, context);
  check_element_count(4.19 * std::pow(ball.radius, 3), ball.size, place, context);
  MeshKey key("ball", place);
  key.put(ball.radius);
  return placed(cached_or_new_mesh(key, context, [&] { return make_ball(ball).mesh; }),
                {.R = Matrix3::Identity(), .p = sphere.center});
}

VolumeMesh foot_mesh(const FootSurface& foot, const ParameterScope& place, const PrepareContext& context) {
  MeshKey key(foot.right ? "right foot" : "left foot", place);
  const FootDimensions& d = foot.dimensions;
  for (const double length : {d.length, d.ball_breadth, d.heel_breadth, d.arch_height, d.instep_height, d.toe_height,
                              d.ankle_height, d.heel_to_ankle, d.cut_height}) {
    key.put(length);
  }
  const double size = element_size_of(place);
  const auto make = [&] {
    // As fine as the finest elements, not finer: Gmsh searches the given triangles for every point that it places, and
    // half this size makes meshing take ten times as long.
    const double contact_size = number(place.parameters, "contact_size");
    const double surface_size = std::clamp(contact_size > 0.0 ? std::min(contact_size, size) : size, 0.0005, 0.02);
    return filled(make_foot(d, surface_size, foot.right ? FootSide::right : FootSide::left), place, context);
  };
  return placed(cached_or_new_mesh(key, context, make), {.R = Matrix3::Identity(), .p = foot.ankle});
}

VolumeMesh cylinder_mesh(const CylinderSurface& cylinder, const ParameterScope& place, const PrepareContext& context) {
  CylinderOptions options;
  options.radius = cylinder.radius;
  options.height = cylinder.length;
  options.core_radius = cylinder.core_radius;
  options.layers = cylinder.layers;
  options.size = element_size_of(place);
  options.order = order_of(place);
  options.limits.max_elements = context.max_elements;
  const Matrix3 R = Quaternion::FromTwoVectors(Vector3::UnitZ(), cylinder.axis).toRotationMatrix();
  return placed(make_cylinder(options), {.R = R, .p = cylinder.center});
}

VolumeMesh block_mesh(const BlockSurface& block, const ParameterScope& place, const PrepareContext& context) {
  BlockOptions options;
  options.lengths = block.lengths;
  options.size = element_size_of(place);
  options.order = order_of(place);
  options.corners = find_requested_corners(place);
  options.limits.max_elements = context.max_elements;
  return placed(make_block(options), {.R = Matrix3::Identity(), .p = block.center});
}

/// @throws Error{invalid_input} for a surface without a layer behind it
SurfaceLayer layer_of(const Surface& surface) {
  const SurfaceKind& kind = kind_of(surface);
  if (std::optional<SurfaceLayer> layer = kind.layer(surface)) return std::move(*layer);
  throw input_error("surface", fmt::format("expected a {} with a layer to fill, found one without: {}; use "
                                           "another of its surfaces, or remove the material",
                                           kind.name(), kind.keys.meaning));
}

/// Columns of elements below the triangles of a sheet. This takes no time, so the mesh is not cached.
VolumeMesh layer_below(const Surface& surface, const ParameterScope& place) {
  const SurfaceLayer layer = layer_of(surface);
  LayerOptions options;
  options.layers = count_elements_through(surface, place);
  options.keep_prisms = find_requested_corners(place) == 6;
  options.search_distance = 2.0 * layer.thickness;
  options.min_thickness = 0.1 * layer.thickness;
  const SurfaceMesh sheet = surface_mesh(kind_of(surface).sheet(surface));
  VolumeMesh mesh = mesh_layer(sheet, surface_mesh(layer.back), options).mesh;
  return order_of(place) == 2 ? to_quadratic(mesh) : mesh;
}

/// Any other shape, from closed triangles as fine as its finest elements.
VolumeMesh shape_mesh(const Surface& surface, const ParameterScope& place, const PrepareContext& context) {
  const SurfaceKind& kind = kind_of(surface);
  if (kind.boundary == nullptr) {
    throw input_error("main.surface",
                      fmt::format("expected a surface that can be filled as deformable body, found '{}'", kind.name()));
  }
  MeshKey key("shape " + kind.name(), place);
  key.put(surface.values);
  const double fine = number(place.parameters, "contact_size");
  const double size = element_size_of(place);
  const auto make = [&] {
    return filled(surface_mesh(kind.boundary(surface, fine > 0.0 ? std::min(fine, size) : size)), place, context);
  };
  return cached_or_new_mesh(std::move(key), context, make);
}

bool is_volume_file(const Surface& surface, const PrepareContext& context) {
  const auto file = MeshSurface::of(surface);
  if (!file) return false;
  const AssetContent& asset = context.asset(file->asset());
  return is_volume_mesh(asset.content, read_options(*file, asset, context));
}

}  // namespace

bool is_layer(const Surface& surface) {
  return kind_of(surface).layer != nullptr;
}

std::uint32_t count_elements_through(const Surface& surface, const ParameterScope& place) {
  const double thickness = layer_of(surface).thickness;
  // Bending needs at least two elements through the thickness.
  const double height = optional_number(place.parameters, "element_size").value_or(0.5 * thickness);
  const double layers = std::max(1.0, std::round(thickness / height));
  if (layers <= max_layers) return static_cast<std::uint32_t>(layers);
  throw input_error(
      place.where + "element_size",
      fmt::format(
          "{}element_size: {:g} m cuts a layer of {:g} m into {:.0f} elements, expected at most {}; give {:.3g} "
          "m or more",
          place.where, height, thickness, layers, max_layers, thickness / max_layers));
}

PairSpec add_shape_sets(PairSpec pair) {
  for (const auto& [body, prefix] : {std::pair{&pair.main, ""}, std::pair{&pair.partner, "partner_"}}) {
    if (!is_layer(body->surface) || body->materials.empty()) continue;
    const auto key = [&](const char* name) { return prefix + std::string(name); };
    const bool clamped = !text(pair.parameters, key("clamped_set")).empty() ||
                         !numbers(pair.parameters, key("clamped_box")).empty() ||
                         text(pair.parameters, key("support")) == "inertia_relief";
    if (!clamped) pair.parameters[key("clamped_set")] = std::string("inner");
    if (text(pair.parameters, key("contact_set")).empty()) pair.parameters[key("contact_set")] = std::string("outer");
  }
  return pair;
}

bool is_filled_from_triangles(const Surface& surface) {
  return MeshSurface::of(surface) || FootSurface::of(surface) || kind_of(surface).boundary != nullptr;
}

std::optional<MeshKind> named_kind(const MeshSurface& surface) {
  return kind_of_format(surface.format.empty() ? surface.asset_name : surface.format);
}

VolumeMesh body_mesh(const Surface& surface, const ParameterScope& place, const PrepareContext& context) {
  context.on_progress("read", 0.0);
  VolumeMesh mesh;
  if (const auto file = MeshSurface::of(surface)) {
    mesh = mesh_from_asset(*file, place, context);
  } else if (const auto sphere = SphereSurface::of(surface)) {
    mesh = ball_mesh(*sphere, place, context);
  } else if (const auto cylinder = CylinderSurface::of(surface)) {
    mesh = cylinder_mesh(*cylinder, place, context);
  } else if (const auto block = BlockSurface::of(surface)) {
    mesh = block_mesh(*block, place, context);
  } else if (const auto foot = FootSurface::of(surface)) {
    mesh = foot_mesh(*foot, place, context);
  } else if (is_layer(surface)) {
    mesh = layer_below(surface, place);
  } else {
    mesh = shape_mesh(surface, place, context);
  }
  // The nodes of a user's mesh keep their numbers.
  const bool own = !is_volume_file(surface, context);
  const auto direction = direction_of(place);
  const double fine = number(place.parameters, "contact_size");
  const auto size = fine > 0.0 ? std::optional(fine) : optional_number(place.parameters, "element_size");
  if (own && direction && size) number_from(mesh, *direction, *size);
  // A cached mesh may come from a server with a larger limit.
  if (mesh.n_elements() <= context.max_elements) return mesh;
  throw limit_error(
      place.where + "element_size",
      fmt::format("{}element_size: the body has {} elements, the limit here is {}; use larger elements or "
                  "raise the limit",
                  place.where, mesh.n_elements(), context.max_elements));
}

}  // namespace heelstrike::fem
