// heelstrike mesh: checks a surface, repairs it on request, fills it with tetrahedra, or a layer with prisms.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "client/studies/quantity.hpp"
#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/files/output_file.hpp"
#include "library/composition/geometry.hpp"
#include "library/runs/mesh_file.hpp"
#include "library/runs/run_request.hpp"
#include "library/terminal/screen.hpp"
#include "scenario/surfaces/knee.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

struct MeshOptions {
  std::string input;
  fs::path output;
  std::string size;
  std::string edge;
  std::vector<std::string> refine;
  std::vector<std::string> repair;
  std::vector<std::string> between;
  std::string thickness;
  std::uint32_t layers = 2;
  bool prisms = false;
  std::string search_distance = "10mm";
  std::string min_thickness = "0.2mm";
  std::string merge;
  std::string slivers;
  std::string within;
  std::size_t max_hole_edges = 0;
  double length_scale = 1.0;
  double growth = 0.3;
  std::uint32_t order = 1;
  bool keep_surface = false;
  double time_limit = 600.0;
};

std::string extension_of(const fs::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension.empty() ? extension : extension.substr(1);
}

/// PLACE:SIZE with PLACE box:x0,y0,z0,x1,y1,z1 or ball:x,y,z,r or group:NAME,distance.
MeshRefinement parse_refinement(const std::string& text) {
  const auto pieces = split(text, ':');
  MeshRefinement import_options;
  if (pieces.size() == 3) {
    const auto values = split(pieces[1], ',');
    import_options.size = parse_length(pieces[2], "--refine: size");
    const auto lengths = [&] {
      std::vector<double> numbers;
      for (const std::string& value : values) numbers.push_back(parse_length(value, "--refine: coordinate"));
      return numbers;
    };
    if (pieces[0] == "box" && values.size() == 6) import_options.box = lengths();
    if (pieces[0] == "ball" && values.size() == 4) import_options.ball = lengths();
    if (pieces[0] == "group" && values.size() == 2) {
      import_options.group = values[0];
      import_options.distance = parse_length(values[1], "--refine: distance");
    }
  }
  if (import_options.box.empty() && import_options.ball.empty() && import_options.group.empty()) {
    throw input_error("refine", fmt::format("--refine: expected box:x0,y0,z0,x1,y1,z1:SIZE, ball:x,y,z,r:SIZE or "
                                            "group:NAME,DISTANCE:SIZE, found '{}'",
                                            text));
  }
  return import_options;
}

/// knee-femur, knee-tibia, knee-femur-bone, knee-tibia-bone, with an optional -left; none for other names and for
/// existing files of such a name.
std::optional<KneeSurface> knee_named(const MeshOptions& options) {
  const auto words = split(options.input, '-');
  if (words.size() < 2 || words.size() > 4 || words[0] != "knee" || fs::exists(options.input)) return std::nullopt;
  KneeSurface knee{.dimensions = {}, .is_tibia = words[1] == "tibia"};
  bool known = knee.is_tibia || words[1] == "femur";
  for (std::size_t i = 2; i < words.size(); ++i) {
    bool& flag = words[i] == "bone" ? knee.is_bone : knee.left;
    known = known && !flag && (words[i] == "bone" || words[i] == "left");
    flag = true;
  }
  if (!known) return std::nullopt;
  if (!options.edge.empty()) knee.edge = parse_small_length(options.edge, "--edge");
  (void)checked_surface(knee, true, "mesh");
  return knee;
}

