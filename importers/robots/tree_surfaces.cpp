#include "importers/robots/tree_surfaces.hpp"

#include <fmt/format.h>
#include <array>
#include <cmath>

namespace heelstrike::models {
namespace {

std::string ball_text(double radius, const Vector3& center) {
  return fmt::format("{{sphere: {{radius: {}, center: {}}}}}", radius, list(center));
}

std::string cylinder_text(const Shape& shape) {
  return fmt::format("{{cylinder: {{radius: {}, length: {}, axis: {}, center: {}}}}}", shape.size.x(),
                     2.0 * shape.size.y(), list(shape.X_BS.R.col(2)), list(shape.X_BS.p));
}

std::string mesh_text(const Shape& shape) {
  const std::string scale = shape.length_scale == 1.0 ? "" : fmt::format(", length_scale: {}", shape.length_scale);
  return fmt::format("{{mesh: {{file: {}{}, position: {}, orientation: {}}}}}", shape.mesh->to, scale,
                     list(shape.X_BS.p), quaternion(shape.X_BS.R));
}

std::vector<ScenarioSurface> of_capsule(const Shape& shape) {
  const Vector3 half = shape.size.y() * shape.X_BS.R.col(2);
  return {{ball_text(shape.size.x(), shape.X_BS.p + half), shape.what + ", first end"},
          {ball_text(shape.size.x(), shape.X_BS.p - half), shape.what + ", second end"},
          {cylinder_text(shape), shape.what + ", lateral surface"}};
}

}  // namespace

bool lies_along_axes(const Pose& X_BS) {
  // The cosine of 1.4e-6 rad: angles of files have about seven digits.
  constexpr double straight = 1.0 - 1e-12;
  return (X_BS.R.cwiseAbs().colwise().maxCoeff().array() >= straight).all();
}

std::vector<ScenarioSurface> make_surfaces(const Shape& shape) {
  const Pose& X = shape.X_BS;
  switch (shape.kind) {
    case Shape::Kind::none:
      return {};
    case Shape::Kind::plane:
      return {{fmt::format("{{plane: {{normal: {}, point: {}}}}}", list(X.R.col(2)), list(X.p)), shape.what}};
    case Shape::Kind::sphere:
      return {{ball_text(shape.size.x(), X.p), shape.what}};
    case Shape::Kind::cylinder:
      return {{cylinder_text(shape), shape.what}};
    case Shape::Kind::capsule:
      return of_capsule(shape);
    case Shape::Kind::box:
      return {
          {fmt::format("{{block: {{lengths: {}, center: {}}}}}", list(2.0 * (X.R * shape.size).cwiseAbs()), list(X.p)),
           shape.what}};
    case Shape::Kind::mesh:
      return {{mesh_text(shape), shape.what}};
  }
  return {};
}

ImportedMesh box_mesh(const Vector3& half_lengths, const std::string& name) {
  std::string text = "# a box, [m]\n";
  for (int corner = 0; corner < 8; ++corner) {
    const auto side = [&](int axis) { return ((corner >> axis) & 1) != 0 ? half_lengths[axis] : -half_lengths[axis]; };
    text += fmt::format("v {} {} {}\n", side(0), side(1), side(2));
  }
  // Corners are numbered by their signs; all faces are counterclockwise from outside.
  constexpr std::array<std::array<int, 4>, 6> faces{
      {{1, 3, 4, 2}, {5, 6, 8, 7}, {1, 2, 6, 5}, {3, 7, 8, 4}, {1, 5, 7, 3}, {2, 4, 8, 6}}};
  for (const auto& face : faces) text += fmt::format("f {} {} {} {}\n", face[0], face[1], face[2], face[3]);
  return {.from = {}, .to = fmt::format("meshes/{}.obj", name), .content = std::move(text)};
}

}  // namespace heelstrike::models
