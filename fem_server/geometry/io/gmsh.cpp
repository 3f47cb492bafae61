// Gmsh .msh 1, 2, 2.1, 2.2, 4 and 4.1, ASCII and binary (version 1: ASCII). Format: Gmsh reference manual, chapter
// "Gmsh file formats".
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"
#include "fem_server/geometry/io/gmsh_order.hpp"
#include "fem_server/geometry/io/readers.hpp"
#include "fem_server/geometry/io/scanner.hpp"

namespace heelstrike::fem::io {

namespace {

using DimTag = std::pair<int, std::int64_t>;

struct CellType {
  std::int64_t gmsh_type;
  int dimension;
  std::size_t n_nodes;
};

constexpr auto cell_types = std::to_array<CellType>({{15, 0, 1},
                                                     {1, 1, 2},
                                                     {8, 1, 3},
                                                     {2, 2, 3},
                                                     {9, 2, 6},
                                                     {3, 2, 4},
                                                     {16, 2, 8},
                                                     {10, 2, 9},
                                                     {4, 3, 4},
                                                     {11, 3, 10},
                                                     {6, 3, 6},
                                                     {18, 3, 15},
                                                     {13, 3, 18},
                                                     {5, 3, 8},
                                                     {17, 3, 20},
                                                     {12, 3, 27}});

/// Only the first n_nodes entries are used.
using CellNodes = std::array<std::uint32_t, 27>;

/// Uniform access to values of an ASCII or binary section.
class Values {
 public:
  Values(Scanner& scanner, bool binary) : scanner_(scanner), binary_(binary) {}

  std::int64_t integer(std::string_view what) { return binary_ ? stored<std::int32_t>(what) : scanner_.integer(what); }
  std::uint64_t size(std::string_view what) {
    if (!binary_) return scanner_.count(what);
    const auto value = stored<std::uint64_t>(what);
    if (value > UINT64_MAX / 2) scanner_.fail(fmt::format("expected {}, found {}", what, value));
    return value;
  }
  double number(std::string_view what) {
    if (!binary_) return scanner_.number(what);
    const auto value = stored<double>(what);
    if (!std::isfinite(value))
      fail_at_byte(scanner_.name(), scanner_.offset() - 8, fmt::format("expected {}, found {}", what, value));
    return value;
  }
  Vector3 position() {
    const double x = number("a coordinate");
    const double y = number("a coordinate");
    const double z = number("a coordinate");
    return {x, y, z};
  }
  /// Of the next value.
  [[nodiscard]] Place place() {
    if (!binary_) scanner_.skip_blanks();
    return binary_ ? Place{"byte", scanner_.offset()} : Place{"line", scanner_.line()};
  }
  /// Smallest number of bytes of an item with `n` values.
  [[nodiscard]] std::size_t bytes(std::size_t n, std::size_t size_in_binary) const {
    return binary_ ? size_in_binary : 2 * n;
  }

 private:
  template <class T>
  T stored(std::string_view what) {
    T value;
    std::memcpy(&value, scanner_.raw(sizeof(T), what).data(), sizeof(T));
    return value;
  }
  Scanner& scanner_;
  bool binary_;
};

/// Layouts of the sections. Versions 2 to 2.2 have the same one.
enum class Layout { v1, v2, v4, v4_1 };

class GmshReader {
 public:
  GmshReader(std::string_view bytes, const ReadOptions& options)
      : options_(options), scanner_(options.name, bytes), builder_(options) {}

  VolumeMesh read() {
    read_format();
    for (std::string_view section = scanner_.word(); !section.empty(); section = scanner_.word()) {
      if (section.front() != '$' || section.starts_with("$End"))
        scanner_.fail_expected("a section such as $Nodes", section);
      if (layout_ == Layout::v1) {
        read_section1(section);
      } else {
        read_section(std::string(section.substr(1)));
      }
    }
    if (!has_elements_) scanner_.fail("expected a section $Elements, found the end of the file: it is truncated");
    return builder_.finish();
  }

