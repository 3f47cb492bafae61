/// Pose of a rigid cluster of markers from their measured positions.
///
/// Reconstruction of missing markers of a rigid cluster from the other markers.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <vector>

#include "common/spatial/spatial.hpp"

namespace heelstrike {

/// Pose X_WT that fits the points of a template to measured ones: minimises the sum of w_i |X_WT a_i - b_i|^2. Weighted
/// Kabsch [kabsch1976] with a check of the determinant's sign, so that nearly coplanar markers never yield a mirror
/// image.
/// @param template_T  [m] a_i
/// @param measured_W  [m] b_i, same number
/// @param weights    w_i >= 0, same number; at least three above 0
/// @throws Error{invalid_input} for fewer than three points with weight, or points on one line
[[nodiscard]] Pose fitted_pose(std::span<const Vector3> template_T, std::span<const Vector3> measured_W,
                               std::span<const double> weights);

/// Criterion for an outlier of a cluster: the marker is far from the position predicted by the others, and its
/// exclusion improves their fit more than bending of the foot and skin movement explain.
struct OutlierCriterion {
  double tolerance = 0.003;      ///< [m] RMS residual up to which a frame is accepted
  double distance = 0.010;       ///< [m] from the position predicted by the others; over an episode, including its
                                 ///< offset
  double improvement = 0.5;      ///< maximum ratio of the RMS residuals without and with the marker
  std::size_t max_excluded = 2;  ///< 0, 1 or 2
};

/// Indices, increasing, of up to `max_excluded` outliers among the first `n_candidates` markers: the one whose
/// exclusion improves the fit most; then the best two, if they improve it by the same ratio again. At least four other
/// markers must be seen, because three fit almost anything. Markers after the candidates (the toe tip beside the
/// hindfoot) only vote.
/// @param measured_W  [m] NaN = not seen
[[nodiscard]] std::vector<std::size_t> find_outlier_markers(std::span<const Vector3> template_T,
                                                            std::span<const Vector3> measured_W,
                                                            std::size_t n_candidates, const OutlierCriterion& rule);

struct ClusterFit {
  Pose X_WT;
  std::vector<double> residuals;      ///< [m] distance of every marker from its fitted position; NaN where it was not
                                      ///< seen
  double rms = 0.0;                   ///< [m] of the markers used
  double rms_all = 0.0;               ///< [m] of a fit to all markers seen
  std::vector<std::size_t> excluded;  ///< the argument `excluded`
};

/// Fit to the seen markers except `excluded`, with equal weights.
/// @throws Error{invalid_input} when fewer than three markers remain
[[nodiscard]] ClusterFit cluster_fit(std::span<const Vector3> template_T, std::span<const Vector3> measured_W,
                                     std::span<const std::size_t> excluded);

using MarkerSet = std::set<std::size_t>;    ///< indices of markers
using MarkerSeries = std::vector<Vector3>;  ///< [m] of one marker, per frame; NaN = not seen

/// `measured` with every missing marker reconstructed: the pose of the others in that frame times the marker's position
/// in the cluster, which is its template plus its offset, interpolated linearly between the frame before and the frame
/// after the gap and constant at the ends of the trial. Markers deviate from the template (skin, shoe); without the
/// offset, the pose would jump whenever a marker is lost. Successive frames with missing markers use the same reference
/// markers, those that are never missing in them, if these are at least three; otherwise those of the frame.
/// @param template_T  [m] of the cluster
/// @param measured    per marker; seen wherever it is not missing
/// @param missing    per frame; at least three markers remain
[[nodiscard]] std::vector<MarkerSeries> reconstruct_markers(std::span<const Vector3> template_T,
                                                            const std::vector<MarkerSeries>& measured,
                                                            std::span<const MarkerSet> missing);

/// Removes false outliers from `missing`: markers that, although excluded, stay within `distance` [m] of their
/// reconstruction throughout successive frames. Such a marker deviates from its template before and after as well: the
/// foot bends, or the skin slides, and its exclusion does not improve the pose.
void exclude_steady_markers(std::span<const Vector3> template_T, const std::vector<MarkerSeries>& measured,
                            double distance, std::span<MarkerSet> missing);

}  // namespace heelstrike
