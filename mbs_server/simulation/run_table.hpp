/// Columns and rows of the time series.
#pragma once

#include <span>
#include <vector>

#include "common/results/run_records.hpp"
#include "mbs_server/coupling/coupling_scheme.hpp"
#include "mbs_server/formulation/system.hpp"

namespace heelstrike::mbs {

/// Time, then per body pose and twist, the energies, per pair the contact, per joint the reactions that are asked for,
/// and what the force elements tell of themselves.
[[nodiscard]] std::vector<Column> run_columns(const System& system);

/// Accelerations of all bodies, for those who ask.
[[nodiscard]] std::vector<Column> acceleration_columns(const Model& model);
void append_accelerations(const MotionState& at, System& system, std::vector<double>& row);

/// What changes in the columns of run_columns(), and in acceleration_columns() with `accelerations`, when accelerations
/// and multipliers change at a state that stays: reactions and accelerations, which are linear in them.
/// @param force  on a body, about its origin, that changes them
[[nodiscard]] std::vector<double> row_change(const MotionState& at, BodyIndex body, const Wrench& force,
                                             bool accelerations, System& system);
/// The same of any forces. @param g  generalised forces
[[nodiscard]] std::vector<double> row_change(const MotionState& at, VectorX g, bool accelerations, System& system);

/// Energies of one row [J].
struct RowEnergies {
  double dissipated = 0.0;
  double external_work = 0.0;
};

/// Fills one row at a state that satisfies the constraints; `row` is reused.
/// @param responses  of all pairs at the state; of pairs that do not act only the gap matters
void fill_row(const MotionState& at, const RowEnergies& energies, System& system, const CouplingScheme& scheme,
              std::span<const Response> responses, std::vector<double>& row);

/// Loads of the regions that the pairs tell apart. @param pairs  as opened, in the model's order
[[nodiscard]] std::vector<Column> region_columns(std::span<const PairDescription> pairs);
/// @param q          coordinates of the state
/// @param responses  of all pairs at the state; of pairs that do not act they do not matter
void append_regions(const Model& model, std::span<const PairDescription> pairs, const ConstVector& q,
                    const CouplingScheme& scheme, std::span<const Response> responses, std::vector<double>& row);

/// Writes the gaps of all pairs into a row that was filled before they were known.
void write_gaps(const Model& model, std::span<const Response> responses, std::vector<double>& row);
/// [m] of one of the pairs, in a complete row.
[[nodiscard]] double gap_in_row(const Model& model, std::size_t pair, std::span<const double> row);

}  // namespace heelstrike::mbs