MeshJob make_job(const MeshOptions& options, const std::stop_token& stop) {
  MeshJob job;
  job.name = options.between.empty() ? options.input : options.between.front();
  if (job.name.empty()) throw input_error("input", "expected a file to check or fill, or --layer OUTER [INNER]");
  job.layer = !options.between.empty();
  if (!job.layer && !options.thickness.empty()) {
    throw input_error("thickness", "--thickness: requires --layer OUTER, the surface of the layer");
  }
  if (job.layer) {
    if (!options.input.empty()) throw input_error("between", "--layer names all files; remove " + options.input);
    const bool has_inner = options.between.size() > 1;
    if (has_inner == !options.thickness.empty()) {
      throw input_error("between", fmt::format("--layer: expected the surface behind {}, or its distance by "
                                               "--thickness, found {}",
                                               options.between.front(), has_inner ? "both" : "none of them"));
    }
    if (has_inner) {
      job.inner_name = options.between.back();
      job.inner = read_mesh_file(job.inner_name, "mesh", {.stop = stop});
    } else {
      job.thickness = parse_small_length(options.thickness, "--thickness");
    }
    job.layers = options.layers;
    job.keep_prisms = options.prisms;
    if (options.prisms && options.order == 2) {
      throw input_error("order",
                        "--order 2: the prisms of a layer have 6 nodes, and higher orders are not available; "
                        "remove --order or --prisms");
    }
    job.search_distance = parse_small_length(options.search_distance, "--search-distance");
    job.min_thickness = parse_small_length(options.min_thickness, "--min-thickness");
  }
  if (options.prisms && options.between.empty()) {
    throw input_error("prisms", "--prisms: only the layer of --layer is made of prisms; remove it");
  }
  job.foot = (options.input == "foot" || options.input == "foot-right") && !fs::exists(options.input);
  job.right = options.input == "foot-right";
  job.knee = knee_named(options);
  if (!job.foot && !job.knee) job.content = read_mesh_file(job.name, "mesh", {.stop = stop});
  job.length_scale = options.length_scale;
  if (!options.size.empty()) job.size = parse_small_length(options.size, "--size");
  if (!options.size.empty() && !(job.size > 0.0)) {
    throw input_error("size", fmt::format("--size: expected a length > 0, found '{}'", options.size));
  }
  job.order = options.order;
  job.growth = options.growth;
  job.keep_surface = options.keep_surface;
  job.time_limit = options.time_limit;
  for (const std::string& text : options.refine) job.refinements.push_back(parse_refinement(text));
  if (!options.merge.empty()) job.repairs.merge_tolerance = parse_small_length(options.merge, "--merge");
  if (!options.slivers.empty()) job.repairs.sliver_thickness = parse_small_length(options.slivers, "--slivers");
  if (!options.within.empty()) job.repairs.sliver_distance = parse_small_length(options.within, "--max-displacement");
  if (!options.within.empty() && options.slivers.empty()) {
    throw input_error("within", "--max-displacement: requires --slivers, whose displacement it limits");
  }
  const auto is_requested = [&](const char* what) {
    return std::ranges::find(options.repair, what) != options.repair.end();
  };
  job.repairs.remove_degenerate = is_requested("degenerate");
  job.repairs.remove_duplicate = is_requested("duplicates");
  job.repairs.reorient = is_requested("orientation");
  job.repairs.max_hole_edges = options.max_hole_edges;
  if (!options.output.empty()) {
    job.output_format = extension_of(options.output);
    const bool fills = job.size > 0.0 || job.layer;
    if (job.output_format != "msh" && job.output_format != "vtu" && job.output_format != "stl") {
      throw input_error("output", fmt::format("--output: expected a name ending in .msh, .vtu or .stl, found '{}'",
                                              options.output.string()));
    }
    const bool has_volume = fills || is_volume_mesh(job);
    if (job.output_format != "stl" && !has_volume) {
      throw input_error("size", fmt::format("--size: missing; expected the edge length of the tetrahedra in {}",
                                            options.output.string()));
    }
  }
  return job;
}

nlohmann::ordered_json to_json(const MeshReport& outcome) {
  nlohmann::ordered_json json = {
      {"sound", outcome.is_valid}, {"repaired", outcome.repaired}, {"warnings", outcome.warnings}};
  for (const MeshQuantity& fact : outcome.facts) {
    std::string name = fact.name;
    std::ranges::replace(name, ' ', '_');
    std::visit([&](const auto& value) { json[name] = value; }, fact.value);
  }
  return json;
}

ExitCode run(const MeshOptions& options, bool as_json, const std::stop_token& stop) {
  const MeshJob job = make_job(options, stop);
  MeshReport outcome;
  {
    ProgressDisplay display("mesh", as_json);
    outcome = process_mesh(
        job, [&](const char* stage) { display.show({.stage = stage, .fraction = -1.0}); }, stop);
  }
  if (!options.output.empty()) write_whole_file(options.output, outcome.bytes);
  if (as_json) {
    fmt::print("{}\n", to_json(outcome).dump(2));
  } else {
    for (const std::string& message : outcome.repaired) fmt::print("repaired: {}\n", message);
    if (!outcome.surface_report.empty()) fmt::print("{}\n", outcome.surface_report);
    if (!outcome.volume_report.empty()) fmt::print("{}\n", outcome.volume_report);
    if (!options.output.empty()) {
      fmt::print("written    {} ({} bytes)\n", options.output.string(), outcome.bytes.size());
    } else if (job.size > 0.0 || job.layer || !outcome.repaired.empty()) {
      fmt::print("no file is written; -o FILE writes the mesh\n");
    }
  }
  for (const std::string& warning : outcome.warnings)
    fmt::print(stderr, "heelstrike: warning: {}\n", printable(warning));
  if (outcome.is_valid) return ExitCode::ok;
  fmt::print(stderr, "heelstrike: error: {}: {}; the report shows where\n", printable(job.name), outcome.defects);
  return ExitCode::bad_input;
}

