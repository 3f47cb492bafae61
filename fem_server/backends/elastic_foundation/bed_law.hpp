/// Pressure of the springs of an elastic foundation [bei2004]: one layer, or two in series with equal pressure.
///
/// A layer bonded to a rigid base and compressed by d has the strain x = d / h. With K = (1 - nu) / ((1 + nu)(1 - 2
/// nu)):
///   small strain  S = M x,            large strain  S = - M ln(1 - x)          M = K E
///   linear        p = S,              nonlinear     p (1 + n (p / p0)^(n-1)) = S, M = 2 K p0 / eps0
/// so that the strain is an explicit function of the pressure for every law, as two layers in series require.
///
/// Layer of the target surface with a varying thickness.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "fem_server/geometry/surface_mesh.hpp"

namespace heelstrike::fem {

/// Material of one layer.
struct LayerLaw {
  double modulus = 0.0;    ///< [Pa] M > 0
  bool large = false;      ///< large strain
  double reference = 0.0;  ///< [Pa] p0 of the nonlinear material; 0 = linear
  double exponent = 1.0;   ///< [-] n >= 1

  /// The pressure is proportional to the strain.
  [[nodiscard]] bool proportional() const { return !large && !(reference > 0.0); }
  /// [-] K(nu). @pre 0 <= nu < 0.5
  [[nodiscard]] static double confined_modulus_factor(double poissons_ratio);

  struct Strain {
    double value;  ///< [-]
    double slope;  ///< [1/Pa] > 0
  };
  /// Under pressure p [Pa] >= 0.
  [[nodiscard]] Strain strain(double pressure) const;
  /// Inverse, for one layer alone. @pre strain < 1 with large strain
  [[nodiscard]] double pressure(double strain) const;
};

/// Pressure of the bed at one point and its derivatives.
struct BedPressure {
  double pressure = 0.0;  ///< [Pa]
  double slope = 0.0;     ///< [Pa/m] dp / dd
  double energy = 0.0;    ///< [J/m^2] stored
};

/// Derivatives by the thickness of one layer, at constant compression.
struct ThicknessDerivatives {
  double pressure = 0.0;          ///< [Pa/m] dp / dh <= 0
  double energy = 0.0;            ///< [J/m^3] dW / dh <= 0
  double energy_curvature = 0.0;  ///< [J/m^4] d^2 W / dh^2 >= 0
};

/// One or two layers.
class BedLaw {
 public:
  explicit BedLaw(const LayerLaw& layer) : layers_{layer, {}}, n_layers_(1), proportional_(layer.proportional()) {}
  BedLaw(const LayerLaw& first, const LayerLaw& second)
      : layers_{first, second}, n_layers_(2), proportional_(first.proportional() && second.proportional()) {}

  /// @param d  [m] compression >= 0, with large strain below thickness(h)
  /// @param h  [m] thickness of each layer; the second is unused for one layer
  /// @throws RecoverableError when no finite pressure compresses two layers by d
  [[nodiscard]] BedPressure at(double d, const std::array<double, 2>& h) const;
  /// [Pa] the pressure only.
  [[nodiscard]] double pressure(double d, const std::array<double, 2>& h) const {
    return proportional_ ? stiffness(h) * d : extrapolated_pressure(d, h);
  }

  /// @param at     the pressure at this compression and thickness
  /// @param layer  0 or 1: the varied layer
  [[nodiscard]] ThicknessDerivatives by_thickness(const BedPressure& at, std::size_t layer) const;

  /// [m] all layers together.
  [[nodiscard]] double thickness(const std::array<double, 2>& h) const { return n_layers_ == 1 ? h[0] : h[0] + h[1]; }
  /// [m] The depth that must stay below the thickness, of a compression d along a line at that cosine to the normal of
  /// the face that compresses it. A steep face that crosses a layer near its edge is nearer than the line is long, and
  /// does not reach the base where the line ends. With large strain no line loses all of its thickness.
  [[nodiscard]] double depth_in_layer(double d, double cosine) const { return layers_[0].large ? d : cosine * d; }
  /// The pressure is proportional to the compression.
  [[nodiscard]] bool proportional() const { return proportional_; }
  /// [Pa/m] pressure over compression. @pre proportional()
  [[nodiscard]] double stiffness(const std::array<double, 2>& h) const {
    if (n_layers_ == 1) return layers_[0].modulus / h[0];
    return 1.0 / (h[0] / layers_[0].modulus + h[1] / layers_[1].modulus);
  }
  /// [1/m] relative decrease of the stiffness per metre of a layer. @pre proportional()
  [[nodiscard]] double compliance_factor(const std::array<double, 2>& h, std::size_t layer) const {
    return stiffness(h) / layers_[layer].modulus;
  }

 private:
  [[nodiscard]] double extrapolated_pressure(double d, const std::array<double, 2>& h) const;

  std::array<LayerLaw, 2> layers_;
  std::size_t n_layers_;
  bool proportional_;
};

/// Properties of the layer at one point.
struct LayerPoint {
  double thickness = 0.0;              ///< [m] > 0
  Vector3 gradient = Vector3::Zero();  ///< [-] by the position, in the frame of the query
};

/// Linear over each triangle between the thicknesses at its corners, hence continuous. In the frame of the mesh.
/// Thread-safe.
class TargetLayer {
 public:
  /// @param thickness  [m] > 0, one per vertex
  TargetLayer(const SurfaceMesh& mesh, const std::vector<double>& thickness);

  /// [m] maximum thickness.
  [[nodiscard]] double max_thickness() const { return max_thickness_; }
  /// @param p  [m] point of the triangle. The gradient lies in the triangle's plane
  [[nodiscard]] LayerPoint at(std::uint32_t triangle, const Vector3& p) const;
  /// At the point of the triangle nearest to q. The gradient is that by q: the point moves with q over a face and along
  /// an edge, and is fixed on a corner.
  [[nodiscard]] LayerPoint nearest(std::uint32_t triangle, const Vector3& q) const;

 private:
  SurfaceMesh mesh_;
  std::vector<double> thickness_;  ///< [m] of vertices
  std::vector<Vector3> gradient_;  ///< of triangles
  double max_thickness_ = 0.0;
};

}  // namespace heelstrike::fem
