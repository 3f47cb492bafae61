/// Load of a triangle of the casting surface over which the target surface ends.
#pragma once

#include <Eigen/Core>
#include <array>
#include <optional>

#include "common/spatial/spatial.hpp"
#include "fem_server/backends/elastic_foundation/bed_integral.hpp"
#include "fem_server/backends/elastic_foundation/bed_law.hpp"

namespace heelstrike::fem {

/// A triangle of C, with linear depths, in the frame of C.
struct LoadedTriangle {
  std::array<Vector3, 3> corners{};   ///< [m] counterclockwise from outside
  double area = 0.0;                  ///< [m^2]
  Vector3 normal = Vector3::UnitZ();  ///< out of C
  std::array<double, 2> h{};          ///< [m] thickness of the layers
  Vector3 d = Vector3::Zero();        ///< [m] depths at the corners below the extension of T's face
  Eigen::Matrix<double, 3, 6> dd = Eigen::Matrix<double, 3, 6>::Zero();  ///< their derivatives by the pose of T
};

/// Load of a triangle over which T ends, in the frame of C.
struct RimLoad {
  TriangleLoad load{};   ///< without slopes
  double peak = 0.0;     ///< [Pa]
  double deepest = 0.0;  ///< [m] maximum depth of all parts (BedLaw::depth_in_layer)
  Eigen::Matrix<double, 3, 6> dforces = Eigen::Matrix<double, 3, 6>::Zero();  ///< of the forces, by the pose
  /// [N m, N] on C about T's origin, in addition to the forces times the derivatives of the depths: the derivative of
  /// the energy by the motion of the parts.
  Vector6 wrench = Vector6::Zero();
  Matrix6 dwrench = Matrix6::Zero();  ///< by the pose
};

/// Sum over the parts of a triangle onto which faces of T project along its normal: the energy of each part is that of
/// triangle_load, with depths interpolated between the triangle's corners. The parts move with T, so that energy and
/// forces are derived by the pose through their corners, too: by numbers that carry their derivatives. Faces steeper
/// than 45 degrees, such as the walls of a tilted box, have the depths below their own planes; their load is in the
/// energy and in the wrench only.
class RimIntegral {
 public:
  /// @param law, triangle  must outlive this
  /// @param tangents       false: no second derivatives
  RimIntegral(const BedLaw& law, const LoadedTriangle& triangle, const Vector3& p_CT, bool tangents);
  /// Adds nothing for parts that compress the layers fully; RimLoad::deepest reports them.
  /// @param face  [m] a triangle of T, counterclockwise from outside, in C. Ignored if it does not oppose the triangle
  /// @throws RecoverableError as the law
  /// @param own_plane  the depth is that below the plane of the face, as it is below a steep one
  void add(const std::array<Vector3, 3>& face, bool own_plane = false);
  /// [m] The mean of the corners of the part of the triangle that is below a face; none = there is no such part.
  [[nodiscard]] std::optional<Vector3> point_below(const std::array<Vector3, 3>& face) const;
  [[nodiscard]] const RimLoad& sum() const { return sum_; }

 private:
  template <class Value>
  void add_common(const std::array<Vector3, 3>& face, bool own_plane);
  template <class Value>
  void add_part(const std::array<Eigen::Matrix<Value, 3, 1>, 3>& weights, const std::array<Value, 3>& of_triangle,
                bool own_plane);
  void add_whole();
  [[nodiscard]] bool carries(double depth);

  const BedLaw& law_;
  const LoadedTriangle& triangle_;
  Vector3 p_CT_;
  bool tangents_;
  Vector3 x_, y_;           ///< axes of the triangle's plane
  Eigen::Matrix2d shares_;  ///< [1/m] of barycentric coordinates 1 and 2
  RimLoad sum_;
  double opposes_ = 1.0;  ///< [-] cosine between the triangle and the present face
};

}  // namespace heelstrike::fem
