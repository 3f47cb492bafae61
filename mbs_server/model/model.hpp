/// The multibody model of a scenario: what moves, what holds it, what pushes it. Plain data with resolved references.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "common/config/scenario.hpp"
#include "mbs_server/model/mass_properties.hpp"

namespace heelstrike::mbs {

/// Index of a body in Model::bodies, or `ground`.
using BodyIndex = int;
inline constexpr BodyIndex ground = -1;

struct Body {
  std::string name;
  MassProperties mass_properties;
  Pose X_WB;   ///< initial pose
  Twist V_WB;  ///< initial twist
};

struct Load {
  std::string name = {};
  BodyIndex body = ground;
  Vector3 force = Vector3::Zero();                ///< [N]
  Vector3 torque = Vector3::Zero();               ///< [N m]
  Vector3 point = Vector3::Zero();                ///< [m] in the body frame
  bool body_fixed = false;                        ///< components in body axes instead of world axes
  std::array<TimeFunctionPtr, 6> functions = {};  ///< fx fy fz [N] tx ty tz [N m] added to the constants; none = 0
};

/// One side of a joint: a frame fixed in the body. Its z axis is the joint's axis; x and y count the angle.
struct JointSide {
  BodyIndex body = ground;
  Pose X_BF;
};

struct Joint {
  std::string name;
  std::string type;
  JointSide a, b;
  double length = 0.0;  ///< [m] of a rod
  int first = -1;       ///< of a gear: index in Model::joints
  int second = -1;
  int teeth_first = 1;
  int teeth_second = 1;
  bool reactions = false;
  std::string where = {};  ///< for messages
};

/// Spring, ligament or bushing between two bodies, or about a joint.
struct SpringElement {
  std::string name;
  std::string type;  ///< spring_damper, ligament_quadratic, ligament_toe, torsional_spring, bushing
  JointSide a, b;
  int joint = -1;               ///< of a torsional spring
  double k = 0.0;               ///< [N/m], [N m/rad]; ligament_quadratic: [N] at strain 1
  double c = 0.0;               ///< [N s/m], [N m s/rad]
  double length = 0.0;          ///< [m] unstrained; [rad] neutral angle
  double toe_strain = 0.0;      ///< half the strain at which a ligament becomes linear
  Matrix6 K = Matrix6::Zero();  ///< of a bushing: turns [rad], then displacements [m]
  Matrix6 C = Matrix6::Zero();
};

/// One prescribed coordinate, or the three angles of a body.
struct Driver {
  enum class Kind { angle, displacement, position, orientation, recorded };
  std::string name;
  Kind kind = Kind::angle;
  int joint = -1;  ///< index in Model::joints
  BodyIndex body = ground;
  int component = 0;                            ///< of a position: 0 x, 1 y, 2 z
  std::vector<TimeFunctionPtr> functions = {};  ///< one, or three angles rx, ry, rz
  std::vector<BodyRecordPtr> records = {};      ///< of the body, or of the joint's bodies (null = ground)
};

struct ContactPair {
  std::string name;
  BodyIndex main = ground;     ///< A
  BodyIndex partner = ground;  ///< B
};

struct Model {
  Vector3 gravity = Vector3::Zero();  ///< [m/s^2]
  std::vector<Body> bodies;
  std::vector<Load> loads;
  std::vector<Joint> joints;
  std::vector<Driver> drivers;
  std::vector<SpringElement> springs;
  std::vector<ContactPair> pairs;
};

/// Resolves names and checks what only the model can know.
/// @throws Error{invalid_input} for unphysical mass properties or unknown bodies
[[nodiscard]] Model build_model(const Scenario& scenario);

}  // namespace heelstrike::mbs
