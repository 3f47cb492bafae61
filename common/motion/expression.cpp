#include <fmt/format.h>
#include <array>
#include <charconv>
#include <cmath>
#include <numbers>

#include "common/errors/error.hpp"
#include "common/motion/time_function.hpp"

namespace heelstrike {
namespace {

constexpr int max_nesting_depth = 64;

Jet power(const Jet& a, const Jet& b) {
  if (b.d == 0.0 && b.dd == 0.0) {
    const double n = b.f;
    const double g1 = n == 0.0 ? 0.0 : n * std::pow(a.f, n - 1.0);
    const double g2 = n == 0.0 || n == 1.0 ? 0.0 : n * (n - 1.0) * std::pow(a.f, n - 2.0);
    return chain(a, std::pow(a.f, n), g1, g2);
  }
  const Jet log_a = chain(a, std::log(a.f), 1.0 / a.f, -1.0 / (a.f * a.f));
  const Jet e = b * log_a;
  return chain(e, std::exp(e.f), std::exp(e.f), std::exp(e.f));
}

Jet call(const std::string& name, const std::array<Jet, 3>& x) {
  const Jet& a = x[0];
  if (name == "sin") return sine(a);
  if (name == "cos") return cosine(a);
  if (name == "exp") return chain(a, std::exp(a.f), std::exp(a.f), std::exp(a.f));
  if (name == "log") return chain(a, std::log(a.f), 1.0 / a.f, -1.0 / (a.f * a.f));
  if (name == "abs") return a.f < 0.0 ? -a : a;
  if (name == "sqrt") {
    const double r = std::sqrt(a.f);
    return chain(a, r, 0.5 / r, -0.25 / (r * a.f));
  }
  if (name == "tan") {
    const double g = std::tan(a.f);
    return chain(a, g, 1.0 + g * g, 2.0 * g * (1.0 + g * g));
  }
  if (name == "tanh") {
    const double g = std::tanh(a.f);
    return chain(a, g, 1.0 - g * g, -2.0 * g * (1.0 - g * g));
  }
  // step: 10 s^3 - 15 s^4 + 6 s^5 between the two times
  const Jet s = (a - x[1]) / (x[2] - x[1]);
  if (s.f <= 0.0) return {};
  if (s.f >= 1.0) return {.f = 1.0, .d = 0.0, .dd = 0.0};
  const double f = s.f;
  return chain(s, f * f * f * (10.0 + f * (6.0 * f - 15.0)), 30.0 * f * f * (1.0 - f) * (1.0 - f),
               60.0 * f * (1.0 - f) * (1.0 - 2.0 * f));
}

/// One instruction of the formula in postfix order.
struct Instruction {
  enum class Code { constant, time, add, subtract, multiply, divide, power, negate, call } code;
  double value = 0.0;
  std::string function = {};
  int arguments = 0;
};

class Expression final : public TimeFunction {
 public:
  Expression(std::vector<Instruction> program) : program_(std::move(program)) {}
  [[nodiscard]] Jet at(double t) const override {
    using Code = Instruction::Code;
    std::array<Jet, 2 * max_nesting_depth + 8> stack;
    std::size_t top = 0;
    for (const auto& i : program_) {
      if (i.code == Code::constant) {
        stack[top++] = {.f = i.value, .d = 0.0, .dd = 0.0};
      } else if (i.code == Code::time) {
        stack[top++] = {.f = t, .d = 1.0, .dd = 0.0};
      } else if (i.code == Code::negate) {
        stack[top - 1] = -stack[top - 1];
      } else if (i.code == Code::call) {
        std::array<Jet, 3> x;
        top -= static_cast<std::size_t>(i.arguments);
        for (std::size_t k = 0; k < static_cast<std::size_t>(i.arguments); ++k) x[k] = stack[top + k];
        stack[top++] = call(i.function, x);
      } else {
        const Jet b = stack[--top];
        stack[top - 1] = binary(i.code, stack[top - 1], b);
      }
    }
    return stack[0];
  }
  [[nodiscard]] std::vector<double> marks() const override {
    std::vector<double> constants;
    for (const Instruction& i : program_) {
      if (i.code == Instruction::Code::constant) constants.push_back(i.value);
    }
    return constants;
  }

