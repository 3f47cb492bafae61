/// The parts of an OpenSim model file that a scenario can represent.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/motion/scalar_function.hpp"
#include "common/spatial/spatial.hpp"

namespace heelstrike::osim {

struct Body {
  std::string name = {};
  double mass = 0.0;                         ///< [kg]
  Vector3 center_of_mass = Vector3::Zero();  ///< [m] in the body frame
  Matrix3 inertia = Matrix3::Zero();         ///< [kg m^2] about the centre of mass
};

/// A frame fixed in a body, or in `ground`.
struct Frame {
  std::string body = {};
  Pose X_BF;
};

/// constant + sum f(coordinate): representation of the functions of a file.
struct Function {
  struct Term {
    std::string coordinate = {};  ///< empty = the single argument, or time
    ScalarFunctionPtr f = {};
    std::string text = {};                   ///< in scenario syntax, "polynomial: [0, 1]"
    std::function<Term(double)> times = {};  ///< the term multiplied by a factor, without its coordinate
  };
  double constant = 0.0;
  std::vector<Term> terms = {};
  std::string unknown = {};  ///< kind of an unsupported function; empty = none
};

struct Coordinate {
  std::string name = {};
  double value = 0.0;  ///< default [rad] or [m]
  double speed = 0.0;  ///< default [rad/s] or [m/s]
  double min = 0.0, max = 0.0;
  bool locked = false;
  std::optional<Function> prescribed = {};  ///< of time
};

/// Rotation about or translation along an axis.
struct Axis {
  Vector3 direction = Vector3::Zero();
  Function function = {};

