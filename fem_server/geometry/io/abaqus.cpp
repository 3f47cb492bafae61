// Abaqus .inp: nodes, C3D4, C3D10, C3D6, C3D15, C3D8, C3D20 and C3D27, sets and surfaces; parts and positioned
// instances. Analysis keywords, non-solid elements and members of sets that the file does not define are omitted with a
// note.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
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

/// Element of a label.
struct Cell {
  enum class Kind { solid, face, line } kind = Kind::solid;
  std::uint32_t element = 0;
  std::vector<std::uint32_t> nodes;  ///< of faces and lines
};

std::string_view unquoted(std::string_view text) {
  const bool has_quotes = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return has_quotes ? text.substr(1, text.size() - 2) : text;
}

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

/// Positioned instance of a part. Names keep their first spelling and are compared case-insensitively.
struct Instance {
  std::string name;
  std::size_t index = 0;  ///< from 1; 0 = none
};

/// Set members are labels; names are case-insensitive and keep their first spelling.
struct LabelSet {
  std::string spelling;
  std::vector<std::uint64_t> labels;
};
using LabelSets = std::map<std::string, LabelSet>;

class AbaqusReader {
 public:
  AbaqusReader(std::string_view bytes, const ReadOptions& options)
      : options_(options), scanner_(options.name, bytes), builder_(options), max_members_(13 * bytes.size() + 1000) {}

  VolumeMesh read() {
    find_parts();
    skip_header();
    read_keywords();
    builder_.omit_foreign_triangles();
    resolve_sets();
    add_notes_of_omissions();
    if (n_long_nodes_ > 0) {
      builder_.add_note(
          fmt::format("{} nodes have more than three coordinates; the others were ignored", n_long_nodes_));
    }
    if (n_repeated_nodes_ > 0) {
      builder_.add_note(fmt::format("{} nodes are repeated with the same coordinates", n_repeated_nodes_));
    }
    if (n_long_elements_ > 0) {
      builder_.add_note(
          fmt::format("{} elements list more nodes than their type has; the first ones were taken", n_long_elements_));
    }
    if (ignores_instances_) {
      builder_.add_note("the instances of sets were ignored: the file has no instances");
    }
    if (n_short_nodes_ > 0) {
      builder_.add_note(
          fmt::format("{} nodes have fewer than three coordinates; the others were taken as 0", n_short_nodes_));
    }
    if (n_instances_ > 1) {
      builder_.add_note(
          fmt::format("{} instances of parts were merged into one mesh; their sets are named "
                      "INSTANCE.SET",
                      n_instances_));
    }
    if (builder_.n_nodes() == 0) {
      throw input_error(options_.name,
                        fmt::format("{}: expected an Abaqus input file with *NODE, found none", options_.name));
    }
    if (!builder_.has_elements() && !skipped_types_.empty()) {
      fail_at_line(options_.name, line_of_skipped_,
                   fmt::format("expected solid elements (C3D...), found elements of the types {} only",
                               fmt::join(skipped_types_, ", ")));
    }
    return builder_.finish();
  }

 private:
  void add_notes_of_omissions() {
    for (const std::string& keyword : skipped_) builder_.add_note(fmt::format("keyword *{} was omitted", keyword));
    for (const std::string& type : skipped_types_) {
      builder_.add_note(fmt::format("elements of type {} (not solids) were omitted", type));
    }
    for (const auto& [what, members] : undefined_) {
      builder_.add_note(
          members.count == 1
              ? fmt::format("{} contains {}, which the file does not define; it was omitted", what, members.first)
              : fmt::format("{} contains {} members that the file does not define; they were omitted, the "
                            "first one is {}",
                            what, members.count, members.first));
    }
    for (const auto& [name, n] : n_sides_omitted_) {
      builder_.add_note(fmt::format("surface '{}': {} side{} of elements that are not solids {} omitted", name, n,
                                    n == 1 ? "" : "s", n == 1 ? "was" : "were"));
    }
  }

