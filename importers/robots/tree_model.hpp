/// Tree of bodies and joints, the common model of robot descriptions (URDF, MJCF).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "importers/model_format.hpp"

namespace heelstrike::models {

/// One degree of freedom of a body relative to its parent.
struct JointDof {
  enum class Kind { revolute, prismatic, spherical, free };
  Kind kind = Kind::revolute;
  std::string name = {};            ///< as in the file
  Vector3 axis = Vector3::UnitZ();  ///< [-] unit vector in the body's frame; for revolute and prismatic
  Vector3 point = Vector3::Zero();  ///< [m] in the body's frame; for revolute and spherical
  double stiffness = 0.0;           ///< [N m/rad] or [N/m]
  double neutral = 0.0;             ///< [rad] or [m] unloaded position of the spring relative to the initial pose
  double damping = 0.0;             ///< [N m s/rad] or [N s/m]
  double initial = 0.0;             ///< [rad] or [m] coordinate at the initial pose; for revolute and prismatic
  double armature = 0.0;            ///< [kg m^2] or [kg] inertia of the coordinate; for revolute and prismatic
  bool coupled = false;             ///< part of a coupling
};

/// Collision geometry of a body.
struct Shape {
  /// `none`: no equivalent surface type in a scenario.
  enum class Kind { none, plane, sphere, cylinder, capsule, box, mesh };
  std::string what = {};  ///< for messages: "collision mesh foot.stl"
  Kind kind = Kind::none;
  Vector3 size = Vector3::Zero();  ///< [m] sphere: radius; cylinder, capsule: radius, half length; box: half lengths
  Pose X_BS = {};                  ///< z is the normal of planes and the axis of cylinders and capsules
  std::optional<ImportedMesh> mesh = {};
  double length_scale = 1.0;  ///< [m per unit] of the mesh's file
};

struct Link {
  std::string name;
  std::optional<MassProperties> mass;  ///< in the link's frame
  std::vector<Shape> shapes = {};
  // Joint to the parent, which precedes the link in the list.
  std::optional<std::size_t> parent = {};  ///< none: the ground
  Pose X_PL;                               ///< in the parent's frame, at the initial pose
  std::vector<JointDof> dofs = {};         ///< none: welded
  std::string joint = {};                  ///< name of the joint, or of its first part
};

/// Loop-closing constraint between two links.
struct Loop {
  enum class Kind { point, weld };
  Kind kind = Kind::point;
  std::string name;
  std::optional<std::size_t> a = {}, b = {};  ///< links; none: the ground
  Pose X_AJ = {}, X_BJ = {};                  ///< attachment frames in both links
};

/// The coordinate of a joint as a polynomial in that of another one.
struct Coupling {
  std::string what;         ///< for messages: "equality fingers"
  std::string name;         ///< in the scenario
  std::string dependent;    ///< name of a joint
  std::string independent;  ///< name of a joint; empty: the coordinate is the constant
  std::vector<double> polynomial;
};

struct TreeModel {
  std::string kind;  ///< "URDF", "MJCF"
  std::string name;
  std::string file = {};                       ///< for messages
  Vector3 gravity = Vector3(0.0, 0.0, -9.81);  ///< [m/s^2]
  std::vector<Link> links;
  std::vector<Loop> loops = {};
  std::vector<Coupling> couplings = {};  ///< satisfied at the initial pose (follow_couplings)
  std::vector<Shape> ground_shapes = {};
  bool root_is_fixed = false;          ///< fixed by default, not by the file
  std::vector<std::string> omissions;  ///< skipped elements, one line each
};

/// Optional corrections of impossible inertias, as in other importers; reported for every body.
struct InertiaRepair {
  bool balance = false;     ///< principal moments that violate the triangle inequality are replaced by their mean
  double min_mass = 0.0;    ///< [kg] of every moving body
  double min_moment = 0.0;  ///< [kg m^2] principal, of every moving body
};

/// Joints without an equivalent type in a scenario become a chain of joints with light intermediate bodies.
/// @throws Error{invalid_input} with all moving links of impossible mass or inertia and their joints, and for a model
/// without moving links
[[nodiscard]] Import import_tree(const TreeModel& model, const InertiaRepair& repair = {});
/// The same with the repairs that the options specify.
[[nodiscard]] Import import_tree(const TreeModel& model, const ModelInput& input);

/// The options of a robot format: its own ones and those of all formats, for meshes and impossible inertias.
[[nodiscard]] std::vector<ModelOption> robot_options(std::vector<ModelOption> own);

}  // namespace heelstrike::models