  /// The coordinate of an axis that is a linear function of a single coordinate; empty otherwise.
  [[nodiscard]] std::string coordinate() const;
  [[nodiscard]] double slope() const;
};

struct Joint {
  std::string name, type;  ///< type as in the file, "CustomJoint"
  Frame parent, child;
  std::vector<Coordinate> coordinates;
  std::array<Axis, 6> axes;         ///< three rotations about body-fixed axes, three translations along axes of the
                                    ///< parent frame
  Vector3 radii = Vector3::Zero();  ///< [m] of an EllipsoidJoint
};

/// CoordinateCouplerConstraint: `coordinate` is a function of others.
struct Coupler {
  std::string name = {}, coordinate = {};
  Function function = {};
};

/// PointConstraint, PointOnLineConstraint, ConstantDistanceConstraint, WeldConstraint.
struct PointConstraint {
  std::string name = {}, type = {};
  Frame a = {}, b = {};                 ///< their origins are the points; for a weld, the welded frames
  Vector3 direction = Vector3::Zero();  ///< of a line in a
  double distance = 0.0;                ///< [m]
};

struct WrapObject {
  std::string name, body, type;  ///< "WrapEllipsoid" ...
  Pose X_BS;
  std::vector<double> dimensions;  ///< [m] radii, or one radius
  std::string quadrant = "all";
  double length = 0.0;  ///< [m] of a cylinder
  bool active = true;
};

struct PathPoint {
  std::string name = {};
  std::string type = {};                  ///< "PathPoint", "ConditionalPathPoint", "MovingPathPoint"
  int place = 0;                          ///< in its path, from 1
  Frame at;                               ///< its origin is the point
  std::string coordinate = {};            ///< of a conditional point
  std::array<double, 2> range = {};       ///< of it
  std::array<Function, 3> location = {};  ///< of a moving point [m]
};

/// Use of a wrap object by a line.
struct PathWrap {
  std::string object = {};
  std::string method = {};
  int first = -1, last = -1;  ///< range of points, from 1, within which it may wrap; negative = the ends
};

/// Parameters of a muscle, with OpenSim's defaults.
struct Muscle {
  double max_force = 0.0;       ///< [N]
  double optimal_length = 0.0;  ///< [m]
  double tendon_length = 0.0;   ///< [m]
  double pennation = 0.0;       ///< [rad]
  double max_velocity = 10.0;   ///< [1/s]
  double fiber_damping = 0.1;   ///< [-]
  double min_activation = 0.01;
  double rise = 0.010, fall = 0.040;  ///< [s]
  bool rigid_tendon = false;
  /// Of its curves at the maximum isometric force; none = default.
  std::optional<double> passive_strain = {}, tendon_strain = {};
  std::map<std::string, std::string> tables = {};  ///< curves as tables by the key of the scenario, in its syntax
};

/// A ligament or a muscle.
struct Line {
  std::string name, type;
  bool applies = true;
  std::vector<PathPoint> points = {};
  std::vector<PathWrap> wraps = {};
  double stiffness = 0.0;           ///< [N] of a Blankevoort1991Ligament
  double slack_length = 0.0;        ///< [m]
  double transition_strain = 0.06;  ///< [-]
  double damping = 0.003;           ///< [N s]
  Muscle muscle = {};
};

struct ContactMesh {
  std::string name = {};
  Frame frame;
  std::string file = {};
  double youngs_modulus = 0.0, poissons_ratio = 0.0, thickness = 0.0;
  bool variable_thickness = false;
  std::string back_file = {};    ///< of the back surface, if the thickness varies
  double min_thickness = 0.001;  ///< [m] of a variable thickness
  Vector3 scale = Vector3::Ones();
};

struct ContactForce {
  std::string name = {};
  std::string target, casting;  ///< contact meshes
  bool applies = true;
  bool nonlinear = false, lumped = false;
};

/// SpringGeneralizedForce: -stiffness (q - rest) - viscosity dq/dt on a coordinate.
struct CoordinateSpring {
  std::string name, coordinate;
  bool applies = true;
  double stiffness = 0.0;  ///< [N m/rad] or [N/m]
  double rest = 0.0;       ///< [rad] or [m]
  double viscosity = 0.0;  ///< [N m s/rad] or [N s/m]
};

/// CoordinateLimitForce in the units of the file, degrees for rotations.
struct CoordinateLimit {
  std::string name, coordinate;
  bool applies = true;
  double upper = 0.0, lower = 0.0, upper_stiffness = 0.0, lower_stiffness = 0.0, damping = 0.0, transition = 0.0;
};

/// Other component of the file: kind and name.
struct Other {
  std::string kind, name;
};

struct Model {
  std::string name = {};
  std::string file = {};              ///< for messages; empty without one
  Vector3 gravity = Vector3::Zero();  ///< [m/s^2]
  std::vector<Body> bodies;
  std::vector<Joint> joints;
  std::vector<WrapObject> wraps;
  std::vector<Line> lines;  ///< ligaments and muscles
  std::vector<ContactMesh> meshes;
  std::vector<ContactForce> contacts;
  std::vector<CoordinateSpring> springs;
  std::vector<CoordinateLimit> limits;
  std::vector<Coupler> couplers;
  std::vector<PointConstraint> constraints;
  std::vector<Other> others;
  std::vector<std::string> notes;   ///< changes to the model, one line each
  std::vector<std::string> unused;  ///< unread elements that are not in `others`, one line per kind
};

/// Null for none.
[[nodiscard]] const Coordinate* coordinate_of(const Joint& joint, const std::string& name);
/// The joint that has the coordinate; null for none.
[[nodiscard]] const Joint* joint_with(const Model& model, const std::string& coordinate);
/// Value at the coordinates' defaults. @throws Error{invalid_input} for an unknown coordinate
[[nodiscard]] double value_of(const Function& function, const Model& model);
/// Pose of the child frame in the parent frame, with the coordinates at their defaults.
[[nodiscard]] Pose joint_pose(const Joint& joint);
/// Sets dependent coordinates to the values of their couplers. @returns one line for each coordinate that changes
std::vector<std::string> apply_couplers(Model& model);

/// @param text  content of the file. @param file  its name, for messages
/// @throws Error{invalid_input} for text that is not XML or not an OpenSim model, for a version before 1.6, and for
/// invalid numbers and frames, with the component's name
[[nodiscard]] Model read_model(const std::string& text, const std::string& file);

/// Pose of a body in the model's ground with all coordinates at their defaults.
[[nodiscard]] Pose default_pose(const Model& model, const std::string& body);

}  // namespace heelstrike::osim
