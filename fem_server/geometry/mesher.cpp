#include "fem_server/geometry/mesher.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <numbers>
#include <system_error>
#include <vector>

#include "common/errors/error.hpp"
#include "common/process/loaded_module.hpp"
#include "common/process/process.hpp"
#include "fem_server/geometry/mesher_protocol.hpp"
#include "fem_server/geometry/surface_check.hpp"
#include "fem_server/geometry/triangle_tree.hpp"
#include "fem_server/geometry/volume_check.hpp"

namespace heelstrike::fem {

namespace {

Process start(const std::string& path, int child_end) {
  try {
    return Process(
        {.program = path,
         .descriptors = {{.parent = child_end, .child = STDIN_FILENO}, {.parent = child_end, .child = STDOUT_FILENO}}});
  } catch (const std::system_error& e) {
    throw file_error(path, fmt::format("the mesher {} cannot be started: {}; build it with `scripts/build "
                                       "heelstrike-mesher`, or set HEELSTRIKE_MESHER to its path",
                                       path, e.what()));
  }
}

class Exchange {
 public:
  Exchange(int fd, const std::string& request, std::uint64_t max_reply_bytes)
      : fd_(fd), request_(request), max_reply_bytes_(max_reply_bytes), buffer_(1U << 20U) {}

  /// Waits at most 50 ms for events. @return false when the reply is complete
  bool step() {
    pollfd entry{fd_, static_cast<short>(sent_ < request_.size() ? POLLIN | POLLOUT : POLLIN), 0};
    if (::poll(&entry, 1, 50) <= 0) return true;
    if ((entry.revents & POLLOUT) != 0) send();
    if ((entry.revents & (POLLIN | POLLHUP | POLLERR)) != 0) return receive();
    return true;
  }
  std::string take() { return std::move(reply_); }

 private:
  void send() {
    // MSG_NOSIGNAL: a terminated helper must not kill the server by SIGPIPE.
    const ssize_t n = ::send(fd_, request_.data() + sent_, request_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) sent_ += static_cast<std::size_t>(n);
    if (n < 0 && errno != EAGAIN && errno != EINTR) sent_ = request_.size();
    if (sent_ == request_.size()) ::shutdown(fd_, SHUT_WR);
  }
  bool receive() {
    const ssize_t n = ::recv(fd_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    reply_.append(buffer_.data(), static_cast<std::size_t>(n));
    if (reply_.size() > max_reply_bytes_) {
      throw limit_error("mesh", fmt::format("the reply of the mesher exceeds the limit of {} bytes; use a larger size",
                                            max_reply_bytes_));
    }
    return n > 0;
  }

  int fd_;
  const std::string& request_;
  std::uint64_t max_reply_bytes_;
  std::vector<char> buffer_;
  std::size_t sent_ = 0;
  std::string reply_;
};

}  // namespace

std::string run_helper(const std::string& path, const std::string& request, double timeout,
                       std::uint64_t max_reply_bytes, const std::stop_token& stop,
                       const std::function<void()>& on_wait) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw unavailable_error(fmt::format("cannot open a channel to {}: {}", path, std::strerror(errno)));
  }
  const Descriptor own(ends[0]);
  Descriptor its(ends[1]);
  Process helper = start(path, its.get());
  its.close();
  Exchange exchange(own.get(), request, max_reply_bytes);
  const auto begin = std::chrono::steady_clock::now();
  while (exchange.step()) {
    if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "meshing was cancelled");
    if (on_wait) on_wait();
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > timeout) {
      throw Error(
          ErrorCode::deadline,
          fmt::format("meshing took longer than {} s; use a larger size, or a longer time limit (max_meshing_time "
                      "in a scenario, --time-limit of heelstrike mesh)",
                      timeout));
    }
  }
  const ProcessEnd end = helper.wait();
  if (!end.success()) {
    throw Error(ErrorCode::solver_failed, fmt::format("the helper {} ended with {}", path, end.text()));
  }
  return exchange.take();
}

