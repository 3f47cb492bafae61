#include "mbs_server/formulation/mass_properties.hpp"

#include <fmt/format.h>
#include <Eigen/Eigenvalues>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {

void MassProperties::check(const std::string& body) const {
  const std::string field = "bodies." + body;
  if (!(mass > 0.0) || !std::isfinite(mass)) {
    throw input_error(field + ".mass",
                      fmt::format("{}.mass: expected a finite number > 0 [kg], found {}", field, mass));
  }
  if (!inertia.allFinite() || !center_of_mass.allFinite()) {
    throw input_error(field, fmt::format("{}: inertia and center_of_mass must be finite", field));
  }
  const double scale = inertia.cwiseAbs().maxCoeff();
  if ((inertia - inertia.transpose()).cwiseAbs().maxCoeff() > 1e-12 * scale) {
    throw input_error(field + ".inertia", fmt::format("{}.inertia: expected a symmetric tensor", field));
  }
  const Vector3 I = Eigen::SelfAdjointEigenSolver<Matrix3>(inertia, Eigen::EigenvaluesOnly).eigenvalues();
  if (!(I.x() > 0.0)) {
    throw input_error(
        field + ".inertia",
        fmt::format("{}.inertia: expected a positive definite tensor [kg m^2], found principal values {}, "
                    "{}, {}",
                    field, I.x(), I.y(), I.z()));
  }
  // Every mass distribution satisfies I_max <= I_1 + I_2, with equality for a flat body. The factor admits rounding of
  // input digits.
  if (I.z() > (I.x() + I.y()) * (1.0 + 1e-9)) {
    throw input_error(field + ".inertia",
                      fmt::format("{}.inertia: no mass distribution has the principal values {}, {}, {} kg m^2: the "
                                  "largest must not exceed the sum of the others",
                                  field, I.x(), I.y(), I.z()));
  }
}

Matrix4 MassProperties::cartesian_mass() const {
  const Vector3& s = center_of_mass;
  // J about the centre of mass, then Steiner for second moments: J_O = J_C + m s s'.
  const Matrix3 J = 0.5 * inertia.trace() * Matrix3::Identity() - inertia + mass * s * s.transpose();
  Matrix4 m;
  m(0, 0) = mass;
  m.block<1, 3>(0, 1) = mass * s.transpose();
  m.block<3, 1>(1, 0) = mass * s;
  m.block<3, 3>(1, 1) = J;
  return m;
}

}  // namespace heelstrike::mbs
