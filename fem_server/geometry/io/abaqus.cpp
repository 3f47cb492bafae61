// Abaqus .inp: nodes, C3D4, C3D10, C3D6, C3D8, C3D20 and C3D27, sets and surfaces. Keywords of analyses are left out,
// with a note.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "common/errors/error.hpp"
#include "fem_server/geometry/io/readers.hpp"
#include "fem_server/geometry/io/scanner.hpp"

namespace heelstrike::fem::io {

namespace {

/// A keyword line "*ELEMENT, TYPE=C3D4, ELSET=skin"; keys in lower case.
struct Keyword {
  std::string name;
  std::map<std::string, std::string> parameters;
  std::size_t line = 0;

  [[nodiscard]] std::string value(const std::string& key) const {
    const auto found = parameters.find(key);
    return found == parameters.end() ? std::string() : found->second;
  }
};

/// One data line, its continuation lines included.
struct DataLine {
  std::vector<std::string_view> fields;
  std::size_t line = 0;
};

/// What an element label stands for.
struct Cell {
  enum class Kind { solid, face, line } kind = Kind::solid;
  std::uint32_t element = 0;
  std::vector<std::uint32_t> nodes;  ///< of faces and lines
};

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t comma = text.find(',');
    fields.push_back(trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return fields;
}

class AbaqusReader {
 public:
  AbaqusReader(std::string_view bytes, const ReadOptions& options)
      : options_(options), scanner_(options.name, bytes), builder_(options), max_members_(13 * bytes.size() + 1000) {}

  VolumeMesh read() {
    while (const auto line = next_line()) {
      if (!line->starts_with('*'))
        fail(fmt::format("expected a keyword line starting with '*', found {}", quoted(*line)));
      read_keyword(parse_keyword(*line));
    }
    resolve_sets();
    for (const std::string& keyword : skipped_) builder_.add_note(fmt::format("keyword *{} was left out", keyword));
    if (builder_.n_nodes() == 0) {
      throw input_error(options_.name,
                        fmt::format("{}: expected an Abaqus input file with *NODE, found none", options_.name));
    }
    return builder_.finish();
  }

 private:
  /// Next line that is no comment and not empty.
  std::optional<std::string_view> next_line() {
    while (!scanner_.at_end()) {
      offset_of_line_ = scanner_.offset();
      line_ = scanner_.line();
      const std::string_view line = scanner_.rest_of_line();
      if (!line.empty() && !line.starts_with("**")) return line;
    }
    return std::nullopt;
  }

  /// Next data line of the current keyword; none when a keyword or the end of the file follows.
  std::optional<DataLine> next_data(bool continues_after_comma) {
    const auto first = next_line();
    if (!first) return std::nullopt;
    if (first->starts_with('*')) {
      scanner_.rewind(offset_of_line_, line_);
      return std::nullopt;
    }
    DataLine data{split(*first), line_};
    while (continues_after_comma && data.fields.back().empty() && data.fields.size() > 1) {
      const auto more = next_line();
      if (!more || more->starts_with('*')) {
        if (more) scanner_.rewind(offset_of_line_, line_);
        break;
      }
      data.fields.pop_back();
      for (const std::string_view field : split(*more)) data.fields.push_back(field);
    }
    while (data.fields.size() > 1 && data.fields.back().empty()) data.fields.pop_back();
    return data;
  }

  Keyword parse_keyword(std::string_view line) {
    Keyword keyword;
    keyword.line = line_;
    std::string joined(line.substr(1));
    while (!joined.empty() && joined.back() == ',') {
      const auto more = next_line();
      if (!more) break;
      joined += *more;
    }
    const auto fields = split(joined);
    keyword.name = lower_case(fields.front());
    for (std::size_t i = 1; i < fields.size(); ++i) {
      const std::size_t equals = fields[i].find('=');
      const std::string key = lower_case(trimmed(fields[i].substr(0, equals)));
      std::string_view value = equals == std::string_view::npos ? "" : trimmed(fields[i].substr(equals + 1));
      if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
      keyword.parameters[key] = value;
    }
    return keyword;
  }

