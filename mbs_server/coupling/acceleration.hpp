/// Acceleration of the fixed-point iteration of implicit coupling.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "mbs_server/coupling/saved_numbers.hpp"
#include "mbs_server/formulation/constraint.hpp"

namespace heelstrike::mbs {

/// Solves x = S(x), where x are the forces of a macro step and S the partner's response to the motion under them.
class Acceleration {
 public:
  virtual ~Acceleration() = default;

  /// Starts or repeats a macro step.
  /// @param weights  positive, one per entry of x: entries in units of their tolerance
  virtual void start(const VectorX& weights) = 0;
  /// The next guess after the response `response` = S(x) to `x`.
  [[nodiscard]] virtual VectorX next(const VectorX& x, const VectorX& response) = 0;
  /// Called when the macro step is accepted.
  virtual void accept() {}

  /// Saves the data that next() needs beyond a macro step.
  virtual void save(NumberWriter& /*to*/) const {}
  /// Strong exception guarantee. @throws Error{invalid_input}
  virtual void restore(NumberReader& from) { from.require_end(); }
};

struct AccelerationOptions {
  Eigen::Index size = 0;    ///< of x
  double relaxation = 1.0;  ///< factor on the first correction, and on each without acceleration
  double filter = 0.0;      ///< [-] minimum relative norm of a column orthogonal to the others
  int reused_steps = 0;     ///< macro steps whose columns are kept
};

struct AccelerationEntry {
  std::string name;
  std::string meaning;
  double relaxation = 1.0;   ///< default
  bool has_columns = false;  ///< uses `filter` and `reused_steps`
  std::function<std::unique_ptr<Acceleration>(const AccelerationOptions&)> make;
};

[[nodiscard]] std::span<const AccelerationEntry> acceleration_registry();

}  // namespace heelstrike::mbs
