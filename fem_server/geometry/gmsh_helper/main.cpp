// heelstrike-mesher: reads one request from standard input, meshes with Gmsh, writes one reply to standard output.
// The only program of the project that is linked with Gmsh (GPL): docs/developer/licences.md. Started by
// geometry/mesher.cpp.
#include <CGAL/version.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gmsh.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <exception>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fem_server/geometry/gmsh_helper/remesh.hpp"
#include "fem_server/geometry/mesher_protocol.hpp"

namespace {

using heelstrike::Error;
using heelstrike::ErrorCode;
using heelstrike::Vector3;
using heelstrike::fem::BallRegion;
using heelstrike::fem::BoxRegion;
using heelstrike::fem::Refinement;
using heelstrike::fem::SetRegion;
using heelstrike::fem::SizeEvaluator;
using heelstrike::fem::SizeField;
using heelstrike::fem::SurfaceMesh;
using heelstrike::fem::Triangle;
namespace protocol = heelstrike::fem::mesher_protocol;
using nlohmann::json;

constexpr int triangle_type = 2;
constexpr int tetrahedron_type = 4;

constexpr std::string_view help =
    "heelstrike-mesher: tetrahedral meshing of closed surfaces and balls with Gmsh\n"
    "\n"
    "Usage: heelstrike-mesher [--help] < REQUEST > REPLY\n"
    "\n"
    "Started by fem_server and by heelstrike, one process for each mesh; not for direct use. It reads one\n"
    "request from standard input, writes one reply to standard output, and ends with the process that started it.\n"
    "For manual meshing use heelstrike mesh. The environment variable HEELSTRIKE_MESHER selects another program.\n";

struct Request {
  json header;
  SurfaceMesh surface;
  SizeField size;
};

struct Reply {
  std::vector<double> nodes;
  std::vector<std::uint32_t> corners;
  std::size_t n_corners = 4;  ///< of an element: tetrahedra, or triangles of a sheet
};

std::string read_all(int fd) {
  std::string bytes;
  std::vector<char> buffer(1U << 20U);
  while (true) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return bytes;
    bytes.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // the caller has terminated
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

Vector3 vector3(const json& list) {
  return {list.at(0).get<double>(), list.at(1).get<double>(), list.at(2).get<double>()};
}

Refinement read_refinement(const json& item, std::string_view& bytes) {
  Refinement refinement;
  refinement.size = item.at("size").get<double>();
  const auto kind = item.at("kind").get<std::string>();
  if (kind == "box") {
    refinement.region = BoxRegion{vector3(item.at("low")), vector3(item.at("high"))};
  } else if (kind == "ball") {
    refinement.region = BallRegion{vector3(item.at("center")), item.at("radius").get<double>()};
  } else {
    SetRegion region;
    region.distance = item.at("distance").get<double>();
    region.set.vertices = protocol::read_array<Vector3>(bytes, item.at("n_vertices").get<std::size_t>());
    region.set.triangles = protocol::read_array<Triangle>(bytes, item.at("n_triangles").get<std::size_t>());
    refinement.region = std::move(region);
  }
  return refinement;
}

Request parse_request(std::string_view bytes) {
  Request request;
  request.header = protocol::read_header_line(bytes);
  if (request.header.at("version").get<int>() != protocol::version) {
    throw Error(ErrorCode::version_mismatch, "heelstrike-mesher: the version of the caller does not match");
  }
  request.size.size = request.header.at("size").get<double>();
  request.size.growth = request.header.at("growth").get<double>();
  request.surface.vertices = protocol::read_array<Vector3>(bytes, request.header.at("n_vertices").get<std::size_t>());
  request.surface.triangles =
      protocol::read_array<Triangle>(bytes, request.header.at("n_triangles").get<std::size_t>());
  for (const json& item : request.header.at("refinements"))
    request.size.refinements.push_back(read_refinement(item, bytes));
  return request;
}

void set_options() {
  // One thread and a fixed seed give a reproducible mesh. Sizes are defined by the callback only.
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, double>>{{"General.Terminal", 0},
                                                             {"General.NumThreads", 1},
                                                             {"Mesh.RandomSeed", 1},
                                                             {"Mesh.Algorithm", 6},
                                                             {"Mesh.Algorithm3D", 1},
                                                             {"Mesh.MeshSizeExtendFromBoundary", 0},
                                                             {"Mesh.MeshSizeFromPoints", 0},
                                                             {"Mesh.MeshSizeFromCurvature", 0},
                                                             {"Mesh.Optimize", 1},
                                                             {"Mesh.OptimizeNetgen", 0},
                                                             {"Mesh.ElementOrder", 1}}) {
    gmsh::option::setNumber(name, value);
  }
}

void add_surface(const Request& request) {
  gmsh::model::addDiscreteEntity(2, 1);
  std::vector<std::size_t> node_tags;
  std::vector<double> coordinates;
  for (std::size_t i = 0; i < request.surface.vertices.size(); ++i) {
    node_tags.push_back(i + 1);
    const Vector3& p = request.surface.vertices[i];
    coordinates.insert(coordinates.end(), {p.x(), p.y(), p.z()});
  }
  gmsh::model::mesh::addNodes(2, 1, node_tags, coordinates);
  std::vector<std::size_t> element_tags;
  std::vector<std::size_t> corners;
  for (std::size_t t = 0; t < request.surface.triangles.size(); ++t) {
    element_tags.push_back(t + 1);
    for (const std::uint32_t corner : request.surface.triangles[t]) corners.push_back(corner + 1U);
  }
  gmsh::model::mesh::addElementsByType(1, triangle_type, element_tags, corners);
}

void build_volume_of_surface(const Request& request, bool remesh) {
  add_surface(request);
  if (remesh) {
    const double angle = request.header.at("feature_angle").get<double>();
    gmsh::model::mesh::classifySurfaces(angle, true, true, angle);
    gmsh::model::mesh::createGeometry();
  }
  gmsh::vectorpair surfaces;
  gmsh::model::getEntities(surfaces, 2);
  std::vector<int> tags;
  for (const auto& [dimension, tag] : surfaces) tags.push_back(tag);
  const int loop = gmsh::model::geo::addSurfaceLoop(tags);
  gmsh::model::geo::addVolume({loop});
  gmsh::model::geo::synchronize();
}

Reply receive_mesh(const Request& request) {
  std::vector<std::size_t> node_tags;
  std::vector<double> coordinates;
  std::vector<double> parameters;
  gmsh::model::mesh::getNodes(node_tags, coordinates, parameters);
  std::vector<std::size_t> element_tags;
  std::vector<std::size_t> corners;
  gmsh::model::mesh::getElementsByType(tetrahedron_type, element_tags, corners);
  if (element_tags.empty()) throw Error(ErrorCode::solver_failed, "Gmsh produced no tetrahedra");
  for (const auto& [what, n, limit] :
       {std::tuple("nodes", node_tags.size(), request.header.at("max_nodes").get<std::uint64_t>()),
        std::tuple("elements", element_tags.size(), request.header.at("max_elements").get<std::uint64_t>())}) {
    if (n > limit)
      throw Error(ErrorCode::limit, fmt::format("{} {} exceed the limit of {}; use a larger size", n, what, limit));
  }
  std::unordered_map<std::size_t, std::size_t> index_of_tag;
  for (std::size_t i = 0; i < node_tags.size(); ++i) index_of_tag[node_tags[i]] = i;
  Reply reply;
  std::vector<std::int64_t> new_index(node_tags.size(), -1);
  for (const std::size_t tag : corners) {
    const std::size_t i = index_of_tag.at(tag);
    if (new_index[i] < 0) {
      new_index[i] = static_cast<std::int64_t>(reply.nodes.size() / 3);
      for (std::size_t k = 0; k < 3; ++k) reply.nodes.push_back(coordinates[3 * i + k]);
    }
    reply.corners.push_back(static_cast<std::uint32_t>(new_index[i]));
  }
  return reply;
}

Reply run(const Request& request, bool remesh) {
  gmsh::model::add("body");
  if (request.header.at("shape").get<std::string>() == "ball") {
    gmsh::model::occ::addSphere(0.0, 0.0, 0.0, request.header.at("radius").get<double>());
    gmsh::model::occ::synchronize();
  } else {
    build_volume_of_surface(request, remesh);
  }
  const SizeEvaluator size(request.size);
  // Gmsh 4.13 (Debian 13) appends the size that it would use without this function, 4.8 (Debian 12) does not.
  gmsh::model::mesh::setSizeCallback(
      [&](int, int, double x, double y, double z, auto... /*size*/) { return size(Vector3(x, y, z)); });
  gmsh::model::mesh::generate(3);
  return receive_mesh(request);
}

Reply remeshed_sheet(const Request& request) {
  const SurfaceMesh sheet =
      heelstrike::fem::remeshed(request.surface, request.size, request.header.at("feature_angle").get<double>());
  Reply reply{.nodes = {}, .corners = {}, .n_corners = 3};
  for (const Vector3& p : sheet.vertices) reply.nodes.insert(reply.nodes.end(), {p.x(), p.y(), p.z()});
  for (const Triangle& t : sheet.triangles) reply.corners.insert(reply.corners.end(), t.begin(), t.end());
  return reply;
}

/// Errors that Gmsh logs without throwing.
std::string logged_errors() {
  std::vector<std::string> lines;
  gmsh::logger::get(lines);
  std::string errors;
  for (const std::string& line : lines) {
    if (line.starts_with("Error")) errors += "; " + line;
  }
  return errors;
}

/// Position of a node; Gmsh 4.13 (Debian 13) returns the entity as well, 4.8 (Debian 12) does not.
std::vector<double> position_of(std::size_t node) {
  std::vector<double> p;
  std::vector<double> parameters;
#if GMSH_API_VERSION_MAJOR > 4 || GMSH_API_VERSION_MINOR > 8
  int dimension = 0, tag = 0;
  gmsh::model::mesh::getNode(node, p, parameters, dimension, tag);
#else
  gmsh::model::mesh::getNode(node, p, parameters);
#endif
  return p;
}

/// Location of the failure if reported by Gmsh: nodes, otherwise the bounds of a surface patch.
std::string failure_location() {
  std::vector<std::size_t> nodes;
  gmsh::model::mesh::getLastNodeError(nodes);
  if (!nodes.empty()) {
    const std::vector<double> p = position_of(nodes.front());
    return fmt::format("; at ({:.6g}, {:.6g}, {:.6g}) m", p.at(0), p.at(1), p.at(2));
  }
  gmsh::vectorpair pieces;
  gmsh::model::mesh::getLastEntityError(pieces);
  if (pieces.empty()) return {};
  double x0 = 0.0, y0 = 0.0, z0 = 0.0, x1 = 0.0, y1 = 0.0, z1 = 0.0;
  gmsh::model::getBoundingBox(pieces.front().first, pieces.front().second, x0, y0, z0, x1, y1, z1);
  return fmt::format("; in the patch from ({:.6g}, {:.6g}, {:.6g}) m to ({:.6g}, {:.6g}, {:.6g}) m", x0, y0, z0, x1, y1,
                     z1);
}

/// Errors logged by Gmsh, with their location.
std::string gmsh_error_message() {
  std::string text = logged_errors();
  try {
    text += failure_location();
  } catch (...) {
    return text;  // no location reported
  }
  return text;
}

/// The thinnest triangle with its position: a common cause of surface meshing failures and the first repair candidate.
std::string min_height_triangle(const SurfaceMesh& surface) {
  double least = std::numeric_limits<double>::infinity();
  Vector3 where = Vector3::Zero();
  for (std::size_t t = 0; t < surface.triangles.size(); ++t) {
    const Triangle& c = surface.triangles[t];
    double longest = 0.0;
    for (std::size_t k = 0; k < 3; ++k) {
      longest = std::max(longest, (surface.vertices[c[(k + 1) % 3]] - surface.vertices[c[k]]).norm());
    }
    const double height = heelstrike::fem::triangle_cross(surface, t).norm() / longest;
    if (height >= least) continue;
    least = height;
    where = (surface.vertices[c[0]] + surface.vertices[c[1]] + surface.vertices[c[2]]) / 3.0;
  }
  if (surface.triangles.empty()) return {};
  return fmt::format("; the thinnest triangle of the surface is {:.3g} m high, at ({:.6g}, {:.6g}, {:.6g}) m", least,
                     where.x(), where.y(), where.z());
}

/// Meshes with Gmsh; where it cannot or must not remesh the surface, the triangles are made by CGAL and kept.
/// @param mesher  out: name of the mesher used
Reply run(Request& request, std::string& mesher) {
  if (request.header.at("shape").get<std::string>() == "sheet") return remeshed_sheet(request);
  if (!request.header.at("remesh").get<bool>()) return run(request, false);
  if (!request.header.at("slide").get<bool>()) {
    try {
      return run(request, true);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::limit) throw;
    } catch (...) {  // NOLINT(bugprone-empty-catch): Gmsh throws numbers and strings; the alternative follows
    }
  }
  if (request.surface.triangles.empty()) return run(request, true);  // not caused by the surface
  SurfaceMesh surface =
      heelstrike::fem::remeshed(request.surface, request.size, request.header.at("feature_angle").get<double>());
  Request retried = request;
  retried.surface = std::move(surface);
  // Reset the library state after a failure.
  gmsh::finalize();
  gmsh::initialize(0, nullptr, false);
  set_options();
  gmsh::logger::start();
  mesher += ", surface by CGAL " + std::string(CGAL_STR(CGAL_VERSION)) + ", locally refined";
  return run(retried, false);
}

