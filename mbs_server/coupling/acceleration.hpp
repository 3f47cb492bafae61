/// How an implicit coupling goes from one guess of the forces to the next.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "mbs_server/coupling/saved_numbers.hpp"
#include "mbs_server/formulation/constraint.hpp"

namespace heelstrike::mbs {

/// Looks for x = S(x), where x are the forces of a macro step and S what the partner answers to the motion under them.
class Acceleration {
 public:
  virtual ~Acceleration() = default;

  /// A macro step begins, or begins again.
  /// @param weights  positive, one per entry of x: entries in units of their tolerance
  virtual void start(const VectorX& weights) = 0;
  /// The next guess after `x` was answered with `answered` = S(x).
  [[nodiscard]] virtual VectorX next(const VectorX& x, const VectorX& answered) = 0;
  /// The macro step was accepted.
  virtual void accept() {}

  /// What next() depends on beyond a macro step.
  virtual void save(NumberWriter& /*to*/) const {}
  /// Leaves what it had when it throws. @throws Error{invalid_input}
  virtual void restore(NumberReader& from) { from.require_end(); }
};

struct AccelerationOptions {
  Eigen::Index size = 0;    ///< of x
  double relaxation = 1.0;  ///< factor on the first correction, and on each without acceleration
  double filter = 0.0;      ///< [-] part of its norm that a column must have beyond the others
  int reused_steps = 0;     ///< macro steps whose columns are kept
};

struct AccelerationEntry {
  std::string name;
  std::string meaning;
  double relaxation = 1.0;   ///< when the scenario does not say
  bool has_columns = false;  ///< knows `filter` and `reused_steps`
  std::function<std::unique_ptr<Acceleration>(const AccelerationOptions&)> make;
};

[[nodiscard]] std::span<const AccelerationEntry> acceleration_registry();

}  // namespace heelstrike::mbs