  void read_keyword(const Keyword& keyword) {
    static const std::set<std::string, std::less<>> structure{"part",     "end part",     "assembly", "end assembly",
                                                              "instance", "end instance", "heading"};
    static const std::set<std::string, std::less<>> unsupported{"include", "system", "ngen",   "nfill",
                                                                "ncopy",   "elgen",  "elcopy", "nmap"};
    if (keyword.name == "node") return read_nodes(keyword);
    if (keyword.name == "element") return read_elements(keyword);
    if (keyword.name == "nset") return read_set(keyword, node_sets_, "nset");
    if (keyword.name == "elset") return read_set(keyword, element_sets_, "elset");
    if (keyword.name == "surface") return read_surface(keyword);
    if (keyword.name == "part" && ++n_parts_ > 1)
      fail("expected one part, found a second one: join the parts to one mesh");
    if (unsupported.contains(keyword.name)) {
      fail(fmt::format("*{} is not supported: write nodes and elements out in one file", keyword.name));
    }
    if (keyword.name == "instance") {
      if (next_data(false)) fail("an instance with a translation or rotation is not supported: move the part instead");
      return;
    }
    if (!structure.contains(keyword.name)) skipped_.insert(keyword.name);
    while (next_data(false)) {
    }
  }

  std::uint64_t label(std::string_view field, std::string_view what) const {
    std::int64_t value = 0;
    if (!parse_integer(field, value) || value < 0) {
      fail(fmt::format("expected {}, found {}", what, field.empty() ? "nothing" : quoted(field)));
    }
    return static_cast<std::uint64_t>(value);
  }

  void read_nodes(const Keyword& keyword) {
    const std::string set = keyword.value("nset");
    if (keyword.parameters.contains("system") && keyword.value("system") != "R") {
      fail("only rectangular coordinates (SYSTEM=R) are supported");
    }
    while (const auto data = next_data(false)) {
      if (data->fields.size() != 4) {
        fail(fmt::format("expected a node number and three coordinates, found {} values", data->fields.size()));
      }
      const std::uint64_t node = label(data->fields[0], "the number of a node");
      Vector3 position;
      for (std::size_t i = 0; i < 3; ++i) {
        if (!parse_number(data->fields[i + 1], position[static_cast<Eigen::Index>(i)])) {
          fail(fmt::format("expected a finite coordinate, found {}", quoted(data->fields[i + 1])));
        }
      }
      builder_.add_node(node, position, {"line", data->line});
      if (!set.empty()) add_member(node_sets_, set, node);
    }
  }

  struct ElementKind {
    Cell::Kind kind;
    std::size_t n_nodes;
  };

  [[nodiscard]] ElementKind element_kind(const Keyword& keyword) const {
    static const std::map<std::string, ElementKind, std::less<>> kinds{
        {"c3d4", {Cell::Kind::solid, 4}},    {"c3d10", {Cell::Kind::solid, 10}},   {"c3d4h", {Cell::Kind::solid, 4}},
        {"c3d10h", {Cell::Kind::solid, 10}}, {"c3d10m", {Cell::Kind::solid, 10}},  {"cps3", {Cell::Kind::face, 3}},
        {"cps6", {Cell::Kind::face, 6}},     {"s3", {Cell::Kind::face, 3}},        {"s3r", {Cell::Kind::face, 3}},
        {"stri65", {Cell::Kind::face, 6}},   {"m3d3", {Cell::Kind::face, 3}},      {"m3d6", {Cell::Kind::face, 6}},
        {"c3d8", {Cell::Kind::solid, 8}},    {"c3d8h", {Cell::Kind::solid, 8}},    {"c3d8i", {Cell::Kind::solid, 8}},
        {"c3d8r", {Cell::Kind::solid, 8}},   {"c3d8rh", {Cell::Kind::solid, 8}},   {"s4", {Cell::Kind::face, 4}},
        {"s4r", {Cell::Kind::face, 4}},      {"cps4", {Cell::Kind::face, 4}},      {"m3d4", {Cell::Kind::face, 4}},
        {"c3d6", {Cell::Kind::solid, 6}},    {"c3d6h", {Cell::Kind::solid, 6}},    {"t3d2", {Cell::Kind::line, 2}},
        {"t3d3", {Cell::Kind::line, 3}},     {"c3d20", {Cell::Kind::solid, 20}},   {"c3d20h", {Cell::Kind::solid, 20}},
        {"c3d20r", {Cell::Kind::solid, 20}}, {"c3d20rh", {Cell::Kind::solid, 20}}, {"c3d27", {Cell::Kind::solid, 27}},
        {"c3d27h", {Cell::Kind::solid, 27}}, {"c3d27r", {Cell::Kind::solid, 27}},  {"c3d27rh", {Cell::Kind::solid, 27}},
        {"s8r", {Cell::Kind::face, 8}},      {"cps8", {Cell::Kind::face, 8}},      {"m3d8", {Cell::Kind::face, 8}},
        {"m3d9", {Cell::Kind::face, 9}}};
    const std::string type = keyword.value("type");
    const auto found = kinds.find(lower_case(type));
    if (found != kinds.end()) return found->second;
    fail_at_line(
        options_.name, keyword.line,
        fmt::format(
            "expected TYPE=C3D4, C3D10, C3D6, C3D8, C3D20 or C3D27 (or S3, CPS3, STRI65, S4, S8R on their boundary), "
            "found '{}'",
            type));
  }

