#include "common/contact/contact.hpp"

#include "common/errors/error.hpp"
#include "common/errors/refusal.hpp"
#include "common/friction/local_problem.hpp"

namespace heelstrike {

// A contact in the same process responds immediately.
std::shared_ptr<const PendingRequest> Contact::post(RequestKind kind, std::int64_t step,
                                                    std::span<const PairState> states) {
  auto question = std::make_shared<PendingRequest>();
  question->kind = kind;
  question->step = step;
  question->responses.resize(states.size());
  question->error = refusal([&] {
    if (kind == RequestKind::commit) return commit(step, states, question->responses);
    evaluate(step, 0, states, question->responses);
  });
  question->answered = true;
  return question;
}

friction::LocalProblem Contact::local_problem(std::size_t /*pair*/, const PairState& /*state*/) {
  throw Error(ErrorCode::unimplemented,
              "friction problems are available only for contact in the same process");
}

}  // namespace heelstrike
