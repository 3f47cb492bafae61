/// Prescribed motion as constraints that are quadratic in q with time-dependent coefficients.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "mbs_server/formulation/coordinate_map.hpp"
#include "mbs_server/formulation/model.hpp"
#include "mbs_server/formulation/rheonomic_constraint.hpp"

namespace heelstrike::mbs {

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
