// The elastic foundation compared with Simbody's ElasticFoundationForce, in one program on the same meshes and poses: a
// foot on the ground, and a natural knee (needs HEELSTRIKE_DATA), with layers of constant thickness and between its
// bones. Prints time per pose (processor time of the calling thread, medians) with and without tangents, with and
// without a trace of the last commit, and the forces of both; then two knees on two threads.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <numbers>
#include <sstream>
#include <thread>

#include "benchmarks/clocks.hpp"
#include "benchmarks/foundation_record.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/backends/elastic_foundation/bed_law.hpp"
#include "fem_server/geometry/read_mesh.hpp"
#include "fem_server/geometry/surface_mesh.hpp"
#include "fem_server/geometry/surface_repair.hpp"
#include "fem_server/geometry/write_mesh.hpp"
#include "fem_server/surfaces/triangle_surface.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "scenario/surfaces/plane.hpp"

namespace heelstrike::fem {
namespace {

constexpr double youngs_modulus = 10e6;  // [Pa]
constexpr double poissons_ratio = 0.45;
constexpr double thickness = 0.003;  // [m] of each layer

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

struct Problem {
  std::string name;
  std::map<std::string, AssetContent> files{};
  PairSpec pair{};
  std::vector<PairState> states{};
  double stiffness = 0.0;  ///< [Pa/m]; 0 = not uniform, no comparison with Simbody

