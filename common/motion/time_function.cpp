#include "common/motion/time_function.hpp"

#include <fmt/format.h>
#include <Eigen/SparseLU>
#include <algorithm>
#include <cmath>
#include <limits>

#include "common/errors/error.hpp"

namespace heelstrike {

double TimeFunction::last_time() const {
  return std::numeric_limits<double>::infinity();
}
double TimeFunction::first_time() const {
  return -std::numeric_limits<double>::infinity();
}

namespace {

class Polynomial final : public TimeFunction {
 public:
  explicit Polynomial(std::vector<double> coefficients) : coefficients_(std::move(coefficients)) {}
  [[nodiscard]] Jet at(double t) const override {
    Jet jet;
    for (auto c = coefficients_.rbegin(); c != coefficients_.rend(); ++c) {
      jet.dd = jet.dd * t + 2.0 * jet.d;
      jet.d = jet.d * t + jet.f;
      jet.f = jet.f * t + *c;
    }
    return jet;
  }

 private:
  std::vector<double> coefficients_;
};

class Scaled final : public TimeFunction {
 public:
  Scaled(TimeFunctionPtr f, double scale, double offset) : f_(std::move(f)), scale_(scale), offset_(offset) {}
  [[nodiscard]] Jet at(double t) const override {
    const Jet jet = f_->at(t);
    return {.f = scale_ * jet.f + offset_, .d = scale_ * jet.d, .dd = scale_ * jet.dd};
  }
  [[nodiscard]] double last_time() const override { return f_->last_time(); }
  [[nodiscard]] double first_time() const override { return f_->first_time(); }
  [[nodiscard]] std::vector<double> rows() const override { return f_->rows(); }
  [[nodiscard]] std::vector<double> marks() const override { return f_->marks(); }

 private:
  TimeFunctionPtr f_;
  double scale_, offset_;
};

}  // namespace

TimeFunctionPtr make_polynomial(std::vector<double> coefficients) {
  return std::make_shared<Polynomial>(std::move(coefficients));
}

TimeFunctionPtr make_scaled(TimeFunctionPtr f, double scale, double offset) {
  return std::make_shared<Scaled>(std::move(f), scale, offset);
}

namespace {

/// @throws Error{invalid_input} unless row i is later than the row before it
void check_increasing(const std::vector<double>& times, std::size_t i) {
  if (i == 0 || times[i] > times[i - 1]) return;
  throw input_error("table", fmt::format("expected increasing times [s], found {} after {} (rows {} and {})", times[i],
                                         times[i - 1], i - 1, i));
}

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
  [[nodiscard]] std::vector<double> rows() const override { return times_; }

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
    check_increasing(times, i);
  }
  return std::make_shared<Hermite>(std::move(times), std::move(jets));
}

namespace {

/// Piecewise polynomial: coefficients of (t - times[i])^k, k = 0..degree, on interval i.
class Spline final : public TimeFunction {
 public:
  Spline(std::vector<double> times, Eigen::MatrixXd coefficients)
      : times_(std::move(times)), coefficients_(std::move(coefficients)) {}
  [[nodiscard]] Jet at(double t) const override {
    const auto upper = std::upper_bound(times_.begin() + 1, times_.end() - 1, t);
    const auto i = upper - times_.begin() - 1;
    const double s = t - times_[static_cast<std::size_t>(i)];
    Jet jet;
    for (Eigen::Index k = coefficients_.cols() - 1; k >= 0; --k) {
      jet.dd = jet.dd * s + 2.0 * jet.d;
      jet.d = jet.d * s + jet.f;
      jet.f = jet.f * s + coefficients_(i, k);
    }
    return jet;
  }
  [[nodiscard]] double last_time() const override { return times_.back(); }
  [[nodiscard]] double first_time() const override { return times_.front(); }
  [[nodiscard]] std::vector<double> rows() const override { return times_; }

