#include "library/composition/geometry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "common/errors/error.hpp"
#include "common/spatial/spatial.hpp"
#include "fem_server/geometry/foot.hpp"
#include "fem_server/geometry/layer_mesh.hpp"
#include "fem_server/geometry/mesher.hpp"
#include "fem_server/geometry/plausibility.hpp"
#include "fem_server/geometry/read_mesh.hpp"
#include "fem_server/geometry/surface_check.hpp"
#include "fem_server/geometry/surface_repair.hpp"
#include "fem_server/geometry/volume_check.hpp"
#include "fem_server/geometry/write_mesh.hpp"
#include "fem_server/surfaces/partner_shape.hpp"

namespace heelstrike {
namespace {

fem::ReadOptions read_options(const MeshJob& job) {
  fem::ReadOptions options;
  options.name = job.name;
  options.length_scale = job.length_scale;
  return options;
}

/// No server is involved: a file beyond the limits is a bad file.
template <typename Read>
auto read_input(Read read) {
  try {
    return read();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::limit) throw;
    throw input_error(error.field(), error.what());
  }
}

fem::SurfaceMesh surface_of(const MeshJob& job) {
  if (job.knee) return fem::surface_mesh(job.knee->triangles());
  if (!job.foot) return read_input([&] { return fem::read_surface(job.content, read_options(job)); });
  double finest = job.size > 0.0 ? job.size : 0.003;
  for (const MeshRefinement& requested : job.refinements) finest = std::min(finest, requested.size);
  const double size = std::clamp(finest, 0.0005, 0.02);
  return fem::make_foot(job.dimensions, size, job.right ? fem::FootSide::right : fem::FootSide::left);
}

Vector3 vector(const std::vector<double>& values, std::size_t first) {
  return {values[first], values[first + 1], values[first + 2]};
}

fem::Refinement refinement_of(const MeshRefinement& requested, const fem::SurfaceMesh& surface) {
  fem::Refinement refinement;
  refinement.size = requested.size;
  if (!requested.box.empty()) {
    refinement.region = fem::BoxRegion{.low = vector(requested.box, 0), .high = vector(requested.box, 3)};
  } else if (!requested.ball.empty()) {
    refinement.region = fem::BallRegion{.center = vector(requested.ball, 0), .radius = requested.ball[3]};
  } else {
    const auto group = std::ranges::find(surface.group_names, requested.group);
    if (group == surface.group_names.end()) {
      throw input_error(
          "refine",
          fmt::format("--refine: the surface has no group '{}'; it has: {}", requested.group,
                      surface.group_names.empty() ? "none" : fmt::format("{}", fmt::join(surface.group_names, ", "))));
    }
    const auto index = static_cast<std::uint32_t>(group - surface.group_names.begin());
    fem::SetRegion region{.set = {}, .distance = requested.distance};
    region.set.vertices = surface.vertices;
    for (std::size_t t = 0; t < surface.triangles.size(); ++t) {
      if (surface.triangle_groups[t] == index) region.set.triangles.push_back(surface.triangles[t]);
    }
    refinement.region = std::move(region);
  }
  return refinement;
}

fem::MeshingOptions meshing_options(const MeshJob& job, const fem::SurfaceMesh& surface, std::stop_token stop) {
  fem::MeshingOptions options;
  options.size.size = job.size;
  options.size.growth = job.growth;
  for (const MeshRefinement& requested : job.refinements) {
    options.size.refinements.push_back(refinement_of(requested, surface));
  }
  options.order = job.order;
  options.remesh_surface = !job.keep_surface;
  options.timeout = job.time_limit;
  options.stop = std::move(stop);
  return options;
}

/// Extent of a surface: it places the surface and shows wrong units or axes.
void report_extent(const std::vector<Vector3>& vertices, MeshReport& outcome) {
  if (vertices.empty()) return;
  Vector3 low = vertices.front(), high = low;
  for (const Vector3& vertex : vertices) {
    low = low.cwiseMin(vertex);
    high = high.cwiseMax(vertex);
  }
  outcome.surface_report += fmt::format("extent     x {:.4g} to {:.4g}, y {:.4g} to {:.4g}, z {:.4g} to {:.4g} m",
                                        low.x(), high.x(), low.y(), high.y(), low.z(), high.z());
  for (int c = 0; c < 3; ++c) {
    outcome.facts.push_back({fmt::format("lowest_{}_m", "xyz"[c]), low[c]});
    outcome.facts.push_back({fmt::format("highest_{}_m", "xyz"[c]), high[c]});
  }
}

void report_surface(const fem::SurfaceReport& report, MeshReport& outcome) {
  outcome.is_valid = report.valid();
  for (const fem::SurfaceFinding& finding : report.findings) {
    outcome.defects +=
        fmt::format("{}{} {}", outcome.defects.empty() ? "" : ", ", finding.count, fem::to_string(finding.defect));
  }
  outcome.surface_report = fem::describe(report);
  outcome.facts.push_back({"surface_triangles", static_cast<double>(report.n_triangles)});
  outcome.facts.push_back({"surface_pieces", static_cast<double>(report.n_components)});
  outcome.facts.push_back({"surface_area_m2", report.area});
  outcome.facts.push_back({"surface_volume_m3", report.volume});
  for (const fem::SurfaceFinding& finding : report.findings) {
    outcome.facts.push_back(
        {fmt::format("defect_{}", fem::to_string(finding.defect)), static_cast<double>(finding.count)});
  }
}

void report_volume(const fem::VolumeReport& report, MeshReport& outcome) {
  outcome.volume_report = fem::describe(report);
  outcome.facts.push_back({"nodes", static_cast<double>(report.n_nodes)});
  outcome.facts.push_back({"elements", static_cast<double>(report.n_elements)});
  outcome.facts.push_back({"nodes_per_element", static_cast<double>(report.nodes_per_element)});
  outcome.facts.push_back({"volume_m3", report.volume});
  outcome.facts.push_back({"min_edge_m", report.min_edge_length});
  outcome.facts.push_back({"max_edge_m", report.max_edge});
  outcome.facts.push_back({"min_quality", report.min_quality});
  outcome.facts.push_back({"mean_quality", report.mean_quality});
  outcome.facts.push_back(
      {"quality_histogram", std::vector<std::size_t>(report.histogram.begin(), report.histogram.end())});
  outcome.facts.push_back({"inverted", static_cast<double>(report.inverted.size())});
  outcome.facts.push_back({"degenerate", static_cast<double>(report.degenerate.size())});
}

std::string written(const fem::VolumeMesh& mesh, const std::string& format) {
  if (format == "stl") return fem::write_stl(fem::boundary_surface(mesh).surface);
  return format == "msh" ? fem::write_msh(mesh) : fem::write_vtu(mesh);
}

void add(fem::Warnings warnings, MeshReport& outcome) {
  std::ranges::move(warnings, std::back_inserter(outcome.warnings));
}

MeshReport process_volume(const MeshJob& job) {
  fem::VolumeMesh mesh = read_input([&] { return fem::read_volume(job.content, read_options(job)); });
  if (job.order == 2 && mesh.topology().n_nodes_quadratic == 0) {
    throw input_error(
        "--order", fmt::format("--order 2: {} holds {} with {} nodes, and higher orders are not available; remove it",
                               job.name, fem::element_shapes(mesh.nodes_per_element), mesh.nodes_per_element));
  }
  if (job.order == 2 && !mesh.topology().quadratic()) mesh = fem::to_quadratic(mesh);
  MeshReport outcome;
  outcome.repaired = mesh.notes;
  const fem::VolumeReport report = fem::check_volume(mesh);
  outcome.is_valid = report.valid();
  if (!outcome.is_valid) outcome.defects = "not fit for finite elements";
  report_volume(report, outcome);
  add(fem::find_extent_warnings(extents_of(mesh.nodes), job.length_scale, "--scale"), outcome);
  add(fem::find_quality_warnings(job.name, report), outcome);
  if (!job.output_format.empty()) outcome.bytes = written(mesh, job.output_format);
  return outcome;
}

fem::LayerMesh layer_below(const fem::SurfaceMesh& outer, const MeshJob& job) {
  const fem::LayerOptions layer{.layers = job.layers,
                                .keep_prisms = job.keep_prisms,
                                .search_distance = job.search_distance,
                                .min_thickness = job.min_thickness};
  if (job.inner.empty()) return fem::mesh_layer(outer, job.thickness, layer);
  fem::ReadOptions options = read_options(job);
  options.name = job.inner_name;
  return fem::mesh_layer(outer, read_input([&] { return fem::read_surface(job.inner, options); }), layer);
}

/// The layer between the outer and the inner surface, or of constant thickness.
MeshReport process_layer(const MeshJob& job, const fem::SurfaceMesh& given, MeshReport outcome, std::stop_token stop) {
  fem::LayerMesh layer =
      layer_below(job.size > 0.0 ? fem::remesh_sheet(given, meshing_options(job, given, std::move(stop))) : given, job);
  if (job.order == 2) layer.mesh = fem::to_quadratic(layer.mesh);
  const fem::VolumeReport report = fem::check_volume(layer.mesh);
  outcome.is_valid = report.valid();
  outcome.defects = outcome.is_valid ? "" : "not fit for finite elements";
  report_volume(report, outcome);
  outcome.volume_report +=
      fmt::format("\nlayer      {} layers, mean thickness {:.4g} m, {} nodes smoothed, {} shortened", job.layers,
                  layer.mean_thickness, layer.n_smoothed, layer.n_shortened);
  if (!job.inner.empty()) {
    outcome.volume_report += fmt::format(
        "\n           minimum distance of the surfaces {:.4g} m; {} nodes thickened, {} off the inner surface; inner "
        "nodes at most {:.3g} m from the inner surface",
        layer.min_thickness, layer.n_min_thickness, layer.n_beyond_rim, layer.deviation);
  }
  outcome.volume_report += "\nsets       faces outer, inner, rim; nodes inner";
  outcome.facts.push_back({"mean_thickness_m", layer.mean_thickness});
  outcome.facts.push_back({"min_distance_m", layer.min_thickness});
  outcome.facts.push_back({"n_thickened_nodes", static_cast<double>(layer.n_min_thickness)});
  outcome.facts.push_back({"n_nodes_off_surface", static_cast<double>(layer.n_beyond_rim)});
  outcome.facts.push_back({"n_smoothed_nodes", static_cast<double>(layer.n_smoothed)});
  outcome.facts.push_back({"n_shortened_nodes", static_cast<double>(layer.n_shortened)});
  outcome.facts.push_back({"deviation_m", layer.deviation});
  add(fem::find_quality_warnings(job.name, report), outcome);
  if (!job.output_format.empty()) outcome.bytes = written(layer.mesh, job.output_format);
  return outcome;
}

}  // namespace

