#include "gait/foot_motion.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"
#include "gait/rigid_fit.hpp"

namespace heelstrike {

namespace {

using Series = MarkerSeries;

std::vector<double> component(const Series& series, int c) {
  std::vector<double> values;
  values.reserve(series.size());
  for (const Vector3& p : series) values.push_back(p[c]);
  return values;
}

void fill(const MarkerTrial& trial, const std::string& name, double max_gap, Series& series,
          std::vector<FilledGap>& report) {
  std::vector<Gap> gaps;
  for (int c = 0; c < 3; ++c) {
    auto values = component(series, c);
    gaps = fill_gaps(trial.times, values, max_gap);
    for (std::size_t i = 0; i < values.size(); ++i) series[i][c] = values[i];
  }
  for (const Gap& gap : gaps) report.push_back({name, gap});
}

void smooth(Series& series, const LowPass& filter) {
  for (int c = 0; c < 3; ++c) {
    const auto values = low_pass(component(series, c), filter);
    for (std::size_t i = 0; i < values.size(); ++i) series[i][c] = values[i];
  }
}

/// Successive frames of one marker become one glitch.
std::vector<MarkerOutlier> find_outliers(const FootTemplate& foot, const std::vector<ClusterFit>& fits) {
  std::vector<MarkerOutlier> found;
  for (std::size_t m = 0; m < foot.hindfoot_H.size(); ++m) {
    bool open = false;
    for (std::size_t frame = 0; frame < fits.size(); ++frame) {
      // From the final fits, after the frames of each episode were merged.
      const bool is_excluded = std::ranges::find(fits[frame].excluded, m) != fits[frame].excluded.end();
      if (is_excluded && !open) found.push_back({.marker = foot.markers.hindfoot[m], .first = frame, .last = frame});
      open = is_excluded;
      if (!is_excluded) continue;
      MarkerOutlier& outlier = found.back();
      outlier.last = frame;
      if (fits[frame].residuals[m] > outlier.distance) {
        outlier.worst = frame;
        outlier.distance = fits[frame].residuals[m];
      }
    }
  }
  std::ranges::stable_sort(found, {}, &MarkerOutlier::first);
  return found;
}

/// Outlier markers of one frame, and the squared residual [m^2] that their exclusion explains.
struct FrameOutliers {
  std::vector<std::size_t> is_excluded;
  double weight = 0.0;
};

/// The markers that explain most of the residual of frames [first, last].
std::vector<std::size_t> select_outliers(const std::vector<FrameOutliers>& votes, std::size_t first, std::size_t last) {
  std::map<std::vector<std::size_t>, double> weights;
  for (std::size_t i = first; i <= last; ++i) {
    // Weighted by squared residual: frames at the top of a bump identify the marker reliably, the many frames on its
    // flanks do not.
    if (!votes[i].is_excluded.empty()) weights[votes[i].is_excluded] += votes[i].weight;
  }
  return std::ranges::max_element(weights, {}, [](const auto& entry) { return entry.second; })->first;
}

/// Unifies the outliers of an episode, because single frames on the flank of a bump often select the wrong marker. A
/// frame retains its selection if that is a subset of the common one.
void merge_episodes(std::vector<FrameOutliers>& votes, std::size_t margin) {
  const std::size_t n = votes.size();
  for (std::size_t i = 0; i < n; ++i) {
    if (votes[i].is_excluded.empty()) continue;
    const std::size_t first = i;
    std::size_t last = i;
    // An episode continues over gaps no longer than the margin by which it is widened.
    while (i + 1 < n && i + 1 <= last + margin) {
      ++i;
      if (!votes[i].is_excluded.empty()) last = i;
    }
    const auto common = select_outliers(votes, first, last);
    for (std::size_t k = first; k <= last; ++k) {
      if (votes[k].is_excluded.empty() || !std::ranges::includes(common, votes[k].is_excluded))
        votes[k].is_excluded = common;
    }
    // A bump begins before it exceeds the tolerance, and ends after it has fallen below.
    for (std::size_t k = first - std::min(first, margin); k < first; ++k)
      votes[k].is_excluded = votes[first].is_excluded;
    for (std::size_t k = last + 1; k <= std::min(n - 1, last + margin); ++k)
      votes[k].is_excluded = votes[last].is_excluded;
    i = std::max(i, std::min(n - 1, last + margin));
  }
}

class FootTracker {
 public:
  FootTracker(const FootTemplate& foot, const MarkerTrial& trial, const TrackOptions& options)
      : foot_(foot), trial_(trial), options_(options) {}

