#include "gait/marker_reconstruction.hpp"

#include <algorithm>
#include <optional>

#include "gait/rigid_fit.hpp"

namespace heelstrike {
namespace {

/// Frames [first, end).
struct Frames {
  std::size_t first = 0;
  std::size_t end = 0;
};

/// Maximal runs of frames within `within` for which `holds` is true.
template <typename Holds>
std::vector<Frames> runs_of(const Frames& within, Holds holds) {
  std::vector<Frames> runs;
  for (std::size_t k = within.first; k < within.end; ++k) {
    if (!holds(k)) continue;
    if (runs.empty() || runs.back().end != k) runs.push_back({k, k});
    runs.back().end = k + 1;
  }
  return runs;
}

MarkerSet union_of(MarkerSet a, const MarkerSet& b) {
  a.insert(b.begin(), b.end());
  return a;
}

class MarkerReconstruction {
 public:
  MarkerReconstruction(std::span<const Vector3> template_T, const std::vector<MarkerSeries>& measured,
                       std::span<const MarkerSet> missing)
      : template_(template_T), measured_(measured), missing_(missing) {}

  std::vector<MarkerSeries> bridged() {
    result_ = measured_;
    const Frames all{0, missing_.size()};
    for (const Frames& episode : runs_of(all, [&](std::size_t k) { return !missing_[k].empty(); })) {
      MarkerSet absent;
      // One set of reference markers for the whole episode: a change of the set would make the pose jump by their
      // offsets.
      for (std::size_t k = episode.first; k < episode.end; ++k) absent = union_of(absent, missing_[k]);
      const bool enough = absent.size() + 3 <= template_.size();
      for (const std::size_t m : absent) {
        for (const Frames& gap : runs_of(episode, [&](std::size_t k) { return missing_[k].contains(m); })) {
          fill_gap(m, gap, enough ? absent : MarkerSet{});
        }
      }
    }
    return std::move(result_);
  }

 private:
  void fill_gap(std::size_t m, const Frames& gap, const MarkerSet& absent) {
    std::optional<Vector3> before, after;
    // The offset uses the reference markers of the pose inside the gap, so that it is continuous at both ends.
    if (gap.first > 0) before = offset(m, gap.first - 1, union_of(absent, missing_[gap.first]));
    if (gap.end < missing_.size()) after = offset(m, gap.end, union_of(absent, missing_[gap.end - 1]));
    for (std::size_t k = gap.first; k < gap.end; ++k) {
      // 0 in the frame before the gap and 1 in the frame after it, where the markers are seen.
      const double s = static_cast<double>(k + 1 - gap.first) / static_cast<double>(gap.end + 1 - gap.first);
      // At an end of the trial the existing offset; without any, the position in the template.
      Vector3 offset_T = before.value_or(after.value_or(Vector3::Zero()));
      if (before && after) offset_T = (1.0 - s) * *before + s * *after;
      result_[m][k] = carried(k, union_of(absent, missing_[k])) * Vector3(template_[m] + offset_T);
    }
  }

  /// [m] offset of marker m, seen in frame k, from its position predicted by the others, in the cluster frame; none
  /// when too few others remain.
  [[nodiscard]] std::optional<Vector3> offset(std::size_t m, std::size_t k, const MarkerSet& absent) const {
    const MarkerSet without = union_of(absent, missing_[k]);
    if (without.size() + 3 > template_.size()) return std::nullopt;
    return Vector3(carried(k, without).inverse() * measured_[m][k] - template_[m]);
  }

  [[nodiscard]] Pose carried(std::size_t k, const MarkerSet& without) const {
    std::vector<double> weights(template_.size(), 1.0);
    for (const std::size_t m : without) weights[m] = 0.0;
    MarkerSeries now;
    for (const MarkerSeries& series : measured_) now.push_back(series[k]);
    return fitted_pose(template_, now, weights);
  }

  std::span<const Vector3> template_;
  const std::vector<MarkerSeries>& measured_;
  std::span<const MarkerSet> missing_;
  std::vector<MarkerSeries> result_;
};

}  // namespace

std::vector<MarkerSeries> reconstruct_markers(std::span<const Vector3> template_T,
                                              const std::vector<MarkerSeries>& measured,
                                              std::span<const MarkerSet> missing) {
  return MarkerReconstruction(template_T, measured, missing).bridged();
}

void exclude_steady_markers(std::span<const Vector3> template_T, const std::vector<MarkerSeries>& measured,
                            double distance, std::span<MarkerSet> missing) {
  const auto bridged = reconstruct_markers(template_T, measured, missing);
  for (std::size_t m = 0; m < measured.size(); ++m) {
    const auto is_out = [&](std::size_t k) { return missing[k].contains(m) && measured[m][k].allFinite(); };
    for (const Frames& run : runs_of({0, missing.size()}, is_out)) {
      double max_distance = 0.0;
      for (std::size_t k = run.first; k < run.end; ++k) {
        max_distance = std::max(max_distance, (measured[m][k] - bridged[m][k]).norm());
      }
      if (max_distance > distance) continue;
      for (std::size_t k = run.first; k < run.end; ++k) missing[k].erase(m);
    }
  }
}

}  // namespace heelstrike
