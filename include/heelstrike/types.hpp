/// Plain numbers of the interface. SI units: m, kg, s, N, Pa, rad.
///
/// Monogram notation: X_AB is the pose of frame B in frame A (p_AQ = X_AB * p_BQ), V_AB the twist of B in A, expressed
/// in A, its linear part at B's origin; F_A is a wrench on A about A's origin, expressed in A. A is the main body of a
/// contact pair, B its partner. Six-vectors are ordered angular, then linear (torque, then force). Matrices are stored
/// row by row.
#pragma once

#include <heelstrike/response_members.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace hs {

using Vector3 = std::array<double, 3>;
using Vector6 = std::array<double, 6>;
using Matrix3 = std::array<double, 9>;   ///< row by row
using Matrix6 = std::array<double, 36>;  ///< row by row

/// Motion of the partner B relative to the main body A at one instant.
struct State {
  double t = 0.0;                              ///< [s]
  Matrix3 R_AB = {1, 0, 0, 0, 1, 0, 0, 0, 1};  ///< [-] columns are B's axes in A; orthonormal to 1e-6
  Vector3 p_AB = {};                           ///< [m] B's origin in A
  Vector6 V_AB = {};                           ///< [rad/s, m/s] angular, then linear at B's origin
};

/// Load on a named region of a surface.
struct RegionLoad {
  double force = 0.0;          ///< [N] normal: pressure times area, so that curved regions add up
  double area = 0.0;           ///< [m^2] contact area
  double mean_pressure = 0.0;  ///< [Pa] force / area; 0 without contact
  double peak_pressure = 0.0;  ///< [Pa]
  Vector3 p_ACop = {};         ///< [m] centre of pressure in A; NaN without force
};

/// Result of one evaluation of a contact. With `gap` > 0 wrench and tangents are exactly zero, and `p_ACop` is the
/// closest point. The members `gap` to `residual` have their units and meanings in <heelstrike/response_members.h>.
struct Response {
  Vector6 F_A = {};      ///< [N m, N] on A about A's origin; the opposite wrench, moved to B's origin, acts on B
  Matrix6 dF_A_dX = {};  ///< d F_A / d (small rotation [rad] of B about its origin, its translation [m]; axes of A)
  Matrix6 dF_A_dV = {};  ///< d F_A / d V_AB
#define HS_NUMBER(name, ...) double name = 0.0;
#define HS_VECTOR(name, ...) Vector3 name = {};
#define HS_DERIVED(type, name, ...) type name = 0;
  HEELSTRIKE_RESPONSE_MEMBERS(HS_NUMBER, HS_VECTOR, HS_DERIVED)
#undef HS_NUMBER
#undef HS_VECTOR
#undef HS_DERIVED
  std::vector<RegionLoad> regions = {};  ///< one for each of Contact::regions()
};

/// Value of a parameter of a contact back-end.
using ParameterValue = std::variant<bool, double, std::string, std::vector<double>>;
using ParameterMap = std::map<std::string, ParameterValue>;

/// One column of a time series or one input; the unit is in the name too: "ball.z_m".
struct Column {
  std::string name;
  std::string unit;
  std::string meaning;
};

/// Progress of a preparation or a run.
struct Progress {
  std::string stage = {};  ///< stage of the contact preparation: "mesh", "factorize", ...; empty = the run itself
  double fraction = 0.0;   ///< [-] 0 to 1, of the stage or of the run; negative = unknown
  double time = 0.0;       ///< [s] simulated
  double end_time = 0.0;   ///< [s]
  double wall_time = 0.0;  ///< [s] since the run started
};

}  // namespace hs
