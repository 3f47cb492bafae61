/// Forces and torques of all joints and drivers on their bodies, as columns of the time series.
#pragma once

#include <vector>

#include "common/results/run_records.hpp"
#include "mbs_server/formulation/system.hpp"

namespace heelstrike::mbs {

/// Force and torque about the body's origin, in the world, of generalised forces `g` on the coordinates `q` of a body.
[[nodiscard]] Wrench wrench_of(const ConstSegment& q, const ConstSegment& g);

class ReactionTable {
 public:
  ReactionTable() = default;
  /// @param system  complete; redundant rows removed
  explicit ReactionTable(const System& system);

  [[nodiscard]] std::vector<Column> columns(const System& system) const;
  /// Solves for the multipliers at the state and appends a value per column.
  void append(const MotionState& at, System& system, std::vector<double>& row) const;

 private:
  /// A joint or driver and one body on which it acts.
  struct Reaction {
    std::size_t constraint;
    BodyIndex body;
  };
  std::vector<Reaction> reactions_;
};

}  // namespace heelstrike::mbs