namespace {

using nlohmann::json;
namespace protocol = mesher_protocol;

std::string helper_path(const MeshingOptions& options) {
  if (!options.helper.empty()) return options.helper;
  if (const char* const path = std::getenv("HEELSTRIKE_MESHER"); path != nullptr && *path != '\0') return path;
  namespace fs = std::filesystem;
  const fs::path folder = module_folder();
  const fs::path beside = folder / "heelstrike-mesher";
  std::error_code error;
  // In a shared library: another program has loaded PREFIX/lib/libheelstrike.so or PREFIX/lib/TRIPLET/....
  for (const fs::path& helper : {beside, folder.parent_path() / "bin" / "heelstrike-mesher",
                                 folder.parent_path().parent_path() / "bin" / "heelstrike-mesher"}) {
    if (fs::exists(helper, error)) return helper;
  }
  return beside;
}

void check_options(const MeshingOptions& options) {
  check_size_field(options.size);
  if (options.order != 1 && options.order != 2) {
    throw input_error("order", fmt::format("order: expected 1 or 2, found {}", options.order));
  }
  if (!(options.feature_angle > 0.0 && options.feature_angle < std::numbers::pi)) {
    throw input_error(
        "feature_angle",
        fmt::format("feature_angle: expected an angle between 0 and pi rad, found {} rad", options.feature_angle));
  }
  if (!(options.max_deviation >= 0.0)) {
    throw input_error("max_deviation",
                      fmt::format("max_deviation: expected a length >= 0 m, found {} m", options.max_deviation));
  }
  if (!(options.timeout > 0.0))
    throw input_error("timeout", fmt::format("timeout: expected a time above 0 s, found {} s", options.timeout));
}

/// Rejects a request that would exhaust memory before the limit is detected.
void check_expected_count(double expected, std::string_view elements, const MeshingOptions& options) {
  if (expected <= 2.0 * static_cast<double>(options.limits.max_elements)) return;
  throw limit_error("size", fmt::format("size = {} m would give about {:.3g} {}, the limit is {}; use a larger size",
                                        options.size.size, expected, elements, options.limits.max_elements));
}

void check_expected_tetrahedra(double volume, const MeshingOptions& options) {
  // A regular tetrahedron of edge h has the volume h^3 / (6 sqrt 2); real meshes have somewhat more elements.
  const double h = options.size.size;
  check_expected_count(volume * 6.0 * std::numbers::sqrt2 / (h * h * h), "tetrahedra", options);
}

json to_json(const Vector3& v) {
  return json::array({v.x(), v.y(), v.z()});
}

json refinement_header(const Refinement& refinement, std::string& arrays) {
  json item{{"size", refinement.size}};
  if (const auto* box = std::get_if<BoxRegion>(&refinement.region)) {
    item.update({{"kind", "box"}, {"low", to_json(box->low)}, {"high", to_json(box->high)}});
  } else if (const auto* ball = std::get_if<BallRegion>(&refinement.region)) {
    item.update({{"kind", "ball"}, {"center", to_json(ball->center)}, {"radius", ball->radius}});
  } else {
    const auto& region = std::get<SetRegion>(refinement.region);
    item.update({{"kind", "set"},
                 {"distance", region.distance},
                 {"n_vertices", region.set.vertices.size()},
                 {"n_triangles", region.set.triangles.size()}});
    protocol::append(arrays, region.set.vertices);
    protocol::append(arrays, region.set.triangles);
  }
  return item;
}

/// @param slide  the surface is remeshed by CGAL from the start, not only where Gmsh fails
std::string request_bytes(const std::string& shape, double radius, const SurfaceMesh& surface,
                          const MeshingOptions& options, bool slide = false) {
  std::string arrays;
  protocol::append(arrays, surface.vertices);
  protocol::append(arrays, surface.triangles);
  json refinements = json::array();
  for (const Refinement& refinement : options.size.refinements)
    refinements.push_back(refinement_header(refinement, arrays));
  const json header{{"version", protocol::version},
                    {"shape", shape},
                    {"radius", radius},
                    {"size", options.size.size},
                    {"growth", options.size.growth},
                    {"remesh", options.remesh_surface},
                    {"slide", slide},
                    {"feature_angle", options.feature_angle},
                    {"max_nodes", options.limits.max_nodes},
                    {"max_elements", options.limits.max_elements},
                    {"n_vertices", surface.vertices.size()},
                    {"n_triangles", surface.triangles.size()},
                    {"refinements", refinements}};
  return header.dump() + "\n" + arrays;
}

/// @throws Error{limit}, Error{solver_failed} as the mesher states
json read_reply_header(std::string_view& bytes) {
  json header = protocol::read_header_line(bytes);
  if (!header.value("ok", false)) {
    const std::string message = header.value("message", "the mesher reported no reason");
    if (header.value("code", "") == "limit") throw limit_error("size", message);
    throw Error(
        ErrorCode::solver_failed,
        fmt::format(
            "meshing failed: {}. Use another size, another feature_angle, or repair the surface (heelstrike mesh "
            "--slivers)",
            message));
  }
  return header;
}

MeshingResult parse_reply(std::string_view bytes) {
  const json header = read_reply_header(bytes);
  MeshingResult result;
  result.mesher = header.at("mesher").get<std::string>();
  result.mesh.nodes = protocol::read_array<Vector3>(bytes, header.at("n_nodes").get<std::size_t>());
  result.mesh.connectivity = protocol::read_array<std::uint32_t>(bytes, 4 * header.at("n_elements").get<std::size_t>());
  for (const std::uint32_t node : result.mesh.connectivity) {
    if (node >= result.mesh.nodes.size()) throw Error(ErrorCode::internal, "mesher protocol: node out of range");
  }
  for (std::size_t e = 0; e < result.mesh.n_elements(); ++e) {
    // The protocol does not specify the orientation of tetrahedra.
    if (element_volume(result.mesh, e) >= 0.0) continue;
    std::swap(result.mesh.connectivity[4 * e + 1], result.mesh.connectivity[4 * e + 2]);
  }
  return result;
}

std::string reply_of_mesher(const std::string& request, const MeshingOptions& options) {
  const std::uint64_t bytes_of_header = 1U << 16U;
  const std::uint64_t max_reply_bytes = bytes_of_header + options.limits.max_nodes * sizeof(Vector3) +
                                        options.limits.max_elements * 4 * sizeof(std::uint32_t);
  return run_helper(helper_path(options), request, options.timeout, max_reply_bytes, options.stop, options.on_wait);
}

MeshingResult run_mesher(const std::string& request, const MeshingOptions& options) {
  return parse_reply(reply_of_mesher(request, options));
}

/// The group of the closest triangle of `given`.
void transfer_groups(const SurfaceMesh& given, SurfaceMesh& sheet) {
  if (given.triangle_groups.empty()) return;
  const TriangleTree tree(given);
  sheet.group_names = given.group_names;
  for (const Triangle& t : sheet.triangles) {
    const Vector3 center = (sheet.vertices[t[0]] + sheet.vertices[t[1]] + sheet.vertices[t[2]]) / 3.0;
    sheet.triangle_groups.push_back(given.triangle_groups[tree.closest(center).triangle]);
  }
}

/// Assigns to every boundary triangle the group of the closest input triangle.
void transfer_groups(const SurfaceMesh& surface, const TriangleTree& tree, const Boundary& boundary, VolumeMesh& mesh) {
  if (surface.triangle_groups.empty()) return;
  for (std::size_t t = 0; t < boundary.faces.size(); ++t) {
    const Triangle& c = boundary.surface.triangles[t];
    const auto& v = boundary.surface.vertices;
    const ClosestPoint closest = tree.closest((v[c[0]] + v[c[1]] + v[c[2]]) / 3.0);
    const std::string& group = surface.group_names[surface.triangle_groups[closest.triangle]];
    if (!group.empty()) mesh.face_sets[group].push_back(boundary.faces[t]);
  }
  for (const auto& [name, faces] : mesh.face_sets) mesh.node_sets[name] = nodes_of_faces(mesh, faces);
}

double allowed_deviation(const MeshingOptions& options) {
  return options.max_deviation > 0.0 ? options.max_deviation : 0.5 * options.size.size;
}

void require_close(const FarthestPoint& farthest, const MeshingOptions& options) {
  const double allowed = allowed_deviation(options);
  if (farthest.distance <= allowed) return;
  const Vector3& p = farthest.point;
  throw input_error(
      "size",
      fmt::format(
          "the meshed surface deviates by up to {:.4g} m from the input surface, at ({:.5g}, {:.5g}, {:.5g}) m, "
          "allowed are {:.4g} m; use a smaller element_size, e.g. {:.4g} m, or smaller elements there (contact_size; "
          "--refine of heelstrike mesh)",
          farthest.distance, p.x(), p.y(), p.z(), allowed, 0.75 * options.size.size));
}

/// Two-sided: a toe missing in the mesh is far from the mesh, although the whole mesh is close to the surface.
FarthestPoint find_max_deviation(const SurfaceMesh& meshed, const SurfaceMesh& given,
                                 const TriangleTree& input_tree_of_surface) {
  const FarthestPoint outside = find_farthest_point(meshed, input_tree_of_surface);
  const FarthestPoint lost = find_farthest_point(given, TriangleTree(meshed));
  return outside.distance > lost.distance ? outside : lost;
}

/// Moves the mid-side nodes of boundary edges onto the sphere.
void project_boundary(VolumeMesh& mesh, double radius) {
  for (const std::uint32_t node : nodes_of_faces(mesh, mesh.face_sets.at("surface"))) {
    const double distance = mesh.nodes[node].norm();
    if (distance > 0.0) mesh.nodes[node] *= radius / distance;
  }
}

}  // namespace