  void add_file(const std::string& folder, const std::string& file) {
    files[file] = {.sha256 = file, .name = file, .content = content_of(folder + "/" + file)};
  }
  [[nodiscard]] std::unique_ptr<ContactBackend> make(ParameterMap more) const {
    PairSpec with = pair;
    with.parameters.merge(std::move(more));
    return make_backend(with,
                        {.asset = [this](const AssetKey& key) -> const AssetContent& { return files.at(key.name); },
                         .on_progress = [](std::string_view, double) {},
                         .stop = {}});
  }
};

SurfaceMesh read_named(const Problem& problem, const std::string& name) {
  ReadOptions read;
  read.name = name;
  read.format = "stl";
  SurfaceMesh mesh = read_surface(problem.files.at(name).content, read);
  remove_degenerate_triangles(mesh);
  return mesh;
}

Surface mesh_named(const std::string& name) {
  return MeshSurface{.sha256 = {}, .asset_name = name, .format = "stl", .length_scale = 1.0, .X_BodyMesh = {}};
}

Material layer() {
  return {.youngs_modulus = youngs_modulus, .poissons_ratio = poissons_ratio, .density = 0.0, .set = {}};
}

/// Poses of walking.
Problem natural_knee(const std::string& data) {
  Problem knee{.name = "natural knee"};
  const std::string folder = data + "/knee_natural";
  const std::string tibia = "lenhart2015-R-tibia-cartilage.stl";
  const std::string femur = "lenhart2015-R-femur-cartilage_extracted.stl";
  knee.add_file(folder, tibia);
  knee.add_file(folder, femur);
  knee.pair.name = "knee";
  knee.pair.backend = "elastic_foundation";
  knee.pair.main = {.name = "tibia", .surface = mesh_named(tibia), .materials = {layer()}};
  knee.pair.partner = {.name = "femur", .surface = mesh_named(femur), .materials = {layer()}};
  knee.pair.parameters = {{"thickness", thickness}, {"partner_thickness", thickness}, {"layers", "lumped"}};
  knee.stiffness = LayerLaw::confined_modulus_factor(poissons_ratio) * youngs_modulus / (2.0 * thickness);
  std::ifstream in(folder + "/walking_knee_reference.csv");
  std::vector<std::string> names;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream cells(line);
    std::vector<std::string> values;
    for (std::string cell; std::getline(cells, cell, ',');) values.push_back(cell);
    if (names.empty()) {
      names = values;
      continue;
    }
    const auto at = [&](const std::string& name) {
      const auto column = std::ranges::find(names, name) - names.begin();
      return std::stod(values.at(static_cast<std::size_t>(column)));
    };
    const double degree = std::numbers::pi / 180.0;
    const Matrix3 R = (Eigen::AngleAxisd(-degree * at("knee_flex_r_deg"), Vector3::UnitZ()) *
                       Eigen::AngleAxisd(degree * at("knee_add_r_deg"), Vector3::UnitX()) *
                       Eigen::AngleAxisd(degree * at("knee_rot_r_deg"), Vector3::UnitY()))
                          .toRotationMatrix();
    PairState state;
    state.X_AB = Pose{.R = R, .p = {at("knee_tx_r_m"), at("knee_ty_r_m"), at("knee_tz_r_m")}}.inverse();
    knee.states.push_back(state);
  }
  return knee;
}

/// The same knee with layers that extend to the bones and have local thickness.
Problem make_layer_problem(const Problem& knee, const std::string& data) {
  Problem bones = knee;
  bones.name = "natural knee between both bones";
  bones.stiffness = 0.0;
  for (const auto& [parameter, file] : {std::pair("back_asset", "lenhart2015-R-tibia-subchondral-bone.stl"),
                                        std::pair("partner_back_asset", "lenhart2015-R-femur-subchondral-bone.stl")}) {
    bones.add_file(data + "/knee_natural", file);
    bones.pair.parameters[parameter] = file;
  }
  bones.pair.parameters.erase("thickness");
  bones.pair.parameters.erase("partner_thickness");
  bones.pair.parameters["back_min_thickness"] = 0.001;
  return bones;
}

/// Rolled over the ground from heel to toe, 4 mm deep.
Problem foot(const std::string& data) {
  Problem foot{.name = "foot on the ground"};
  foot.add_file(data + "/foot", "foot_left.stl");
  foot.pair.name = "foot";
  foot.pair.backend = "elastic_foundation";
  foot.pair.main = {.name = "foot", .surface = mesh_named("foot_left.stl"), .materials = {layer()}};
  foot.pair.partner = {
      .name = "ground", .surface = PlaneSurface{.normal = Vector3::UnitZ(), .point = Vector3::Zero()}, .materials = {}};
  foot.pair.parameters = {{"thickness", 0.02}};
  foot.stiffness = LayerLaw::confined_modulus_factor(poissons_ratio) * youngs_modulus / 0.02;
  const SurfaceMesh mesh = read_named(foot, "foot_left.stl");
  for (int i = 0; i < 100; ++i) {
    const Matrix3 R = Eigen::AngleAxisd(-0.15 + 0.005 * i, Vector3::UnitY()).toRotationMatrix();
    double lowest = 1.0;
    for (const Vector3& p : mesh.vertices) lowest = std::min(lowest, (R * p).z());
    PairState state;
    state.X_AB = Pose{.R = R, .p = {0.0, 0.0, -lowest - 0.004}}.inverse();
    foot.states.push_back(state);
  }
  return foot;
}

/// Closes an open surface to a shell.
SurfaceMesh shell(const SurfaceMesh& front, double depth) {
  const TriangleSurface surface(front);
  SurfaceMesh closed = front;
  const auto n = static_cast<std::uint32_t>(front.vertices.size());
  for (std::uint32_t v = 0; v < n; ++v) closed.vertices.push_back(front.vertices[v] - depth * surface.vertex_normal(v));
  for (const auto& [a, b, c] : front.triangles) closed.triangles.push_back({a + n, c + n, b + n});
  const std::vector<EdgeUse> uses = edge_uses(front);
  for (std::size_t begin = 0; begin < uses.size(); begin = end_of_edge(uses, begin)) {
    if (end_of_edge(uses, begin) - begin != 1) continue;
    const auto [low, high] = uses[begin].edge;
    const std::uint32_t a = uses[begin].forward ? low : high;
    const std::uint32_t b = uses[begin].forward ? high : low;
    closed.triangles.push_back({b, a, a + n});
    closed.triangles.push_back({b, a + n, b + n});
  }
  return closed;
}

/// The knee with closed surfaces, required by Simbody, much deeper than the overlap of the bodies.
Problem closed_knee(const Problem& knee) {
  Problem closed = knee;
  closed.name = "natural knee as closed shells";
  constexpr double depth = 0.006;  // [m]
  for (auto& [name, file] : closed.files) {
    file.content = write_stl(shell(read_named(knee, name), depth));
  }
  return closed;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Times {
  double median_ms, max_ms;
};

Times evaluated(const ContactBackend& backend, const Problem& problem, bool warm, const EvaluateOptions& options) {
  // Minimum of five repetitions of each pose, because other programs only add time.
  std::vector<double> times(problem.states.size(), std::numeric_limits<double>::max());
  for (int repetition = 0; repetition < bench::n_foundation_repetitions; ++repetition) {
    std::shared_ptr<const History> history = backend.initial_history();
    for (std::size_t i = 0; i < times.size(); ++i) {
      const PairState& state = problem.states[i];
      const double begin = bench::thread_seconds();
      (void)backend.evaluate(*history, state, options);
      times[i] = std::min(times[i], 1e3 * (bench::thread_seconds() - begin));
      if (warm) history = backend.commit(*history, state).history;
    }
  }
  return {median(times), *std::ranges::max_element(times)};
}

#ifdef HEELSTRIKE_HAVE_SIMBODY
bench::Triangles triangles_of(const Problem& problem, const Surface& surface) {
  bench::Triangles result;
  const auto named = MeshSurface::of(surface);
  if (!named) return result;
  const SurfaceMesh mesh = read_named(problem, named->asset_name);
  for (const Vector3& p : mesh.vertices) result.vertices.push_back({p.x(), p.y(), p.z()});
  for (const Triangle& t : mesh.triangles) result.triangles.push_back({t[0], t[1], t[2]});
  return result;
}

/// @param heelstrike_ms_by_kind  without tangents, by kind of Heelstrike's springs
void beside_simbody(const Problem& problem, const std::map<std::string, double>& heelstrike_ms_by_kind) {
  std::vector<bench::FoundationPose> poses;
  for (const PairState& s : problem.states) {
    const Matrix3& R = s.X_AB.R;
    poses.push_back({{R(0, 0), R(0, 1), R(0, 2), R(1, 0), R(1, 1), R(1, 2), R(2, 0), R(2, 1), R(2, 2)},
                     {s.X_AB.p.x(), s.X_AB.p.y(), s.X_AB.p.z()}});
  }
  try {
    const bench::FoundationRecord record =
        bench::run_simbody_foundation(triangles_of(problem, problem.pair.main.surface),
                                      triangles_of(problem, problem.pair.partner.surface), problem.stiffness, poses);
    // Simbody's spring forces act along the line to the closest point.
    const auto nearest = problem.make({{"springs", "centres"}, {"penetration", "nearest"}, {"normals", "facets"}});
    const auto fresh = nearest->initial_history();
    std::vector<double> differences;
    std::vector<double> ms;
    for (std::size_t i = 0; i < poses.size(); ++i) {
      const Vector3 ours = nearest->evaluate(*fresh, problem.states[i], prescribed_motion).F_A.force;
      const Vector3 theirs(record.forces[i][0], record.forces[i][1], record.forces[i][2]);
      if (ours.norm() > 0.0) differences.push_back((ours - theirs).norm() / ours.norm());
      ms.push_back(1e3 * record.seconds[i]);
    }
    fmt::print("  Simbody                          {:8.3f} ms, maximum {:8.3f} ms\n", median(ms),
               *std::ranges::max_element(ms));
    for (const auto& [kind, heelstrike_ms] : heelstrike_ms_by_kind)
      fmt::print("    ratio to {}: {:.1f}\n", kind, median(ms) / heelstrike_ms);
    fmt::print(
        "  force vector, Heelstrike with the closest point against Simbody: median difference {:.2e}, maximum {:.2e}\n",
        median(differences), *std::ranges::max_element(differences));
  } catch (const std::exception& e) {
    fmt::print("  Simbody rejects these surfaces: {}\n", std::string(e.what()).substr(0, 300));
  }
}
#endif

void compare(const Problem& problem) {
  fmt::print("{}, {} poses\n", problem.name, problem.states.size());
  std::map<std::string, double> heelstrike_ms_by_kind;
  // As in the literature and in Simbody, and with default parameters.
  using Kind = std::pair<std::string, ParameterMap>;
  for (const auto& [name, parameters] :
       {Kind{"centres, normal", {{"springs", "centres"}, {"normals", "facets"}, {"direction", "normal"}}},
        Kind{"centres, energy", {{"springs", "centres"}, {"normals", "facets"}, {"direction", "energy"}}},
        Kind{"default (vertices, energy)", {}}}) {
    double begin = bench::thread_seconds();
    const auto backend = problem.make(parameters);
    fmt::print("  {}: prepared in {:.2f} s\n", name, bench::thread_seconds() - begin);
    for (const bool warm : {false, true}) {
      for (const bool tangents : {false, true}) {
        EvaluateOptions options;
        options.tangents = tangents;
        const Times t = evaluated(*backend, problem, warm, options);
        fmt::print("    {:4}, {:17} {:8.3f} ms, maximum {:8.3f} ms\n", warm ? "warm" : "cold",
                   tangents ? "with tangents" : "without tangents", t.median_ms, t.max_ms);
        // Simbody computes no tangents.
        if (!warm && !tangents) heelstrike_ms_by_kind[name] = t.median_ms;
      }
    }
  }
#ifdef HEELSTRIKE_HAVE_SIMBODY
  if (problem.stiffness > 0.0) beside_simbody(problem, heelstrike_ms_by_kind);
#endif
}

/// The same work for two pairs serially and on two threads.
void two_pairs(const Problem& problem) {
  const auto backend = problem.make({{"springs", "centres"}, {"direction", "normal"}, {"normals", "facets"}});
  const auto work = [&] {
    const auto fresh = backend->initial_history();
    for (const PairState& state : problem.states) (void)backend->evaluate(*fresh, state);
  };
  double begin = bench::wall_seconds();
  work();
  work();
  const double serial_seconds = bench::wall_seconds() - begin;
  begin = bench::wall_seconds();
  {
    const std::jthread other(work);
    work();
  }
  fmt::print("two pairs: {:.3f} s serially, {:.3f} s on two threads\n", serial_seconds, bench::wall_seconds() - begin);
}

}  // namespace
}  // namespace heelstrike::fem

int main() {
  const char* data = std::getenv("HEELSTRIKE_DATA");
  if (data == nullptr) {
    fmt::print("bench_elastic_foundation: HEELSTRIKE_DATA is not set, no surfaces for the comparison\n");
    return 0;
  }
  const auto knee = heelstrike::fem::natural_knee(data);
  heelstrike::fem::compare(heelstrike::fem::foot(data));
  heelstrike::fem::compare(knee);
  heelstrike::fem::compare(heelstrike::fem::make_layer_problem(knee, data));
  heelstrike::fem::compare(heelstrike::fem::closed_knee(knee));
  heelstrike::fem::two_pairs(knee);
  return 0;
}
