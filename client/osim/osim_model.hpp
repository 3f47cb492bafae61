/// An OpenSim 4 model file as far as a scenario can take it over.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "common/spatial/spatial.hpp"

namespace heelstrike::client::osim {

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

struct Coordinate {
  std::string name = {};
  double value = 0.0;  ///< default [rad] or [m]
  double min = 0.0, max = 0.0;
  bool locked = false;
};

/// Turn about or shift along an axis: slope x coordinate + offset.
struct Axis {
  Vector3 direction = Vector3::Zero();
  std::string coordinate = {};  ///< empty = constant
  double slope = 0.0;
  double offset = 0.0;
  std::string unknown = {};  ///< kind of a function that is not understood; empty = none
};

struct Joint {
  std::string name, type;  ///< type as in the file, "CustomJoint"
  Frame parent, child;
  std::vector<Coordinate> coordinates;
  std::array<Axis, 6> axes;  ///< three turns about body-fixed axes, three shifts along axes of the parent frame
};

struct WrapObject {
  std::string name, body, type;  ///< "WrapEllipsoid" ...
  Pose X_BS;
  std::vector<double> dimensions;  ///< [m] radii, or one radius
  std::string quadrant = "all";
  bool active = true;
};

struct PathPoint {
  std::string type = {};  ///< "PathPoint"; others move
  Frame at;               ///< its origin is the point
};

/// What makes a Millard2012EquilibriumMuscle or a Thelen2003Muscle, with OpenSim's defaults.
struct Muscle {
  double max_force = 0.0;       ///< [N]
  double optimal_length = 0.0;  ///< [m]
  double tendon_length = 0.0;   ///< [m]
  double pennation = 0.0;       ///< [rad]
  double max_velocity = 10.0;   ///< [1/s]
  double fiber_damping = 0.1;   ///< [-]
  double least_activation = 0.01;
  double rise = 0.010, fall = 0.040;  ///< [s]
  bool rigid_tendon = false;
  std::optional<double> passive_strain = {};  ///< of its passive curve at the largest isometric force; none = default
};

/// A ligament or a muscle.
struct Line {
  std::string name, type;
  bool applies = true;
  std::vector<PathPoint> points = {};
  std::vector<std::string> wraps = {};  ///< names of wrap objects
  bool has_range = false;               ///< a wrap is limited to a part of the path
  double stiffness = 0.0;               ///< [N] of a Blankevoort1991Ligament
  double slack_length = 0.0;            ///< [m]
  double transition_strain = 0.06;      ///< [-]
  double damping = 0.003;               ///< [N s]
  Muscle muscle = {};
};

struct ContactMesh {
  std::string name = {};
  Frame frame;
  std::string file = {};
  double youngs_modulus = 0.0, poissons_ratio = 0.0, thickness = 0.0;
  bool variable_thickness = false;
  std::string back_file = {};      ///< of the surface below, where the thickness varies
  double least_thickness = 0.001;  ///< [m] of a thickness that varies
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

/// What the file has besides: kind and name.
struct Other {
  std::string kind, name;
};

struct Model {
  std::string name = {};
  Vector3 gravity = Vector3::Zero();  ///< [m/s^2]
  std::vector<Body> bodies;
  std::vector<Joint> joints;
  std::vector<WrapObject> wraps;
  std::vector<Line> lines;  ///< everything with a path
  std::vector<ContactMesh> meshes;
  std::vector<ContactForce> contacts;
  std::vector<CoordinateSpring> springs;
  std::vector<Other> others;
  std::vector<std::string> unread;  ///< what the reader has not looked at, but in `others`: one line for many of a kind
};

/// Pose of the child frame in the parent frame, with the coordinates at their defaults.
[[nodiscard]] Pose joint_pose(const Joint& joint);

/// @param text  content of the file. @param file  its name, for messages
/// @throws Error{invalid_input} for text that is not XML or no OpenSim model, for a version before 4, and for numbers
/// and frames that are not understood, with the component's name
[[nodiscard]] Model read_model(const std::string& text, const std::string& file);

/// Pose of a body in the model's ground with all coordinates at their defaults.
[[nodiscard]] Pose default_pose(const Model& model, const std::string& body);

}  // namespace heelstrike::client::osim
