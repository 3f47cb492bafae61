/// The multibody model of a scenario: bodies, joints, drivers and forces. Plain data with resolved references.
#pragma once

#include <Eigen/Core>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mbs_server/formulation/cartesian_coordinates.hpp"
#include "scenario/scenario.hpp"

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
  Vector3 force = Vector3::Zero();           ///< [N]
  Vector3 torque = Vector3::Zero();          ///< [N m]
  Vector3 point = Vector3::Zero();           ///< [m] point of application, in the frame of `point_body`
  BodyIndex axes_body = ground;              ///< its axes are those of force and torque
  std::optional<BodyIndex> point_body = {};  ///< none: `body`
  /// fx fy fz [N] tx ty tz [N m] px py pz [m] added to force, torque and point; none = 0
  std::array<TimeFunctionPtr, 9> functions = {};
};

/// One side of a joint: a frame fixed in the body. Its z axis is the joint's axis; x and y define the angle.
struct JointSide {
  BodyIndex body = ground;
  Pose X_BF;
};

class Constraint;
class ForceElement;
class CoordinateMap;
struct SampledFmu;

struct Joint {
  std::string name;
  JointSide a = {}, b = {};                 ///< of a gear: ground
  JointCoordinates coordinates = {};        ///< available to drivers, springs and gears
  std::shared_ptr<CoordinateMap> map = {};  ///< of a joint with named coordinates
  bool reactions = false;
  std::string where = {};  ///< for messages
  /// Makes its equations. @param q0  initial coordinates of all bodies
  std::function<std::unique_ptr<Constraint>(const Eigen::Ref<const Eigen::VectorXd>& q0)> make = {};
};

/// A force element of the section `forces`: spring, ligament, bushing, ...
struct Force {
  std::string name;
  std::function<std::unique_ptr<ForceElement>()> make;
  std::shared_ptr<SampledFmu> fmu = {};  ///< of a co-simulation FMU, stepped by the caller that steps the model
};

/// A coordinate that follows a function of time.
struct DrivenCoordinate {
  std::string name;  ///< as in the scenario: "angle", "x", ...
  std::string unit;  ///< "rad" or "m"
  TimeFunctionPtr function;
};

/// Prescribed motion: one coordinate, or several that are prescribed together.
struct Driver {
  std::string name;
  std::vector<DrivenCoordinate> coordinates = {};  ///< their functions may be replaced; none for recorded motion
  /// Makes its equations. @param coordinates  as above
  std::function<std::unique_ptr<Constraint>(const std::vector<DrivenCoordinate>& coordinates)> make = {};
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
  std::vector<Force> forces;
  std::vector<ContactPair> pairs;
};

}  // namespace heelstrike::mbs