 private:
  void read_format() {
    std::string_view word = scanner_.word();
    for (; word == "$Comments"; word = scanner_.word()) skip("Comments");
    if (word == "$NOD") {
      layout_ = Layout::v1;
      return scanner_.roll_back(0, 1);
    }
    if (word != "$MeshFormat") scanner_.fail_expected("$MeshFormat, or $NOD in version 1", word);
    static const std::map<std::string_view, Layout> layouts{
        {"2", Layout::v2}, {"2.0", Layout::v2}, {"2.1", Layout::v2},  {"2.2", Layout::v2},
        {"4", Layout::v4}, {"4.0", Layout::v4}, {"4.1", Layout::v4_1}};
    const std::string_view version = scanner_.word();
    const auto found = layouts.find(version);
    if (found == layouts.end()) {
      scanner_.fail(fmt::format(
          "expected format version 1, 2, 2.1, 2.2, 4 or 4.1, found {}; save the mesh as version 4.1", quoted(version)));
    }
    layout_ = found->second;
    binary_ = scanner_.count("the file type 0 (ASCII) or 1 (binary)", 1) == 1;
    if (scanner_.count("the size of a number") != 8) scanner_.fail("expected 8-byte numbers");
    if (binary_) {
      scanner_.remaining_line();
      std::int32_t one = 0;
      std::memcpy(&one, scanner_.raw(sizeof one, "the byte-order mark").data(), sizeof one);
      if (one != 1) scanner_.fail("expected a little-endian binary file; save the mesh as ASCII");
    }
    expect_end("MeshFormat");
  }

  void expect_end(const std::string& section) {
    const std::string_view found = scanner_.word();
    if (found != "$End" + section) scanner_.fail_expected("$End" + section, found);
  }

  [[nodiscard]] bool has_entities() const { return layout_ == Layout::v4 || layout_ == Layout::v4_1; }

  /// Version 1 has nodes and elements only.
  void read_section1(std::string_view section) {
    if (section == "$NOD") {
      read_nodes2();
    } else if (section == "$ELM") {
      has_elements_ = true;
      read_elements1();
    } else {
      scanner_.fail_expected("$NOD or $ELM of a mesh of version 1", section);
    }
    const std::string end = "$END" + std::string(section.substr(1));
    if (const std::string_view found = scanner_.word(); found != end) scanner_.fail_expected(end, found);
  }

  /// Number, type, physical group, entity, number of nodes, nodes.
  void read_elements1() {
    const std::uint64_t n = scanner_.count("the number of elements");
    Values values = section_body();
    scanner_.check_count("elements", n, options_.limits.max_elements, values.bytes(6, 0));
    for (std::uint64_t i = 0; i < n; ++i) {
      const Place place = values.place();
      values.integer("the number of an element");
      const CellType type = cell_type(values.integer("the type of an element"));
      const std::int64_t physical = values.integer("the physical group of an element");
      values.integer("the entity of an element");
      if (const std::int64_t n_nodes = values.integer("the number of nodes of an element");
          n_nodes != static_cast<std::int64_t>(type.n_nodes)) {
        scanner_.fail(
            fmt::format("expected {} nodes of an element of type {}, found {}", type.n_nodes, type.gmsh_type, n_nodes));
      }
      read_nodes_of_element2(values, type, std::abs(physical), place);
    }
  }

  void read_section(const std::string& section) {
    if (section == "PhysicalNames") {
      read_physical_names();
    } else if (section == "Entities" && has_entities()) {
      read_entities();
    } else if (section == "Nodes") {
      scanner_.remaining_line();
      has_entities() ? read_nodes4() : read_nodes2();
    } else if (section == "Elements") {
      scanner_.remaining_line();
      has_elements_ = true;
      has_entities() ? read_elements4() : read_elements2();
    } else if (section == "PartitionedEntities") {
      scanner_.fail("partitioned meshes are not supported; save the mesh unpartitioned");
    } else {
      skip(section);
      return;
    }
    expect_end(section);
  }

  void skip(const std::string& section) {
    builder_.add_note(fmt::format("section ${} was omitted", section));
    scanner_.remaining_line();
    while (!scanner_.at_end()) {
      if (scanner_.remaining_line() == "$End" + section) return;
    }
    scanner_.fail(fmt::format("expected $End{}, found the end of the file: it is truncated", section));
  }

