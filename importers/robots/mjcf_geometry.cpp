#include "importers/robots/mjcf_geometry.hpp"

#include <fmt/format.h>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/errors/plain_text.hpp"

namespace heelstrike::models {
namespace {

using std::numbers::pi;

constexpr std::array<std::string_view, 9> geom_names = {"plane",    "hfield", "sphere", "capsule", "ellipsoid",
                                                        "cylinder", "box",    "mesh",   "sdf"};

/// Required number of lengths in `size`.
std::size_t lengths_of(GeomType type, bool fromto) {
  if (type == GeomType::sphere) return 1;
  if (type == GeomType::capsule || type == GeomType::cylinder) return fromto ? 1 : 2;
  return fromto ? 1 : 3;
}

/// Inertia of a body of revolution about z: moments across and along the axis.
Matrix3 axial_inertia(double across, double along) {
  return Vector3(across, across, along).asDiagonal();
}

MassProperties capsule_mass(double r, double half, bool shell) {
  const double h = 2.0 * half;
  const double ball = shell ? 4.0 * pi * r * r : 4.0 / 3.0 * pi * r * r * r;
  const double tube = shell ? 2.0 * pi * r * h : pi * r * r * h;
  // Two half balls: distance of their centroids from the centre of the ball; they are attached to the ends of the tube.
  const double arm = (shell ? 0.5 : 0.375) * r;
  const double ball_moment = (shell ? 2.0 / 3.0 : 0.4) * ball * r * r;
  const double across =
      tube * ((shell ? 6.0 : 3.0) * r * r + h * h) / 12.0 + ball_moment + ball * (half * half + 2.0 * half * arm);
  return {.mass = ball + tube, .inertia = axial_inertia(across, (shell ? 1.0 : 0.5) * tube * r * r + ball_moment)};
}

MassProperties cylinder_mass(double r, double half, bool shell) {
  const double h = 2.0 * half;
  if (!shell) {
    const double m = pi * r * r * h;
    return {.mass = m, .inertia = axial_inertia(m * (3.0 * r * r + h * h) / 12.0, 0.5 * m * r * r)};
  }
  const double disc = pi * r * r, tube = 2.0 * pi * r * h;
  return {.mass = 2.0 * disc + tube,
          .inertia = axial_inertia(tube * (6.0 * r * r + h * h) / 12.0 + 2.0 * disc * (0.25 * r * r + half * half),
                                   tube * r * r + disc * r * r)};
}

MassProperties ellipsoid_mass(const Vector3& s, bool shell) {
  const Vector3 squares = s.cwiseAbs2();
  const Vector3 sums = Vector3::Constant(squares.sum()) - squares;
  if (!shell) {
    const double m = 4.0 / 3.0 * pi * s.prod();
    return {.mass = m, .inertia = (m / 5.0 * sums).asDiagonal()};
  }
  // Area by Thomsen's formula; inertia of the shell between it and an ellipsoid with slightly longer semi-axes, as in
  // MuJoCo.
  constexpr double p = 1.6075;
  const Vector3 sides(s.x() * s.y(), s.y() * s.z(), s.z() * s.x());
  const double area = 4.0 * pi * std::pow(sides.array().pow(p).mean(), 1.0 / p);
  const Vector3 growth = Vector3::Constant(s.sum()) - s;
  const Vector3 moments = area / 5.0 * (sums + 2.0 * s.prod() / sides.sum() * growth);
  return {.mass = area, .inertia = moments.asDiagonal()};
}

MassProperties box_mass(const Vector3& s, bool shell) {
  const Vector3 squares = s.cwiseAbs2();
  const Vector3 sums = Vector3::Constant(squares.sum()) - squares;
  if (!shell) {
    const double m = 8.0 * s.prod();
    return {.mass = m, .inertia = (m / 3.0 * sums).asDiagonal()};
  }
  // Second moments of three pairs of faces: those at +-x have x^2 everywhere and y^2 / 3, z^2 / 3 in the mean.
  const Vector3 areas(8.0 * s.y() * s.z(), 8.0 * s.z() * s.x(), 8.0 * s.x() * s.y());
  const Vector3 second = (areas.array() + (areas.sum() - areas.array()) / 3.0) * squares.array();
  return {.mass = areas.sum(), .inertia = (Vector3::Constant(second.sum()) - second).asDiagonal()};
}

}  // namespace

std::string_view to_string(GeomType type) {
  return geom_names.at(static_cast<std::size_t>(type));
}

GeomType geom_type(const MjcfElement& geom) {
  const std::string word = geom.text("type", "sphere");
  const auto found = std::ranges::find(geom_names, word);
  if (found == geom_names.end()) {
    geom.reject(
        fmt::format("expected plane, hfield, sphere, capsule, ellipsoid, cylinder, box, mesh or sdf in 'type', "
                    "found '{}'",
                    printable(word, 60)));
  }
  return static_cast<GeomType>(found - geom_names.begin());
}

Primitive primitive_of(const MjcfElement& geom, GeomType type) {
  Primitive primitive{.type = type};
  const std::vector<double> ends = geom.numbers("fromto", 6, 6);
  const std::vector<double> size = geom.numbers("size", 1, 3);
  for (std::size_t i = 0; i < size.size(); ++i) primitive.size[static_cast<Eigen::Index>(i)] = size[i];
  if (type == GeomType::plane || type == GeomType::hfield || type == GeomType::mesh || type == GeomType::sdf) {
    primitive.X_BG = geom.pose();
    return primitive;
  }
  const std::size_t lengths = lengths_of(type, !ends.empty());
  const auto given = primitive.size.head(static_cast<Eigen::Index>(lengths));
  if (size.size() < lengths || !(given.minCoeff() > 0.0)) {
    geom.reject(fmt::format("expected {} length{} above 0 in 'size' of a {}, found '{}'", lengths,
                            lengths > 1 ? "s" : "", to_string(type), printable(geom.text("size", ""), 60)));
  }
  if (ends.empty()) {
    primitive.X_BG = geom.pose();
    return primitive;
  }
  if (type == GeomType::sphere) geom.reject("expected no 'fromto' for a sphere; use 'pos'");
  const Vector3 from(ends[0], ends[1], ends[2]), to(ends[3], ends[4], ends[5]);
  const double half = 0.5 * (to - from).norm();
  if (!(half > 0.0)) geom.reject("expected two different points in 'fromto'");
  const bool round = type == GeomType::capsule || type == GeomType::cylinder;
  primitive.size = Vector3(primitive.size.x(), round ? half : primitive.size.x(), round ? 0.0 : half);
  primitive.X_BG = {.R = Quaternion::FromTwoVectors(Vector3::UnitZ(), from - to).toRotationMatrix(),
                    .p = 0.5 * (from + to)};
  return primitive;
}

Primitive fitted(const Triangles& mesh, const MassProperties& mass, GeomType type, bool to_extents, double factor) {
  const Eigen::SelfAdjointEigenSolver<Matrix3> principal(mass.inertia);
  Primitive primitive{.type = type, .size = Vector3::Zero(), .X_BG = {.R = {}, .p = mass.center_of_mass}};
  // MuJoCo's convention: the largest moment first, so that z is the longest axis.
  for (int i = 0; i < 3; ++i) primitive.X_BG.R.col(i) = principal.eigenvectors().col(2 - i);
  primitive.X_BG.R.col(2) = primitive.X_BG.R.col(0).cross(primitive.X_BG.R.col(1));
  Vector3 half;
  if (to_extents) {
    const Pose X_GB = primitive.X_BG.inverse();
    Vector3 low = X_GB * mesh.vertices.front(), high = low;
    for (const Vector3& v : mesh.vertices) {
      low = low.cwiseMin(X_GB * v);
      high = high.cwiseMax(X_GB * v);
    }
    half = 0.5 * (high - low);
    primitive.X_BG.p = primitive.X_BG * Vector3(0.5 * (low + high));
  } else {
    // The box of the same mass and moments.
    const Vector3 moments = principal.eigenvalues().reverse();
    half = (1.5 / mass.mass * (Vector3::Constant(moments.sum()) - 2.0 * moments)).cwiseMax(0.0).cwiseSqrt();
  }
  const double across = to_extents ? std::max(half.x(), half.y()) : 0.5 * (half.x() + half.y());
  if (type == GeomType::sphere) {
    primitive.size.x() = to_extents ? half.maxCoeff() : half.mean();
  } else if (type == GeomType::box || type == GeomType::ellipsoid) {
    primitive.size = half;
  } else {
    const double caps = type == GeomType::capsule ? (to_extents ? across : 0.5 * across) : 0.0;
    primitive.size = Vector3(across, std::max(0.0, half.z() - caps), 0.0);
  }
  primitive.size *= factor;
  return primitive;
}

MassProperties mass_of_primitive(const Primitive& primitive, bool shell) {
  const Vector3& s = primitive.size;
  switch (primitive.type) {
    case GeomType::sphere: {
      const double r = s.x();
      const double m = shell ? 4.0 * pi * r * r : 4.0 / 3.0 * pi * r * r * r;
      return {.mass = m, .inertia = (shell ? 2.0 / 3.0 : 0.4) * m * r * r * Matrix3::Identity()};
    }
    case GeomType::capsule:
      return capsule_mass(s.x(), s.y(), shell);
    case GeomType::cylinder:
      return cylinder_mass(s.x(), s.y(), shell);
    case GeomType::ellipsoid:
      return ellipsoid_mass(s, shell);
    case GeomType::box:
      return box_mass(s, shell);
    default:
      return {};
  }
}

}  // namespace heelstrike::models