 private:
  std::vector<double> times_;
  Eigen::MatrixXd coefficients_;
};

void check_table(const std::vector<double>& times, const std::vector<double>& values, int degree) {
  const std::size_t least = degree == 5 ? 3 : 2;
  if (times.size() != values.size()) {
    throw input_error("table",
                      fmt::format("expected as many values as times ({}), found {}", times.size(), values.size()));
  }
  if (times.size() < least) {
    throw input_error("table", fmt::format("expected at least {} rows for a spline of degree {}, found {}", least,
                                           degree, times.size()));
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (!std::isfinite(times[i]) || !std::isfinite(values[i])) {
      throw input_error("table",
                        fmt::format("expected finite numbers, found {}, {} in row {}", times[i], values[i], i));
    }
    check_increasing(times, i);
  }
}

double falling(int k, int d) {
  double product = 1.0;
  for (int j = 0; j < d; ++j) product *= k - j;
  return product;
}

/// Conditions on the (degree + 1) coefficients of every interval, in units of the interval's length: interpolation at
/// both ends, continuity of derivatives 1 .. degree-1 inside, natural ends. Banded, so sparse LU is linear in the rows.
Eigen::MatrixXd coefficients(const std::vector<double>& times, const std::vector<double>& values, int degree) {
  const int n = static_cast<int>(times.size()) - 1;
  const int width = degree + 1;
  std::vector<Eigen::Triplet<double>> entries;
  Eigen::VectorXd rhs = Eigen::VectorXd::Zero(n * width);
  int row = 0;
  const auto h = [&](int i) { return times[static_cast<std::size_t>(i) + 1] - times[static_cast<std::size_t>(i)]; };
  // Derivative d at the end of interval i, times h^d.
  const auto end_derivative = [&](int i, int d, double factor) {
    for (int k = d; k < width; ++k) entries.emplace_back(row, i * width + k, factor * falling(k, d));
  };
  const int natural = (degree - 1) / 2;
  for (int d = degree - natural; d < degree; ++d) entries.emplace_back(row++, d, 1.0);
  for (int i = 0; i < n; ++i) {
    entries.emplace_back(row, i * width, 1.0);
    rhs[row++] = values[static_cast<std::size_t>(i)];
    end_derivative(i, 0, 1.0);
    rhs[row++] = values[static_cast<std::size_t>(i) + 1];
    for (int d = 1; d < degree && i + 1 < n; ++d) {
      end_derivative(i, d, 1.0);
      entries.emplace_back(row, (i + 1) * width + d, -falling(d, d) * std::pow(h(i) / h(i + 1), d));
      ++row;
    }
  }
  for (int d = degree - natural; d < degree; ++d) {
    end_derivative(n - 1, d, 1.0);
    ++row;
  }
  Eigen::SparseMatrix<double> A(n * width, n * width);
  A.setFromTriplets(entries.begin(), entries.end());
  const Eigen::SparseLU<Eigen::SparseMatrix<double>> lu(A);
  const Eigen::VectorXd x = lu.solve(rhs);
  Eigen::MatrixXd result(n, width);
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < width; ++k) result(i, k) = x[i * width + k] / std::pow(h(i), k);
  }
  return result;
}

}  // namespace

TimeFunctionPtr make_spline(std::vector<double> times, const std::vector<double>& values, int degree) {
  check_table(times, values, degree);
  auto c = coefficients(times, values, degree);
  return std::make_shared<Spline>(std::move(times), std::move(c));
}

std::optional<Overshoot> find_overshoot(const TimeFunction& f, double from, double to) {
  constexpr double tolerance = 0.2;  // [-] of the range
  constexpr int n_samples = 16;      // in an interval, where the largest value of a cubic is met within 1 %
  const std::vector<double> rows = f.rows();
  if (rows.size() < 2) return std::nullopt;
  Overshoot found{.low = f.at(rows.front()).f, .high = f.at(rows.front()).f};
  for (const double t : rows) {
    const double value = f.at(t).f;
    found.low = std::min(found.low, value);
    found.high = std::max(found.high, value);
  }
  const double range = found.high - found.low;
  // Rows that differ by rounding only have no range.
  if (!(range > 1e-9 * std::max(std::abs(found.low), std::abs(found.high)))) return std::nullopt;
  double largest = tolerance * range;
  bool exceeds = false;
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    for (int k = 1; k < n_samples; ++k) {
      const double t = rows[i] + (rows[i + 1] - rows[i]) * k / n_samples;
      if (t < from || t > to) continue;
      const double value = f.at(t).f;
      const double excess = std::max(found.low - value, value - found.high);
      if (!(excess > largest)) continue;
      exceeds = true;
      largest = excess;
      found.value = value;
      found.time = t;
    }
  }
  return exceeds ? std::optional(found) : std::nullopt;
}

}  // namespace heelstrike