  void read_physical_names() {
    const std::uint64_t n = scanner_.count("the number of physical names");
    scanner_.check_count("physical names", n, options_.limits.max_elements, 6);
    for (std::uint64_t i = 0; i < n; ++i) {
      const auto dimension = static_cast<int>(scanner_.count("a dimension between 0 and 3", 3));
      const std::int64_t tag = scanner_.integer("the tag of a physical group");
      const std::string_view rest = scanner_.remaining_line();
      if (rest.size() < 2 || rest.front() != '"' || rest.back() != '"') {
        scanner_.fail_expected("the name of a physical group in quotes", rest);
      }
      names_[{dimension, tag}] = rest.substr(1, rest.size() - 2);
    }
  }

  [[nodiscard]] std::string group_name(int dimension, std::int64_t tag) const {
    const auto found = names_.find({dimension, tag});
    if (found != names_.end()) return found->second;
    static constexpr std::array<std::string_view, 4> kinds{"point", "curve", "surface", "volume"};
    return fmt::format("{}_{}", kinds[static_cast<std::size_t>(dimension)], tag);
  }

  void read_entities() {
    scanner_.remaining_line();
    Values values(scanner_, binary_);
    std::array<std::uint64_t, 4> counts{};
    for (std::uint64_t& count : counts) {
      count = values.size("the number of entities");
      scanner_.check_count("entities", count, options_.limits.max_elements, values.bytes(5, 36));
    }
    for (int dimension = 0; dimension < 4; ++dimension) {
      for (std::uint64_t i = 0; i < counts[static_cast<std::size_t>(dimension)]; ++i) read_entity(values, dimension);
    }
  }

  void read_entity(Values& values, int dimension) {
    const std::int64_t tag = values.integer("the tag of an entity");
    const int n_bounds = dimension == 0 && layout_ == Layout::v4_1 ? 3 : 6;
    for (int i = 0; i < n_bounds; ++i) values.number("a bound of an entity");
    const std::uint64_t n_physical = values.size("the number of physical groups of an entity");
    scanner_.check_count("physical groups", n_physical, options_.limits.max_elements, values.bytes(1, 4));
    auto& groups = groups_[{dimension, tag}];
    for (std::uint64_t i = 0; i < n_physical; ++i) {
      // The sign of the tag only defines an orientation.
      groups.push_back(group_name(dimension, std::abs(values.integer("the tag of a physical group"))));
    }
    if (dimension == 0) return;
    const std::uint64_t n_bounding = values.size("the number of bounding entities");
    scanner_.check_count("bounding entities", n_bounding, options_.limits.max_elements, values.bytes(1, 4));
    for (std::uint64_t i = 0; i < n_bounding; ++i) values.integer("the tag of a bounding entity");
  }

  void read_nodes2() {
    const std::uint64_t n = scanner_.count("the number of nodes");
    Values values = section_body();
    scanner_.check_count("nodes", n, options_.limits.max_nodes, values.bytes(4, 28));
    for (std::uint64_t i = 0; i < n; ++i) {
      const Place place = values.place();
      const auto label = static_cast<std::uint64_t>(values.integer("the number of a node"));
      builder_.add_node(label, values.position(), place);
    }
  }

  /// After the count in the first line, which is text in both encodings of version 2.
  Values section_body() {
    scanner_.remaining_line();
    return {scanner_, binary_};
  }

  void read_elements2() {
    const std::uint64_t n = scanner_.count("the number of elements");
    Values values = section_body();
    scanner_.check_count("elements", n, options_.limits.max_elements, values.bytes(4, 8));
    if (!binary_) {
      for (std::uint64_t i = 0; i < n; ++i) {
        const Place place = values.place();
        values.integer("the number of an element");
        const CellType type = cell_type(values.integer("the type of an element"));
        read_element2(values, type, n_tags(values), place);
      }
      return;
    }
    for (std::uint64_t done = 0; done < n;) {
      const CellType type = cell_type(values.integer("the type of the next elements"));
      const std::int64_t block = values.integer("the number of elements of the next block");
      if (block < 1 || static_cast<std::uint64_t>(block) > n - done) {
        scanner_.fail(fmt::format("expected a block of 1 to {} elements, found {}", n - done, block));
      }
      const std::uint64_t tags = n_tags(values);
      for (std::int64_t i = 0; i < block; ++i) {
        const Place place = values.place();
        values.integer("the number of an element");
        read_element2(values, type, tags, place);
      }
      done += static_cast<std::uint64_t>(block);
    }
  }

