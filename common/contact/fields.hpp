/// Contact fields: quantities on the body of a pair as VTU files for ParaView.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "common/spatial/spatial.hpp"

namespace heelstrike {

struct FieldQuantity {
  std::string_view name;  ///< of the data array
  std::string_view unit;
  std::string_view meaning;
};

/// All quantities; each is a point-data array with its unit in the array's UNITS_LABEL.
inline constexpr std::array<FieldQuantity, 5> field_quantities{{
    {"displacement", "m", "displacement from the undeformed shape in the moving frame of the body"},
    {"contact_pressure", "Pa", "normal contact pressure, >= 0, averaged around each node"},
    {"traction", "Pa", "contact force per area on the main body, friction included"},
    {"von_mises", "Pa", "equivalent stress, mean of the adjacent elements by volume"},
    {"principal_stress", "Pa", "largest, middle and smallest principal stress, mean of the adjacent elements"},
}};

enum class FieldPart { main, partner };
enum class FieldMesh { surface, volume };

struct FieldRequest {
  FieldPart part = FieldPart::main;     ///< the partner is a shape without quantities
  FieldMesh mesh = FieldMesh::surface;  ///< boundary triangles, or tetrahedra
  std::vector<std::string> quantities;  ///< names; empty = all
  Pose X_WA;                            ///< pose of A in the frame in which coordinates and vectors are written
};

}  // namespace heelstrike
