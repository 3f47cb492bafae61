#include "mbs_server/coupling/acceleration.hpp"

#include <algorithm>
#include <deque>
#include <vector>

namespace heelstrike::mbs {
namespace {

class FixedPoint final : public Acceleration {
 public:
  explicit FixedPoint(const AccelerationOptions& options) : relaxation_(options.relaxation) {}
  void start(const VectorX& /*weights*/) override {}
  [[nodiscard]] VectorX next(const VectorX& x, const VectorX& response) override {
    return x + relaxation_ * (response - x);
  }

 private:
  double relaxation_;
};

/// One factor for all entries, from the last two residuals [aitken1926], [kuettler2008] eq. 44.
class Aitken final : public Acceleration {
 public:
  explicit Aitken(const AccelerationOptions& options) : first_(options.relaxation) {}
  void start(const VectorX& weights) override {
    weights_ = weights;
    last_.resize(0);
    factor_ = first_;
  }
  [[nodiscard]] VectorX next(const VectorX& x, const VectorX& response) override {
    const VectorX residual = weights_.cwiseProduct(response - x);
    if (last_.size() > 0) {
      const VectorX change = residual - last_;
      // Unchanged residuals give no information.
      if (const double square = change.squaredNorm(); square > 0.0) factor_ *= -last_.dot(change) / square;
    }
    last_ = residual;
    return x + factor_ * (response - x);
  }

 private:
  double first_, factor_ = 1.0;
  VectorX weights_, last_;
};

/// Changes of the residual and of the responses from one guess to the next: columns of V and W.
struct Column {
  VectorX residual, response;
};

/// Quasi-Newton: the least-squares combination of past residual changes that cancels the residual, applied to the
/// changes of the responses [degroote2009]; columns that are nearly dependent on newer ones are filtered
/// [haelterman2016].
class LeastSquares final : public Acceleration {
 public:
  explicit LeastSquares(const AccelerationOptions& options) : options_(options) {}

  void start(const VectorX& weights) override {
    weights_ = weights;
    columns_.clear();
    last_ = {};
    best_ = {};
    n_since_best_ = 0;
    relaxation_ = options_.relaxation;
  }
  [[nodiscard]] VectorX next(const VectorX& x, const VectorX& response) override;
  void accept() override;
  void save(NumberWriter& to) const override;
  void restore(NumberReader& from) override;

 private:
  /// A smooth problem would be solved after as many guesses as it has unknowns. Where contact opens or slips, columns
  /// from one side of a kink are wrong on the other: discards them and restarts closer to the best guess.
  [[nodiscard]] VectorX begin_again();
  /// Change of the responses for the residual; the zero vector without columns.
  [[nodiscard]] VectorX correction(const VectorX& residual) const;

