/// Bodies in a tree of joints, which is what robots are described as (URDF, MJCF).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/models/scenario_text.hpp"

namespace heelstrike::client::models {

/// One thing that a joint lets a body do against its parent.
struct Freedom {
  enum class Kind { turn, shift, ball, free };
  Kind kind = Kind::turn;
  std::string name = {};            ///< as in the file
  Vector3 axis = Vector3::UnitZ();  ///< [-] unit vector in the body's frame; of turn and shift
  Vector3 point = Vector3::Zero();  ///< [m] in the body's frame; of turn and ball
  double stiffness = 0.0;           ///< [N m/rad] or [N/m]
  double neutral = 0.0;             ///< [rad] or [m] where the spring has no force, from the initial pose
  double damping = 0.0;             ///< [N m s/rad] or [N s/m]
};

/// Geometry that a body may touch with.
struct Shape {
  enum class Surface { none, sphere, mesh };
  std::string what = {};            ///< for messages: "collision mesh foot.stl"
  Surface surface = Surface::none;  ///< of a scenario; none: no surface is like it
  std::string keys = {};            ///< of the surface, besides its place
  Pose X_BS = {};
  std::optional<MeshCopy> mesh = {};
};

struct Link {
  std::string name;
  std::optional<MassProperties> mass;  ///< in the link's frame
  std::vector<Shape> shapes = {};
  // To the parent, which comes before it in the list.
  std::optional<std::size_t> parent = {};  ///< none: the ground
  Pose X_PL;                               ///< in the parent's frame, at the initial pose
  std::vector<Freedom> freedoms = {};      ///< none: welded
  std::string joint = {};                  ///< name of the joint, or of its first part
  std::string joint_type = {};             ///< as in the file
};

struct TreeModel {
  std::string kind;  ///< "URDF", "MJCF"
  std::string name;
  Vector3 gravity = Vector3(0.0, 0.0, -9.81);  ///< [m/s^2]
  std::vector<Link> links;
  std::vector<std::string> not_taken;  ///< what the file has besides, one line each
};

/// @throws Error{invalid_input} for a moving link without mass or inertia, with its name and its joint, and for a model
/// in which nothing moves
[[nodiscard]] Import import_tree(const TreeModel& model);

}  // namespace heelstrike::client::models
