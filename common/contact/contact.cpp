#include "common/contact/contact.hpp"

#include "common/errors/refusal.hpp"

namespace heelstrike {

// Who is not behind a wire answers at once.
std::shared_ptr<const PostedQuestion> Contact::post(QuestionKind kind, std::int64_t step,
                                                    std::span<const PairState> states) {
  auto question = std::make_shared<PostedQuestion>();
  question->kind = kind;
  question->step = step;
  question->responses.resize(states.size());
  question->error = refusal([&] {
    if (kind == QuestionKind::commit) return commit(step, states, question->responses);
    evaluate(step, 0, states, question->responses);
  });
  question->answered = true;
  return question;
}

}  // namespace heelstrike
