/// Results for terminals and pages: what rounding leaves is 0. Files have the computed values.
#pragma once

#include "common/results/run_records.hpp"

namespace heelstrike {

/// [-] of the scale of a quantity, below which its values are rounding.
constexpr double relative_resolution = 1e-9;

/// Relative to the largest of the energies; the error as in balance_error_is_rounding.
[[nodiscard]] EnergyBalance to_resolution(EnergyBalance energy);

/// [N] The largest impulse of the run over its mean step: the scale of the forces between impacts of rigid bodies. 0
/// without impulses.
[[nodiscard]] double impact_force_scale(const RunSummary& run);

/// [N] The peak force of a contact of the run; for rigid bodies relative to impact_force_scale.
[[nodiscard]] double displayed_force(const ContactEpisode& contact, const RunSummary& run);

/// [m] None for rigid bodies: they have no indentation.
[[nodiscard]] inline std::optional<double> displayed_indentation(const ContactEpisode& contact) {
  return contact.max_impulse ? std::nullopt : std::optional(contact.max_indentation);
}

}  // namespace heelstrike