MeshingResult mesh_surface(const SurfaceMesh& surface, const MeshingOptions& options) {
  check_options(options);
  const SurfaceReport report = check_surface(surface);
  require_valid(report, "surface");
  check_expected_tetrahedra(report.volume, options);
  const TriangleTree input_tree(surface);
  MeshingResult result;
  Boundary boundary;
  // Gmsh parametrises patches of the surface in the plane, which distorts complex patches. CGAL remeshes in space.
  for (const bool slide : {false, true}) {
    result = run_mesher(request_bytes("surface", 0.0, surface, options, slide), options);
    boundary = boundary_surface(result.mesh);
    const FarthestPoint farthest = find_max_deviation(boundary.surface, surface, input_tree);
    result.deviation = farthest.distance;
    if (slide || !options.remesh_surface) require_close(farthest, options);
    if (farthest.distance <= allowed_deviation(options)) break;
  }
  transfer_groups(surface, input_tree, boundary, result.mesh);
  if (options.order == 2) result.mesh = to_quadratic(result.mesh);
  require_valid(check_volume(result.mesh), "mesh");
  return result;
}

SurfaceMesh remesh_sheet(const SurfaceMesh& surface, const MeshingOptions& options) {
  check_options(options);
  SurfaceReport report = check_surface(surface);
  std::erase_if(report.findings, [](const SurfaceFinding& f) { return f.defect == SurfaceDefect::open_edge; });
  require_valid(report, "surface");
  // An equilateral triangle of edge h has the area sqrt(3) / 4 h^2.
  const double h = options.size.size;
  check_expected_count(report.area * 4.0 / (std::numbers::sqrt3 * h * h), "triangles", options);
  const std::string reply = reply_of_mesher(request_bytes("sheet", 0.0, surface, options), options);
  std::string_view bytes = reply;
  const json header = read_reply_header(bytes);
  SurfaceMesh sheet;
  sheet.vertices = protocol::read_array<Vector3>(bytes, header.at("n_nodes").get<std::size_t>());
  sheet.triangles = protocol::read_array<Triangle>(bytes, header.at("n_elements").get<std::size_t>());
  for (const Triangle& triangle : sheet.triangles) {
    if (std::ranges::max(triangle) >= sheet.vertices.size()) {
      throw Error(ErrorCode::internal, "mesher protocol: vertex out of range");
    }
  }
  transfer_groups(surface, sheet);
  return sheet;
}

MeshingResult mesh_ball(double radius, const MeshingOptions& options) {
  check_options(options);
  if (!(radius > 0.0) || !std::isfinite(radius)) {
    throw input_error("radius", fmt::format("radius: expected a length above 0 m, found {} m", radius));
  }
  check_expected_tetrahedra(4.0 / 3.0 * std::numbers::pi * radius * radius * radius, options);
  MeshingResult result = run_mesher(request_bytes("ball", radius, {}, options), options);
  result.mesh.face_sets["surface"] = boundary_faces(result.mesh);
  project_boundary(result.mesh, radius);
  if (options.order == 2) {
    result.mesh = to_quadratic(result.mesh);
    project_boundary(result.mesh, radius);
  }
  result.mesh.node_sets["surface"] = nodes_of_faces(result.mesh, result.mesh.face_sets.at("surface"));
  require_valid(check_volume(result.mesh), "ball");
  return result;
}

}  // namespace heelstrike::fem
