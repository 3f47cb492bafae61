/// Reconstruction of missing markers of a rigid cluster from the other markers.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <vector>

#include "common/spatial/spatial.hpp"

namespace heelstrike {

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
