// heelstrike new: writes a commented scenario for surfaces of the user. The scenarios are the templates of the
// installation; this file derives the values that they contain from the surfaces and the options.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>

#include "client/studies/quantity.hpp"
#include "client/subcommands/shared_files.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/files/output_file.hpp"
#include "common/files/read_file.hpp"
#include "common/motion/time_function.hpp"
#include "common/text/suggestion.hpp"
#include "common/text/text_file.hpp"
#include "importers/robots/mesh_mass.hpp"
#include "library/composition/geometry.hpp"
#include "library/terminal/screen.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

struct Unit {
  std::string name;
  double metres;  ///< [m]
};
const std::array<Unit, 4> units{{{"m", 1.0}, {"mm", 1e-3}, {"cm", 1e-2}, {"in", 0.0254}}};

/// Start values; a study identifies its own (heelstrike calibrate).
struct NamedMaterial {
  std::string name;
  double youngs_modulus, poissons_ratio, density;  ///< [Pa], [-], [kg/m^3]
  std::string source;
};
const std::array<NamedMaterial, 8> known_materials{{
    {"sole", 5.0e5, 0.3, 1100,
     "soft tissue of a sole as one material, 0.4 to 0.66 MPa identified from recorded walking"},
    {"cartilage", 1.0e7, 0.45, 1100,
     "order of short loading; 4 MPa in Bei and Fregly (2004), 5 to 10 MPa in OpenSim-JAM"},
    {"polyethylene", 4.63e8, 0.46, 940, "ultra-high-molecular-weight polyethylene, Bei and Fregly (2004)"},
    {"bone", 1.7e10, 0.3, 1900, "cortical bone, an order of magnitude of textbooks"},
    {"rubber", 5.0e6, 0.45, 1100, "soft rubber, an order of magnitude of data sheets"},
    {"titanium", 1.1e11, 0.33, 4430, "Ti-6Al-4V, handbook value"},
    {"cobalt_chromium", 2.1e11, 0.3, 8300, "cast CoCrMo, handbook value"},
    {"steel", 2.1e11, 0.3, 7850, "structural steel, handbook value"},
}};

/// A length of the scenario with an option of its own.
struct Dimension {
  std::string name;
  std::string meaning;
  std::string guess;  ///< expression of the lengths of the surface [m]
};
const std::string depth_name = "depth";
const std::string load_name = "load";
const Dimension element_size{"element_size", "edge length of the finite elements", "length / 25"};

struct ScenarioKind {
  std::string name;  ///< also of its template
  std::string summary;
  std::vector<std::string> surfaces;
  std::string material;
  double shortest, longest;  ///< [m] plausible range of the largest extent, for the guess of the unit
  bool closed;               ///< needs a volume
  bool centred;              ///< the frame of the body is at the centre of mass
  bool takes_load;           ///< a force may be given instead of the depth
  std::vector<Dimension> dimensions;
};
const std::array<ScenarioKind, 5> kinds{{
    {.name = "foot",
     .summary = "the sole of a foot is pressed on a plate (finite elements)",
     .surfaces = {"foot"},
     .material = "sole",
     .shortest = 0.08,
     .longest = 1.2,
     .closed = true,
     .centred = false,
     .takes_load = true,
     .dimensions = {{depth_name, "depth of the press at its end", "0.05 * length"}, element_size}},
    {.name = "knee",
     .summary = "condyles are pressed into plateaus (elastic foundation)",
     .surfaces = {"tibia", "femur"},
     .material = "cartilage",
     .shortest = 0.02,
     .longest = 0.6,
     .closed = false,
     .centred = false,
     .takes_load = true,
     .dimensions = {{depth_name, "depth of the press at its end", "0.0006"}}},
    {.name = "impact",
     .summary = "a body falls on the ground (finite elements)",
     .surfaces = {"body"},
     .material = "rubber",
     .shortest = 0.005,
     .longest = 5.0,
     .closed = true,
     .centred = true,
     .takes_load = false,
     .dimensions = {{"drop", "height of the fall", "length"}, element_size}},
    {.name = "mechanism",
     .summary = "a hammer on an arm hits a wall (joints, rigid contact)",
     .surfaces = {"hammer"},
     .material = "steel",
     .shortest = 0.005,
     .longest = 5.0,
     .closed = true,
     .centred = true,
     .takes_load = false,
     .dimensions = {{"arm", "length of the arm, from the bearing to the centre of the hammer", "3 * length"}}},
    {.name = "robot",
     .summary = "a leg with motors lands on its foot (joints, springs, elastic foundation, friction)",
     .surfaces = {"foot"},
     .material = "rubber",
     .shortest = 0.005,
     .longest = 5.0,
     .closed = true,
     .centred = true,
     .takes_load = false,
     .dimensions = {{"drop", "height of the fall", "0.02"}, {"link", "length of thigh and shank", "1.5 * length"}}},
}};

