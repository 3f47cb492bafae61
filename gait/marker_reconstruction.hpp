/// Markers of a rigid cluster that are missing in some frames, put where the other markers carry them.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <vector>

#include "common/spatial/spatial.hpp"

namespace heelstrike {

using MarkerSet = std::set<std::size_t>;    ///< indices of markers
using MarkerSeries = std::vector<Vector3>;  ///< [m] of one marker, per frame; NaN = not seen

/// `measured` with every missing marker where the others carry it: the pose of the others in that frame, times the
/// marker's place in the cluster, which is its template plus the offset that it had in the last frame before and has in
/// the first one afterwards, linear between, constant at the ends of the trial. Markers are never quite where the
/// template says (skin, shoe); put exactly there, the pose of all would jump whenever a marker drops out.
/// Successive frames in which anything is missing use the same reference markers, those that are never missing in them,
/// if these are three or more; else those of the frame.
/// @param template_T  [m] of the cluster
/// @param measured    per marker; seen wherever it is not missing
/// @param missing     per frame; leaves three markers at least
[[nodiscard]] std::vector<MarkerSeries> reconstruct_markers(std::span<const Vector3> template_T,
                                                        const std::vector<MarkerSeries>& measured,
                                                        std::span<const MarkerSet> missing);

/// Takes back what is no jump: a marker that stays within `distance` [m] of its bridge throughout successive frames in
/// which it is missing though seen. Such a marker is away from its template, but was so before and is so afterwards:
/// the foot bends, or the skin slides, and leaving it out would not make the pose better.
void exclude_steady_markers(std::span<const Vector3> template_T, const std::vector<MarkerSeries>& measured, double distance,
                 std::span<MarkerSet> missing);

}  // namespace heelstrike
