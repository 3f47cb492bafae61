#include "fem_server/backends/elastic_foundation/bed_integral.hpp"

#include <cmath>

namespace heelstrike::fem {

namespace {

struct TrianglePoint {
  Vector3 shares;  ///< of the corners
  double weight;   ///< of the area
};

/// Radon's seven-point rule, exact for polynomials of degree five.
std::array<TrianglePoint, 7> radon_points() {
  const double root = std::sqrt(15.0);
  const double a = (6.0 - root) / 21.0;
  const double b = (6.0 + root) / 21.0;
  const double wa = (155.0 - root) / 1200.0;
  const double wb = (155.0 + root) / 1200.0;
  return {{{{1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0}, 9.0 / 40.0},
           {{1.0 - 2.0 * a, a, a}, wa},
           {{a, 1.0 - 2.0 * a, a}, wa},
           {{a, a, 1.0 - 2.0 * a}, wa},
           {{1.0 - 2.0 * b, b, b}, wb},
           {{b, 1.0 - 2.0 * b, b}, wb},
           {{b, b, 1.0 - 2.0 * b}, wb}}};
}

const std::array<TrianglePoint, 7> radon_rule_points = radon_points();

/// All corners loaded.
TriangleLoad whole(const BedLaw& law, double area, const std::array<double, 2>& h, const Vector3& d, bool slopes) {
  if (law.proportional()) {
    // The integral of the square of a linear function is area / 12 (sum of d_i^2 + square of the sum of d_i).
    const double k = law.stiffness(h) * area / 12.0;
    const Vector3 forces = k * (d.array() + d.sum());
    TriangleLoad load;
    load.energy = 0.5 * forces.dot(d);
    load.forces = forces;
    load.area = area;
    if (slopes) load.slopes = k * (Matrix3::Identity() + Matrix3::Ones());
    return load;
  }
  TriangleLoad load;
  load.area = area;
  if (slopes) load.slopes.setZero();
  for (const TrianglePoint& point : radon_rule_points) {
    const BedPressure p = law.at(point.shares.dot(d), h);
    const double w = point.weight * area;
    load.energy += w * p.energy;
    load.forces += w * p.pressure * point.shares;
    if (slopes) load.slopes += w * p.slope * point.shares * point.shares.transpose();
  }
  return load;
}

/// d_i / (d_i - d_j): fraction of the edge from corner i at which the compression vanishes, with its derivatives.
struct Cut {
  double inverse, s, by_i, by_j;
  Cut(double i, double j)
      : inverse(1.0 / (i - j)), s(i * inverse), by_i(-j * inverse * inverse), by_j(i * inverse * inverse) {}
  [[nodiscard]] double by_ii() const { return -2.0 * by_i * inverse; }
  [[nodiscard]] double by_ij() const { return (by_i - by_j) * inverse; }
  [[nodiscard]] double by_jj() const { return 2.0 * by_j * inverse; }
};

/// Energy [J] of a triangle of this area with compression d_i at one corner and zero at the others.
struct Wedge {
  double g = 0.0, by_i = 0.0, by_ii = 0.0;
  Wedge(const BedLaw& law, double area, const std::array<double, 2>& h, double d_i) {
    if (law.proportional()) {
      by_ii = law.stiffness(h) * area / 6.0;
      by_i = by_ii * d_i;
      g = 0.5 * by_i * d_i;
      return;
    }
    for (const TrianglePoint& point : radon_rule_points) {
      const double share = point.shares[0];
      const BedPressure p = law.at(share * d_i, h);
      g += point.weight * area * p.energy;
      by_i += point.weight * area * p.pressure * share;
      by_ii += point.weight * area * p.slope * share * share;
    }
  }
};

/// Only corner i is loaded.
TriangleLoad corner(const BedLaw& law, double area, const std::array<double, 2>& h, const Vector3& d, Eigen::Index i,
                    bool slopes) {
  const Eigen::Index j = (i + 1) % 3;
  const Eigen::Index k = (i + 2) % 3;
  const Cut a(d[i], d[j]);
  const Cut b(d[i], d[k]);
  const Wedge w(law, area, h, d[i]);
  const double s = a.s * b.s;
  const double s_i = a.by_i * b.s + a.s * b.by_i;
  const double s_j = a.by_j * b.s;
  const double s_k = a.s * b.by_j;
  TriangleLoad load;
  load.energy = s * w.g;
  load.area = s * area;
  load.forces[i] = s_i * w.g + s * w.by_i;
  load.forces[j] = s_j * w.g;
  load.forces[k] = s_k * w.g;
  if (!slopes) return load;
  Matrix3& K = load.slopes;
  K(i, i) = (a.by_ii() * b.s + 2.0 * a.by_i * b.by_i + a.s * b.by_ii()) * w.g + 2.0 * s_i * w.by_i + s * w.by_ii;
  K(j, j) = a.by_jj() * b.s * w.g;
  K(k, k) = a.s * b.by_jj() * w.g;
  K(i, j) = K(j, i) = (a.by_ij() * b.s + a.by_j * b.by_i) * w.g + s_j * w.by_i;
  K(i, k) = K(k, i) = (a.s * b.by_ij() + a.by_i * b.by_j) * w.g + s_k * w.by_i;
  K(j, k) = K(k, j) = a.by_j * b.by_j * w.g;
  return load;
}

/// Only corner k is unloaded. The line from corner i to the zero of the compression on edge j-k divides the loaded part
/// into two triangles: fraction a of the area with compressions (d_i, d_j, 0), and b (1 - a) with (d_i, 0, 0).
TriangleLoad integrate_remainder(const BedLaw& law, double area, const std::array<double, 2>& h, const Vector3& d,
                                 Eigen::Index k, bool slopes) {
  const Eigen::Index i = (k + 1) % 3;
  const Eigen::Index j = (k + 2) % 3;
  const Cut a(d[j], d[k]);
  const Cut b(d[i], d[k]);
  const TriangleLoad f = whole(law, area, h, {d[i], d[j], 0.0}, slopes);
  const Wedge w(law, area, h, d[i]);
  const double rest = 1.0 - a.s;
  TriangleLoad load;
  load.energy = a.s * f.energy + b.s * rest * w.g;
  load.area = (a.s + b.s * rest) * area;
  load.forces[i] = a.s * f.forces[0] + rest * (b.by_i * w.g + b.s * w.by_i);
  load.forces[j] = a.by_i * f.energy + a.s * f.forces[1] - b.s * a.by_i * w.g;
  load.forces[k] = a.by_j * f.energy + (b.by_j * rest - b.s * a.by_j) * w.g;
  if (!slopes) return load;
  Matrix3& K = load.slopes;
  K(i, i) = a.s * f.slopes(0, 0) + rest * (b.by_ii() * w.g + 2.0 * b.by_i * w.by_i + b.s * w.by_ii);
  K(j, j) = a.by_ii() * f.energy + 2.0 * a.by_i * f.forces[1] + a.s * f.slopes(1, 1) - b.s * a.by_ii() * w.g;
  K(k, k) = a.by_jj() * f.energy + (b.by_jj() * rest - 2.0 * b.by_j * a.by_j - b.s * a.by_jj()) * w.g;
  K(i, j) = K(j, i) = a.by_i * f.forces[0] + a.s * f.slopes(0, 1) - a.by_i * (b.by_i * w.g + b.s * w.by_i);
  K(i, k) = K(k, i) =
      a.by_j * f.forces[0] + (b.by_ij() * rest - b.by_i * a.by_j) * w.g + (b.by_j * rest - b.s * a.by_j) * w.by_i;
  K(j, k) = K(k, j) = a.by_ij() * f.energy + a.by_j * f.forces[1] - (b.by_j * a.by_i + b.s * a.by_ij()) * w.g;
  return load;
}

/// As `whole`: derivatives by the thickness of a layer.
TriangleThickness differentiate_whole_by_thickness(const BedLaw& law, double area, const std::array<double, 2>& h,
                                                   const Vector3& d, std::size_t layer) {
  if (law.proportional()) {
    const double compliance_factor = law.compliance_factor(h, layer);
    const TriangleLoad load = whole(law, area, h, d, false);
    return {.slope = -compliance_factor * load.energy,
            .curvature = 2.0 * compliance_factor * compliance_factor * load.energy,
            .forces = -compliance_factor * load.forces};
  }
  TriangleThickness by;
  for (const TrianglePoint& point : radon_rule_points) {
    const ThicknessDerivatives slopes = law.by_thickness(law.at(point.shares.dot(d), h), layer);
    const double w = point.weight * area;
    by.slope += w * slopes.energy;
    by.curvature += w * slopes.energy_curvature;
    by.forces += w * slopes.pressure * point.shares;
  }
  return by;
}

/// As `corner`: a fraction of the area that does not depend on the thickness.
TriangleThickness corner_by_thickness(const BedLaw& law, double area, const std::array<double, 2>& h, const Vector3& d,
                                      Eigen::Index i, std::size_t layer) {
  const Eigen::Index j = (i + 1) % 3;
  const Eigen::Index k = (i + 2) % 3;
  const Cut a(d[i], d[j]);
  const Cut b(d[i], d[k]);
  const TriangleThickness w = differentiate_whole_by_thickness(law, area, h, {d[i], 0.0, 0.0}, layer);
  TriangleThickness by{.slope = a.s * b.s * w.slope, .curvature = a.s * b.s * w.curvature};
  by.forces[i] = (a.by_i * b.s + a.s * b.by_i) * w.slope + a.s * b.s * w.forces[0];
  by.forces[j] = a.by_j * b.s * w.slope;
  by.forces[k] = a.s * b.by_j * w.slope;
  return by;
}

TriangleThickness differentiate_remainder_by_thickness(const BedLaw& law, double area, const std::array<double, 2>& h,
                                                       const Vector3& d, Eigen::Index k, std::size_t layer) {
  const Eigen::Index i = (k + 1) % 3;
  const Eigen::Index j = (k + 2) % 3;
  const Cut a(d[j], d[k]);
  const Cut b(d[i], d[k]);
  const TriangleThickness f = differentiate_whole_by_thickness(law, area, h, {d[i], d[j], 0.0}, layer);
  const TriangleThickness w = differentiate_whole_by_thickness(law, area, h, {d[i], 0.0, 0.0}, layer);
  const double rest = 1.0 - a.s;
  TriangleThickness by{.slope = a.s * f.slope + b.s * rest * w.slope,
                       .curvature = a.s * f.curvature + b.s * rest * w.curvature};
  by.forces[i] = a.s * f.forces[0] + rest * (b.by_i * w.slope + b.s * w.forces[0]);
  by.forces[j] = a.by_i * f.slope + a.s * f.forces[1] - b.s * a.by_i * w.slope;
  by.forces[k] = a.by_j * f.slope + (b.by_j * rest - b.s * a.by_j) * w.slope;
  return by;
}

/// Number of loaded corners, and the last loaded and unloaded ones.
struct ActiveCorners {
  int number = 0;
  Eigen::Index last_loaded = 0;
  Eigen::Index last_free = 0;
  explicit ActiveCorners(const Vector3& d) {
    for (Eigen::Index i = 0; i < 3; ++i) {
      if (d[i] > 0.0) {
        ++number;
        last_loaded = i;
      } else {
        last_free = i;
      }
    }
  }
};

}  // namespace

TriangleLoad triangle_load(const BedLaw& law, double area, const std::array<double, 2>& h, const Vector3& d,
                           bool slopes) {
  if (d.minCoeff() > 0.0) return whole(law, area, h, d, slopes);
  const ActiveCorners corners(d);
  if (corners.number == 0) {
    TriangleLoad none;
    none.slopes.setZero();
    return none;
  }
  if (corners.number == 1) return corner(law, area, h, d, corners.last_loaded, slopes);
  return integrate_remainder(law, area, h, d, corners.last_free, slopes);
}

TriangleThickness triangle_thickness(const BedLaw& law, double area, const std::array<double, 2>& h, const Vector3& d,
                                     std::size_t layer) {
  const ActiveCorners corners(d);
  if (corners.number == 0) return {};
  if (corners.number == 3) return differentiate_whole_by_thickness(law, area, h, d, layer);
  if (corners.number == 1) return corner_by_thickness(law, area, h, d, corners.last_loaded, layer);
  return differentiate_remainder_by_thickness(law, area, h, d, corners.last_free, layer);
}

}  // namespace heelstrike::fem