const std::array<std::string, 6> axes{"z", "y", "x", "-z", "-y", "-x"};

struct NewOptions {
  std::string kind;
  std::vector<fs::path> meshes;
  fs::path file;
  std::map<std::string, std::string> given;  ///< unit, up, material, load and dimensions, by option
  bool guess = false;                        ///< without requests on the terminal
  bool force = false;
};

template <typename Range>
std::vector<std::string> names_of(const Range& range) {
  std::vector<std::string> names;
  for (const auto& item : range) names.push_back(item.name);
  return names;
}

template <typename Range>
const auto& find_named(const Range& range, const std::string& what, const std::string& name) {
  const auto found = std::ranges::find(range, name, [](const auto& item) -> const std::string& { return item.name; });
  if (found == std::end(range)) throw input_error(what, unknown_name_message(what, name, names_of(range)));
  return *found;
}

std::string option_of(std::string name) {
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

/// The value of an option, else of the user at the terminal, else the guess, which is then reported.
std::string requested_value(const NewOptions& options, const std::string& name, const std::string& meaning,
                            const std::string& guess) {
  if (const auto given = options.given.find(name); given != options.given.end()) return given->second;
  if (!options.guess && ::isatty(STDIN_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0) {
    fmt::print(stderr, "{} [{}]: ", meaning, guess);
    std::string line;
    if (!std::getline(std::cin, line)) throw Error(ErrorCode::cancelled, "end of the input");
    return line.empty() ? guess : line;
  }
  print_message("note", fmt::format("{}: {}; {} changes it", meaning, guess, option_of(name)));
  return guess;
}

double length_value(const std::string& text, const std::string& name) {
  const double value = parse_small_length(text, option_of(name));
  if (value > 0.0) return value;
  throw input_error(name, fmt::format("{}: expected a length > 0, e.g. 8mm, found '{}'", option_of(name), text));
}

struct Extent {
  Vector3 low, high;
  [[nodiscard]] Vector3 size() const { return high - low; }
};

Extent extent_of(const Triangles& surface) {
  Extent extent{.low = surface.vertices.front(), .high = surface.vertices.front()};
  for (const Vector3& vertex : surface.vertices) {
    extent.low = extent.low.cwiseMin(vertex);
    extent.high = extent.high.cwiseMax(vertex);
  }
  return extent;
}

/// Unit whose largest extent is plausible for this kind.
std::string guessed_unit(const ScenarioKind& kind, double extent) {
  for (const Unit& unit : units) {
    if (extent * unit.metres >= kind.shortest && extent * unit.metres <= kind.longest) return unit.name;
  }
  return extent > kind.longest ? "mm" : "m";
}

/// Mean normal of a surface, weighted by area: a unit vector for a plane, zero for a closed surface.
Vector3 mean_normal(const Triangles& surface) {
  Vector3 sum = Vector3::Zero();
  double area = 0.0;
  for (const auto& [a, b, c] : surface.triangles) {
    const Vector3& corner = surface.vertices[a];
    const Vector3 normal = 0.5 * (surface.vertices[b] - corner).cross(surface.vertices[c] - corner);
    sum += normal;
    area += normal.norm();
  }
  return area > 0.0 ? Vector3(sum / area) : Vector3(Vector3::Zero());
}

/// Axis of the files that points up: z, or, for two surfaces, the normal of the first one if that is open, else from
/// the first to the second one.
std::string guessed_up(const NewOptions& options, const std::vector<Triangles>& surfaces) {
  if (surfaces.size() < 2) return axes.front();
  const Extent below = extent_of(surfaces[0]), above = extent_of(surfaces[1]);
  const Vector3 between = above.low + above.high - below.low - below.high;
  const Vector3 normal = mean_normal(surfaces[0]);
  constexpr double open_surface = 0.1, opposite = -0.2;
  const bool is_open = normal.norm() > open_surface;
  if (is_open && normal.dot(between) < opposite * normal.norm() * between.norm()) {
    throw input_error("mesh", fmt::format("{}: expected a surface whose normals point to {}, found them pointing away "
                                          "from it; exchange the files?",
                                          options.meshes[0].string(), options.meshes[1].string()));
  }
  const Vector3& up = is_open ? normal : between;
  Eigen::Index axis = 0;
  up.cwiseAbs().maxCoeff(&axis);
  return std::string(up[axis] < 0.0 ? "-" : "") + "xyz"[axis];
}

Matrix3 rotation_to_z(const std::string& up) {
  if (std::ranges::find(axes, up) == axes.end()) throw input_error("up", unknown_name_message("axis", up, axes));
  Vector3 axis = Vector3::Zero();
  axis[up.back() - 'x'] = up.front() == '-' ? -1.0 : 1.0;
  return Quaternion::FromTwoVectors(axis, Vector3::UnitZ()).toRotationMatrix();
}

/// A surface of the user: in the unit of its file, then in metres with z up.
Triangles read_surface(const fs::path& file, const std::stop_token& stop) {
  return read_triangles(file.string(), read_file(file, "surface", {.stop = stop}));
}

/// Finite elements and masses need one closed piece; contact on open surfaces does not.
void check_surface(const ScenarioKind& kind, const fs::path& file, double length_scale, const std::stop_token& stop) {
  MeshJob job;
  job.name = file.string();
  job.content = read_file(file, "surface", {.stop = stop});
  job.length_scale = length_scale;
  const MeshReport report = process_mesh(
      job, [](const char*) {}, stop);
  for (const std::string& warning : report.warnings) print_message("warning", printable(warning));
  const std::string advice = fmt::format(
      "heelstrike mesh {0} shows where; heelstrike mesh {0} --merge 10um -o FILE joins vertices that differ by "
      "rounding, --fill-holes EDGES closes holes",
      job.name);
  if (kind.closed && !report.is_valid) {
    throw input_error("mesh", fmt::format("{}: expected a closed surface for `new {}`, found {}; {}", job.name,
                                          kind.name, report.defects, advice));
  }
  const auto pieces = std::ranges::find(report.facts, "surface_pieces", &MeshQuantity::name);
  if (kind.closed && pieces != report.facts.end() && std::get<double>(pieces->value) > 1.0) {
    throw input_error("mesh",
                      fmt::format("{}: expected one body for `new {}`, found {} separate pieces; export the one "
                                  "that is in contact as a file of its own, or join pieces that touch: heelstrike mesh "
                                  "{} --merge 10um -o FILE",
                                  job.name, kind.name, std::get<double>(pieces->value), job.name));
  }
}

/// Mean distance of neighbouring vertices, of a surface that is spread in the horizontal plane.
double vertex_spacing(const Triangles& surface) {
  const Vector3 size = extent_of(surface).size();
  return std::sqrt(size.x() * size.y() / static_cast<double>(surface.vertices.size()));
}

/// Displacement of the upper surface along z after which it touches the lower one: the smallest vertical distance of
/// two vertices that are closer in the horizontal plane than neighbours of the coarser mesh usually are.
double touching_displacement(const Triangles& lower, const Triangles& upper) {
  const double radius = 1.5 * std::max(vertex_spacing(lower), vertex_spacing(upper));
  // Neighbours are in the same cell of a horizontal grid or in one beside it.
  const auto cell_of = [&](const Vector3& v) {
    return std::pair(static_cast<long>(std::floor(v.x() / radius)), static_cast<long>(std::floor(v.y() / radius)));
  };
  std::map<std::pair<long, long>, std::vector<Vector3>> cells;
  for (const Vector3& b : upper.vertices) cells[cell_of(b)].push_back(b);
  double distance = std::numeric_limits<double>::infinity();
  for (const Vector3& a : lower.vertices) {
    const auto [i, j] = cell_of(a);
    for (long k = 0; k < 9; ++k) {
      const auto cell = cells.find({i - 1 + k / 3, j - 1 + k % 3});
      if (cell == cells.end()) continue;
      for (const Vector3& b : cell->second) {
        if ((b - a).head<2>().squaredNorm() < radius * radius) distance = std::min(distance, b.z() - a.z());
      }
    }
  }
  if (std::isfinite(distance)) return -distance;
  throw input_error("mesh",
                    "expected two surfaces above each other, found none of their points on one vertical line; "
                    "name the axis from the tibia to the femur with --up, or export both in the same axes");
}

/// Values of a template by name.
struct TemplateValues {
  std::map<std::string, std::string> texts;
  std::map<std::string, double> numbers;  ///< lengths [m], mass [kg], constants of the material
};

/// The value of an expression of numbers, e.g. "low + 0.5 * height".
double evaluated(const std::string& expression, const std::map<std::string, double>& numbers) {
  std::string text;
  for (std::size_t at = 0; at < expression.size();) {
    std::size_t end = at;
    while (end < expression.size() &&
           (std::isalpha(static_cast<unsigned char>(expression[end])) != 0 || (end > at && expression[end] == '_'))) {
      ++end;
    }
    const auto number = numbers.find(expression.substr(at, end - at));
    if (number != numbers.end()) {
      text += fmt::format("({:.17g})", number->second);
    } else {
      end = std::max(end, at + 1);
      text += expression.substr(at, end - at);
    }
    at = end;
  }
  return make_expression(text)->at(0.0).f;
}

/// Chooses between the lines after {{if NAME}} and those after {{else}}, up to {{end}}: the first ones if `numbers` has
/// the name.
std::string chosen_lines(const std::string& scenario_template, const std::map<std::string, double>& numbers) {
  constexpr std::string_view condition = "{{if ";
  std::string text;
  bool is_chosen = true;
  TextLines lines(scenario_template);
  while (const auto line = lines.next()) {
    if (line->text.starts_with(condition)) {
      is_chosen =
          numbers.contains(std::string(line->text.substr(condition.size(), line->text.find('}') - condition.size())));
    } else if (line->text == "{{else}}") {
      is_chosen = !is_chosen;
    } else if (line->text == "{{end}}") {
      is_chosen = true;
    } else if (is_chosen) {
      text.append(line->text) += '\n';
    }
  }
  return text;
}

/// Replaces every {{TEXT}} and {{EXPRESSION}} of a template.
std::string filled(const std::string& scenario_template, const TemplateValues& values) {
  std::string text;
  std::size_t done = 0;
  for (std::size_t at = 0; (at = scenario_template.find("{{", done)) != std::string::npos;) {
    const std::size_t end = scenario_template.find("}}", at);
    const std::string inner = scenario_template.substr(at + 2, end - at - 2);
    const auto known = values.texts.find(inner);
    text += scenario_template.substr(done, at - done);
    text += known != values.texts.end() ? known->second : fmt::format("{:.6g}", evaluated(inner, values.numbers));
    done = end + 2;
  }
  return text + scenario_template.substr(done);
}

/// Six digits; what is rounding beside `scale` is zero.
template <int n>
std::string vector_of(const Eigen::Vector<double, n>& v, double scale) {
  std::string text;
  for (const double x : v)
    text += fmt::format("{}{:.6g}", text.empty() ? "" : ", ", std::abs(x) < 1e-12 * scale ? 0.0 : x);
  return "[" + text + "]";
}

/// Name of a mesh in a scenario: relative to its folder, quoted.
std::string name_in(const fs::path& scenario, const fs::path& mesh) {
  const fs::path folder = fs::absolute(scenario).lexically_normal().parent_path();
  return nlohmann::json(fs::absolute(mesh).lexically_normal().lexically_relative(folder).string()).dump();
}

void add_extent(const Triangles& surface, TemplateValues& values) {
  const Extent extent = extent_of(surface);
  const Vector3 size = extent.size();
  values.numbers.insert(
      {{"low", extent.low.z()}, {"front", extent.high.x()}, {"height", size.z()}, {"length", size.maxCoeff()}});
  // Divisions of each triangle into four after which springs are about a millimetre apart.
  values.numbers["refine"] = std::clamp(std::ceil(std::log2(vertex_spacing(surface) / 1e-3)), 0.0, 3.0);
  values.texts["side"] = size.x() > size.y() ? "x" : "y";
}

/// Moves the surface to its centre of mass.
void add_mass(const std::string& name, double density, Triangles& surface, TemplateValues& values) {
  const models::MassProperties volume = models::mass_of_mesh(surface, models::MeshMass::exact, name);
  for (Vector3& vertex : surface.vertices) vertex -= volume.center_of_mass;
  const Matrix3 inertia = density * volume.inertia;
  values.numbers["mass"] = density * volume.mass;
  values.texts["position"] = vector_of<3>(-volume.center_of_mass, extent_of(surface).size().maxCoeff());
  const Eigen::Vector<double, 6> moments{inertia(0, 0), inertia(1, 1), inertia(2, 2),
                                         inertia(0, 1), inertia(0, 2), inertia(1, 2)};
  values.texts["inertia"] = vector_of<6>(moments, moments.maxCoeff());
}

/// Reads unit and axes of the surfaces. @returns them in metres with z up
std::vector<Triangles> placed_surfaces(const ScenarioKind& kind, const NewOptions& options, TemplateValues& values,
                                       const std::stop_token& stop) {
  std::vector<Triangles> surfaces;
  for (const fs::path& mesh : options.meshes) surfaces.push_back(read_surface(mesh, stop));
  const double largest = extent_of(surfaces.front()).size().maxCoeff();
  const std::string unit = requested_value(
      options, "unit", fmt::format("unit of {} (largest extent {:.4g})", options.meshes.front().string(), largest),
      guessed_unit(kind, largest));
  const double scale = find_named(units, "unit", unit).metres;
  for (const fs::path& mesh : options.meshes) check_surface(kind, mesh, scale, stop);
  const std::string up = requested_value(
      options, "up",
      fmt::format("axis of the files that points {}", surfaces.size() > 1 ? "from the tibia to the femur" : "up"),
      guessed_up(options, surfaces));
  const Matrix3 rotation = rotation_to_z(up);
  if (surfaces.size() > 1) print_message("note", "both files are taken in one frame, as they are");
  for (Triangles& surface : surfaces) {
    for (Vector3& vertex : surface.vertices) vertex = scale * (rotation * vertex);
  }
  const Quaternion q = quaternion_from_rotation(rotation);
  values.numbers["scale"] = scale;
  values.texts["orientation"] = fmt::format("[{:.17g}, {:.17g}, {:.17g}, {:.17g}]", q.w(), q.x(), q.y(), q.z());
  values.texts["orientation_note"] = up == "z" ? "those of the file" : fmt::format("axis {} of the file points up", up);
  return surfaces;
}

TemplateValues make_values(const ScenarioKind& kind, const NewOptions& options, const std::stop_token& stop) {
  TemplateValues values;
  std::vector<Triangles> surfaces = placed_surfaces(kind, options, values, stop);
  const NamedMaterial& material = find_named(
      known_materials, "material",
      requested_value(options, "material", fmt::format("material ({})", fmt::join(names_of(known_materials), ", ")),
                      kind.material));
  values.numbers.insert({{"youngs_modulus", material.youngs_modulus},
                         {"poissons_ratio", material.poissons_ratio},
                         {"density", material.density}});
  values.texts["material"] = material.name;
  values.texts["source"] = material.source;
  if (kind.centred) add_mass(options.meshes.front().string(), material.density, surfaces.front(), values);
  add_extent(surfaces.front(), values);
  if (surfaces.size() > 1) values.numbers["touch"] = touching_displacement(surfaces[0], surfaces[1]);
  const auto force = options.given.find(load_name);
  if (force != options.given.end()) values.numbers[load_name] = parse_force(force->second, option_of(load_name));
  for (const Dimension& dimension : kind.dimensions) {
    if (values.numbers.contains(load_name) && dimension.name == depth_name) {  // for the distance before the press only
      values.numbers[depth_name] = evaluated(dimension.guess, values.numbers);
      continue;
    }
    const std::string guess = fmt::format("{:.3g}mm", 1000.0 * evaluated(dimension.guess, values.numbers));
    values.numbers[dimension.name] =
        length_value(requested_value(options, dimension.name, dimension.meaning, guess), dimension.name);
  }
  values.texts["file"] = plain_name(options.file.filename().string());
  constexpr std::array<const char*, 2> places{"mesh", "second_mesh"};
  for (std::size_t i = 0; i < options.meshes.size(); ++i) {
    values.texts[places[i]] = plain_name(options.meshes[i].filename().string());
    values.texts[fmt::format("{}_file", places[i])] = name_in(options.file, options.meshes[i]);
  }
  return values;
}

/// "--force 600" is read as the flag and a surface.
void check_no_force(const ScenarioKind& kind, const NewOptions& options) {
  for (const fs::path& mesh : options.meshes) {
    const std::string text = mesh.string();
    double value = 0.0;
    const bool is_number = std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc();
    std::error_code ignored;
    if (!options.force || !is_number || fs::exists(mesh, ignored)) continue;
    throw input_error("force",
                      fmt::format("--force: expected no value, found '{}'; --force only replaces an existing "
                                  "file{}",
                                  text, kind.takes_load ? ", --load " + text + " presses with that force" : ""));
  }
}

void check_new_options(const ScenarioKind& kind, const NewOptions& options) {
  check_no_force(kind, options);
  if (options.meshes.size() != kind.surfaces.size()) {
    throw input_error("mesh", fmt::format("expected {} for `new {}`, found {} files: heelstrike new {} {}.stl",
                                          kind.surfaces.size() == 1 ? "one surface" : "two surfaces", kind.name,
                                          options.meshes.size(), kind.name, fmt::join(kind.surfaces, ".stl ")));
  }
  for (const fs::path& mesh : options.meshes) {
    if (mesh.extension() == ".urdf" || mesh.extension() == ".xml") {
      throw input_error("mesh", fmt::format("{}: expected a surface, found a robot file; use heelstrike import {}",
                                            mesh.string(), mesh.string()));
    }
  }
  std::vector<std::string> lengths;
  for (const Dimension& dimension : kind.dimensions) lengths.push_back(option_of(dimension.name));
  if (options.given.contains(load_name) && options.given.contains(depth_name)) {
    throw input_error(load_name,
                      fmt::format("{0}: expected one of {0} and {1}, found both; the load determines the depth",
                                  option_of(load_name), option_of(depth_name)));
  }
  for (const auto& [name, value] : options.given) {
    const std::string option = option_of(name);
    if (name == load_name && kind.takes_load) continue;
    if (name == "unit" || name == "up" || name == "material" || std::ranges::find(lengths, option) != lengths.end()) {
      continue;
    }
    throw input_error(
        name, fmt::format("{}: expected an option of `new {}`, found one of another kind; its lengths are {}", option,
                          kind.name, fmt::join(lengths, ", ")));
  }
}

ExitCode write_new(NewOptions options, const std::stop_token& stop) {
  const ScenarioKind& kind = find_named(kinds, "kind", options.kind);
  check_new_options(kind, options);
  if (options.file.empty()) options.file = "my_" + kind.name + ".yaml";
  check_new_files({options.file}, options.force);  // before requests on the terminal
  const TemplateValues values = make_values(kind, options, stop);
  const std::string scenario_template = read_file(shared_folder("templates") / (kind.name + ".yaml"), "template");
  const std::string text = filled(chosen_lines(scenario_template, values.numbers), values);
  write_new_files({{options.file, with_schema_line(text)}}, options.force);
  fmt::print("written    {}\nheelstrike validate {}\nheelstrike run {}\n", options.file.string(), options.file.string(),
             options.file.string());
  return ExitCode::ok;
}

std::string kinds_text() {
  std::string text = "Kind of scenario:";
  for (const ScenarioKind& kind : kinds) {
    text += fmt::format("\n{}: {}; surfaces: {}", kind.name, kind.summary, fmt::join(kind.surfaces, ", "));
  }
  return text;
}

Action add_new(CLI::App& command, bool& /*as_json*/) {
  const auto options = std::make_shared<NewOptions>();
  command.add_option("kind", options->kind, kinds_text())->required()->type_name("KIND");
  command
      .add_option("mesh", options->meshes,
                  "Surface files (stl, obj, ply, ...), in the order of the kind; two files are taken in one frame")
      ->required()
      ->type_name("MESH");
  command.add_option("-o,--output", options->file, "Scenario to write (default: my_KIND.yaml)")->type_name("FILE");
  command.add_flag("-y,--yes", options->guess, "Use the proposed values, without requests on the terminal");
  command.add_flag("--force", options->force, "Replace an existing file")->disable_flag_override();
  const auto add = [&](const std::string& name, const std::string& meaning, const std::string& type) {
    command
        .add_option_function<std::string>(
            option_of(name), [options, name](const std::string& value) { options->given[name] = value; }, meaning)
        ->type_name(type);
  };
  add("unit", fmt::format("Unit of the files: {} (default: guessed from the extent)", fmt::join(names_of(units), ", ")),
      "UNIT");
  add("up", fmt::format("Axis of the files that points up: {} (write --up=-z)", fmt::join(axes, ", ")), "AXIS");
  add("material", fmt::format("Material: {}", fmt::join(names_of(known_materials), ", ")), "NAME");
  add(load_name, "foot, knee: force of the press at its end instead of a depth, e.g. 600N", "FORCE");
  std::map<std::string, std::pair<std::string, std::string>> dimensions;  // meaning, kinds
  for (const ScenarioKind& kind : kinds) {
    for (const Dimension& dimension : kind.dimensions) {
      auto& [meaning, used_by] = dimensions[dimension.name];
      meaning = dimension.meaning;
      used_by += (used_by.empty() ? "" : ", ") + kind.name;
    }
  }
  for (const auto& [name, text] : dimensions) add(name, fmt::format("{}: {}", text.second, text.first), "LENGTH");
  return [options](bool /*json*/, const std::stop_token& stop) { return write_new(*options, stop); };
}

}  // namespace

Subcommand new_command() {
  return {.name = "new",
          .summary = "Write a commented scenario for your own surface",
          .examples =
              "  heelstrike new foot scan.stl\n"
              "  heelstrike new foot scan.stl --load 600N\n"
              "  heelstrike new knee tibia.stl femur.stl --unit mm --up z --material cartilage -o knee.yaml\n"
              "  heelstrike new impact part.stl --yes --drop 0.2m",
          .add = add_new};
}

}  // namespace heelstrike::client