  std::uint64_t n_tags(Values& values) {
    const std::int64_t n = values.integer("the number of tags");
    constexpr std::int64_t max_plausible_tag = 1000;
    if (n < 0 || n > max_plausible_tag)
      scanner_.fail(fmt::format("expected between 0 and {} tags, found {}", max_plausible_tag, n));
    return static_cast<std::uint64_t>(n);
  }

  void read_element2(Values& values, CellType type, std::uint64_t n, Place place) {
    std::int64_t physical = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::int64_t tag = values.integer("a tag of an element");
      if (i == 0) physical = std::abs(tag);
    }
    read_nodes_of_element2(values, type, physical, place);
  }

  /// @param physical  0 for none
  void read_nodes_of_element2(Values& values, CellType type, std::int64_t physical, Place place) {
    CellNodes nodes{};
    for (std::size_t i = 0; i < type.n_nodes; ++i) {
      const auto label = static_cast<std::uint64_t>(values.integer("a node of an element"));
      nodes[i] = builder_.node_index(label, place);
    }
    group_.clear();
    if (physical != 0) group_.push_back(group_name(type.dimension, physical));
    add_cell(type, nodes, group_, place);
  }

  /// Dimension and tag of the entity of a block; version 4 writes the tag first.
  DimTag read_block_entity(Values& values) const {
    std::int64_t dimension = 0, tag = 0;
    if (layout_ == Layout::v4) tag = values.integer("the tag of an entity");
    dimension = values.integer("the dimension of an entity");
    if (layout_ == Layout::v4_1) tag = values.integer("the tag of an entity");
    if (dimension < 0 || dimension > 3) {
      scanner_.fail(fmt::format("expected the dimension of an entity between 0 and 3, found {}", dimension));
    }
    return {static_cast<int>(dimension), tag};
  }

  /// The tag of a node or of an element: version 4 writes 32 bits.
  std::uint64_t read_tag(Values& values, std::string_view what) const {
    if (layout_ == Layout::v4_1) return values.size(what);
    const std::int64_t tag = values.integer(what);
    if (tag < 0) scanner_.fail(fmt::format("expected {}, found {}", what, tag));
    return static_cast<std::uint64_t>(tag);
  }

  /// The smallest and the largest tag of a section, which version 4 does not write.
  void skip_tag_range(Values& values) const {
    if (layout_ != Layout::v4_1) return;
    values.size("the smallest tag");
    values.size("the largest tag");
  }

  void read_nodes4() {
    Values values(scanner_, binary_);
    const std::uint64_t n_blocks = values.size("the number of node blocks");
    const std::uint64_t n = values.size("the number of nodes");
    skip_tag_range(values);
    scanner_.check_count("nodes", n, options_.limits.max_nodes, values.bytes(4, 28));
    scanner_.check_count("node blocks", n_blocks, options_.limits.max_nodes, values.bytes(4, 20));
    std::vector<std::uint64_t> labels;
    for (std::uint64_t block = 0; block < n_blocks; ++block) {
      const int dimension = read_block_entity(values).first;
      const bool parametric = values.integer("the parametric flag") != 0;
      const std::uint64_t n_in_block = values.size("the number of nodes of a block");
      if (n_in_block > n - builder_.n_nodes()) {
        scanner_.fail(fmt::format("expected {} nodes in all, found more", n));
      }
      // Version 4.1 writes all tags of a block before its coordinates.
      const bool tags_first = layout_ == Layout::v4_1;
      labels.clear();
      for (std::uint64_t i = 0; tags_first && i < n_in_block; ++i)
        labels.push_back(read_tag(values, "the tag of a node"));
      for (std::uint64_t i = 0; i < n_in_block; ++i) {
        const Place place = values.place();
        const std::uint64_t label = tags_first ? labels[i] : read_tag(values, "the tag of a node");
        builder_.add_node(label, values.position(), place);
        for (int k = 0; parametric && k < dimension; ++k) values.number("a parameter");
      }
    }
    if (builder_.n_nodes() != n) scanner_.fail(fmt::format("expected {} nodes, found {}", n, builder_.n_nodes()));
  }