  AccelerationOptions options_;
  VectorX weights_;
  Column last_;
  struct Best {
    VectorX x, residual;
    double size = 0.0;  ///< of the residual
  };
  Best best_;                                 ///< the guess of this macro step with the smallest residual
  Eigen::Index n_since_best_ = 0;             ///< guesses
  double relaxation_ = 1.0;                   ///< of the next first correction
  std::vector<Column> columns_;               ///< of this macro step, oldest first
  std::deque<std::vector<Column>> previous_;  ///< of macro steps before, oldest first
};

VectorX LeastSquares::next(const VectorX& x, const VectorX& response) {
  const VectorX residual = response - x;
  if (last_.residual.size() > 0) {
    columns_.push_back({.residual = residual - last_.residual, .response = response - last_.response});
  }
  last_ = {.residual = residual, .response = response};
  const double size = weights_.cwiseProduct(residual).norm();
  if (best_.x.size() == 0 || size < best_.size) {
    best_ = {.x = x, .residual = residual, .size = size};
    n_since_best_ = 0;
  } else if (++n_since_best_ > options_.size) {
    return begin_again();
  }
  if (columns_.empty() && previous_.empty()) return x + relaxation_ * residual;
  return response + correction(residual);
}

VectorX LeastSquares::begin_again() {
  columns_.clear();
  previous_.clear();
  relaxation_ *= 0.5;
  n_since_best_ = 0;
  // The next column is the change from the best guess.
  last_ = {.residual = best_.residual, .response = best_.x + best_.residual};
  return best_.x + relaxation_ * best_.residual;
}

/// Gram-Schmidt factorisation of V, newest columns first, with reorthogonalisation: a single pass leaves errors of the
/// order of rounding over the remainder.
VectorX LeastSquares::correction(const VectorX& residual) const {
  std::vector<VectorX> Q;              // orthonormal
  std::vector<std::vector<double>> R;  // of each kept column: its parts along Q
  std::vector<const VectorX*> W;
  const auto add = [&](const Column& column) {
    VectorX v = weights_.cwiseProduct(column.residual);
    const double norm = v.norm();
    // Entries are in units of their tolerance: a change far below it is rounding noise without direction.
    if (!(norm > options_.filter)) return;
    std::vector<double> parts(Q.size() + 1, 0.0);
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t k = 0; k < Q.size(); ++k) {
        const double part = Q[k].dot(v);
        parts[k] += part;
        v -= part * Q[k];
      }
    }
    parts.back() = v.norm();
    if (!(parts.back() > options_.filter * norm)) return;
    Q.emplace_back(v / parts.back());
    R.push_back(std::move(parts));
    W.push_back(&column.response);
  };
  std::ranges::for_each(columns_.rbegin(), columns_.rend(), add);
  for (auto step = previous_.rbegin(); step != previous_.rend(); ++step) {
    std::ranges::for_each(step->rbegin(), step->rend(), add);
  }
  const VectorX scaled = weights_.cwiseProduct(residual);
  std::vector<double> c(Q.size());
  VectorX sum = VectorX::Zero(residual.size());
  for (std::size_t i = Q.size(); i-- > 0;) {
    c[i] = -Q[i].dot(scaled);
    for (std::size_t j = i + 1; j < Q.size(); ++j) c[i] -= R[j][i] * c[j];
    c[i] /= R[i][i];
    sum += c[i] * *W[i];
  }
  return sum;
}

void LeastSquares::accept() {
  if (options_.reused_steps == 0 || columns_.empty()) return;
  previous_.push_back(std::move(columns_));
  columns_.clear();
  if (previous_.size() > static_cast<std::size_t>(options_.reused_steps)) previous_.pop_front();
}

void LeastSquares::save(NumberWriter& to) const {
  to.add(static_cast<double>(previous_.size()));
  for (const auto& step : previous_) {
    to.add(static_cast<double>(step.size()));
    for (const Column& column : step) {
      to.add(column.residual);
      to.add(column.response);
    }
  }
}

void LeastSquares::restore(NumberReader& from) {
  constexpr std::size_t max_columns = 100'000;  // the limit of iterations of the schema
  std::deque<std::vector<Column>> previous(from.count(static_cast<std::size_t>(options_.reused_steps)));
  for (auto& step : previous) {
    const std::size_t n = from.count(max_columns);
    for (std::size_t i = 0; i < n; ++i) {
      Column column{.residual = VectorX(options_.size), .response = VectorX(options_.size)};
      from.read(column.residual);
      from.read(column.response);
      step.push_back(std::move(column));
    }
  }
  from.require_end();
  previous_ = std::move(previous);
}

template <typename Method>
AccelerationEntry entry(const char* name, const char* meaning, double relaxation, bool has_columns) {
  return {.name = name,
          .meaning = meaning,
          .relaxation = relaxation,
          .has_columns = has_columns,
          .make = [](const AccelerationOptions& options) { return std::make_unique<Method>(options); }};
}

}  // namespace

std::span<const AccelerationEntry> acceleration_registry() {
  static const std::vector<AccelerationEntry> entries = {
      entry<FixedPoint>("none", "the response of the partner is the next guess", 1.0, false),
      entry<Aitken>("aitken", "one relaxation factor from the last two residuals", 0.5, false),
      entry<LeastSquares>("iqn_ils", "quasi-Newton by least squares over all guesses of the macro step", 0.5, true)};
  return entries;
}

}  // namespace heelstrike::mbs
