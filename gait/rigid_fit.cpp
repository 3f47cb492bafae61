#include "gait/rigid_fit.hpp"

#include <fmt/format.h>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "common/errors/error.hpp"

namespace heelstrike {

namespace {

/// Pose and RMS residual of the markers with weight 1.
struct Trial {
  Pose X_WT;
  double rms = std::numeric_limits<double>::infinity();
  std::vector<std::size_t> excluded;
  double nearest = 0.0;  ///< [m] minimum distance of an excluded marker from its position predicted by the others
};

class ClusterFitter {
 public:
  ClusterFitter(std::span<const Vector3> template_T, std::span<const Vector3> measured_W)
      : template_(template_T), measured_(measured_W), weights_(template_T.size(), 0.0) {
    for (std::size_t i = 0; i < template_.size(); ++i) {
      if (!measured_[i].allFinite()) continue;
      weights_[i] = 1.0;
      seen_.push_back(i);
    }
  }

  [[nodiscard]] const std::vector<std::size_t>& seen() const { return seen_; }
  [[nodiscard]] double residual(const Pose& X_WT, std::size_t i) const {
    return (X_WT * template_[i] - measured_[i]).norm();
  }

  Trial without(std::vector<std::size_t> excluded) {
    Trial trial;
    for (const std::size_t i : excluded) weights_[i] = 0.0;
    trial.X_WT = fitted_pose(template_, measured_, weights_);
    double sum = 0.0;
    for (const std::size_t i : seen_) {
      if (weights_[i] > 0.0) sum += std::pow(residual(trial.X_WT, i), 2);
    }
    trial.rms = std::sqrt(sum / static_cast<double>(seen_.size() - excluded.size()));
    trial.nearest = std::numeric_limits<double>::infinity();
    for (const std::size_t i : excluded) {
      trial.nearest = std::min(trial.nearest, residual(trial.X_WT, i));
      weights_[i] = 1.0;
    }
    trial.excluded = std::move(excluded);
    return trial;
  }

  /// The best fit without one (`two`: without two) of the candidate markers.
  Trial best_without(bool two, std::size_t n_candidates) {
    const auto n =
        static_cast<std::size_t>(std::ranges::count_if(seen_, [&](std::size_t i) { return i < n_candidates; }));
    Trial best;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = two ? i + 1 : i; j < (two ? n : i + 1); ++j) {
        Trial trial = without(two ? std::vector{seen_[i], seen_[j]} : std::vector{seen_[i]});
        if (trial.rms < best.rms) best = std::move(trial);
      }
    }
    return best;
  }

 private:
  std::span<const Vector3> template_, measured_;
  std::vector<double> weights_;
  std::vector<std::size_t> seen_;
};

}  // namespace

Pose fitted_pose(std::span<const Vector3> template_T, std::span<const Vector3> measured_W,
                 std::span<const double> weights) {
  double total = 0.0;
  std::size_t n = 0;
  Vector3 a = Vector3::Zero(), b = Vector3::Zero();
  for (std::size_t i = 0; i < template_T.size(); ++i) {
    if (!(weights[i] > 0.0)) continue;
    ++n;
    total += weights[i];
    a += weights[i] * template_T[i];
    b += weights[i] * measured_W[i];
  }
  if (n < 3) throw input_error("markers", fmt::format("expected at least three markers for a pose, found {}", n));
  a /= total;
  b /= total;
  Matrix3 H = Matrix3::Zero(), spread = Matrix3::Zero();
  for (std::size_t i = 0; i < template_T.size(); ++i) {
    if (!(weights[i] > 0.0)) continue;
    H += weights[i] * (template_T[i] - a) * (measured_W[i] - b).transpose();
    spread += weights[i] * (template_T[i] - a) * (template_T[i] - a).transpose();
  }
  // Squared lengths: collinear to 1e-3 of the largest extent, where the rotation about the line is undetermined.
  const Vector3 extent = Eigen::JacobiSVD<Matrix3>(spread).singularValues();
  if (!(extent[1] > 1e-6 * extent[0])) {
    throw input_error(
        "markers",
        fmt::format(
            "expected markers that do not lie on one line, found extents of {:.3g} and {:.3g} m; add another marker",
            std::sqrt(extent[0] / total), std::sqrt(extent[1] / total)));
  }
  const Eigen::JacobiSVD<Matrix3> svd(H, Eigen::ComputeFullU | Eigen::ComputeFullV);
  // R = V diag(1, 1, d) U' maximises tr(R H) among rotations; d = -1 reverses the least certain direction, the
  // thickness of nearly coplanar markers.
  const double d = (svd.matrixV() * svd.matrixU().transpose()).determinant() < 0.0 ? -1.0 : 1.0;
  const Matrix3 R = svd.matrixV() * Vector3(1.0, 1.0, d).asDiagonal() * svd.matrixU().transpose();
  return {.R = R, .p = b - R * a};
}

std::vector<std::size_t> find_outlier_markers(std::span<const Vector3> template_T, std::span<const Vector3> measured_W,
                                              std::size_t n_candidates, const OutlierCriterion& rule) {
  // Three markers give nine coordinates for six unknowns: almost any three fit.
  constexpr std::size_t min_points = 4;
  ClusterFitter fitter(template_T, measured_W);
  const std::size_t n = fitter.seen().size();
  if (n < min_points + 1) return {};
  Trial best = fitter.without({});
  if (best.rms <= rule.tolerance) return {};
  const auto accept = [&](Trial trial) {
    // Both conditions are required: bending of the foot leaves large residuals that no single marker explains, and
    // noise can be halved without a distant marker.
    if (trial.nearest > rule.distance && trial.rms < rule.improvement * best.rms) best = std::move(trial);
  };
  if (rule.max_excluded >= 1) accept(fitter.best_without(false, n_candidates));
  if (rule.max_excluded >= 2 && n >= min_points + 2) accept(fitter.best_without(true, n_candidates));
  return best.excluded;
}

ClusterFit cluster_fit(std::span<const Vector3> template_T, std::span<const Vector3> measured_W,
                       std::span<const std::size_t> excluded) {
  ClusterFitter fitter(template_T, measured_W);
  const Trial all = fitter.without({});
  const Trial used = excluded.empty() ? all : fitter.without({excluded.begin(), excluded.end()});
  ClusterFit fit{.X_WT = used.X_WT, .residuals = {}, .rms = used.rms, .rms_all = all.rms, .excluded = used.excluded};
  fit.residuals.assign(template_T.size(), std::numeric_limits<double>::quiet_NaN());
  for (const std::size_t i : fitter.seen()) fit.residuals[i] = fitter.residual(used.X_WT, i);
  return fit;
}

namespace {

/// Frames [first, end).
struct Frames {
  std::size_t first = 0;
  std::size_t end = 0;
};

/// Maximal runs of frames within `within` for which `holds` is true.
template <typename Condition>
std::vector<Frames> runs_of(const Frames& within, Condition holds) {
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
