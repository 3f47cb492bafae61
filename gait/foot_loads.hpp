/// Loads of force plates assigned to feet: which foot stepped on which plate, from the markers, step by step.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/spatial/spatial.hpp"
#include "gait/foot_motion.hpp"
#include "gait/foot_template.hpp"
#include "gait/force_plate.hpp"

namespace heelstrike {

/// A foot whose plates are searched.
struct SteppingFoot {
  std::string name;
  const FootTemplate* shape = nullptr;
  const FootMotion* motion = nullptr;
};

/// One contact with a plate.
struct PlateStep {
  std::string plate;
  Stance stance;
  double peak = 0.0;  ///< [N] largest vertical force
  /// The foot under whose markers most of the centres of pressure lie; empty = none.
  std::string foot;
  double share = 0.0;  ///< [-] of the samples above 100 N under this foot
  /// Why the step is not used (both feet on the plate, no foot, markers missing, on a step); empty = used.
  std::string finding;

  [[nodiscard]] bool is_used() const { return finding.empty() && !foot.empty(); }
};

/// Every contact of every plate with at least 100 N, in order of time, that begins or ends within the motions. A step
/// belongs to the foot under which at least 85 % of the centres of pressure lie (foot_template.hpp, check_synchrony,
/// here with the tracked poses, so that no single marker must be seen). It is not used
///   * if both feet load the plate: in more than 5 % of the samples the centre of pressure is outside of the foot while
///     the other foot is on the ground within 0.45 m of it,
///   * if no foot is over the plate,
///   * if the markers of the feet are missing in more than 10 % of the samples,
///   * if the lower of heel and toe tip is on average more than 50 mm above or below its height in the template (a
///   step, a
///     ramp, another level of the static trial).
/// @param plates  in world axes and the times of the motions
[[nodiscard]] std::vector<PlateStep> find_plate_steps(std::span<const ForcePlate> plates,
                                                      std::span<const SteppingFoot> feet, const Vector3& up);

/// Load of one foot: the sum over its used steps, each with all rows of its plate up to half way to the next step
/// there. Force and centre of pressure of rows with one plate are those of the plate; with two plates (a foot on the
/// edge) the load is combined about the plane of the plates.
/// @param name  of the result. @param plates  with equal times; axes in which `up` is given
/// @throws Error{invalid_input} for plates with different times
[[nodiscard]] ForcePlate foot_load(std::span<const ForcePlate> plates, std::span<const PlateStep> steps,
                                   const std::string& foot, const std::string& name, const Vector3& up);

/// The steps as a table (plate_steps.csv) and back. Times are those of the files.
[[nodiscard]] std::string plate_steps_text(std::span<const PlateStep> steps);
[[nodiscard]] std::vector<PlateStep> read_plate_steps(std::string_view text, const std::string& file_name);

/// Body mass [kg] from plates: the mean load of all of them over standard gravity if they are always loaded
/// (treadmill); otherwise from the middle of one step to the middle of the next wherever two steps overlap, because the
/// mean vertical acceleration over a step is zero in steady walking. None without such steps.
struct MassEstimate {
  double mass = 0.0;        ///< [kg]
  double deviation = 0.0;   ///< [kg] over the steps; 0 for one
  std::size_t n_steps = 0;  ///< 0 = mean over the file
};
[[nodiscard]] std::optional<MassEstimate> estimate_body_mass(std::span<const ForcePlate> plates, const Vector3& up);

}  // namespace heelstrike