 private:
  static Jet binary(Instruction::Code code, const Jet& a, const Jet& b) {
    using Code = Instruction::Code;
    if (code == Code::multiply) return a * b;
    if (code == Code::divide) return a / b;
    if (code == Code::power) return power(a, b);
    return code == Code::add ? a + b : a - b;
  }
  std::vector<Instruction> program_;
};

/// Recursive descent: sum of products of powers of signed atoms.
class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}
  std::vector<Instruction> parse() {
    sum();
    skip();
    if (at_ != text_.size()) reject("an operator or the end of the formula");
    return std::move(program_);
  }

 private:
  using Code = Instruction::Code;

  /// Text around the position of an error, because a formula may have any length.
  [[nodiscard]] std::string excerpt_at_position() const {
    constexpr std::size_t before = 40;
    constexpr std::size_t shown = 80;
    const std::size_t from = at_ > before ? at_ - before : 0;
    return fmt::format("{}{}{}", from > 0 ? "..." : "", text_.substr(from, shown),
                       text_.size() - from > shown ? "..." : "");
  }
  [[noreturn]] void reject(const std::string& expected) const {
    throw input_error("expression", fmt::format("expected {} at character {} of '{}', found {}", expected, at_ + 1,
                                                excerpt_at_position(),
                                                at_ < text_.size() ? fmt::format("'{}'", text_[at_]) : "its end"));
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void emit(Code code) { program_.push_back({.code = code}); }
  void sum() {
    if (++depth_ > max_nesting_depth) reject("fewer nested brackets");
    product();
    for (;;) {
      if (take('+')) {
        product();
        emit(Code::add);
      } else if (take('-')) {
        product();
        emit(Code::subtract);
      } else {
        break;
      }
    }
    --depth_;
  }
  void product() {
    signed_power();
    for (;;) {
      if (take('*')) {
        signed_power();
        emit(Code::multiply);
      } else if (take('/')) {
        signed_power();
        emit(Code::divide);
      } else {
        break;
      }
    }
  }
  void signed_power() {
    if (++depth_ > max_nesting_depth) reject("fewer signs and brackets in a row");
    if (take('-')) {
      signed_power();
      emit(Code::negate);
    } else {
      (void)take('+');
      atom();
      if (take('^')) {
        signed_power();
        emit(Code::power);
      }
    }
    --depth_;
  }
  void atom() {
    if (take('(')) {
      sum();
      if (!take(')')) reject("')'");
      return;
    }
    skip();
    if (at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '.')) {
      return constant();
    }
    name();
  }
  void constant() {
    double value = 0.0;
    const char* end = text_.data() + text_.size();
    const auto result = std::from_chars(text_.data() + at_, end, value);
    if (result.ec != std::errc()) reject("a number");
    at_ = static_cast<std::size_t>(result.ptr - text_.data());
    program_.push_back({.code = Code::constant, .value = value});
  }
  void name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    const std::string word = text_.substr(begin, at_ - begin);
    if (word == "t") return emit(Code::time);
    if (word == "pi") return program_.push_back({.code = Code::constant, .value = std::numbers::pi});
    static const std::array<const char*, 9> known = {"sin", "cos", "tan", "exp", "log", "sqrt", "tanh", "abs", "step"};
    bool found = false;
    for (const char* k : known) found = found || word == k;
    if (!found) {
      at_ = begin;
      reject("a number, t, pi, '(' or one of sin cos tan exp log sqrt tanh abs step");
    }
    const int arguments = word == "step" ? 3 : 1;
    if (!take('(')) reject("'('");
    for (int i = 0; i < arguments; ++i) {
      if (i > 0 && !take(',')) reject("','");
      sum();
    }
    if (!take(')')) reject("')'");
    program_.push_back({.code = Code::call, .function = word, .arguments = arguments});
  }

  const std::string& text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<Instruction> program_;
};

/// The largest number of values alive at once.
std::size_t required_stack_size(const std::vector<Instruction>& program) {
  using Code = Instruction::Code;
  std::size_t top = 0;
  std::size_t most = 0;
  for (const auto& i : program) {
    if (i.code == Code::constant || i.code == Code::time) {
      ++top;
    } else if (i.code == Code::call) {
      top -= static_cast<std::size_t>(i.arguments) - 1;
    } else if (i.code != Code::negate) {
      --top;
    }
    most = std::max(most, top);
  }
  return most;
}

}  // namespace

TimeFunctionPtr make_expression(const std::string& text) {
  auto program = Parser(text).parse();
  if (required_stack_size(program) > 2 * max_nesting_depth) {
    throw input_error("expression", "expected a formula with fewer nested brackets");
  }
  return std::make_shared<Expression>(std::move(program));
}

}  // namespace heelstrike