  /// Of hexahedra with 27 nodes the 21st is that inside, and then come those in the middle of S1 to S6.
  static void move_middles(std::vector<std::uint32_t>& nodes) {
    const std::vector<std::uint32_t> given(nodes.begin() + 20, nodes.end());
    nodes[26] = given[0];
    for (std::size_t side = 0; side < 6; ++side) nodes[hexahedron_side_middles[side][4]] = given[1 + side];
  }

  void read_elements(const Keyword& keyword) {
    const ElementKind kind = element_kind(keyword);
    const std::string set = keyword.value("elset");
    while (const auto data = next_data(true)) {
      if (data->fields.size() != kind.n_nodes + 1) {
        fail(
            fmt::format("expected an element number and {} nodes, found {} values", kind.n_nodes, data->fields.size()));
      }
      const Place place{"line", data->line};
      Cell cell;
      cell.kind = kind.kind;
      for (std::size_t i = 0; i < kind.n_nodes; ++i) {
        cell.nodes.push_back(builder_.node_index(label(data->fields[i + 1], "the number of a node"), place));
      }
      const std::uint64_t element = label(data->fields[0], "the number of an element");
      check_limit(options_.name, "elements", cells_.size() + 1, options_.limits.max_elements);
      if (kind.kind == Cell::Kind::solid) {
        if (kind.n_nodes == 27) move_middles(cell.nodes);
        cell.element = builder_.add_element(cell.nodes, place);
        cell.nodes.clear();
      }
      if (!cells_.emplace(element, std::move(cell)).second) fail(fmt::format("element {} is given twice", element));
      if (!set.empty()) add_member(element_sets_, set, element);
    }
  }

  /// Members of a set are labels; names without regard to case, spelled as at first.
  struct LabelSet {
    std::string spelling;
    std::vector<std::uint64_t> labels;
  };
  using LabelSets = std::map<std::string, LabelSet>;

  void add_member(LabelSets& sets, const std::string& name, std::uint64_t member) {
    LabelSet& set = sets[lower_case(name)];
    if (set.spelling.empty()) set.spelling = name;
    // GENERATE makes members from nothing; a node takes at least 8 bytes, so this allows the whole mesh in 100 sets.
    check_limit(options_.name, "set members", ++n_members_, max_members_);
    set.labels.push_back(member);
  }

  void read_set(const Keyword& keyword, LabelSets& sets, const std::string& kind) {
    const std::string name = keyword.value(kind);
    if (name.empty()) fail_at_line(options_.name, keyword.line, fmt::format("expected {0}=NAME in *{0}", kind));
    if (!sets.contains(lower_case(name))) sets[lower_case(name)].spelling = name;
    const bool generate = keyword.parameters.contains("generate");
    while (const auto data = next_data(false)) {
      if (generate) {
        read_generate(*data, sets, name);
        continue;
      }
      for (const std::string_view field : data->fields) {
        if (field.empty()) continue;
        std::int64_t number = 0;
        if (parse_integer(field, number)) {
          add_member(sets, name, label(field, "a member of a set"));
          continue;
        }
        const auto other = sets.find(lower_case(field));
        if (other == sets.end())
          fail(fmt::format("expected a number or the name of a set given before, found {}", quoted(field)));
        const std::vector<std::uint64_t> members = other->second.labels;
        for (const std::uint64_t member : members) add_member(sets, name, member);
      }
    }
  }

  void read_generate(const DataLine& data, LabelSets& sets, const std::string& name) {
    if (data.fields.size() < 2 || data.fields.size() > 3) {
      fail(fmt::format("expected first, last and increment after GENERATE, found {} values", data.fields.size()));
    }
    const std::uint64_t first = label(data.fields[0], "the first member");
    const std::uint64_t last = label(data.fields[1], "the last member");
    const std::uint64_t step = data.fields.size() == 3 ? label(data.fields[2], "the increment") : 1;
    if (step == 0 || last < first || (last - first) % step != 0) {
      fail(fmt::format("expected first <= last in whole increments, found {}, {}, {}", first, last, step));
    }
    check_limit(options_.name, "set members", (last - first) / step + 1, max_members_);
    for (std::uint64_t i = 0; i <= (last - first) / step; ++i) add_member(sets, name, first + i * step);
  }

