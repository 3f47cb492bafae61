#include <fmt/format.h>
#include <Eigen/SparseLU>
#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"
#include "common/motion/time_function.hpp"

namespace heelstrike {
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

 private:
  std::vector<double> times_;
  Eigen::MatrixXd coefficients_;
};

void check_table(const std::vector<double>& times, const std::vector<double>& values, int degree) {
  const std::size_t least = degree == 3 ? 2 : 3;
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
    if (i > 0 && !(times[i] > times[i - 1])) {
      throw input_error("table", fmt::format("expected increasing times [s], found {} after {} (rows {} and {})",
                                             times[i], times[i - 1], i - 1, i));
    }
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

}  // namespace heelstrike