bool is_volume_mesh(const MeshJob& job) {
  return !job.foot && !job.knee && read_input([&] { return fem::is_volume_mesh(job.content, read_options(job)); });
}

std::string readable_formats() {
  return fmt::format("surface ({}) or volume mesh ({})", fem::mesh_format_names(fem::MeshKind::surface),
                     fem::mesh_format_names(fem::MeshKind::volume));
}

MeshReport process_mesh(const MeshJob& job, const std::function<void(const char* stage)>& on_stage,
                        std::stop_token stop) {
  on_stage("reading");
  if (is_volume_mesh(job)) return process_volume(job);
  fem::SurfaceMesh surface = surface_of(job);
  MeshReport outcome;
  on_stage("checking the surface");
  outcome.repaired = fem::repair_surface(surface, {.merge_tolerance = job.repairs.merge_tolerance,
                                                   .sliver_thickness = job.repairs.sliver_thickness,
                                                   .sliver_distance = job.repairs.sliver_distance,
                                                   .remove_degenerate = job.repairs.remove_degenerate,
                                                   .remove_duplicate = job.repairs.remove_duplicate,
                                                   .reorient = job.repairs.reorient,
                                                   .max_hole_edges = job.repairs.max_hole_edges});
  const fem::SurfaceReport report = fem::check_surface(surface);
  report_surface(report, outcome);
  // The surfaces of a knee are open at their rims; these are not defects.
  if (job.knee) outcome.is_valid = true;
  report_extent(surface.vertices, outcome);
  const Vector3 extents = extents_of(surface.vertices);
  if (!job.foot && !job.knee) add(fem::find_extent_warnings(extents, job.length_scale, "--scale"), outcome);
  if (job.layer) {
    on_stage("filling the layer");
    return process_layer(job, surface, std::move(outcome), std::move(stop));
  }
  if (job.size == 0.0) {
    if (job.output_format == "stl") outcome.bytes = fem::write_stl(surface);
    return outcome;
  }
  fem::require_valid(report, job.name);
  add(fem::find_element_size_warnings("--size", job.size, extents, job.order == 2), outcome);
  fem::MeshingOptions options = meshing_options(job, surface, std::move(stop));
  options.on_wait = [&] { on_stage("filling with tetrahedra"); };
  const fem::MeshingResult result = fem::mesh_surface(surface, options);
  const fem::VolumeReport filled = fem::check_volume(result.mesh);
  report_volume(filled, outcome);
  add(fem::find_volume_warnings(filled.volume, report.volume, "--size", job.size), outcome);
  add(fem::find_quality_warnings(job.name, filled), outcome);
  outcome.facts.push_back({"deviation_m", result.deviation});
  outcome.facts.push_back({"mesher", result.mesher});
  if (!job.output_format.empty()) outcome.bytes = written(result.mesh, job.output_format);
  return outcome;
}

Triangles read_triangles(const std::string& name, const std::string& content, bool points_suffice) {
  fem::ReadOptions options;
  options.name = name;
  options.points_suffice = points_suffice;
  fem::SurfaceMesh mesh = read_input([&] { return fem::read_outer_surface(content, options); });
  return {.vertices = std::move(mesh.vertices), .triangles = std::move(mesh.triangles)};
}

std::string check_mesher(std::stop_token stop) {
  fem::MeshingOptions options;
  options.size.size = 0.005;
  options.timeout = 60.0;
  options.stop = std::move(stop);
  const fem::MeshingResult ball = fem::mesh_ball(0.01, options);
  return fmt::format("{} filled a ball with {} tetrahedra", ball.mesher, ball.mesh.n_elements());
}

}  // namespace heelstrike
