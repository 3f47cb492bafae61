/// Motion of a two-segment foot from its markers: hindfoot by a robust rigid fit, toes about the metatarsophalangeal
/// axis.
///
/// Velocity of the ground under the feet (treadmill), determined from flat feet.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gait/foot_template.hpp"
#include "gait/rigid_fit.hpp"
#include "gait/signal_filter.hpp"

namespace heelstrike {

struct TrackOptions {
  double max_gap = 0.1;            ///< [s] longest gap of a marker that is filled
  OutlierCriterion outliers;       ///< criterion for outlier markers
  std::size_t outlier_margin = 2;  ///< frames by which an outlier interval is widened: a bump begins before its
                                   ///< detection
  std::optional<LowPass> filter;   ///< of all marker components; `rate` is that of the trial. None = unfiltered
  bool allow_unseen = false;       ///< frames without a pose are bridged instead of rejected
};

/// Frames in which one marker was an outlier.
struct MarkerOutlier {
  std::string marker;
  std::size_t first = 0;  ///< frame, from 0
  std::size_t last = 0;
  std::size_t worst = 0;
  double distance = 0.0;  ///< [m] maximum, from the position predicted by the others
};

struct FilledGap {
  std::string marker;
  Gap gap;
};

struct FootMotion {
  std::vector<double> times;      ///< [s] as in the trial
  std::vector<Pose> X_WH;         ///< hindfoot
  std::vector<Pose> X_WT;         ///< toes
  std::vector<double> toe_angle;  ///< [rad] toe rotation about the axis relative to the static trial, extension > 0
  std::vector<ClusterFit> fits;   ///< of the hindfoot to the markers before filtering
  std::vector<MarkerOutlier> outliers;
  std::vector<FilledGap> gaps;
  std::vector<std::pair<std::size_t, std::size_t>> stood_in;  ///< frames [first, last] with stand-in markers
  std::vector<char> unseen;  ///< per frame: fewer than three markers of the hindfoot or no toe tip, the pose is
                             ///< bridged; empty = no such frame
};

/// Steps: gaps of up to max_gap are filled by splines; outliers are searched in every frame whose hindfoot fit exceeds
/// the tolerance (rigid_fit.hpp; the toe tip votes); the frames of one episode are assigned the markers that explain
/// most of its residual, and the episode is widened by outlier_margin; a marker is retained if its position relative to
/// the others in the whole episode is close to that before and after; every frame is fitted to the other markers;
/// outliers and unseen markers are bridged (reconstruct_markers), so that the pose does not jump when the set of
/// markers changes; all are low-pass filtered; hindfoot poses are fits to the result, toe angles the rotation about the
/// axis that maps the template's toe tip to the filtered one.
/// A hindfoot marker that coincides with another one (within 1 mm) is no measurement: gap filling has copied it. Where
/// fewer than three are left, the stand-in markers determine the pose together with those. Frames with fewer than three
/// markers even so, or without the toe tip, have no pose. With `allow_unseen` they
/// move on a straight line, with a constant rate of rotation, between the frames before and after; the caller must not
/// use them as measurements.
/// @param trial  in world axes
/// @throws Error{invalid_input} for unknown markers, for frames without a pose unless they are allowed, and if no frame
/// has one
[[nodiscard]] FootMotion track_foot(const FootTemplate& foot, const MarkerTrial& trial, const TrackOptions& options);

/// [rad] rotation about the axis that moves the template's toe tip into the plane through the axis and the measured toe
/// tip.
[[nodiscard]] double toe_angle(const FootTemplate& foot, const Pose& X_WH, const Vector3& toe_tip_W);

/// X_HT at a toe angle [rad].
[[nodiscard]] Pose toe_pose(const FootTemplate& foot, double angle);

struct GroundSpeed {
  Vector3 velocity = Vector3::Zero();  ///< [m/s] in the world, no component along `up`
  double deviation = 0.0;              ///< [m/s] root mean square distance of the slopes from the velocity
  std::size_t n_slopes = 0;            ///< line fits: markers times intervals with the foot flat
};

/// A foot is flat while the sole is within 5 degrees of the static trial, the toes within 5 degrees, and the origin
/// within 10 mm of its height there; such intervals of at least 0.2 s are used. In the middle half of each, the slope
/// of a straight line through the horizontal positions of every hindfoot marker that is not an outlier is one
/// measurement; the median over the intervals identifies stances (a foot that swings flat moves in the opposite
/// direction), and the mean of those within 0.2 m/s of it is the velocity.
/// @param trial    in world axes
/// @param feet    templates; @param motions of that trial, one per template
/// @throws Error{invalid_input} when no foot is flat long enough
[[nodiscard]] GroundSpeed find_ground_speed(const MarkerTrial& trial, std::span<const FootTemplate> feet,
                                            std::span<const FootMotion> motions, const Vector3& up);

}  // namespace heelstrike