  FootMotion track() {
    require_foot();
    motion_.times = trial_.times;
    for (const auto& name : foot_.markers.hindfoot) hindfoot_.push_back(filled(name));
    toe_tip_ = filled(foot_.markers.toe_tip);
    for (const auto& name : foot_.markers.stand_in) stand_in_.push_back(trial_.marker(name));
    remove_copies();
    use_stand_ins();
    if (options_.allow_unseen) bridge_unseen();
    std::vector<FrameOutliers> votes;
    for (std::size_t frame = 0; frame < trial_.frames(); ++frame) votes.push_back(vote(frame));
    merge_episodes(votes, options_.outlier_margin);
    for (std::size_t frame = 0; frame < trial_.frames(); ++frame)
      missing_.push_back(missing(frame, votes[frame].is_excluded));
    // Before the fits, which are reported and used with the remaining outliers.
    exclude_steady_markers(foot_.hindfoot_H, hindfoot_, options_.outliers.distance, missing_);
    for (std::size_t frame = 0; frame < trial_.frames(); ++frame) fit(frame);
    motion_.outliers = find_outliers(foot_, motion_.fits);
    // Bridged before filtering, so that the filter does not spread a bump to neighbouring frames.
    hindfoot_ = reconstruct_markers(foot_.hindfoot_H, hindfoot_, missing_);
    if (options_.filter) {
      LowPass filter = *options_.filter;
      filter.rate = trial_.rate;
      for (Series& series : hindfoot_) smooth(series, filter);
      smooth(toe_tip_, filter);
    }
    for (std::size_t frame = 0; frame < trial_.frames(); ++frame) add_pose(frame);
    return std::move(motion_);
  }

 private:
  /// Requires that the markers exist, with the same foot length as in the static trial.
  void require_foot() const {
    std::vector<std::string> names = foot_.markers.hindfoot;
    names.insert(names.end(), {foot_.markers.heel, foot_.markers.toe_tip});
    for (const std::string& name : names) {
      if (std::ranges::any_of(trial_.marker(name), is_seen)) continue;
      throw input_error(
          "markers",
          fmt::format(
              "{}: marker '{}': expected positions, found gaps in all {} frames; omit the marker or use another trial",
              trial_.file_name, name, trial_.frames()));
    }
    const Series& heel = trial_.marker(foot_.markers.heel);
    const Series& tip = trial_.marker(foot_.markers.toe_tip);
    std::vector<double> lengths;
    for (std::size_t i = 0; i < heel.size(); ++i) {
      if (is_seen(heel[i]) && is_seen(tip[i])) lengths.push_back((tip[i] - heel[i]).norm());
    }
    if (lengths.empty()) return;  // the fit of the frames reports missing markers
    // The median is robust against jumps of the heel marker, which are not errors of units.
    const auto middle = lengths.begin() + std::ssize(lengths) / 2;
    std::ranges::nth_element(lengths, middle);
    if (*middle > 0.5 * foot_.length && *middle < 2.0 * foot_.length) return;
    throw input_error("markers",
                      fmt::format("{}: expected the foot of the static trial, {:.3g} m from '{}' to '{}', "
                                  "found {:.3g} m (median); check the units in the file's header and the "
                                  "marker names",
                                  trial_.file_name, foot_.length, foot_.markers.heel, foot_.markers.toe_tip, *middle));
  }

  Series filled(const std::string& name) {
    Series series = trial_.marker(name);
    fill(trial_, name, options_.max_gap, series, motion_.gaps);
    return series;
  }

  [[noreturn]] void reject(std::size_t frame, const std::string& expected, const std::string& found) const {
    throw input_error("markers",
                      fmt::format("{}: frame {} (t = {} s): expected {}, found {}; choose a part of the trial without "
                                  "this gap, or increase max_gap (now {} s)",
                                  trial_.file_name, frame + 1, trial_.times[frame], expected, found, options_.max_gap));
  }

