/// Columns and rows of the time series.
#pragma once

#include <span>
#include <vector>

#include "common/results/run_records.hpp"
#include "mbs_server/coupling/contact_coupling.hpp"
#include "mbs_server/formulation/system.hpp"

namespace heelstrike::mbs {

/// time, then per body pose and twist, the energies, and per pair the contact.
[[nodiscard]] std::vector<Column> run_columns(const Model& model);

/// Accelerations of all bodies, for those who ask.
[[nodiscard]] std::vector<Column> acceleration_columns(const Model& model);
void append_accelerations(double t, const ConstVector& q, const ConstVector& qd, System& system,
                          std::vector<double>& row);

/// Energies of one row [J].
struct RowEnergies {
  double dissipated = 0.0;
  double external_work = 0.0;
};

/// Fills one row at a state that satisfies the constraints; `row` is reused.
void fill_row(double t, const ConstVector& q, const ConstVector& qd, const RowEnergies& energies, System& system,
              ContactCoupling& coupling, std::vector<double>& row);

}  // namespace heelstrike::mbs
