#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"
#include "common/motion/time_function.hpp"

namespace heelstrike {
namespace {

class Hermite final : public TimeFunction {
 public:
  Hermite(std::vector<double> times, std::vector<Jet> jets) : times_(std::move(times)), jets_(std::move(jets)) {}

  [[nodiscard]] Jet at(double t) const override {
    const auto upper = std::upper_bound(times_.begin(), times_.end(), t);
    const auto i = static_cast<std::size_t>(
        std::clamp<std::ptrdiff_t>(upper - times_.begin() - 1, 0, static_cast<std::ptrdiff_t>(times_.size()) - 1));
    // Values at a row are returned exactly, without rounding by the interval length.
    if (t == times_[i]) return jets_[i];
    return between(std::min(i, times_.size() - 2), t);
  }
  [[nodiscard]] double last_time() const override { return times_.back(); }
  [[nodiscard]] double first_time() const override { return times_.front(); }

 private:
  [[nodiscard]] Jet between(std::size_t i, double t) const {
    const Jet& a = jets_[i];
    const Jet& b = jets_[i + 1];
    const double h = times_[i + 1] - times_[i];
    const double x = t - times_[i];
    // Residuals of the left parabola at the right end, in units of s = x / h.
    const double e0 = b.f - a.f - h * (a.d + 0.5 * h * a.dd);
    const double e1 = h * (b.d - a.d - h * a.dd);
    const double e2 = h * h * (b.dd - a.dd);
    const double c3 = 10.0 * e0 - 4.0 * e1 + 0.5 * e2;
    const double c4 = -15.0 * e0 + 7.0 * e1 - e2;
    const double c5 = 6.0 * e0 - 3.0 * e1 + 0.5 * e2;
    const double s = x / h;
    return {.f = a.f + x * (a.d + 0.5 * x * a.dd) + s * s * s * (c3 + s * (c4 + s * c5)),
            .d = a.d + x * a.dd + s * s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5)) / h,
            .dd = a.dd + s * (6.0 * c3 + s * (12.0 * c4 + s * 20.0 * c5)) / (h * h)};
  }

  std::vector<double> times_;
  std::vector<Jet> jets_;
};

}  // namespace

TimeFunctionPtr make_hermite(std::vector<double> times, std::vector<Jet> jets) {
  if (times.size() != jets.size() || times.size() < 2) {
    throw input_error("table", fmt::format("expected at least two rows with as many values as times, found {} and {}",
                                           jets.size(), times.size()));
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (!std::isfinite(times[i]) || !std::isfinite(jets[i].f + jets[i].d + jets[i].dd)) {
      throw input_error("table", fmt::format("expected finite numbers, found another in row {}", i));
    }
    if (i > 0 && !(times[i] > times[i - 1])) {
      throw input_error("table", fmt::format("expected increasing times [s], found {} after {} (rows {} and {})",
                                             times[i], times[i - 1], i - 1, i));
    }
  }
  return std::make_shared<Hermite>(std::move(times), std::move(jets));
}

}  // namespace heelstrike