  /// Hides hindfoot markers at the place of another marker.
  void remove_copies() {
    constexpr double copied = 0.001;  // [m]
    for (std::size_t frame = 0; frame < trial_.frames(); ++frame) {
      const auto same = [&](const Vector3& p, const Series& other) { return (p - other[frame]).norm() < copied; };
      std::vector<std::size_t> copies;
      for (std::size_t m = 0; m < hindfoot_.size(); ++m) {
        const Vector3& p = hindfoot_[m][frame];
        bool is_copy = std::ranges::any_of(stand_in_, [&](const Series& other) { return same(p, other); });
        for (std::size_t k = 0; k < hindfoot_.size(); ++k) is_copy = is_copy || (k != m && same(p, hindfoot_[k]));
        if (is_copy) copies.push_back(m);
      }
      for (const std::size_t m : copies) hindfoot_[m][frame].setConstant(std::numeric_limits<double>::quiet_NaN());
    }
  }

  /// Places the unseen hindfoot markers of frames with fewer than three by the stand-ins and those that are seen.
  void use_stand_ins() {
    if (stand_in_.empty()) return;
    Series all_H = foot_.hindfoot_H;
    all_H.insert(all_H.end(), foot_.stand_in_H.begin(), foot_.stand_in_H.end());
    for (std::size_t frame = 0; frame < trial_.frames(); ++frame) {
      Series measured = hindfoot_at(frame);
      if (std::ranges::count_if(measured, is_seen) >= 3) continue;
      for (const Series& series : stand_in_) measured.push_back(series[frame]);
      if (std::ranges::count_if(measured, is_seen) < 3) continue;
      const Pose X_WH = cluster_fit(all_H, measured, {}).X_WT;
      for (std::size_t m = 0; m < hindfoot_.size(); ++m) {
        if (!is_seen(hindfoot_[m][frame])) hindfoot_[m][frame] = X_WH * foot_.hindfoot_H[m];
      }
      auto& spans = motion_.stood_in;
      if (spans.empty() || spans.back().second + 1 < frame) spans.emplace_back(frame, frame);
      spans.back().second = frame;
    }
  }

  [[nodiscard]] bool has_pose(std::size_t frame) const {
    return is_seen(toe_tip_[frame]) && std::ranges::count_if(hindfoot_at(frame), is_seen) >= 3;
  }

  /// Pose and toe angle of a frame from all of its markers.
  [[nodiscard]] std::pair<Pose, double> raw_pose(std::size_t frame) const {
    const Pose X_WH = cluster_fit(foot_.hindfoot_H, hindfoot_at(frame), {}).X_WT;
    return {X_WH, heelstrike::toe_angle(foot_, X_WH, toe_tip_[frame])};
  }

  /// Sets all markers of a frame to those of the template in this pose.
  void place_markers(std::size_t frame, const Pose& X_WH, double angle) {
    for (std::size_t m = 0; m < hindfoot_.size(); ++m) hindfoot_[m][frame] = X_WH * foot_.hindfoot_H[m];
    toe_tip_[frame] = X_WH * (toe_pose(foot_, angle) * (toe_pose(foot_, 0.0).inverse() * foot_.toe_tip_H));
  }

  /// Frames without a pose get the markers of the template on the path between the frames with one.
  void bridge_unseen() {
    const std::size_t n = trial_.frames();
    std::vector<char> unseen(n, 0);
    for (std::size_t i = 0; i < n; ++i) unseen[i] = has_pose(i) ? 0 : 1;
    if (std::ranges::count(unseen, 1) == 0) return;
    if (std::ranges::count(unseen, 0) == 0) reject(0, "at least three markers of the hindfoot", "none in any frame");
    for (std::size_t i = 0; i < n; ++i) {
      if (!unseen[i]) continue;
      const std::size_t first = i;
      while (i + 1 < n && unseen[i + 1]) ++i;
      // At an end of the trial the nearest pose stays.
      const auto before = raw_pose(first > 0 ? first - 1 : i + 1);
      const auto after = raw_pose(i + 1 < n ? i + 1 : first - 1);
      const Quaternion q_before(before.first.R), q_after(after.first.R);
      for (std::size_t k = first; k <= i; ++k) {
        const double share = static_cast<double>(k - first + 1) / static_cast<double>(i - first + 2);
        const Pose X{.R = q_before.slerp(share, q_after).toRotationMatrix(),
                     .p = (1.0 - share) * before.first.p + share * after.first.p};
        place_markers(k, X, (1.0 - share) * before.second + share * after.second);
      }
    }
    motion_.unseen = std::move(unseen);
  }

  [[nodiscard]] Series hindfoot_at(std::size_t frame) const {
    Series measured;
    for (const Series& series : hindfoot_) measured.push_back(series[frame]);
    return measured;
  }

