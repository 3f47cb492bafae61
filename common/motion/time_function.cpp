#include "common/motion/time_function.hpp"

#include <limits>

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

}  // namespace heelstrike
