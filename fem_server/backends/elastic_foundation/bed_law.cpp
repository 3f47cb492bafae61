#include "fem_server/backends/elastic_foundation/bed_law.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/geometry/triangle_tree.hpp"

namespace heelstrike::fem {

namespace {

/// Ten-point Gauss-Legendre rule on [0, 1], distances from the middle and weights: exact for the energy of polynomial
/// laws up to n = 8, and to about 1e-9 for the exponential of a cubic that results from large strains of polyethylene
/// at half the thickness.
constexpr std::array<std::pair<double, double>, 5> gauss_points{{{0.0744371694908156, 0.1477621123573764},
                                                                 {0.2166976970646236, 0.1346333596549982},
                                                                 {0.3397047841495122, 0.1095431812579910},
                                                                 {0.4325316833444922, 0.0747256745752903},
                                                                 {0.4869532642585859, 0.0333356721543441}}};

/// Newton's iteration converges quadratically: from the bracket of a monotone function it needs about ten steps.
constexpr int max_iterations = 100;

/// Root of a function that rises through zero between low and high; `f` gives value and slope.
template <typename Function>
double rising_root(const Function& f, double low, double high) {
  double x = low;
  for (int i = 0; i < max_iterations; ++i) {
    const auto [value, slope] = f(x);
    (value > 0.0 ? high : low) = x;
    double next = x - value / slope;
    if (!(next > low && next < high)) next = value == 0.0 ? x : 0.5 * (low + high);
    if (std::abs(next - x) <= 1e-15 * std::abs(next)) return next;
    x = next;
  }
  return x;
}

}  // namespace

double LayerLaw::confined_modulus_factor(double nu) {
  return (1.0 - nu) / ((1.0 + nu) * (1.0 - 2.0 * nu));
}

LayerLaw::Strain LayerLaw::strain(double p) const {
  double S = p;
  double dS = 1.0;
  if (reference > 0.0) {
    const double ratio = p / reference;
    const double stiffening = exponent * (exponent == 3.0 ? ratio * ratio : std::pow(ratio, exponent - 1.0));
    S = p * (1.0 + stiffening);
    dS = 1.0 + exponent * stiffening;
  }
  if (!large) return {S / modulus, dS / modulus};
  return {-std::expm1(-S / modulus), std::exp(-S / modulus) * dS / modulus};
}

double LayerLaw::pressure(double x) const {
  const double S = modulus * (large ? -std::log1p(-x) : x);
  if (!(reference > 0.0)) return S;
  if (exponent == 3.0) return 2.0 * reference / 3.0 * std::sinh(std::asinh(9.0 * S / (2.0 * reference)) / 3.0);
  // Each of the two terms alone is at most S. From above, Newton's iteration on the convex left side decreases to the
  // root and stops there; from 0 it would decrease from S by a factor of 1 - 1 / n only, for S far above p0.
  double p = std::min(S, reference * std::pow(S / (exponent * reference), 1.0 / exponent));
  for (int i = 0; i < max_iterations; ++i) {
    const double stiffening = exponent * std::pow(p / reference, exponent - 1.0);
    const double next = p - (p * (1.0 + stiffening) - S) / (1.0 + exponent * stiffening);
    if (!(next < p)) break;
    p = next;
  }
  return p;
}

double BedLaw::extrapolated_pressure(double d, const std::array<double, 2>& h) const {
  if (n_layers_ == 1) return layers_[0].pressure(d / h[0]);
  const auto compression = [&](double p) {
    const LayerLaw::Strain first = layers_[0].strain(p);
    const LayerLaw::Strain second = layers_[1].strain(p);
    return std::pair(h[0] * first.value + h[1] * second.value - d, h[0] * first.slope + h[1] * second.slope);
  };
  double high = d / (h[0] / layers_[0].modulus + h[1] / layers_[1].modulus);
  double tried = 0.0;
  while (high > 0.0 && std::isfinite(high) && compression(high).first < 0.0) {
    tried = high;
    high *= 2.0;
  }
  if (!std::isfinite(high)) {
    throw RecoverableError(
        fmt::format("expected a pressure that compresses two layers of {:g} m and {:g} m, of moduli {:g} Pa and {:g} "
                    "Pa, by {:g} m together, found none from 0 to {:g} Pa; check the materials, reference_strain, "
                    "reference_stress and exponent",
                    h[0], h[1], layers_[0].modulus, layers_[1].modulus, d, tried));
  }
  return high > 0.0 ? rising_root(compression, 0.0, high) : 0.0;
}

BedPressure BedLaw::at(double d, const std::array<double, 2>& h) const {
  if (proportional_) {
    const double k = stiffness(h);
    return {.pressure = k * d, .slope = k, .energy = 0.5 * k * d * d};
  }
  const double p = pressure(d, h);
  double compliance = 0.0;  // [m/Pa]
  for (std::size_t k = 0; k < n_layers_; ++k) compliance += h[k] * layers_[k].strain(p).slope;
  BedPressure result{.pressure = p, .slope = 1.0 / compliance};
  // The work of the pressure, integrated over the pressure: all summands have one sign, so there is no cancellation.
  for (const auto& [distance, weight] : gauss_points) {
    // With p = P t^2, non-integer powers of the pressure are smooth enough, too.
    for (const double t : {0.5 - distance, 0.5 + distance}) {
      const double q = p * t * t;
      for (std::size_t k = 0; k < n_layers_; ++k) {
        result.energy += weight * 2.0 * p * t * q * h[k] * layers_[k].strain(q).slope;
      }
    }
  }
  return result;
}

// With the work w(x) on a layer of unit thickness at strain x, W is the minimum of h1 w1(d1 / h1) + h2 w2(d2 / h2)
// over d1 + d2 = d: its derivative by h2 is w2 - x2 p, i.e. minus the integral of x2 over the pressure.
ThicknessDerivatives BedLaw::by_thickness(const BedPressure& at, std::size_t layer) const {
  const double p = at.pressure;
  const double x = layers_[layer].strain(p).value;
  ThicknessDerivatives slopes{.pressure = -x * at.slope, .energy_curvature = x * x * at.slope};
  if (proportional_) {
    slopes.energy = -0.5 * p * x;
    return slopes;
  }
  for (const auto& [distance, weight] : gauss_points) {
    for (const double t : {0.5 - distance, 0.5 + distance}) {
      slopes.energy -= weight * 2.0 * p * t * layers_[layer].strain(p * t * t).value;
    }
  }
  return slopes;
}

namespace {

/// Fraction of a triangle within which a point counts as lying on an edge or corner, as for the distance.
constexpr double on_feature = 1e-9;

/// Barycentric coordinates of a point of the plane, or of the foot of its perpendicular.
std::array<double, 3> shares(const std::array<Vector3, 3>& corners, const Vector3& p) {
  const Vector3 cross = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
  std::array<double, 3> share{};
  for (std::size_t k = 0; k < 3; ++k) {
    share[k] = (corners[(k + 1) % 3] - p).cross(corners[(k + 2) % 3] - p).dot(cross) / cross.squaredNorm();
  }
  return share;
}

}  // namespace

TargetLayer::TargetLayer(const SurfaceMesh& mesh, const std::vector<double>& thickness)
    : mesh_(mesh), thickness_(thickness), max_thickness_(*std::ranges::max_element(thickness)) {
  for (std::size_t t = 0; t < mesh_.triangles.size(); ++t) {
    const Triangle& corners = mesh_.triangles[t];
    const Vector3 cross = triangle_cross(mesh_, t);
    Vector3 gradient = Vector3::Zero();
    // Differences to the first corner, so that a constant thickness has a gradient of exactly zero.
    for (std::size_t k = 1; k < 3; ++k) {
      const Vector3 edge = mesh_.vertices[corners[(k + 2) % 3]] - mesh_.vertices[corners[(k + 1) % 3]];
      gradient += (thickness_[corners[k]] - thickness_[corners[0]]) / cross.squaredNorm() * cross.cross(edge);
    }
    gradient_.push_back(gradient);
  }
}

LayerPoint TargetLayer::at(std::uint32_t triangle, const Vector3& p) const {
  const std::uint32_t corner = mesh_.triangles[triangle][0];
  const Vector3& gradient = gradient_[triangle];
  return {.thickness = thickness_[corner] + gradient.dot(p - mesh_.vertices[corner]), .gradient = gradient};
}

LayerPoint TargetLayer::nearest(std::uint32_t triangle, const Vector3& q) const {
  const Triangle& corners = mesh_.triangles[triangle];
  const std::array<Vector3, 3> p{mesh_.vertices[corners[0]], mesh_.vertices[corners[1]], mesh_.vertices[corners[2]]};
  const Vector3 foot = closest_on_triangle(q, p[0], p[1], p[2]);
  LayerPoint place = at(triangle, foot);
  // Over an edge between two coplanar triangles the point moves freely.
  if (std::ranges::min(shares(p, q)) >= -on_feature) return place;
  const std::array<double, 3> share = shares(p, foot);
  if (std::ranges::max(share) > 1.0 - on_feature) {
    place.gradient.setZero();
    return place;
  }
  for (std::size_t k = 0; k < 3; ++k) {
    if (share[k] > on_feature) continue;
    const Vector3 along = (p[(k + 2) % 3] - p[(k + 1) % 3]).normalized();
    place.gradient = along.dot(place.gradient) * along;
    break;
  }
  return place;
}

}  // namespace heelstrike::fem