void add_layer_options(CLI::App& command, MeshOptions& options) {
  command
      .add_option("--layer", options.between,
                  "Fill the layer between two surfaces, e.g. cartilage: OUTER, the articular surface with normals\n"
                  "outward, and INNER behind it, the bone; also open surfaces. --size gives OUTER triangles of this\n"
                  "edge length first")
      ->expected(1, 2)
      ->type_name("OUTER [INNER]");
  command.add_option("--thickness", options.thickness, "Constant thickness of the layer, instead of INNER")
      ->type_name("LENGTH");
  command.add_option("--layers", options.layers, "Layers of prisms, three tetrahedra each, between the surfaces")
      ->check(CLI::Range(1, 20))
      ->capture_default_str();
  command.add_flag("--prisms", options.prisms, "Keep the prisms of the layer, for element: wedge6 and wedge6_mixed");
  command
      .add_option("--search-distance", options.search_distance, "Largest distance of the INNER surface behind OUTER")
      ->type_name("LENGTH")
      ->capture_default_str();
  command
      .add_option("--min-thickness", options.min_thickness,
                  "Minimum thickness of the layer, where the surfaces touch or cross")
      ->type_name("LENGTH")
      ->capture_default_str();
}

Action add_mesh(CLI::App& command, bool& as_json) {
  const auto options = std::make_shared<MeshOptions>();
  command
      .add_option(
          "input", options->input,
          fmt::format("File with a {}; `foot` or `foot-right` for the parametric foot; `knee-femur`, `knee-tibia`,\n"
                      "`knee-femur-bone`, `knee-tibia-bone` for surfaces of the parametric knee (append `-left` for a "
                      "left knee)",
                      readable_formats()))
      ->type_name("FILE");
  add_layer_options(command, *options);
  command.add_option("-o,--output", options->output, "Mesh to write: .vtu, .msh, or .stl for the surface")
      ->type_name("FILE");
  command.add_option("--size", options->size, "Edge length of the tetrahedra, e.g. 4mm; default: check only")
      ->type_name("LENGTH");
  command.add_option("--edge", options->edge, "Edge length of the triangles of a parametric knee")->type_name("LENGTH");
  command
      .add_option("--refine", options->refine,
                  "Local refinement; repeatable. box:x0,y0,z0,x1,y1,z1:SIZE, ball:x,y,z,r:SIZE or\n"
                  "group:NAME,DISTANCE:SIZE, lengths in metres or with a unit")
      ->type_name("PLACE:SIZE")
      ->allow_extra_args(false)
      ->take_all();
  command.add_option("--growth", options->growth, "Increase of the edge length per distance from a refinement")
      ->check(CLI::Range(1e-3, 2.0))
      ->capture_default_str();
  command
      .add_option("--order", options->order,
                  "1: nodes at the corners; 2: also between them, 10 of tetrahedra and 27 of hexahedra")
      ->check(CLI::Range(1, 2))
      ->capture_default_str();
  command.add_option("--scale", options->length_scale, "Metres per unit of the file: 0.001 for millimetres")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_flag("--keep-surface", options->keep_surface, "Keep the triangles unchanged, fill the interior only");
  command.add_option("--time-limit", options->time_limit, "Time limit of the mesher [s]")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->type_name("SECONDS");
  command
      .add_option("--repair", options->repair,
                  "Repairs before the check: degenerate, duplicates (remove such triangles), orientation (turn\n"
                  "triangles outward); default: no repair")
      ->delimiter(',')
      ->check(CLI::IsMember({"degenerate", "duplicates", "orientation"}))
      ->type_name("NAME");
  command.add_option("--merge", options->merge, "Repair: merge vertices closer than this")->type_name("LENGTH");
  command
      .add_option("--slivers", options->slivers,
                  "Repair: collapse or flip triangles thinner than this, see --max-displacement")
      ->type_name("LENGTH");
  command
      .add_option("--max-displacement", options->within,
                  "Largest displacement of the surface by --slivers; default twice its length")
      ->type_name("LENGTH");
  command.add_option("--fill-holes", options->max_hole_edges, "Repair: fill holes with at most this number of edges")
      ->type_name("EDGES");
  command.add_flag("--json", as_json, "Print the report as JSON");
  return [options](bool json, const std::stop_token& stop) { return run(*options, json, stop); };
}

}  // namespace

Subcommand mesh_command() {
  return {.name = "mesh",
          .summary = "Check a surface, repair it on request, fill it with tetrahedra",
          .examples =
              "  heelstrike mesh foot.stl --scale 0.001\n"
              "  heelstrike mesh foot.stl --scale 0.001 --repair orientation --fill-holes 30 --size 4mm -o foot.vtu\n"
              "  heelstrike mesh --layer cartilage.stl bone.stl --layers 3 -o cartilage.vtu\n"
              "  heelstrike mesh --layer skin.stl --thickness 8mm --size 5mm -o skin.vtu\n"
              "  heelstrike mesh foot --size 6mm --refine box:-60mm,-60mm,-80mm,200mm,60mm,-60mm:3mm -o foot.msh",
          .add = add_mesh};
}

}  // namespace heelstrike::client
