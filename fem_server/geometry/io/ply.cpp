// PLY, ASCII and binary: element vertex (x, y, z) and element face (vertex_indices); other content is skipped.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <vector>

#include "fem_server/geometry/io/mesh_builders.hpp"
#include "fem_server/geometry/io/readers.hpp"
#include "fem_server/geometry/io/scanner.hpp"

namespace heelstrike::fem::io {

namespace {

enum class Encoding { ascii, little_endian, big_endian };

/// A type of numbers of PLY files.
struct Scalar {
  std::string_view name, sized_name;
  std::size_t size;
  bool is_integer;
  double (*read)(Scanner& scanner, Encoding encoding, std::string_view what);
};

struct Property {
  std::string name;
  const Scalar* type = nullptr;
  const Scalar* length_type = nullptr;  ///< set for lists
};

struct Element {
  std::string name;
  std::uint64_t count = 0;
  std::vector<Property> properties;
};

struct Header {
  Encoding encoding = Encoding::ascii;
  std::vector<Element> elements;
  std::vector<std::string> notes;
};

template <class T>
double binary_value(Scanner& scanner, Encoding encoding, std::string_view what) {
  std::array<char, sizeof(T)> bytes{};
  std::ranges::copy(scanner.raw(sizeof(T), what), bytes.begin());
  if (encoding == Encoding::big_endian) std::ranges::reverse(bytes);
  return static_cast<double>(std::bit_cast<T>(bytes));
}

constexpr auto scalars = std::to_array<Scalar>({{"char", "int8", 1, true, binary_value<std::int8_t>},
                                                {"uchar", "uint8", 1, true, binary_value<std::uint8_t>},
                                                {"short", "int16", 2, true, binary_value<std::int16_t>},
                                                {"ushort", "uint16", 2, true, binary_value<std::uint16_t>},
                                                {"int", "int32", 4, true, binary_value<std::int32_t>},
                                                {"uint", "uint32", 4, true, binary_value<std::uint32_t>},
                                                {"float", "float32", 4, false, binary_value<float>},
                                                {"double", "float64", 8, false, binary_value<double>}});

const Scalar* scalar_type(const Scanner& scanner, std::string_view word) {
  for (const Scalar& scalar : scalars) {
    if (word == scalar.name || word == scalar.sized_name) return &scalar;
  }
  scanner.fail_expected("a PLY type such as float or int32", word);
}

Property read_property(Scanner& scanner) {
  Property property;
  std::string_view word = scanner.word_in_line();
  if (word == "list") {
    property.length_type = scalar_type(scanner, scanner.word_in_line());
    if (!property.length_type->is_integer) {
      scanner.fail("expected an integer type for the length of a list, found a floating-point one");
    }
    word = scanner.word_in_line();
  }
  property.type = scalar_type(scanner, word);
  property.name = scanner.word_in_line();
  if (property.name.empty()) scanner.fail_expected("the name of a property", {});
  return property;
}

void read_format(Scanner& scanner, Header& header) {
  const std::string_view format = scanner.word_in_line();
  static const std::map<std::string_view, Encoding> encodings{{"ascii", Encoding::ascii},
                                                              {"binary_little_endian", Encoding::little_endian},
                                                              {"binary_big_endian", Encoding::big_endian}};
  const auto found = encodings.find(format);
  if (found == encodings.end()) scanner.fail_expected("'ascii', 'binary_little_endian' or 'binary_big_endian'", format);
  header.encoding = found->second;
}

bool is_comment(std::string_view keyword) {
  return keyword == "comment" || keyword == "obj_info";
}

Header read_header(Scanner& scanner) {
  if (scanner.remaining_line() != "ply") scanner.fail("expected 'ply' in the first line");
  Header header;
  bool has_format = false;
  while (!scanner.at_end()) {
    const std::string_view keyword = scanner.word_in_line();
    if (keyword == "format") {
      read_format(scanner, header);
      has_format = true;
    } else if (keyword == "element") {
      Element element;
      element.name = scanner.word_in_line();
      const std::string_view count = scanner.word_in_line();
      std::int64_t value = -1;
      if (!parse_integer(count, value) || value < 0) scanner.fail_expected("the count of an element", count);
      element.count = static_cast<std::uint64_t>(value);
      header.elements.push_back(std::move(element));
    } else if (keyword == "property") {
      if (header.elements.empty()) scanner.fail("expected 'element' before 'property'");
      header.elements.back().properties.push_back(read_property(scanner));
    } else if (keyword == "end_header") {
      scanner.remaining_line();
      if (!has_format) scanner.fail("expected a 'format' line in the header, found none");
      return header;
    } else if (!keyword.empty() && has_format && header.elements.empty() && !is_comment(keyword)) {
      // Old versions of Blender write a comment without its keyword.
      const std::size_t line = scanner.line();
      const std::string text = fmt::format("{} {}", keyword, scanner.remaining_line());
      header.notes.push_back(fmt::format("line {} of the header, {}, was ignored", line, quoted(text)));
      continue;
    } else if (!keyword.empty() && !is_comment(keyword)) {
      scanner.fail_expected("'format', 'element', 'property', 'comment' or 'end_header'", keyword);
    }
    scanner.remaining_line();
  }
  scanner.fail("expected 'end_header', found the end of the file");
}

/// Values of both encodings as double: exact for every PLY type.
double read_value(Scanner& scanner, Encoding encoding, const Scalar* type, std::string_view what) {
  return encoding == Encoding::ascii ? scanner.number(what) : type->read(scanner, encoding, what);
}

std::uint64_t read_index(Scanner& scanner, Encoding encoding, const Scalar* type, std::string_view what,
                         std::uint64_t end) {
  const double value = read_value(scanner, encoding, type, what);
  if (!(value >= 0.0) || value >= static_cast<double>(end) || value != std::floor(value)) {
    scanner.fail(fmt::format("expected {} between 0 and {}, found {}", what, static_cast<double>(end) - 1.0, value));
  }
  return static_cast<std::uint64_t>(value);
}

/// Maximum list length that fits in the rest of the file.
std::uint64_t max_list_size(const Scanner& scanner, Encoding encoding, const Scalar* type) {
  return scanner.remaining() / (encoding == Encoding::ascii ? 1 : type->size) + 1;
}

class BodyReader {
 public:
  BodyReader(Scanner& scanner, SurfaceBuilder& builder, Encoding encoding)
      : scanner_(scanner), builder_(builder), encoding_(encoding) {}

