// Wavefront OBJ: vertices, polygons and groups. Texture and normal indices, materials and smoothing are of no use here.
#include <fmt/format.h>

#include <array>
#include <set>
#include <vector>

#include "fem_server/geometry/io/readers.hpp"
#include "fem_server/geometry/io/scanner.hpp"
#include "fem_server/geometry/io/surface_builder.hpp"

namespace heelstrike::fem::io {

namespace {

/// "7", "7/1", "7//3" or "7/1/3"; negative counts back from the last vertex.
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

void read_face(Scanner& scanner, SurfaceBuilder& builder, std::vector<std::uint32_t>& corners) {
  corners.clear();
  for (auto word = scanner.word_in_line(); !word.empty(); word = scanner.word_in_line()) {
    corners.push_back(corner_index(scanner, word, builder.n_vertices()));
  }
  builder.add_polygon(corners, {"line", scanner.line()});
}

void read_vertex(Scanner& scanner, SurfaceBuilder& builder) {
  Vector3 position;
  for (double& coordinate : position) {
    const std::string_view word = scanner.word_in_line();
    if (!parse_number(word, coordinate)) scanner.fail_expected("three finite coordinates after 'v'", word);
  }
  builder.add_vertex(position, {"line", scanner.line()});
}

}  // namespace

SurfaceMesh read_obj(std::string_view bytes, const ReadOptions& options) {
  static const std::set<std::string_view> of_no_use{"vt", "vn", "vp", "s", "mtllib", "usemtl"};
  Scanner scanner(options.name, bytes);
  SurfaceBuilder builder(options);
  std::vector<std::uint32_t> corners;
  std::set<std::string, std::less<>> skipped;
  while (!scanner.at_end()) {
    const std::string_view keyword = scanner.word_in_line();
    if (keyword == "v") {
      read_vertex(scanner, builder);
    } else if (keyword == "f") {
      read_face(scanner, builder, corners);
    } else if (keyword == "g" || keyword == "o") {
      const std::size_t offset = scanner.offset();
      const std::size_t line = scanner.line();
      builder.start_group(std::string(scanner.rest_of_line()));
      scanner.rewind(offset, line);
    } else if (keyword == "l" || keyword == "p") {
      skipped.emplace(keyword);
    } else if (!keyword.empty() && keyword.front() != '#' && !of_no_use.contains(keyword)) {
      scanner.fail_expected("an OBJ statement (v, vt, vn, f, g, o, s, usemtl, mtllib, #)", keyword);
    }
    scanner.rest_of_line();
  }
  for (const auto& keyword : skipped)
    builder.add_note(fmt::format("'{}' statements (no surface) were left out", keyword));
  return builder.finish();
}

}  // namespace heelstrike::fem::io
