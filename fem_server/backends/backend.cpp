// What a back-end does where it does nothing of its own.
#include "fem_server/backends/backend.hpp"

#include "common/errors/error.hpp"
#include "common/errors/refusal.hpp"

namespace heelstrike::fem {

std::vector<BatchEntry> ContactBackend::evaluate_prescribed_all(const History& history,
                                                                std::span<const PairState> states) const {
  std::vector<BatchEntry> entries(states.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    entries[i].error = refusal([&] { entries[i].response = evaluate_prescribed(history, states[i]); });
  }
  return entries;
}

std::string ContactBackend::fields(const History& /*history*/, const PairState& /*state*/,
                                   const FieldRequest& /*request*/) const {
  throw Error(ErrorCode::unimplemented, "this back-end has no fields: point laws know a force, not its distribution");
}

}  // namespace heelstrike::fem