  void read(const Element& element) {
    if (element.name == "vertex") {
      read_vertex(element);
    } else if (element.name == "face") {
      read_face(element);
    } else {
      for (const Property& property : element.properties) skip(property);
    }
  }

 private:
  void read_vertex(const Element& element) {
    Vector3 position = Vector3::Constant(std::numeric_limits<double>::quiet_NaN());
    for (const Property& property : element.properties) {
      if (property.length_type) {
        skip_list(property);
        continue;
      }
      const double value = read_value(scanner_, encoding_, property.type, "a value of a vertex");
      if (property.name == "x") position.x() = value;
      if (property.name == "y") position.y() = value;
      if (property.name == "z") position.z() = value;
    }
    builder_.add_vertex(position, place());
  }

  void read_face(const Element& element) {
    for (const Property& property : element.properties) {
      if (property.name != "vertex_indices" && property.name != "vertex_index") {
        skip(property);
        continue;
      }
      const auto n = read_index(scanner_, encoding_, property.length_type, "the number of corners of a face",
                                max_list_size(scanner_, encoding_, property.type));
      corners_.clear();
      for (std::uint64_t i = 0; i < n; ++i) {
        corners_.push_back(static_cast<std::uint32_t>(
            read_index(scanner_, encoding_, property.type, "the index of a vertex", builder_.n_vertices())));
      }
      builder_.add_polygon(corners_, place());
    }
  }

  void skip(const Property& property) {
    if (property.length_type) {
      skip_list(property);
    } else {
      read_value(scanner_, encoding_, property.type, "a value");
    }
  }

  void skip_list(const Property& property) {
    const auto n = read_index(scanner_, encoding_, property.length_type, "the length of a list",
                              max_list_size(scanner_, encoding_, property.type));
    for (std::uint64_t i = 0; i < n; ++i) read_value(scanner_, encoding_, property.type, "a value of a list");
  }
  [[nodiscard]] Place place() const {
    return encoding_ == Encoding::ascii ? Place{"line", scanner_.line()} : Place{"byte", scanner_.offset()};
  }