  /// Outliers of a single frame.
  [[nodiscard]] FrameOutliers vote(std::size_t frame) const {
    const Series measured = hindfoot_at(frame);
    const auto n_processed = std::ranges::count_if(measured, is_seen);
    if (n_processed < 3) reject(frame, "at least three markers of the hindfoot", fmt::format("{}", n_processed));
    if (!is_seen(toe_tip_[frame])) reject(frame, fmt::format("the marker '{}'", foot_.markers.toe_tip), "a gap");
    // Skin and shoe move all markers by some millimetres in every frame; such residuals do not indicate an outlier.
    if (cluster_fit(foot_.hindfoot_H, measured, {}).rms <= options_.outliers.tolerance) return {};
    // The toe tip is not part of the hindfoot, but helps to identify outliers while the toes are straight.
    Series all_H = foot_.hindfoot_H, all_W = measured;
    all_H.push_back(foot_.toe_tip_H);
    all_W.push_back(toe_tip_[frame]);
    FrameOutliers vote{.is_excluded = find_outlier_markers(all_H, all_W, measured.size(), options_.outliers),
                       .weight = 0.0};
    if (vote.is_excluded.empty()) return vote;
    const ClusterFit fit = cluster_fit(foot_.hindfoot_H, measured, vote.is_excluded);
    // Explained by the exclusion of the outliers [m^2].
    vote.weight = fit.rms_all * fit.rms_all - fit.rms * fit.rms;
    return vote;
  }

  /// Markers of a frame that are outliers or not seen.
  [[nodiscard]] MarkerSet missing(std::size_t frame, const std::vector<std::size_t>& is_excluded) const {
    MarkerSet hidden;
    for (std::size_t m = 0; m < hindfoot_.size(); ++m) {
      if (!is_seen(hindfoot_[m][frame])) hidden.insert(m);
    }
    MarkerSet all = hidden;
    all.insert(is_excluded.begin(), is_excluded.end());
    // A pose needs three markers; an inaccurate pose is better than none.
    return all.size() + 3 > hindfoot_.size() ? hidden : all;
  }

  void fit(std::size_t frame) {
    const Series measured = hindfoot_at(frame);
    std::vector<std::size_t> is_excluded;
    for (const std::size_t m : missing_[frame]) {
      if (is_seen(measured[m])) is_excluded.push_back(m);
    }
    motion_.fits.push_back(cluster_fit(foot_.hindfoot_H, measured, is_excluded));
  }

  void add_pose(std::size_t frame) {
    const Pose X_WH = fitted_pose(foot_.hindfoot_H, hindfoot_at(frame), std::vector<double>(hindfoot_.size(), 1.0));
    motion_.X_WH.push_back(X_WH);
    motion_.toe_angle.push_back(heelstrike::toe_angle(foot_, X_WH, toe_tip_[frame]));
    motion_.X_WT.push_back(X_WH * toe_pose(foot_, motion_.toe_angle.back()));
  }