  /// Next line that is neither comment nor empty.
  std::optional<std::string_view> next_line() {
    while (!scanner_.at_end()) {
      offset_of_line_ = scanner_.offset();
      line_ = scanner_.line();
      const std::string_view line = scanner_.remaining_line();
      if (!line.empty() && !line.starts_with("**")) return line;
    }
    return std::nullopt;
  }

  /// Next data line of the current keyword; none when a keyword or the end of the file follows.
  /// @param n_values  a line with so many values is complete, whether or not a comma follows them
  std::optional<DataLine> next_data(bool continues_after_comma,
                                    std::size_t n_values = std::numeric_limits<std::size_t>::max()) {
    const auto first = next_line();
    if (!first) return std::nullopt;
    if (first->starts_with('*')) {
      scanner_.roll_back(offset_of_line_, line_);
      return std::nullopt;
    }
    DataLine data{split(*first), line_};
    while (continues_after_comma && data.fields.back().empty() && data.fields.size() > 1 &&
           data.fields.size() <= n_values) {
      const auto more = next_line();
      if (!more || more->starts_with('*')) {
        if (more) scanner_.roll_back(offset_of_line_, line_);
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
      keyword.parameters[key] = equals == std::string_view::npos ? "" : unquoted(trimmed(fields[i].substr(equals + 1)));
    }
    return keyword;
  }

  /// Up to the keyword `end`, or the end of the file.
  void read_keywords(std::string_view end = {}) {
    while (const auto line = next_line()) {
      if (!line->starts_with('*'))
        fail(fmt::format("expected a keyword line starting with '*', found {}", quoted(*line)));
      const Keyword keyword = parse_keyword(*line);
      if (keyword.name == end) return;
      read_keyword(keyword);
    }
  }

  void read_keyword(const Keyword& keyword) {
    static const std::set<std::string, std::less<>> structure{"end part", "assembly", "end assembly", "end instance",
                                                              "heading"};
    static const std::set<std::string, std::less<>> unsupported{"system", "ngen",   "nfill", "ncopy",
                                                                "elgen",  "elcopy", "nmap"};
    static const std::set<std::string, std::less<>> of_mesh{"node", "element", "nset", "elset", "surface"};
    if (keyword.name == "include" || (of_mesh.contains(keyword.name) && keyword.parameters.contains("input"))) {
      fail(fmt::format("*{}: the content is in another file, '{}', which is not read; insert its content here",
                       keyword.name, keyword.value("input")));
    }
    if (keyword.name == "node") return read_nodes(keyword);
    if (keyword.name == "element") return read_elements(keyword);
    if (keyword.name == "nset") return read_set(keyword, node_sets_, "nset");
    if (keyword.name == "elset") return read_set(keyword, element_sets_, "elset");
    if (keyword.name == "surface") return read_surface(keyword);
    if (keyword.name == "part") return read_part(keyword);
    if (keyword.name == "instance") return read_instance(keyword);
    if (unsupported.contains(keyword.name)) {
      fail(fmt::format("*{} is not supported: write all nodes and elements explicitly in one file", keyword.name));
    }
    if (!structure.contains(keyword.name)) skipped_.insert(keyword.name);
    skip_data();
  }

  void skip_data() {
    while (next_data(false)) {
    }
  }

  /// Finds the parts, which may follow their instances, and counts the instances: without instances, a part is the mesh
  /// itself.
  void find_parts() {
    while (const auto line = next_line()) {
      if (!line->starts_with('*')) continue;
      const std::string name = lower_case(split(line->substr(1)).front());
      if (name == "instance") ++n_instances_;
      if (name != "part") continue;
      const Keyword keyword = parse_keyword(*line);
      const auto [part, is_new] =
          parts_.try_emplace(lower_case(keyword.value("name")), scanner_.offset(), scanner_.line());
      if (!is_new) fail(fmt::format("part '{}' is repeated", keyword.value("name")));
    }
    scanner_.roll_back(0, 1);
  }

  /// Some programs write a title before the first keyword; numbers there are data that lost their keyword.
  void skip_header() {
    std::size_t n_lines = 0;
    std::string first;
    while (const auto line = next_line()) {
      double number = 0.0;
      if (line->starts_with('*')) {
        scanner_.roll_back(offset_of_line_, line_);
        if (n_lines > 0) {
          builder_.add_note(fmt::format("{} line{} of text before the first keyword {} omitted: {}", n_lines,
                                        n_lines == 1 ? "" : "s", n_lines == 1 ? "was" : "were", first));
        }
        return;
      }
      if (parse_number(split(*line).front(), number)) {
        fail(fmt::format("expected a keyword such as *NODE before the first data line, found {}", quoted(*line)));
      }
      if (n_lines++ == 0) first = quoted(*line);
    }
    if (n_lines == 0) return;
    line_ = 1;
    fail(fmt::format("expected a keyword line starting with '*', found {}", first));
  }

  /// In a file with instances, a part is read at each instance.
  void read_part(const Keyword& keyword) {
    if (n_instances_ == 0) {
      if (parts_.size() > 1) {
        fail(fmt::format("expected one part, or an assembly with instances, found {} parts", parts_.size()));
      }
      return skip_data();
    }
    while (const auto line = next_line()) {
      if (line->starts_with('*') && lower_case(split(line->substr(1)).front()) == "end part") return;
    }
    fail_at_line(options_.name, keyword.line, "expected *END PART after *PART, found the end of the file");
  }

  std::vector<double> numbers(const DataLine& data, std::size_t n, const std::string& what) const {
    std::vector<double> values(n, 0.0);
    if (data.fields.size() > n) fail(fmt::format("expected {}, found {} values", what, data.fields.size()));
    for (std::size_t i = 0; i < data.fields.size(); ++i) {
      if (!data.fields[i].empty() && !parse_number(data.fields[i], values[i])) {
        fail(fmt::format("expected {}, found {}", what, quoted(data.fields[i])));
      }
    }
    return values;
  }

  /// Translation first, then a rotation [deg] about the line from one point to another.
  Pose pose_of_instance() {
    Pose X;
    if (const auto data = next_data(false)) X.p = Eigen::Map<const Vector3>(numbers(*data, 3, "a translation").data());
    if (const auto data = next_data(false)) {
      const std::vector<double> v = numbers(*data, 7, "two points and an angle");
      const Vector3 a(v[0], v[1], v[2]), along = Vector3(v[3], v[4], v[5]) - a;
      if (!(along.norm() > 0.0)) fail("expected two different points of the axis of a rotation");
      constexpr double degree = 3.14159265358979323846 / 180.0;
      X.R = Eigen::AngleAxisd(v[6] * degree, along.normalized()).toRotationMatrix();
      X.p = a + X.R * (X.p - a);
    }
    return X;
  }

  void read_instance(const Keyword& keyword) {
    if (current_ != nullptr) fail("expected *END INSTANCE before the next *INSTANCE");
    Instance& instance = instances_[lower_case(keyword.value("name"))];
    if (instance.index != 0) fail(fmt::format("instance '{}' is repeated", keyword.value("name")));
    instance = {.name = keyword.value("name"), .index = instances_.size()};
    if (keyword.parameters.contains("library")) fail("an instance from a library is in another file; include its mesh");
    X_ = pose_of_instance();
    current_ = &instance;
    if (const std::string part = keyword.value("part"); !part.empty()) {
      const auto found = parts_.find(lower_case(part));
      if (found == parts_.end()) fail(fmt::format("expected the name of a part of this file, found '{}'", part));
      const std::size_t offset = scanner_.offset(), line = scanner_.line();
      scanner_.roll_back(found->second.first, found->second.second);
      read_keywords("end part");
      check_limit(options_.name, "bytes of parts, read once for every instance,",
                  n_bytes_of_parts_ += scanner_.offset() - found->second.first,
                  bytes_per_node * options_.limits.max_nodes);
      scanner_.roll_back(offset, line);
    }
    read_keywords("end instance");
    current_ = nullptr;
    X_ = {};
  }

  std::uint64_t label(std::string_view field, std::string_view what) const {
    std::int64_t value = 0;
    if (!parse_integer(field, value) || value < 0 || static_cast<std::uint64_t>(value) >= VolumeBuilder::copy_stride) {
      fail(fmt::format("expected {}, found {}", what, field.empty() ? "nothing" : quoted(field)));
    }
    return static_cast<std::uint64_t>(value);
  }

  /// Every instance has separate labels; those of the first equal those of the file.
  [[nodiscard]] static std::uint64_t offset_of(const Instance* instance) {
    return instance == nullptr || instance->index == 0 ? 0 : (instance->index - 1) * VolumeBuilder::copy_stride;
  }

  /// A label of the current part or instance.
  std::uint64_t own_label(std::string_view field, std::string_view what) const {
    return offset_of(current_) + label(field, what);
  }

  /// With several instances, set names are qualified by the instance.
  [[nodiscard]] std::string own_name(const std::string& set) const {
    return current_ != nullptr && n_instances_ > 1 ? current_->name + "." + set : set;
  }

  /// Splits "INSTANCE.rest"; the instance is null for other words.
  std::pair<const Instance*, std::string_view> instance_of(std::string_view word) const {
    for (const auto& [key, instance] : instances_) {
      if (word.size() > key.size() && word[key.size()] == '.' && lower_case(word.substr(0, key.size())) == key)
        return {&instance, word.substr(key.size() + 1)};
    }
    return {nullptr, word};
  }

  /// Labels denoted by a word: a number or a set name, possibly qualified by an instance; none for an unknown set.
  std::optional<std::vector<std::uint64_t>> labels_of(const LabelSets& sets, std::string_view word,
                                                      const Instance* of) const {
    const auto [named, rest] = instance_of(word);
    std::int64_t number = 0;
    if (parse_integer(rest, number)) {
      return std::vector{offset_of(named != nullptr ? named : of) + label(rest, "a label")};
    }
    const auto key = key_of(sets, word, of);
    return key ? std::optional(sets.at(*key).labels) : std::nullopt;
  }

  /// Key of the set denoted by a name, possibly qualified by an instance; none for an unknown set.
  std::optional<std::string> key_of(const LabelSets& sets, std::string_view word, const Instance* of) const {
    const auto [named, rest] = instance_of(word);
    const Instance* const instance = named != nullptr ? named : of;
    const std::string bare = lower_case(rest);
    if (instance != nullptr) {
      const std::string qualified = lower_case(instance->name) + "." + bare;
      if (sets.contains(qualified)) return qualified;
    }
    if ((named == nullptr || n_instances_ == 1) && sets.contains(bare)) return bare;
    return std::nullopt;
  }

  void read_nodes(const Keyword& keyword) {
    const std::string set = keyword.value("nset").empty() ? "" : own_name(keyword.value("nset"));
    if (keyword.parameters.contains("system") && keyword.value("system") != "R") {
      fail("only rectangular coordinates (SYSTEM=R) are supported");
    }
    while (const auto data = next_data(false)) {
      // Up to three direction cosines of a normal may follow.
      if (data->fields.size() > 7) {
        fail(fmt::format("expected a node number and three coordinates, found {} values", data->fields.size()));
      }
      if (data->fields.size() > 4) ++n_long_nodes_;
      const std::size_t n_values = std::min<std::size_t>(data->fields.size(), 4);
      const std::uint64_t node = own_label(data->fields[0], "the number of a node");
      Vector3 position = Vector3::Zero();  // Missing coordinates are 0, as in Abaqus.
      const auto coordinates = std::span(data->fields).first(n_values);
      if (n_values < 4 || std::ranges::any_of(coordinates, &std::string_view::empty)) ++n_short_nodes_;
      for (std::size_t i = 0; i + 1 < n_values; ++i) {
        if (data->fields[i + 1].empty()) continue;
        if (!parse_number(data->fields[i + 1], position[static_cast<Eigen::Index>(i)])) {
          fail(fmt::format("expected a finite coordinate, found {}", quoted(data->fields[i + 1])));
        }
      }
      position = X_ * position;
      const auto known = builder_.find_node(node);
      if (known && builder_.node(*known) == position) {
        ++n_repeated_nodes_;
      } else {
        builder_.add_node(node, position, {"line", data->line});
      }
      if (!set.empty()) add_member(node_sets_, set, node);
    }
  }

  struct ElementKind {
    Cell::Kind kind;
    std::size_t n_nodes;
  };

  /// None for non-solid elements.
  [[nodiscard]] std::optional<ElementKind> element_kind(const Keyword& keyword) const {
    static const std::map<std::string, ElementKind, std::less<>> kinds{
        {"c3d4", {Cell::Kind::solid, 4}},     {"c3d10", {Cell::Kind::solid, 10}},   {"c3d4h", {Cell::Kind::solid, 4}},
        {"c3d10h", {Cell::Kind::solid, 10}},  {"c3d10m", {Cell::Kind::solid, 10}},  {"cps3", {Cell::Kind::face, 3}},
        {"cps6", {Cell::Kind::face, 6}},      {"s3", {Cell::Kind::face, 3}},        {"s3r", {Cell::Kind::face, 3}},
        {"stri65", {Cell::Kind::face, 6}},    {"m3d3", {Cell::Kind::face, 3}},      {"m3d6", {Cell::Kind::face, 6}},
        {"c3d8", {Cell::Kind::solid, 8}},     {"c3d8h", {Cell::Kind::solid, 8}},    {"c3d8i", {Cell::Kind::solid, 8}},
        {"c3d8r", {Cell::Kind::solid, 8}},    {"c3d8rh", {Cell::Kind::solid, 8}},   {"s4", {Cell::Kind::face, 4}},
        {"s4r", {Cell::Kind::face, 4}},       {"cps4", {Cell::Kind::face, 4}},      {"m3d4", {Cell::Kind::face, 4}},
        {"c3d6", {Cell::Kind::solid, 6}},     {"c3d6h", {Cell::Kind::solid, 6}},    {"c3d15", {Cell::Kind::solid, 15}},
        {"c3d15h", {Cell::Kind::solid, 15}},  {"t3d2", {Cell::Kind::line, 2}},      {"t3d3", {Cell::Kind::line, 3}},
        {"c3d20", {Cell::Kind::solid, 20}},   {"c3d20h", {Cell::Kind::solid, 20}},  {"c3d20r", {Cell::Kind::solid, 20}},
        {"c3d20rh", {Cell::Kind::solid, 20}}, {"c3d27", {Cell::Kind::solid, 27}},   {"c3d27h", {Cell::Kind::solid, 27}},
        {"c3d27r", {Cell::Kind::solid, 27}},  {"c3d27rh", {Cell::Kind::solid, 27}}, {"s8r", {Cell::Kind::face, 8}},
        {"cps8", {Cell::Kind::face, 8}},      {"m3d8", {Cell::Kind::face, 8}},      {"m3d9", {Cell::Kind::face, 9}}};
    const std::string type = keyword.value("type");
    const auto found = kinds.find(lower_case(type));
    if (found != kinds.end()) return found->second;
    const std::string small = lower_case(type);
    if (!small.empty() && !small.starts_with("c3d") && !small.starts_with("sc") && !small.starts_with("csh"))
      return std::nullopt;
    fail_at_line(options_.name, keyword.line,
                 fmt::format("expected TYPE=C3D4, C3D10, C3D6, C3D15, C3D8, C3D20 or C3D27 (or S3, CPS3, STRI65, S4, "
                             "S8R on their boundary), "
                             "found '{}'",
                             type));
  }

  /// In 27-node hexahedra the 21st node is the centre, followed by the centres of S1 to S6.
  static void move_middles(std::vector<std::uint32_t>& nodes) {
    const std::vector<std::uint32_t> given(nodes.begin() + 20, nodes.end());
    nodes[26] = given[0];
    for (std::size_t side = 0; side < 6; ++side) nodes[hexahedron_side_middles[side][4]] = given[1 + side];
  }

  void read_elements(const Keyword& keyword) {
    const auto known = element_kind(keyword);
    const std::string set = keyword.value("elset").empty() ? "" : own_name(keyword.value("elset"));
    if (!known) {
      if (skipped_types_.empty()) line_of_skipped_ = keyword.line;
      skipped_types_.insert(keyword.value("type"));
      while (const auto data = next_data(true)) {
        const std::uint64_t element = own_label(data->fields[0], "the number of an element");
        skipped_labels_.insert(element);
        // Other sets and surfaces may contain this set.
        if (!set.empty()) add_member(element_sets_, set, element);
      }
      return;
    }
    const ElementKind kind = *known;
    while (auto data = next_data(true, kind.n_nodes + 1)) {
      // Some programs end a line that is continued with two commas.
      std::erase_if(data->fields, [](std::string_view field) { return field.empty(); });
      if (data->fields.size() < kind.n_nodes + 1) {
        fail(
            fmt::format("expected an element number and {} nodes, found {} values", kind.n_nodes, data->fields.size()));
      }
      if (data->fields.size() > kind.n_nodes + 1) ++n_long_elements_;
      const Place place{"line", data->line};
      Cell cell;
      cell.kind = kind.kind;
      for (std::size_t i = 0; i < kind.n_nodes; ++i) {
        cell.nodes.push_back(builder_.node_index(own_label(data->fields[i + 1], "the number of a node"), place));
      }
      const std::uint64_t element = own_label(data->fields[0], "the number of an element");
      check_limit(options_.name, "elements", cells_.size() + 1, options_.limits.max_elements);
      if (kind.kind == Cell::Kind::face) builder_.count_surface_cell();
      if (kind.kind == Cell::Kind::solid) {
        if (kind.n_nodes == 27) move_middles(cell.nodes);
        cell.element = builder_.add_element(cell.nodes, place);
        cell.nodes.clear();
      }
      if (!cells_.emplace(element, std::move(cell)).second)
        fail(fmt::format("element {} is repeated", element % VolumeBuilder::copy_stride));
      if (!set.empty()) add_member(element_sets_, set, element);
    }
  }

  void add_member(LabelSets& sets, const std::string& name, std::uint64_t member) {
    LabelSet& set = sets[lower_case(name)];
    if (set.spelling.empty()) set.spelling = name;
    // GENERATE creates members without file content; a node takes at least 8 bytes, so this allows the whole mesh in
    // 100 sets.
    check_limit(options_.name, "set members", ++n_members_, max_members_);
    set.labels.push_back(member);
  }

  void read_set(const Keyword& keyword, LabelSets& sets, const std::string& kind) {
    if (keyword.value(kind).empty())
      fail_at_line(options_.name, keyword.line, fmt::format("expected {0}=NAME in *{0}", kind));
    const std::string name = own_name(keyword.value(kind));
    const Instance* of = current_;
    if (const std::string instance = keyword.value("instance"); !instance.empty() && n_instances_ == 0) {
      ignores_instances_ = true;
    } else if (!instance.empty()) {
      const auto found = instances_.find(lower_case(instance));
      if (found == instances_.end()) fail(fmt::format("expected a preceding instance, found '{}'", instance));
      of = &found->second;
    }
    if (!sets.contains(lower_case(name))) sets[lower_case(name)].spelling = name;
    const bool generate = keyword.parameters.contains("generate");
    while (const auto data = next_data(false)) {
      if (generate) {
        read_generate(*data, sets, name, offset_of(of));
        continue;
      }
      for (const std::string_view field : data->fields) {
        if (field.empty()) continue;
        const auto members = labels_of(sets, unquoted(field), of);
        if (!members || is_incomplete(sets, unquoted(field), of)) {
          later_sets_.push_back({&sets, name, std::string(unquoted(field)), of, line_});
          ++n_later_[{&sets, lower_case(name)}];
          continue;
        }
        for (const std::uint64_t member : *members) add_member(sets, name, member);
      }
    }
  }

  /// True for a set that contains sets that follow.
  bool is_incomplete(const LabelSets& sets, std::string_view word, const Instance* of) const {
    if (n_later_.empty()) return false;
    const auto key = key_of(sets, word, of);
    if (!key) return false;
    const auto found = n_later_.find({&sets, *key});
    return found != n_later_.end() && found->second > 0;
  }

  /// A set named in another set before its own definition.
  struct LaterSet {
    LabelSets* sets;
    std::string in;
    std::string name;
    const Instance* instance;
    std::size_t line;
  };

  /// Adds the members of sets that were named before their definition, innermost sets first.
  void resolve_later_sets() {
    // A pass from the last line upwards resolves every chain of sets whose members follow them.
    constexpr int max_passes = 100;
    for (int pass = 0; pass < max_passes && !later_sets_.empty(); ++pass) {
      std::vector<LaterSet> still_open;
      for (auto later = later_sets_.rbegin(); later != later_sets_.rend(); ++later) {
        if (is_incomplete(*later->sets, later->name, later->instance)) {
          still_open.push_back(std::move(*later));
          continue;
        }
        add_later_set(*later);
        --n_later_[{later->sets, lower_case(later->in)}];
      }
      later_sets_.assign(std::make_move_iterator(still_open.rbegin()), std::make_move_iterator(still_open.rend()));
    }
    if (later_sets_.empty()) return;
    line_ = later_sets_.front().line;
    fail(fmt::format("the sets '{}' and '{}' contain each other", later_sets_.front().in, later_sets_.front().name));
  }

  void add_later_set(const LaterSet& later) {
    const auto key = key_of(*later.sets, later.name, later.instance);
    if (!key) return add_undefined(set_title(*later.sets, later.in), fmt::format("the set '{}'", later.name));
    const std::vector<std::uint64_t> members = later.sets->at(*key).labels;
    for (const std::uint64_t member : members) add_member(*later.sets, later.in, member);
  }

  [[nodiscard]] std::string set_title(const LabelSets& sets, const std::string& name) const {
    return fmt::format("{} set '{}'", &sets == &node_sets_ ? "node" : "element", name);
  }

  void add_undefined(const std::string& what, const std::string& member) {
    Undefined& members = undefined_[what];
    if (members.count++ == 0) members.first = member;
  }

  void read_generate(const DataLine& data, LabelSets& sets, const std::string& name, std::uint64_t offset) {
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
    for (std::uint64_t i = 0; i <= (last - first) / step; ++i) add_member(sets, name, offset + first + i * step);
  }

  struct SurfaceLine {
    const Instance* instance;  ///< instance of the surface; null for none
    std::string of;            ///< set or label
    std::uint8_t face;         ///< 0..5
    std::size_t line;
  };

  /// Sides and edges of shells, membranes and rigid elements.
  static bool is_side_of_shell(std::string_view face) {
    static const std::set<std::string, std::less<>> names{"spos", "sneg", "s",    "e1",   "e2",
                                                          "e3",   "e4",   "end1", "end2", "edge"};
    return names.contains(face);
  }

  void read_surface(const Keyword& keyword) {
    if (keyword.value("name").empty()) fail_at_line(options_.name, keyword.line, "expected NAME=... in *SURFACE");
    const std::string name = own_name(keyword.value("name"));
    const std::string type = lower_case(keyword.value("type"));
    if (!type.empty() && type != "element" && type != "node") {
      fail_at_line(options_.name, keyword.line,
                   fmt::format("expected TYPE=ELEMENT or NODE in *SURFACE, found '{}'", type));
    }
    while (const auto data = next_data(false)) {
      if (type == "node") {
        surface_nodes_.push_back({name, {current_, std::string(unquoted(data->fields[0])), 0, data->line}});
        continue;
      }
      const std::string face = data->fields.size() == 2 ? lower_case(data->fields[1]) : "";
      if (is_side_of_shell(face)) {
        ++n_sides_omitted_[name];
        continue;
      }
      if (face.size() != 2 || face[0] != 's' || face[1] < '1' || face[1] > '6') {
        fail("expected an element set or element and a face S1 to S6");
      }
      surface_faces_.push_back(
          {name,
           {current_, std::string(unquoted(data->fields[0])), static_cast<std::uint8_t>(face[1] - '1'), data->line}});
    }
  }

  /// None for an unknown set, with a note.
  std::vector<std::uint64_t> members(const LabelSets& sets, const std::string& surface, const SurfaceLine& line) {
    line_ = line.line;
    auto labels = labels_of(sets, line.of, line.instance);
    if (labels) return std::move(*labels);
    add_undefined(fmt::format("surface '{}'", surface), fmt::format("the set '{}'", line.of));
    return {};
  }

  void resolve_sets() {
    resolve_later_sets();
    for (const auto& [key, set] : node_sets_) {
      for (const std::uint64_t node : set.labels)
        add_to_node_set(set.spelling, node, set_title(node_sets_, set.spelling));
    }
    for (const auto& [key, set] : element_sets_) {
      for (const std::uint64_t element : set.labels) {
        const Cell* cell = find_cell(element, set_title(element_sets_, set.spelling));
        if (cell != nullptr) add_cell_to_set(set.spelling, *cell);
      }
    }
    for (const auto& [name, line] : surface_nodes_) {
      for (const std::uint64_t node : members(node_sets_, name, line)) {
        add_to_node_set(name, node, fmt::format("surface '{}'", name));
      }
    }
    for (const auto& [name, line] : surface_faces_) {
      for (const std::uint64_t element : members(element_sets_, name, line)) add_side(name, element, line.face);
    }
  }

  void add_to_node_set(const std::string& set, std::uint64_t label, const std::string& what) {
    if (const auto node = builder_.find_node(label)) {
      builder_.add_to_node_set(set, *node);
    } else {
      add_undefined(what, fmt::format("node {}", label % VolumeBuilder::copy_stride));
    }
  }

  void add_side(const std::string& surface, std::uint64_t element, std::uint8_t side) {
    const Cell* const cell = find_cell(element, fmt::format("surface '{}'", surface));
    if (cell == nullptr || cell->kind != Cell::Kind::solid) {
      if (cell != nullptr || skipped_labels_.contains(element)) ++n_sides_omitted_[surface];
      return;
    }
    if (builder_.add_side_of(surface, cell->element, side)) return;
    fail(
        fmt::format("surface '{}': element {} has no face S{}; the last face of tetrahedra is S4, of prisms "
                    "S5, of hexahedra S6",
                    surface, element % VolumeBuilder::copy_stride, side + 1));
  }

  /// Null for an element of an omitted type, and with a note for one that the file does not define.
  const Cell* find_cell(std::uint64_t element, const std::string& what) {
    const auto found = cells_.find(element);
    if (found != cells_.end()) return &found->second;
    if (!skipped_labels_.contains(element)) {
      add_undefined(what, fmt::format("element {}", element % VolumeBuilder::copy_stride));
    }
    return nullptr;
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
  std::size_t n_instances_ = 0;
  std::map<std::string, std::pair<std::size_t, std::size_t>> parts_;  ///< offset and line after *PART
  std::map<std::string, Instance> instances_;
  static constexpr std::uint64_t bytes_per_node = 200;  ///< a node with its references in elements and sets
  std::uint64_t n_bytes_of_parts_ = 0;
  const Instance* current_ = nullptr;  ///< current instance; null in the assembly and in a file without instances
  Pose X_;                             ///< of that instance in the assembly
  std::uint64_t max_members_;
  std::uint64_t n_members_ = 0;
  std::size_t n_short_nodes_ = 0;
  std::size_t n_long_nodes_ = 0, n_repeated_nodes_ = 0, n_long_elements_ = 0;
  bool ignores_instances_ = false;
  std::map<std::uint64_t, Cell> cells_;
  LabelSets node_sets_;
  LabelSets element_sets_;
  std::vector<std::pair<std::string, SurfaceLine>> surface_nodes_;
  std::vector<std::pair<std::string, SurfaceLine>> surface_faces_;
  std::set<std::string> skipped_, skipped_types_;
  std::size_t line_of_skipped_ = 0;         ///< of the first of the types
  std::set<std::uint64_t> skipped_labels_;  ///< of non-solid elements
  std::vector<LaterSet> later_sets_;
  std::map<std::pair<const LabelSets*, std::string>, std::size_t> n_later_;  ///< of the sets that contain them
  struct Undefined {
    std::size_t count = 0;
    std::string first;
  };
  std::map<std::string, Undefined> undefined_;          ///< by the set or surface that contains them
  std::map<std::string, std::size_t> n_sides_omitted_;  ///< by surfaces
};

}  // namespace

VolumeMesh read_abaqus(std::string_view bytes, const ReadOptions& options) {
  return AbaqusReader(bytes, options).read();
}

}  // namespace heelstrike::fem::io