std::string respond(const std::string& bytes) {
  bool started = false;
  Request request;
  const auto failure = [](std::string_view code, const std::string& message) {
    return json{{"ok", false}, {"code", code}, {"message", message}}.dump(-1, ' ', false,
                                                                          json::error_handler_t::replace) +
           "\n";
  };
  try {
    request = parse_request(bytes);
    gmsh::initialize(0, nullptr, false);
    started = true;
    set_options();
    gmsh::logger::start();
    std::string mesher = "Gmsh " GMSH_API_VERSION;
    const Reply reply = run(request, mesher);
    std::string header = json{{"ok", true},
                              {"mesher", mesher},
                              {"n_nodes", reply.nodes.size() / 3},
                              {"n_elements", reply.corners.size() / reply.n_corners}}
                             .dump() +
                         "\n";
    protocol::append(header, reply.nodes);
    protocol::append(header, reply.corners);
    return header;
  } catch (const Error& error) {
    const std::string_view code = error.code() == ErrorCode::limit ? "limit" : "solver_failed";
    return failure(code, error.what() + (started ? gmsh_error_message() + min_height_triangle(request.surface) : ""));
  } catch (const std::exception& error) {
    return failure("solver_failed",
                   error.what() + (started ? gmsh_error_message() + min_height_triangle(request.surface) : ""));
  } catch (...) {
    // Gmsh throws numbers.
    return failure("solver_failed",
                   "Gmsh failed" + (started ? gmsh_error_message() + min_height_triangle(request.surface) : ""));
  }
}

}  // namespace

int main(int n_arguments, char**) {
  if (n_arguments > 1) {
    fmt::print("{}", help);
    return 0;
  }
  // Terminates with its parent: an orphaned mesher could run for minutes.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Output of libraries must not enter the reply.
  const int out = ::dup(STDOUT_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  write_all(out, respond(read_all(STDIN_FILENO)));
  // Skips the clean-up of Gmsh and OpenCASCADE: the reply is sent.
  ::_exit(0);
}
