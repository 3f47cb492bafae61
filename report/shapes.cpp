#include "report/shapes.hpp"

#include <fmt/format.h>

#include <Eigen/Core>

#include "common/errors/error.hpp"
#include "common/files/output_file.hpp"

namespace heelstrike::report {

namespace fs = std::filesystem;

namespace {
constexpr const char* file_name = "shapes.json";
}

Json shapes_json(std::span<const BodyShape> shapes) {
  Json list = Json::array();
  for (const BodyShape& shape : shapes) {
    const Eigen::Matrix3Xd points =
        Eigen::Map<const Eigen::Matrix3Xd>(shape.points.data(), 3, static_cast<Eigen::Index>(shape.points.size() / 3));
    list.push_back({{"body", shape.body},
                    {"source", shape.source},
                    {"n_read", shape.n_read},
                    {"n_points", points.cols()},
                    {"points", packed_vectors({points})},
                    {"triangles", packed(std::span(shape.triangles))}});
  }
  return {{"shapes", list}};
}

void write_shapes(RunFolder& folder, std::span<const BodyShape> shapes) {
  if (!shapes.empty()) folder.add_file(file_name, shapes_json(shapes).dump());
}

void write_shapes(const fs::path& folder, std::span<const BodyShape> shapes) {
  if (!shapes.empty()) write_whole_file(folder / file_name, shapes_json(shapes).dump());
}

Json read_shapes(const fs::path& folder) {
  const fs::path file = folder / file_name;
  if (!fs::exists(file)) return Json::array();
  try {
    return Json::parse(read_whole_file(file)).at("shapes");
  } catch (const Json::exception& error) {
    throw file_error(
        file.string(),
        fmt::format(
            "{}: expected the body shapes written by a run, found: {}; without the file bodies are drawn as sticks",
            file.string(), error.what()));
  }
}

}  // namespace heelstrike::report
