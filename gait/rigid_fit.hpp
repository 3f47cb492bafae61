/// Pose of a rigid cluster of markers from their measured positions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/spatial/spatial.hpp"

namespace heelstrike {

/// Pose X_WT that brings the points of a template nearest to measured ones: least sum of w_i |X_WT a_i - b_i|^2.
/// Weighted Kabsch [kabsch1976] with the sign of the determinant guarded, so that nearly coplanar markers never give a
/// mirror image.
/// @param template_T  [m] a_i
/// @param measured_W  [m] b_i, as many
/// @param weights     w_i >= 0, as many; at least three above 0
/// @throws Error{invalid_input} for fewer than three points with weight, or points on one line
[[nodiscard]] Pose fitted_pose(std::span<const Vector3> template_T, std::span<const Vector3> measured_W,
                               std::span<const double> weights);

/// When a marker of a cluster is held for wrong: it is away from where the others put it, and leaving it out makes the
/// others fit so much better that bending of the foot and movement of the skin do not explain it.
struct OutlierCriterion {
  double tolerance = 0.003;      ///< [m] root mean square of the residuals up to which a frame is not questioned
  double distance = 0.010;       ///< [m] from where the others put it; and, over an episode, carry it with its offset
  double improvement = 0.5;      ///< largest ratio of the root mean squares without and with it
  std::size_t max_excluded = 2;  ///< 0, 1 or 2
};

/// Indices, increasing, of up to `max_excluded` of the first `n_candidates` markers that are held for wrong: the one
/// whose absence helps most; then the two, if that helps by the same ratio once more. At least four other markers have
/// to be seen, because three fit almost anything. Markers behind the candidates (the toe tip beside the hindfoot) only
/// vote.
/// @param measured_W  [m] NaN = not seen
[[nodiscard]] std::vector<std::size_t> find_outlier_markers(std::span<const Vector3> template_T,
                                                     std::span<const Vector3> measured_W, std::size_t n_candidates,
                                                     const OutlierCriterion& rule);

struct ClusterFit {
  Pose X_WT;
  std::vector<double> residuals;      ///< [m] of every marker from its place in the fit; NaN where it was not seen
  double rms = 0.0;                   ///< [m] of the markers used
  double rms_all = 0.0;               ///< [m] of a fit to all markers seen
  std::vector<std::size_t> excluded;  ///< as given
};

/// Fit to the markers seen but `excluded`, all weights equal.
/// @throws Error{invalid_input} when fewer than three markers remain
[[nodiscard]] ClusterFit cluster_fit(std::span<const Vector3> template_T, std::span<const Vector3> measured_W,
                                     std::span<const std::size_t> excluded);

}  // namespace heelstrike
