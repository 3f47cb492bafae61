/// Scenario text shared by the importers of other model formats.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/spatial/spatial.hpp"

namespace heelstrike::models {

/// A mesh file that belongs to the scenario.
struct ImportedMesh {
  std::filesystem::path from = {};
  std::string to = {};       ///< path relative to the scenario's folder
  std::string content = {};  ///< content, instead of `from`
};

/// Result of an import.
struct Import {
  std::string scenario;  ///< text of the file
  std::vector<ImportedMesh> meshes;
  std::vector<std::string> imported;   ///< one line for each kind of item
  std::vector<std::string> omissions;  ///< elements of the model that were skipped or approximated
};

/// Mass, centre and inertia of a rigid body in a body-fixed frame.
struct MassProperties {
  double mass = 0.0;                         ///< [kg]
  Vector3 center_of_mass = Vector3::Zero();  ///< [m] in the frame
  Matrix3 inertia = Matrix3::Zero();         ///< [kg m^2] about the centre of mass, in axes of the frame
};

/// The same body in another frame. @param X_AB  pose of the frame B of `of_B`
[[nodiscard]] MassProperties expressed_in(const Pose& X_AB, const MassProperties& of_B);
/// Two bodies in the same frame, welded together: common centre, Steiner's theorem.
[[nodiscard]] MassProperties welded(const MassProperties& a, const MassProperties& b);

/// Name that a scenario allows: letters, digits, _ and -, at most 64 of them, and not "null". Different long names stay
/// different.
[[nodiscard]] std::string plain(std::string name);
/// "[x, y, z]", exact to the last bit.
[[nodiscard]] std::string list(const Vector3& v);
/// "[w, x, y, z]" of a rotation.
[[nodiscard]] std::string quaternion(const Matrix3& R);
/// Entry of `bodies`. @param X_WB  initial pose
[[nodiscard]] std::string body_text(const std::string& name, const MassProperties& mass, const Pose& X_WB);

}  // namespace heelstrike::models