  Scanner& scanner_;
  SurfaceBuilder& builder_;
  Encoding encoding_;
  std::vector<std::uint32_t> corners_;
};

void check_elements(const Scanner& scanner, const Header& header, const ReadOptions& options) {
  bool has_vertices = false;
  bool has_faces = false;
  for (const Element& element : header.elements) {
    if (element.properties.empty()) scanner.fail(fmt::format("element '{}' has no properties", element.name));
    std::size_t n_coordinates = 0;
    bool has_indices = false;
    for (const Property& property : element.properties) {
      if (!property.length_type && (property.name == "x" || property.name == "y" || property.name == "z"))
        ++n_coordinates;
      if (property.name == "vertex_indices" || property.name == "vertex_index") {
        if (!property.length_type) scanner.fail("expected 'vertex_indices' to be a list property");
        has_indices = true;
      }
    }
    if (element.name == "vertex") {
      if (n_coordinates != 3) scanner.fail("expected the properties x, y and z of element 'vertex'");
      scanner.check_count("vertices", element.count, options.limits.max_nodes, 3);
      has_vertices = true;
    } else if (element.name == "face") {
      if (!has_indices || !has_vertices)
        scanner.fail("expected element 'vertex' before 'face' with a list 'vertex_indices'");
      scanner.check_count("faces", element.count, options.limits.max_elements, 1);
      has_faces = true;
    } else {
      scanner.check_count(fmt::format("items of element '{}'", element.name), element.count,
                          options.limits.max_elements, 1);
    }
  }
  if (!has_vertices || !has_faces)
    scanner.fail("expected the elements 'vertex' and 'face': a point cloud is not a surface");
}

bool is_read(const Element& element) {
  return element.name == "vertex" || element.name == "face";
}

/// True if the rest of the file has as many lines as elements. The format requires it, but files with several elements
/// in a line, or with one in several lines, are read, too.
bool has_a_line_for_each(const Header& header, std::string_view bytes, std::size_t offset) {
  std::uint64_t n_elements = 0, n_lines = 0;
  for (const Element& element : header.elements) n_elements += element.count;
  Scanner scanner("", bytes.substr(offset));
  while (!scanner.at_end() && n_lines <= n_elements) n_lines += scanner.remaining_line().empty() ? 0 : 1;
  return n_lines == n_elements;
}

/// Values at the ends of lines that no property declares, e.g. colours.
struct Surplus {
  std::size_t n_lines = 0;
  std::size_t first_line = 0;

  /// @param line  that of the first value of the element
  void skip(Scanner& scanner, const Element& element, std::size_t line) {
    if (scanner.line() != line) {
      fail_at_line(scanner.name(), line,
                   fmt::format("expected all values of the element '{}' in this line, found fewer", element.name));
    }
    if (!scanner.remaining_line().empty() && n_lines++ == 0) first_line = line;
  }
};

}  // namespace

SurfaceMesh read_ply(std::string_view bytes, const ReadOptions& options) {
  Scanner scanner(options.name, bytes);
  const Header header = read_header(scanner);
  check_elements(scanner, header, options);
  SurfaceBuilder builder(options);
  for (const std::string& note : header.notes) builder.add_note(note);
  BodyReader body(scanner, builder, header.encoding);
  const bool by_lines = header.encoding == Encoding::ascii && has_a_line_for_each(header, bytes, scanner.offset());
  Surplus surplus;
  for (const Element& element : header.elements) {
    for (std::uint64_t i = 0; i < element.count; ++i) {
      if (by_lines) scanner.skip_blanks();
      const std::size_t line = scanner.line();
      body.read(element);
      if (by_lines) surplus.skip(scanner, element, line);
    }
    if (!is_read(element)) builder.add_note(fmt::format("element '{}' was omitted", element.name));
  }
  if (surplus.n_lines > 0) {
    builder.add_note(
        fmt::format("{} lines have more values than declared properties, line {} the first; the surplus was "
                    "ignored",
                    surplus.n_lines, surplus.first_line));
  }
  return builder.finish();
}

}  // namespace heelstrike::fem::io
