/// Static analysis: some coordinates are prescribed by drivers, all others come to rest in balance with loads, joints,
/// force elements and contact. One row at t = 0; where drivers or loads depend on time, one per time of the output grid
/// (a quasi-static sequence, each equilibrium found from the one before). The start and each equilibrium are committed
/// to the contact: friction measures slip from what was committed last, so the start is where a body that only friction
/// holds was put down.
///
/// The first equilibrium is approached by an overdamped motion M q' = g - Phi_q' lambda with implicit steps that grow
/// as the imbalance falls (pseudo-transient continuation, [kelley1998] in docs/references.bib): it runs down the
/// potential to a stable equilibrium. KINSOL finishes it. What nothing holds stays where it is.
#pragma once

#include <stop_token>

#include "mbs_server/analysis/run.hpp"

namespace heelstrike::mbs {

[[nodiscard]] RunSummary run_static(const RunInput& input, const ContactFactory& open_contact, RunSink& sink,
                                    std::stop_token stop);

}  // namespace heelstrike::mbs
