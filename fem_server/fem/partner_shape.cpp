#include "fem_server/fem/partner_shape.hpp"

#include <cmath>
#include <numbers>
#include <variant>

namespace heelstrike::fem {

namespace {

constexpr std::uint32_t n_around = 48;

/// Rows of vertices joined by triangles; every row closes on itself.
SurfaceMesh joined_rows(std::vector<Vector3> vertices) {
  SurfaceMesh mesh;
  mesh.vertices = std::move(vertices);
  const auto n_rows = static_cast<std::uint32_t>(mesh.vertices.size() / n_around);
  for (std::uint32_t row = 0; row + 1 < n_rows; ++row) {
    for (std::uint32_t i = 0; i < n_around; ++i) {
      const std::uint32_t a = row * n_around + i;
      const std::uint32_t b = row * n_around + (i + 1) % n_around;
      mesh.triangles.push_back({a, b, b + n_around});
      mesh.triangles.push_back({a, b + n_around, a + n_around});
    }
  }
  return mesh;
}

double angle(std::uint32_t i) {
  return 2.0 * std::numbers::pi * i / n_around;
}

SurfaceMesh drawn_sphere(const SphereSurface& sphere) {
  constexpr std::uint32_t n_rows = 25;
  std::vector<Vector3> vertices;
  for (std::uint32_t row = 0; row < n_rows; ++row) {
    const double polar = std::numbers::pi * (1.0 - row / (n_rows - 1.0));
    for (std::uint32_t i = 0; i < n_around; ++i) {
      const Vector3 d(std::sin(polar) * std::cos(angle(i)), std::sin(polar) * std::sin(angle(i)), std::cos(polar));
      vertices.push_back(sphere.center + std::abs(sphere.radius) * d);
    }
  }
  return joined_rows(std::move(vertices));
}

SurfaceMesh drawn_cylinder(const CylinderSurface& cylinder, double extent) {
  const double half = 0.5 * (std::isfinite(cylinder.length) ? cylinder.length : 4.0 * extent);
  const Matrix3 R = Quaternion::FromTwoVectors(Vector3::UnitZ(), cylinder.axis).toRotationMatrix();
  std::vector<Vector3> vertices;
  for (const double z : {-half, half}) {
    for (std::uint32_t i = 0; i < n_around; ++i) {
      const Vector3 p(cylinder.radius * std::cos(angle(i)), cylinder.radius * std::sin(angle(i)), z);
      vertices.push_back(cylinder.center + R * p);
    }
  }
  return joined_rows(std::move(vertices));
}

}  // namespace

PartnerShape::PartnerShape(const Surface& surface, double extent) {
  if (const auto* plane = std::get_if<PlaneSurface>(&surface)) {
    is_plane_ = true;
    plane_ = *plane;
  } else if (const auto* sphere = std::get_if<SphereSurface>(&surface)) {
    mesh_ = drawn_sphere(*sphere);
  } else if (const auto* cylinder = std::get_if<CylinderSurface>(&surface)) {
    mesh_ = drawn_cylinder(*cylinder, extent);
  }
}

SurfaceMesh PartnerShape::triangles(const Vector3& p_BC, double extent) const {
  if (!is_plane_) return mesh_;
  const Vector3 middle = p_BC - plane_.normal.dot(p_BC - plane_.point) * plane_.normal;
  const Matrix3 R = Quaternion::FromTwoVectors(Vector3::UnitZ(), plane_.normal).toRotationMatrix();
  const Vector3 x = 2.0 * extent * R.col(0);
  const Vector3 y = 2.0 * extent * R.col(1);
  SurfaceMesh mesh;
  mesh.vertices = {middle - x - y, middle + x - y, middle + x + y, middle - x + y};
  mesh.triangles = {{0, 1, 2}, {0, 2, 3}};
  return mesh;
}

}  // namespace heelstrike::fem