  void read_elements4() {
    Values values(scanner_, binary_);
    const std::uint64_t n_blocks = values.size("the number of element blocks");
    const std::uint64_t n = values.size("the number of elements");
    skip_tag_range(values);
    scanner_.check_count("elements", n, options_.limits.max_elements, values.bytes(2, 8));
    scanner_.check_count("element blocks", n_blocks, options_.limits.max_elements, values.bytes(4, 20));
    std::uint64_t done = 0;
    static const std::vector<std::string> empty_groups;
    for (std::uint64_t block = 0; block < n_blocks; ++block) {
      const DimTag entity = read_block_entity(values);
      const CellType type = cell_type(values.integer("the type of an element"));
      const std::uint64_t n_in_block = values.size("the number of elements of a block");
      if (n_in_block > n - done) scanner_.fail(fmt::format("expected {} elements in all, found more", n));
      done += n_in_block;
      const auto found = groups_.find(entity);
      const auto& groups = found == groups_.end() ? empty_groups : found->second;
      for (std::uint64_t i = 0; i < n_in_block; ++i) {
        const Place place = values.place();
        read_tag(values, "the tag of an element");
        CellNodes nodes{};
        for (std::size_t k = 0; k < type.n_nodes; ++k) {
          nodes[k] = builder_.node_index(read_tag(values, "a node of an element"), place);
        }
        add_cell(type, nodes, groups, place);
      }
    }
    if (done != n) scanner_.fail(fmt::format("expected {} elements, found {}", n, done));
  }

  [[nodiscard]] CellType cell_type(std::int64_t type) const {
    const auto found = std::ranges::find(cell_types, type, &CellType::gmsh_type);
    if (found != cell_types.end()) return *found;
    scanner_.fail(fmt::format(
        "expected tetrahedra with 4 or 10 nodes (Gmsh types 4 and 11), prisms with 6, 15 or 18 (6, 18, 13) or "
        "hexahedra with 8, 20 or 27 (5, 17, 12) and their boundary (1, 2, 3, 8, 9, 10, 15, 16), found element type {}",
        type));
  }

  void add_cell(CellType type, const CellNodes& all, const std::vector<std::string>& groups, Place place) {
    const std::span<const std::uint32_t> nodes = std::span(all).first(type.n_nodes);
    if (type.dimension == 3) {
      const std::uint32_t element = add_element(from_gmsh(nodes), place);
      for (const std::string& group : groups) builder_.add_to_element_set(group, element);
    } else if (type.dimension == 2) {
      builder_.count_surface_cell();
      for (const std::string& group : groups) builder_.add_boundary(nodes, group);
    } else {
      for (const std::string& group : groups) {
        for (const std::uint32_t node : nodes) builder_.add_to_node_set(group, node);
      }
    }
  }

  std::uint32_t add_element(std::span<const std::uint32_t> nodes, Place place) {
    if (has_entities()) return builder_.add_element(nodes, place);
    // Version 2 repeats an element for every physical group it belongs to.
    std::array<std::uint32_t, 8> key{};
    const std::size_t n_corners = nodes.size() == 15 || nodes.size() == 18
                                      ? 6
                                      : element_topology(static_cast<std::uint32_t>(nodes.size())).n_corners;
    std::copy_n(nodes.begin(), n_corners, key.begin());
    std::sort(key.begin(), key.end());
    const auto known = element_index_.find(key);
    if (known != element_index_.end()) return known->second;
    return element_index_[key] = builder_.add_element(nodes, place);
  }

  const ReadOptions& options_;
  Scanner scanner_;
  VolumeBuilder builder_;
  Layout layout_ = Layout::v2;
  bool binary_ = false;
  bool has_elements_ = false;
  std::map<DimTag, std::string> names_;
  std::map<DimTag, std::vector<std::string>> groups_;
  std::vector<std::string> group_;  ///< of the element being read (version 2)
  std::map<std::array<std::uint32_t, 8>, std::uint32_t> element_index_;
};

}  // namespace

VolumeMesh read_gmsh(std::string_view bytes, const ReadOptions& options) {
  return GmshReader(bytes, options).read();
}

}  // namespace heelstrike::fem::io
