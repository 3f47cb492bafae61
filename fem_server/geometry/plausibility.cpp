#include "fem_server/geometry/plausibility.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"

namespace heelstrike::fem {
namespace {

/// The most frequent unit error.
constexpr double millimetre = 1e-3;

}  // namespace

Warnings find_extent_warnings(const Vector3& extents, double length_scale, const std::string& scale_key) {
  constexpr double smallest = 1e-3;  // [m]
  constexpr double largest = 10.0;   // [m]
  const double extent = extents.maxCoeff();
  if (!(extent > 0.0) || (extent >= smallest && extent <= largest)) return {};
  const double factor = extent > largest ? millimetre : 1.0 / millimetre;
  const double intended = extent * factor;
  const std::string found = fmt::format("the body is {:.4g} m long with {} = {:g}", extent, scale_key, length_scale);
  if (intended < smallest || intended > largest) return {found + ": check the unit of its file"};
  return {fmt::format("{}; did you mean {}? Set {}: {:g} for a length of {:.4g} m", found,
                      extent > largest ? "mm" : "m", scale_key, length_scale * factor, intended)};
}

Warnings find_element_size_warnings(const std::string& key, double size, const Vector3& extents, bool is_quadratic) {
  const double intended = size * millimetre;
  // Elements of decimetres indicate millimetres; smaller sizes that are still too large indicate a body in another
  // unit.
  const bool millimetres = size >= 0.1 && intended >= 1e-3 * extents.maxCoeff() && intended <= 0.5 * extents.minCoeff();
  const std::string advice = millimetres ? fmt::format("did you mean {:g} mm? Set {}: {:g}", size, key, intended)
                                         : std::string("check the unit of both");
  if (size > extents.maxCoeff()) {
    throw input_error(key, fmt::format("{}: elements of {:g} m are larger than the body ({:.4g} x {:.4g} x {:.4g} "
                                       "m); {}",
                                       key, size, extents.x(), extents.y(), extents.z(), advice));
  }
  if ((is_quadratic ? size : 2.0 * size) <= extents.minCoeff()) return {};
  return {
      fmt::format("{}: {:g} m leaves fewer than {} through a body of {:.4g} x {:.4g} x {:.4g} m, which makes it much "
                  "too stiff; use {:.2g} m or less",
                  key, size, is_quadratic ? "one element" : "two elements", extents.x(), extents.y(), extents.z(),
                  0.25 * extents.minCoeff())};
}

Warnings find_volume_warnings(double meshed, double given, const std::string& size_key, double size) {
  constexpr double max_volume_error = 0.25;      // beyond, the shape of the body is lost
  constexpr double expected_volume_loss = 0.05;  // flat elements on a curved surface lose a few per cent
  const double lost = 1.0 - meshed / given;
  if (!(given > 0.0) || std::abs(lost) <= expected_volume_loss) return {};
  const std::string found = fmt::format("{}: with {:g} m the mesh has {:.2g} % {} volume than the surface it fills",
                                        size_key, size, 100.0 * std::abs(lost), lost > 0.0 ? "less" : "more");
  if (std::abs(lost) > max_volume_error) throw input_error(size_key, found + "; use smaller elements");
  return {found + "; smaller elements lose less"};
}

Warnings find_quality_warnings(const std::string& name, const VolumeReport& report) {
  // An element over an equilateral triangle with a height of 1/400 of its edges. The minimum in meshes of scans is
  // 0.06.
  constexpr double min_good_quality = 0.03;
  if (report.n_elements == 0) return {};
  const std::string_view shapes = element_shapes(report.nodes_per_element);
  if (!report.inverted.empty()) {
    return {
        fmt::format("{}: {} of {} {} are inverted, the first one is element {} (counted from 0): their nodes are in "
                    "the wrong order or the mesh is folded; correct or remesh the body",
                    name, report.inverted.size(), report.n_elements, shapes, report.inverted.front())};
  }
  if (report.min_quality >= min_good_quality) return {};
  return {
      fmt::format("{}: there are nearly flat {}, the worst of {} has a mean ratio of {:.2g}: pressures near "
                  "them are unreliable; remesh the body",
                  name, shapes, report.n_elements, report.min_quality)};
}

Warnings find_proportion_warnings(const Vector3& main, const Vector3& partner) {
  constexpr double unusual_ratio = 100.0;
  const double a = main.maxCoeff();
  const double b = partner.maxCoeff();
  if (!(a > 0.0 && b > 0.0) || std::max(a, b) <= unusual_ratio * std::min(a, b)) return {};
  return {fmt::format("the main body is {:.4g} m long and its partner {:.4g} m; is one of them in mm?", a, b)};
}

}  // namespace heelstrike::fem
