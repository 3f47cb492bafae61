/// Columns and rows of the time series.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/errors/error.hpp"
#include "common/results/run_records.hpp"
#include "mbs_server/coupling/coupling_scheme.hpp"
#include "mbs_server/formulation/system.hpp"

namespace heelstrike::mbs {

/// Time, then pose and twist per body, energies, contact per pair, requested reactions per joint, and the columns of
/// the force elements.
[[nodiscard]] std::vector<Column> run_columns(const System& system);

/// Error{invalid_input} about a name that none of the columns has, with the nearest names. Callers are in any language.
/// @param kind  "input"
/// @param hint  examples of names, ", as in ..."; may be empty
[[nodiscard]] Error unknown_column(const std::string& kind, const std::string& hint, std::string_view name,
                                   std::span<const Column> columns);

/// Optional columns of the accelerations of all bodies.
[[nodiscard]] std::vector<Column> acceleration_columns(const Model& model);
void append_accelerations(const MotionState& at, System& system, std::vector<double>& row);

/// Change of the columns of run_columns(), and of acceleration_columns() with `accelerations`, due to a change of
/// accelerations and multipliers at a fixed state: reactions and accelerations, which are linear in them.
/// @param force  on a body, about its origin, that causes the change
[[nodiscard]] std::vector<double> row_change(const MotionState& at, BodyIndex body, const Wrench& force,
                                             bool accelerations, System& system);
/// As above for arbitrary forces. @param g  generalised forces
[[nodiscard]] std::vector<double> row_change(const MotionState& at, VectorX g, bool accelerations, System& system);

/// Energies of one row [J].
struct RowEnergies {
  double dissipated = 0.0;
  double external_work = 0.0;
};

/// Fills one row at a state that satisfies the constraints; `row` is reused.
/// @param responses  of all pairs at the state; of inactive pairs only the gap is used
void fill_row(const MotionState& at, const RowEnergies& energies, System& system, const CouplingScheme& scheme,
              std::span<const Response> responses, std::vector<double>& row);

/// Columns of the loads of the pairs' regions. @param pairs  as opened, in the model's order
[[nodiscard]] std::vector<Column> region_columns(std::span<const PairDescription> pairs);
/// @param q          coordinates of the state
/// @param responses  of all pairs at the state; unused for inactive pairs
void append_regions(const Model& model, std::span<const PairDescription> pairs, const ConstVector& q,
                    const CouplingScheme& scheme, std::span<const Response> responses, std::vector<double>& row);

/// Writes the gaps of all pairs into a row that was filled before they were known.
void write_gaps(const Model& model, std::span<const Response> responses, std::vector<double>& row);
/// [m] of one of the pairs, in a complete row.
[[nodiscard]] double gap_in_row(const Model& model, std::size_t pair, std::span<const double> row);

/// Force and torque about the body's origin, in the world, of generalised forces `g` on the coordinates `q` of a body.
[[nodiscard]] Wrench wrench_of(const ConstSegment& q, const ConstSegment& g);

/// Forces and torques of all joints and drivers on their bodies, as columns of the time series.
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
