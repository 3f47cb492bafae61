// Wavefront OBJ: vertices, polygons and groups. Texture and normal indices, materials and smoothing are ignored.
#include <fmt/format.h>

#include <array>
#include <set>
#include <vector>

#include "fem_server/geometry/io/mesh_builders.hpp"
#include "fem_server/geometry/io/readers.hpp"
#include "fem_server/geometry/io/scanner.hpp"

namespace heelstrike::fem::io {

namespace {

/// "7", "7/1", "7//3" or "7/1/3"; negative numbers count back from the last vertex.
std::uint32_t corner_index(const Scanner& scanner, std::string_view word, std::size_t n_vertices) {
  const std::string_view first = word.substr(0, word.find('/'));
  std::int64_t index = 0;
  if (!parse_integer(first, index)) scanner.fail_expected("the number of a vertex", word);
  const auto n = static_cast<std::int64_t>(n_vertices);
  const std::int64_t from_zero = index < 0 ? n + index : index - 1;
  if (index == 0 || from_zero < 0 || from_zero >= n) {
    scanner.fail(fmt::format("expected a vertex between 1 and {} (or -{} and -1), found {}", n, n, index));
  }
  return static_cast<std::uint32_t>(from_zero);
}

/// Next word of the statement; a backslash at the end of a line continues it in the next line.
std::string_view next_word(Scanner& scanner) {
  while (true) {
    std::string_view word = scanner.word_in_line();
    if (!word.ends_with('\\')) return word;
    word.remove_suffix(1);
    if (const auto rest = scanner.remaining_line(); !rest.empty()) scanner.fail_expected("a line end after '\\'", rest);
    if (!word.empty()) return word;
  }
}

void read_face(Scanner& scanner, SurfaceBuilder& builder, std::vector<std::uint32_t>& corners) {
  corners.clear();
  for (auto word = next_word(scanner); !word.empty() && word.front() != '#'; word = next_word(scanner)) {
    corners.push_back(corner_index(scanner, word, builder.n_vertices()));
  }
  builder.add_polygon(corners, {"line", scanner.line()});
}

void read_vertex(Scanner& scanner, SurfaceBuilder& builder) {
  Vector3 position;
  for (double& coordinate : position) {
    const std::string_view word = next_word(scanner);
    if (!parse_number(word, coordinate)) scanner.fail_expected("three finite coordinates after 'v'", word);
  }
  builder.add_vertex(position, {"line", scanner.line()});
}

}  // namespace

SurfaceMesh read_obj(std::string_view bytes, const ReadOptions& options) {
  static const std::set<std::string_view> ignored_keywords{
      "vt", "vn",  "vp",         "s",         "mtllib", "usemtl",   "maplib",   "usemap",
      "mg", "lod", "shadow_obj", "trace_obj", "bevel",  "c_interp", "d_interp", "illum"};
  static const std::set<std::string_view> no_surface{"l",    "p",    "cstype", "deg",  "bmat", "step", "curv", "curv2",
                                                     "surf", "parm", "trim",   "hole", "scrv", "sp",   "end",  "con"};
  Scanner scanner(options.name, bytes);
  SurfaceBuilder builder(options);
  std::vector<std::uint32_t> corners;
  std::set<std::string, std::less<>> skipped;
  while (!scanner.at_end()) {
    const std::string_view keyword = next_word(scanner);
    if (keyword == "v") {
      read_vertex(scanner, builder);
    } else if (keyword == "f") {
      read_face(scanner, builder, corners);
    } else if (keyword == "g" || keyword == "o") {
      const std::size_t offset = scanner.offset();
      const std::size_t line = scanner.line();
      builder.start_group(std::string(scanner.remaining_line()));
      scanner.roll_back(offset, line);
    } else if (no_surface.contains(keyword)) {
      skipped.emplace(keyword);
      while (!next_word(scanner).empty()) {
      }
    } else if (!keyword.empty() && keyword.front() != '#' && !ignored_keywords.contains(keyword)) {
      scanner.fail_expected("an OBJ statement (v, vt, vn, f, g, o, s, usemtl, mtllib, #)", keyword);
    }
    // Ignored statements may be continued, too; comments may not.
    const bool is_comment = !keyword.empty() && keyword.front() == '#';
    while (scanner.remaining_line().ends_with('\\') && !is_comment) {
    }
  }
  for (const auto& keyword : skipped)
    builder.add_note(fmt::format("'{}' statements (not a surface) were omitted", keyword));
  return builder.finish();
}

}  // namespace heelstrike::fem::io
