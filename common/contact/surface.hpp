/// Geometry and material of one body of a contact pair, and the specification that opens the pair.
#pragma once

#include <string>
#include <vector>

#include "common/parameters/parameter.hpp"

namespace heelstrike {

/// Elastic material: response at small strain and its law at large strain.
struct Material {
  double youngs_modulus = 0.0;  ///< [Pa] > 0
  double poissons_ratio = 0.0;  ///< [-] in [0, 0.5)
  double density = 0.0;         ///< [kg/m^3] >= 0; 0 if not needed
  std::string set;              ///< element set it applies to; empty = all. Where sets overlap the later one applies
  /// `material_law` and its constants, by their names as parameters of a pair; empty = those of the pair.
  ParameterMap law{};
};

/// Geometry of a body, in its frame; normals point out of the body. Kinds and their values: scenario/surfaces.
struct Surface {
  std::string kind;       ///< name in the registry of scenario/surfaces
  ParameterMap values{};  ///< by the keys of the kind, SI, defaults filled in; directions have unit length
  std::string sha256{};   ///< of the file named by the values, after its content is known
  bool operator==(const Surface&) const = default;
};

/// A file by content (`sha256` of an uploaded asset) or, without it, by name in the server's asset folder.
struct AssetKey {
  std::string sha256;
  std::string name;
};

/// One body of a pair; no materials = rigid.
struct ContactBody {
  std::string name;
  Surface surface;
  std::vector<Material> materials;
};

/// Specification of one contact pair.
struct PairSpec {
  std::string name;         ///< e.g. "ball-ground"
  std::string backend;      ///< name in the registry
  ParameterMap parameters;  ///< unchecked; validated by the back-end's schema when the pair is opened
  ContactBody main;         ///< A
  ContactBody partner;      ///< B
};

}  // namespace heelstrike