  const FootTemplate& foot_;
  const MarkerTrial& trial_;
  const TrackOptions& options_;
  std::vector<Series> hindfoot_;
  std::vector<Series> stand_in_;
  Series toe_tip_;
  std::vector<MarkerSet> missing_;  ///< per frame
  FootMotion motion_;
};

}  // namespace

double toe_angle(const FootTemplate& foot, const Pose& X_WH, const Vector3& toe_tip_W) {
  const Vector3& axis = foot.toe_axis_H;
  const Vector3 before = foot.toe_tip_H - foot.p_HT;
  const Vector3 now = X_WH.inverse() * toe_tip_W - foot.p_HT;
  // Both are projected on the plane normal to the axis: sine and cosine scale with the same length, so that atan2 needs
  // no normalisation. Motion of the tip along the axis is ignored.
  const Vector3 x = before - before.dot(axis) * axis;
  return std::atan2(now.dot(axis.cross(x)), now.dot(x));
}

Pose toe_pose(const FootTemplate& foot, double angle) {
  return {.R = rotation_from_vector(angle * foot.toe_axis_H), .p = foot.p_HT};
}

FootMotion track_foot(const FootTemplate& foot, const MarkerTrial& trial, const TrackOptions& options) {
  return FootTracker(foot, trial, options).track();
}

namespace {

constexpr double flat_angle = 5.0 * std::numbers::pi / 180.0;
constexpr double flat_height = 0.010;           // [m]
constexpr double min_interval = 0.2;            // [s]
constexpr double ground_speed_tolerance = 0.2;  // [m/s]

bool is_flat(const FootTemplate& foot, const FootMotion& motion, std::size_t frame, const Vector3& up) {
  const Pose& X_WH = motion.X_WH[frame];
  const double tilt = std::acos(std::clamp(X_WH.R.col(2).dot(up), -1.0, 1.0));
  const double height = (X_WH.p - foot.X_WH.p).dot(up);
  return tilt < flat_angle && std::abs(motion.toe_angle[frame]) < flat_angle && std::abs(height) < flat_height;
}

/// Slope of the least-squares line through frames [first, last].
Vector3 slope(const MarkerTrial& trial, const std::vector<Vector3>& marker, std::size_t first, std::size_t last) {
  const double n = static_cast<double>(last - first + 1);
  double t_mean = 0.0, tt = 0.0;
  Vector3 p_mean = Vector3::Zero(), tp = Vector3::Zero();
  for (std::size_t i = first; i <= last; ++i) {
    t_mean += trial.times[i] / n;
    p_mean += marker[i] / n;
  }
  for (std::size_t i = first; i <= last; ++i) {
    tt += std::pow(trial.times[i] - t_mean, 2);
    tp += (trial.times[i] - t_mean) * (marker[i] - p_mean);
  }
  // Centred sums avoid cancellation at large times.
  return tp / tt;
}

bool is_free_of_outliers(const FootMotion& motion, const MarkerTrial& trial, std::size_t marker, std::size_t index,
                         std::size_t first, std::size_t last) {
  for (std::size_t i = first; i <= last; ++i) {
    const auto& excluded = motion.fits[i].excluded;
    if (std::ranges::find(excluded, index) != excluded.end() || !is_seen(trial.positions[marker][i])) return false;
  }
  return true;
}

void add_slopes(const MarkerTrial& trial, const FootTemplate& foot, const FootMotion& motion, std::size_t first,
                std::size_t last, const Vector3& up, std::vector<Vector3>& slopes) {
  for (std::size_t m = 0; m < foot.markers.hindfoot.size(); ++m) {
    const std::size_t marker = trial.index(foot.markers.hindfoot[m]);
    if (!is_free_of_outliers(motion, trial, marker, m, first, last)) continue;
    const Vector3 v = slope(trial, trial.positions[marker], first, last);
    // The ground moves in its plane; vertical motion of markers is motion of the foot.
    slopes.push_back(v - v.dot(up) * up);
  }
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Vector3 median(const std::vector<Vector3>& vectors) {
  Vector3 result;
  for (int c = 0; c < 3; ++c) {
    std::vector<double> values;
    for (const Vector3& v : vectors) values.push_back(v[c]);
    result[c] = median(std::move(values));
  }
  return result;
}

}  // namespace

GroundSpeed find_ground_speed(const MarkerTrial& trial, std::span<const FootTemplate> feet,
                              std::span<const FootMotion> motions, const Vector3& up) {
  std::vector<Vector3> slopes;
  for (std::size_t f = 0; f < feet.size(); ++f) {
    for (std::size_t i = 0; i < trial.frames(); ++i) {
      if (!is_flat(feet[f], motions[f], i, up)) continue;
      const std::size_t first = i;
      while (i + 1 < trial.frames() && is_flat(feet[f], motions[f], i + 1, up)) ++i;
      if (trial.times[i] - trial.times[first] < min_interval) continue;
      // The heel is still sinking at the beginning and already rising at the end.
      const std::size_t margin = (i - first) / 4;
      add_slopes(trial, feet[f], motions[f], first + margin, i - margin, up, slopes);
    }
  }
  if (slopes.empty()) {
    throw input_error("ground", trial.file_name +
                                    ": expected a foot that is flat for 0.2 s to determine the ground velocity, found "
                                    "none; specify the velocity");
  }
  // A foot that swings level is flat by the rule above and moves in the opposite direction: the median is robust
  // against it while stances prevail, the mean is not.
  const Vector3 middle = median(slopes);
  std::erase_if(slopes, [&](const Vector3& v) { return (v - middle).norm() > ground_speed_tolerance; });
  GroundSpeed ground{.velocity = Vector3::Zero(), .deviation = 0.0, .n_slopes = slopes.size()};
  for (const Vector3& v : slopes) ground.velocity += v / static_cast<double>(slopes.size());
  for (const Vector3& v : slopes) ground.deviation += (v - ground.velocity).squaredNorm();
  ground.deviation = std::sqrt(ground.deviation / static_cast<double>(slopes.size()));
  return ground;
}

}  // namespace heelstrike
