/// Recorded poses of bodies with two derivatives.
///
/// Prescribed motion as constraints that are quadratic in q with time-dependent coefficients.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "common/motion/body_record.hpp"
#include "common/spatial/spatial.hpp"
#include "mbs_server/formulation/coordinate_map.hpp"
#include "mbs_server/formulation/model.hpp"
#include "mbs_server/formulation/quadratic_constraint.hpp"

namespace heelstrike::mbs {

using Jet3 = std::array<Jet, 3>;

struct PoseJets {
  Jet3 origin;               ///< [m] in the world
  std::array<Jet3, 3> axes;  ///< the unit vectors of the body in the world
};

/// @param record  null = ground
[[nodiscard]] PoseJets recorded_pose(const BodyRecord* record, double t);
/// World components of a point with body coordinates `p_BP` [m] and of a direction with components `u_B`.
[[nodiscard]] Jet3 recorded_point(const BodyRecord* record, double t, const Vector3& p_BP);
[[nodiscard]] Jet3 recorded_direction(const BodyRecord* record, double t, const Vector3& u_B);

[[nodiscard]] Jet dot(const Jet3& a, const Jet3& b);
[[nodiscard]] Jet3 operator-(const Jet3& a, const Jet3& b);

/// (x_B . y_A) cos theta(t) - (x_B . x_A) sin theta(t) = 0, the sine of the error in the angle theta [rad].
[[nodiscard]] std::unique_ptr<Constraint> drive_angle(const std::string& name, const Joint& joint,
                                                      const TimeFunctionPtr& angle);
/// z_A . p_AB - s(t) = 0, s in m.
[[nodiscard]] std::unique_ptr<Constraint> drive_displacement(const std::string& name, const Joint& joint,
                                                             const TimeFunctionPtr& displacement);
/// r_c - x(t) = 0. @param component  0 x, 1 y, 2 z of the body's origin in the world [m]
[[nodiscard]] std::unique_ptr<Constraint> drive_position(const std::string& name, BodyIndex body, int component,
                                                         const TimeFunctionPtr& position);
/// v_2 . d_3(t) = v_3 . d_1(t) = v_1 . d_2(t) = 0 with d_k the columns of Rx(rx) Ry(ry) Rz(rz), angles in rad.
[[nodiscard]] std::unique_ptr<Constraint> drive_orientation(const std::string& name, BodyIndex body,
                                                            const std::array<TimeFunctionPtr, 3>& angles);
/// The recorded pose of a body.
[[nodiscard]] std::unique_ptr<Constraint> drive_recorded_body(const std::string& name, BodyIndex body,
                                                              const BodyRecordPtr& record);
/// All free coordinates of a joint as recorded. @param a, b  records of its bodies; null = ground
[[nodiscard]] std::unique_ptr<Constraint> drive_recorded_joint(const std::string& name, const Joint& joint,
                                                               const BodyRecordPtr& a, const BodyRecordPtr& b);

/// All three rotations of a joint: the axial vector of R(u(t))' R_AB is zero, which is regular at every attitude.
/// @pre map->is_pure_rotation(). @param angles  functions of the rotational coordinates, in their order
[[nodiscard]] std::unique_ptr<Constraint> drive_rotations(const std::string& name, const CoordinateMapPtr& map,
                                                          const std::vector<TimeFunctionPtr>& angles);
/// u - f(t) of coordinates of a joint, modulo whole turns for angles. @param places  indices of the coordinates
[[nodiscard]] std::unique_ptr<Constraint> drive_coordinates(const std::string& name, const CoordinateMapPtr& map,
                                                            const std::vector<std::size_t>& places,
                                                            const std::vector<TimeFunctionPtr>& functions);

}  // namespace heelstrike::mbs
