#include "fem_server/geometry/size_field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

namespace {

void require_positive(double value, const std::string& field) {
  if (value > 0.0 && std::isfinite(value)) return;
  throw input_error(field, fmt::format("{}: expected a length above 0 m, found {} m", field, value));
}

void check_region(const Refinement& refinement, const std::string& field) {
  require_positive(refinement.size, field + ".size");
  if (const auto* box = std::get_if<BoxRegion>(&refinement.region)) {
    if (!(box->low.array() <= box->high.array()).all() || !box->low.allFinite() || !box->high.allFinite()) {
      throw input_error(field, fmt::format("{}: expected a box whose first corner lies below its second one", field));
    }
  } else if (const auto* ball = std::get_if<BallRegion>(&refinement.region)) {
    if (!(ball->radius >= 0.0) || !std::isfinite(ball->radius) || !ball->center.allFinite()) {
      throw input_error(field,
                        fmt::format("{}: expected a ball with a radius >= 0 m, found {} m", field, ball->radius));
    }
  } else {
    const auto& set = std::get<SetRegion>(refinement.region);
    if (set.set.triangles.empty() || !(set.distance >= 0.0) || !std::isfinite(set.distance)) {
      throw input_error(
          field, fmt::format("{}: expected a non-empty set and a distance >= 0 m, found {} items and {} m", field,
                             set.set.triangles.size(), set.distance));
    }
  }
}

}  // namespace

void check_size_field(const SizeField& field) {
  require_positive(field.size, "size");
  if (!(field.growth > 0.0 && field.growth <= 2.0)) {
    throw input_error("growth", fmt::format("growth: expected a value in (0, 2], found {}", field.growth));
  }
  for (std::size_t i = 0; i < field.refinements.size(); ++i)
    check_region(field.refinements[i], fmt::format("refinements[{}]", i));
}

SizeEvaluator::SizeEvaluator(const SizeField& field) : field_(field) {
  for (const Refinement& refinement : field.refinements) {
    const auto* set = std::get_if<SetRegion>(&refinement.region);
    trees_.push_back(set == nullptr ? nullptr : std::make_unique<TriangleTree>(set->set));
  }
}

double SizeEvaluator::operator()(const Vector3& p) const {
  double size = field_.size;
  for (std::size_t i = 0; i < field_.refinements.size(); ++i) {
    const Refinement& refinement = field_.refinements[i];
    double distance = 0.0;
    if (const auto* box = std::get_if<BoxRegion>(&refinement.region)) {
      // Distance to the box, zero inside.
      distance = (p - p.cwiseMax(box->low).cwiseMin(box->high)).norm();
    } else if (const auto* ball = std::get_if<BallRegion>(&refinement.region)) {
      distance = std::max(0.0, (p - ball->center).norm() - ball->radius);
    } else {
      distance = std::max(0.0, trees_[i]->closest(p).distance - std::get<SetRegion>(refinement.region).distance);
    }
    // Lipschitz with the constant `growth`: adjacent elements differ by about this fraction, which avoids flat elements
    // between two sizes.
    size = std::min(size, refinement.size + field_.growth * distance);
  }
  return size;
}

SetRegion region_around(const std::vector<Vector3>& points, double distance) {
  SetRegion region;
  region.set.vertices = points;
  // The tree stores triangles only; points are represented by triangles with three equal corners.
  for (std::uint32_t i = 0; i < points.size(); ++i) region.set.triangles.push_back({i, i, i});
  region.distance = distance;
  return region;
}

}  // namespace heelstrike::fem
