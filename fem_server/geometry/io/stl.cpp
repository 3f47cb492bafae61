// STL, binary and ASCII. Stored normals are often wrong and are ignored in favour of the winding.
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "fem_server/geometry/io/mesh_builders.hpp"
#include "fem_server/geometry/io/readers.hpp"
#include "fem_server/geometry/io/scanner.hpp"

namespace heelstrike::fem::io {

namespace {

constexpr std::size_t header_bytes = 84;
constexpr std::size_t triangle_bytes = 50;

std::uint32_t stored_count(std::string_view bytes) {
  std::uint32_t count = 0;
  std::memcpy(&count, bytes.data() + header_bytes - sizeof count, sizeof count);
  return count;
}

bool is_binary(std::string_view bytes) {
  if (bytes.size() < header_bytes) return false;
  if (bytes.size() == header_bytes + triangle_bytes * std::uint64_t{stored_count(bytes)}) return true;
  // Many binary files also start with "solid"; a zero byte identifies them.
  const std::string_view begin = bytes.substr(0, 512);
  return !lower_case(trimmed(begin)).starts_with("solid") || begin.find('\0') != std::string_view::npos;
}

/// The count in the header must match the number of triangles. Programs that stream triangles leave it zero: the count
/// then follows from the file size.
std::uint64_t triangle_count(std::string_view bytes, const ReadOptions& options, SurfaceBuilder& builder) {
  const std::uint64_t count = stored_count(bytes);
  const std::uint64_t expected = header_bytes + triangle_bytes * count;
  check_limit(options.name, "triangles", count, options.limits.max_elements);
  if (bytes.size() == expected) return count;
  const std::uint64_t room = (bytes.size() - header_bytes) / triangle_bytes;
  const bool is_filled = bytes.size() == header_bytes + triangle_bytes * room;
  if (bytes.size() < expected || (is_filled && count > 0)) {
    fail_at_byte(options.name, header_bytes - 4,
                 fmt::format("expected a binary STL of {} triangles = {} bytes, found {} bytes: {}", count, expected,
                             bytes.size(),
                             is_filled && count > 0 && count < room
                                 ? fmt::format("room for {} triangles; its count or its end is wrong", room)
                                 : "the file is truncated or not STL"));
  }
  if (is_filled) {
    builder.add_note(fmt::format("the header declares 0 triangles; {} were read, as given by the file size", room));
    check_limit(options.name, "triangles", room, options.limits.max_elements);
    return room;
  }
  builder.add_note(fmt::format("{} bytes after the last triangle were ignored", bytes.size() - expected));
  return count;
}

SurfaceMesh read_binary(std::string_view bytes, const ReadOptions& options) {
  SurfaceBuilder builder(options);
  const std::uint64_t count = triangle_count(bytes, options, builder);
  ByteReader reader(options.name, bytes, header_bytes);
  for (std::uint64_t t = 0; t < count; ++t) {
    const Place place{"byte", reader.offset()};
    reader.raw(3 * sizeof(float), "a normal");
    Triangle corners{};
    for (std::uint32_t& corner : corners) {
      const auto x = reader.read<float>("a vertex");
      const auto y = reader.read<float>("a vertex");
      const auto z = reader.read<float>("a vertex");
      corner = builder.add_merged_vertex({x, y, z}, place);
    }
    reader.raw(2, "an attribute");
    builder.add_polygon(corners, place);
  }
  return builder.finish();
}

void expect(Scanner& scanner, std::string_view keyword) {
  const std::string_view found = scanner.word();
  if (!equal_ignoring_case(found, keyword)) scanner.fail_expected(fmt::format("'{}'", keyword), found);
}

/// After 'facet'.
void read_facet(Scanner& scanner, SurfaceBuilder& builder) {
  const Place place{"line", scanner.line()};
  expect(scanner, "normal");
  // Some programs write nan as the normal of a degenerate triangle; it is not used.
  for (int i = 0; i < 3; ++i) {
    if (scanner.word().empty()) scanner.fail_expected("three components of a normal", {});
  }
  expect(scanner, "outer");
  expect(scanner, "loop");
  Triangle corners{};
  for (std::uint32_t& corner : corners) {
    expect(scanner, "vertex");
    const Vector3 position = scanner.vector("a finite coordinate after 'vertex'");
    corner = builder.add_merged_vertex(position, {"line", scanner.line()});
  }
  expect(scanner, "endloop");
  expect(scanner, "endfacet");
  builder.add_polygon(corners, place);
}

SurfaceMesh read_ascii(std::string_view bytes, const ReadOptions& options) {
  Scanner scanner(options.name, bytes);
  SurfaceBuilder builder(options);
  bool inside = false;
  for (std::string_view word = scanner.word(); !word.empty(); word = scanner.word()) {
    if (!inside) {
      if (!equal_ignoring_case(word, "solid")) scanner.fail_expected("'solid' (an ASCII STL)", word);
      builder.start_group(std::string(scanner.remaining_line()));
      inside = true;
    } else if (equal_ignoring_case(word, "facet")) {
      read_facet(scanner, builder);
    } else if (equal_ignoring_case(word, "endsolid")) {
      scanner.remaining_line();
      inside = false;
    } else {
      scanner.fail_expected("'facet' or 'endsolid'", word);
    }
  }
  if (inside) scanner.fail("expected 'endsolid', found the end of the file: it is truncated");
  return builder.finish();
}

}  // namespace

SurfaceMesh read_stl(std::string_view bytes, const ReadOptions& options) {
  if (is_binary(bytes)) return read_binary(bytes, options);
  return read_ascii(bytes, options);
}

}  // namespace heelstrike::fem::io
