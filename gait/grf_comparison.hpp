/// Comparison of predicted ground reactions with force plates over the measured stances.
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gait/force_plate.hpp"

namespace heelstrike {

/// Peak value of a curve and its time; of either sign for a curve of both signs.
struct Peak {
  double value = 0.0;  ///< [N] or [N m]
  double time = 0.0;   ///< [s]
};

/// One component over one stance.
struct ComponentError {
  std::string name;  ///< vx, vy, vz: force along the axis of the files; moment: free moment about the vertical
  double rms = 0.0;  ///< [N] or [N m]
  Peak measured_max, predicted_max;
  Peak measured_min, predicted_min;
  double correlation = 0.0;  ///< [-] Pearson; NaN when one curve is constant up to rounding
  double measured_impulse = 0.0, predicted_impulse = 0.0;  ///< [N s] or [N m s] over the compared rows
  /// [N] or [N m] rms error of the mean measured curve of the other stances (add_mean_curves): what a reader knows
  /// without the model.
  std::optional<double> mean_curve_rms;

  /// Range of the measurement, maximum minus minimum.
  [[nodiscard]] double range() const { return measured_max.value - measured_min.value; }
};

/// One row of the measurement: measured values, then predicted ones.
struct StanceRow {
  double time = 0.0;                 ///< [s]
  double share = 0.0;                ///< [-] of the stance, 0 to 1
  Vector3 force[2];                  ///< [N]
  double moment[2] = {};             ///< [N m] free moment about the vertical
  std::optional<Vector3> center[2];  ///< [m] centre of pressure; none below the threshold
};

struct StanceComparison {
  std::string plate;
  Stance stance;                           ///< of the measurement
  double from = 0.0, to = 0.0;             ///< [s] part of the stance that the prediction covers
  std::vector<StanceRow> rows;             ///< those that the prediction covers
  std::size_t n_missing = 0;               ///< rows within [from, to] where the prediction has a gap
  std::vector<ComponentError> components;  ///< vx, vy, vz, moment
  std::optional<Peak> first_peak[2];       ///< vertical force, first half of a complete stance: measured, predicted
  std::optional<Peak> second_peak[2];      ///< second half
  double cop_rms = 0.0;                    ///< [m] distance of the centres of pressure in the ground, 10 to 90 %
  double cop_max = 0.0;                    ///< [m]
  std::size_t cop_samples = 0;             ///< rows of 10 to 90 % in which both are above the threshold

  /// A complete stance, compared from its beginning to its end.
  [[nodiscard]] bool is_whole() const {
    return stance.complete() && from == stance.start && to == stance.end && n_missing == 0;
  }
};

/// Compares all stances of `measured` that `predicted` covers at least partly, at the measured times, with linear
/// interpolation of the prediction. A partly covered stance is truncated and has no peaks by halves.
/// @param measured, predicted  same plate, axes and time base
/// @param up                   unit vector of these axes, against gravity
/// @param max_gap          [s] no interpolation between rows of the prediction that are farther apart
[[nodiscard]] std::vector<StanceComparison> compare_plates(const ForcePlate& measured, const ForcePlate& predicted,
                                                           const Vector3& up, double threshold = stance_threshold,
                                                           double max_gap = std::numeric_limits<double>::infinity());

/// Names of the components along the axes x, y, z of the files: vertical, anterior-posterior, mediolateral. The body
/// walks along the horizontal axis on which the measured centre of pressure travels farther during the stances.
[[nodiscard]] std::array<std::string, 3> direction_names(std::span<const StanceComparison> stances, const Vector3& up);

/// Sets mean_curve_rms of every component of every complete stance that is compared as a whole: the measured curves of
/// all other such stances over the share of stance, those of the other feet with the sign of the mediolateral force and
/// of the free moment reversed (walking is symmetric), are averaged and compared with the measured curve. Stances of
/// one trial, or of several trials of one walker.
/// @param directions  of the components (direction_names)
void add_mean_curves(std::span<StanceComparison> stances, const std::array<std::string, 3>& directions);

/// One component over several stances.
struct PooledError {
  std::string name;
  double rms = 0.0;                      ///< [N] or [N m] over the rows of all stances
  double rms_of_range = 0.0;             ///< [-] root mean square of the stances' rms over their measured range
  double correlation = 0.0;              ///< [-] mean over the stances; NaN when undefined in one of them
  std::optional<double> mean_curve_rms;  ///< [N] or [N m] pooled
};

/// All complete stances that are compared as a whole.
struct PooledComparison {
  std::size_t n_stances = 0;
  std::vector<PooledError> components;  ///< vx, vy, vz, moment
  double cop_rms = 0.0;                 ///< [m] over the rows of 10 to 90 % of all stances
  double cop_max = 0.0;                 ///< [m]
  std::size_t cop_samples = 0;
};
[[nodiscard]] PooledComparison pooled(std::span<const StanceComparison> stances);

/// The axis of the files along which the plates carry their mean load. @throws Error{invalid_input} for no load
[[nodiscard]] Vector3 vertical_axis(std::span<const ForcePlate> plates);

}  // namespace heelstrike
