#include "importers/scenario_text.hpp"

#include <fmt/format.h>
#include <Eigen/Geometry>

#include "common/files/digest.hpp"

namespace heelstrike::models {

MassProperties expressed_in(const Pose& X_AB, const MassProperties& of_B) {
  return {.mass = of_B.mass,
          .center_of_mass = X_AB * of_B.center_of_mass,
          .inertia = X_AB.R * of_B.inertia * X_AB.R.transpose()};
}

MassProperties welded(const MassProperties& a, const MassProperties& b) {
  const double mass = a.mass + b.mass;
  if (!(mass > 0.0)) return {.mass = mass, .center_of_mass = a.center_of_mass, .inertia = a.inertia + b.inertia};
  const Vector3 center = (a.mass * a.center_of_mass + b.mass * b.center_of_mass) / mass;
  const auto steiner = [&center](const MassProperties& part) {
    const Vector3 r = part.center_of_mass - center;
    return Matrix3(part.mass * (r.squaredNorm() * Matrix3::Identity() - r * r.transpose()));
  };
  return {.mass = mass, .center_of_mass = center, .inertia = a.inertia + steiner(a) + b.inertia + steiner(b)};
}

namespace {

/// The end of a name that is too long, by which it still differs from names with the same beginning.
std::string shortened(const std::string& name) {
  constexpr std::size_t longest = 64;  // of the scenario's names
  constexpr std::size_t kept = 40;     // so that importers can append to a shortened one
  return name.size() > longest ? fmt::format("{}_{}", name.substr(0, kept), sha256_hex(name).substr(0, 8)) : name;
}

}  // namespace

std::string plain(std::string name) {
  for (char& c : name) {
    const bool fine =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!fine) c = '_';
  }
  if (name.empty()) return "unnamed";
  // YAML reads these words as "no value".
  if (name == "null" || name == "Null" || name == "NULL") return name + "_";
  return shortened(name);
}

std::string list(const Vector3& v) {
  return fmt::format("[{}, {}, {}]", v.x(), v.y(), v.z());
}

std::string quaternion(const Matrix3& R) {
  const Eigen::Quaterniond q = Eigen::Quaterniond(R).normalized();
  return fmt::format("[{}, {}, {}, {}]", q.w(), q.x(), q.y(), q.z());
}

std::string body_text(const std::string& name, const MassProperties& mass, const Pose& X_WB) {
  const Matrix3& I = mass.inertia;
  return fmt::format(
      "  {}:\n    mass: {}\n    inertia: [{}, {}, {}, {}, {}, {}]\n    center_of_mass: {}\n    position: {}\n    "
      "orientation: {}\n",
      name, mass.mass, I(0, 0), I(1, 1), I(2, 2), I(0, 1), I(0, 2), I(1, 2), list(mass.center_of_mass), list(X_WB.p),
      quaternion(X_WB.R));
}

}  // namespace heelstrike::models
