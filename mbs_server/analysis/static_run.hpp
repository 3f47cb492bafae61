/// Static analysis: some coordinates are prescribed by drivers, all others are in equilibrium with loads, joints, force
/// elements and contact. One row at t = 0; if drivers or loads depend on time, one per time of the output grid (a
/// quasi-static sequence, each equilibrium computed from the preceding one). The initial state and each equilibrium are
/// committed to the contact: friction measures slip from the last commit, so the initial state is the reference of a
/// body that only friction supports.
///
/// The first equilibrium is approached by an overdamped motion M q' = g - Phi_q' lambda with implicit steps that grow
/// as the residual falls (pseudo-transient continuation, [kelley1998] in docs/references.bib): it decreases the
/// potential towards a stable equilibrium, which KINSOL completes. Unsupported coordinates stay in place.
#pragma once

#include <stop_token>

#include "mbs_server/analysis/run.hpp"

namespace heelstrike::mbs {

[[nodiscard]] RunSummary run_static(const RunInput& input, const ContactFactory& open_contact, RunSink& sink,
                                    std::stop_token stop);

}  // namespace heelstrike::mbs
