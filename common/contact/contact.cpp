#include "common/contact/contact.hpp"

#include "common/errors/error.hpp"
#include "common/errors/rejection.hpp"

namespace heelstrike {

std::string stored_member_names() {
  std::string names;
  for_each_stored_member(
      [&](const hs::ResponseMember& row, auto) { names += (names.empty() ? "" : " ") + std::string(row.name); });
  return names;
}

std::vector<OutputName> output_names(hs::ResponseOutput output) {
  std::vector<OutputName> names;
  hs::for_each_response_member<>([&](const hs::ResponseMember& row) {
    if (!row.is_in(output)) return;
    names.push_back({row.output, row.unit, row.meaning, row.kind == hs::MemberKind::number});
    if (names.back().is_number) return;
    const auto axis = names.back().name.find('*');
    names.resize(names.size() + 2, names.back());
    for (std::size_t i = 0; i < 3; ++i) names[names.size() - 3 + i].name[axis] = "xyz"[i];
  });
  return names;
}

// A contact in the same process responds immediately.
std::shared_ptr<const PendingRequest> Contact::post(RequestKind kind, std::int64_t step,
                                                    std::span<const PairState> states) {
  auto request = std::make_shared<PendingRequest>();
  request->kind = kind;
  request->step = step;
  request->responses.resize(states.size());
  request->error = rejection_error([&] {
    if (kind == RequestKind::commit) return commit(step, states, request->responses);
    evaluate(step, 0, states, request->responses);
  });
  request->completed = true;
  return request;
}

std::vector<BatchEntry> Contact::evaluate_batch(std::size_t /*pair*/, std::span<const PairState> /*states*/,
                                                bool /*tangents*/, std::stop_token /*stop*/) {
  throw Error(ErrorCode::unimplemented, "this contact has no batch evaluation");
}

MotionResponses Contact::commit_motion(std::int64_t first_step, std::span<const std::vector<PairState>> states,
                                       std::stop_token stop) {
  if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "commit_motion: stopped on request");
  MotionResponses motion;
  motion.responses.resize(states.size());
  const std::size_t n_states = states.empty() ? 0 : states.front().size();
  std::vector<PairState> state(states.size());
  std::vector<Response> responses(states.size());
  for (std::size_t i = 0; i < n_states; ++i) {
    for (std::size_t pair = 0; pair < states.size(); ++pair) state[pair] = states[pair][i];
    motion.error = rejection_error([&] { commit(first_step + static_cast<std::int64_t>(i), state, responses); });
    if (motion.error && motion.error->code() == ErrorCode::out_of_order) throw_typed(*motion.error);
    if (motion.error) break;
    for (std::size_t pair = 0; pair < states.size(); ++pair) motion.responses[pair].push_back(responses[pair]);
  }
  return motion;
}

}  // namespace heelstrike
