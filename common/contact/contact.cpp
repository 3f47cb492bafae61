#include "common/contact/contact.hpp"

#include "common/errors/error.hpp"
#include "common/errors/refusal.hpp"

namespace heelstrike {

// A contact in the same process responds immediately.
std::shared_ptr<const PendingRequest> Contact::post(RequestKind kind, std::int64_t step,
                                                    std::span<const PairState> states) {
  auto request = std::make_shared<PendingRequest>();
  request->kind = kind;
  request->step = step;
  request->responses.resize(states.size());
  request->error = refusal([&] {
    if (kind == RequestKind::commit) return commit(step, states, request->responses);
    evaluate(step, 0, states, request->responses);
  });
  request->answered = true;
  return request;
}

}  // namespace heelstrike