  struct SurfaceLine {
    std::string of;     ///< set or label
    std::uint8_t face;  ///< 0..5
    std::size_t line;
  };

  void read_surface(const Keyword& keyword) {
    const std::string name = keyword.value("name");
    if (name.empty()) fail_at_line(options_.name, keyword.line, "expected NAME=... in *SURFACE");
    const std::string type = lower_case(keyword.value("type"));
    if (!type.empty() && type != "element" && type != "node") {
      fail_at_line(options_.name, keyword.line,
                   fmt::format("expected TYPE=ELEMENT or NODE in *SURFACE, found '{}'", type));
    }
    while (const auto data = next_data(false)) {
      if (type == "node") {
        surface_nodes_.push_back({name, {std::string(data->fields[0]), 0, data->line}});
        continue;
      }
      const std::string face = data->fields.size() == 2 ? lower_case(data->fields[1]) : "";
      if (face.size() != 2 || face[0] != 's' || face[1] < '1' || face[1] > '6') {
        fail("expected an element set or element and a face S1 to S6");
      }
      surface_faces_.push_back(
          {name, {std::string(data->fields[0]), static_cast<std::uint8_t>(face[1] - '1'), data->line}});
    }
  }

  /// Labels meant by a word: a number, or the name of a set.
  std::vector<std::uint64_t> members(const LabelSets& sets, const SurfaceLine& line) {
    line_ = line.line;
    std::int64_t number = 0;
    if (parse_integer(line.of, number)) return {label(line.of, "a label")};
    const auto found = sets.find(lower_case(line.of));
    if (found == sets.end()) fail(fmt::format("expected a number or the name of a set, found {}", quoted(line.of)));
    return found->second.labels;
  }

  void resolve_sets() {
    const Place at_end{"line", scanner_.line()};
    for (const auto& [key, set] : node_sets_) {
      for (const std::uint64_t node : set.labels)
        builder_.add_to_node_set(set.spelling, builder_.node_index(node, at_end));
    }
    for (const auto& [key, set] : element_sets_) {
      for (const std::uint64_t element : set.labels) add_cell_to_set(set.spelling, find_cell(element, set.spelling));
    }
    for (const auto& [name, line] : surface_nodes_) {
      for (const std::uint64_t node : members(node_sets_, line)) {
        builder_.add_to_node_set(name, builder_.node_index(node, {"line", line.line}));
      }
    }
    for (const auto& [name, line] : surface_faces_) {
      for (const std::uint64_t element : members(element_sets_, line)) {
        const Cell& cell = find_cell(element, name);
        if (cell.kind != Cell::Kind::solid) fail(fmt::format("surface '{}': element {} has no faces", name, element));
        if (!builder_.add_side_of(name, cell.element, line.face)) {
          fail(
              fmt::format("surface '{}': element {} has no face S{}; the last one of tetrahedra is S4, of prisms S5, "
                          "of hexahedra S6",
                          name, element, line.face + 1));
        }
      }
    }
  }

  const Cell& find_cell(std::uint64_t element, const std::string& set) const {
    const auto found = cells_.find(element);
    if (found == cells_.end()) {
      throw input_error(options_.name, fmt::format("{}: set '{}' names element {}, which is not defined", options_.name,
                                                   set, element));
    }
    return found->second;
  }

  void add_cell_to_set(const std::string& set, const Cell& cell) {
    if (cell.kind == Cell::Kind::solid) {
      builder_.add_to_element_set(set, cell.element);
    } else if (cell.kind == Cell::Kind::face) {
      builder_.add_boundary(cell.nodes, set);
    } else {
      for (const std::uint32_t node : cell.nodes) builder_.add_to_node_set(set, node);
    }
  }

  [[noreturn]] void fail(const std::string& message) const { fail_at_line(options_.name, line_, message); }

  const ReadOptions& options_;
  Scanner scanner_;
  VolumeBuilder builder_;
  std::size_t offset_of_line_ = 0;
  std::size_t line_ = 1;
  int n_parts_ = 0;
  std::uint64_t max_members_;
  std::uint64_t n_members_ = 0;
  std::map<std::uint64_t, Cell> cells_;
  LabelSets node_sets_;
  LabelSets element_sets_;
  std::vector<std::pair<std::string, SurfaceLine>> surface_nodes_;
  std::vector<std::pair<std::string, SurfaceLine>> surface_faces_;
  std::set<std::string> skipped_;
};

}  // namespace

VolumeMesh read_abaqus(std::string_view bytes, const ReadOptions& options) {
  return AbaqusReader(bytes, options).read();
}

}  // namespace heelstrike::fem::io
