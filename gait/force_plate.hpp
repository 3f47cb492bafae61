/// Force plates: measurements, stances, and the centre of pressure.
///
/// Height of the surface of a force plate.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/motion/motion_file.hpp"
#include "common/spatial/spatial.hpp"

namespace heelstrike {

/// One plate, in the laboratory frame: force on the foot, acting at `point`, and moment on the foot about `point`.
struct ForcePlate {
  std::string name;             ///< prefix of its columns: "ground_force", "1_ground_force", "ground_force_1"
  std::vector<double> times;    ///< [s] strictly increasing
  std::vector<Vector3> force;   ///< [N]
  std::vector<Vector3> point;   ///< [m] centre of pressure
  std::vector<Vector3> moment;  ///< [N m] about `point`; the free moment and any residue of the plate software
};

/// All plates of a table with OpenSim's headings: for every `PREFIXground_force_NUMBERvx` (prefix `1_` or number `1_`,
/// both may be empty) also vy, vz, px, py, pz, and `PREFIXground_torque_NUMBERx`, y, z.
/// @throws Error{invalid_input} for a table without plates, and for a plate with missing columns
[[nodiscard]] std::vector<ForcePlate> read_force_plates(const MotionTable& table);

/// @throws Error{invalid_input} with the file, plate and time for a force that is not finite
void check_forces(std::span<const ForcePlate> plates, const std::string& file_name);

/// Reverses force and moment of plates whose load points downwards: their file has the load on the plate.
/// @param up         unit vector of the axes of the plates, against gravity
/// @param threshold  [N] plates with smaller loads are left as they are
/// @returns a note for each of them
[[nodiscard]] std::vector<std::string> reverse_loads_on_plates(std::span<ForcePlate> plates, const Vector3& up,
                                                               double threshold);

/// The plates as an OpenSim motion file with the headings of read_force_plates.
/// @param times  [s] of the rows of every plate, not decreasing; of several rows at one time the last is written
/// @param name   first line of the file
[[nodiscard]] std::string plates_text(std::span<const ForcePlate> plates, std::span<const double> times,
                                      const std::string& name);

/// One contact of a foot with a plate.
struct Stance {
  double start = 0.0;     ///< [s] force rises above the threshold, linear between the samples
  double end = 0.0;       ///< [s] force falls below it
  bool has_start = true;  ///< false: loaded from the first row on
  bool has_end = true;    ///< false: loaded up to the last row

  [[nodiscard]] bool complete() const { return has_start && has_end; }
  [[nodiscard]] double duration() const { return end - start; }
};

/// Common threshold of gait analysis: well above plate noise, a few percent of body weight.
inline constexpr double stance_threshold = 20.0;  ///< [N]

/// Intervals with force along `up` above `threshold` that last at least `min_duration`.
/// @param up  unit vector
[[nodiscard]] std::vector<Stance> stances(const ForcePlate& plate, const Vector3& up,
                                          double threshold = stance_threshold, double min_duration = 0.03);

/// Mean total force along `up` between two times over standard gravity 9.80665 m/s^2 (trapezoidal rule). Exact over
/// whole strides, where the mean vertical acceleration is zero.
/// @param plates  with the same times
/// @returns [kg]
[[nodiscard]] double body_mass(std::span<const ForcePlate> plates, const Vector3& up,
                               double from = -std::numeric_limits<double>::infinity(),
                               double to = std::numeric_limits<double>::infinity());

/// Intersection of the line of action with a plane, and the free moment there.
struct CenterOfPressure {
  Vector3 point = Vector3::Zero();  ///< [m]
  double free_moment = 0.0;         ///< [N m] about the normal
};

/// Centre of pressure on the plane through `origin` with unit `normal`: r = n x M / (n . F) from `origin`, and
/// T = n . (M - r x F).
/// @param force   [N] with a component along `normal` above zero
/// @param moment  [N m] about `origin`
[[nodiscard]] CenterOfPressure center_of_pressure(const Vector3& force, const Vector3& moment, const Vector3& origin,
                                                  const Vector3& normal);

/// Value of a series at any time, linear between the rows, constant beyond the ends.
[[nodiscard]] Vector3 interpolated(std::span<const double> times, std::span<const Vector3> values, double t);

/// [m] mean height of the centre of pressure along `up` while the force exceeds stance_threshold; none if it never
/// does.
[[nodiscard]] std::optional<double> plate_height(const ForcePlate& plate, const Vector3& up);

}  // namespace heelstrike
