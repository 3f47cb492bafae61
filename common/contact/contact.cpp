#include "common/contact/contact.hpp"

#include "common/errors/error.hpp"
#include "common/errors/refusal.hpp"

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
  request->error = refusal([&] {
    if (kind == RequestKind::commit) return commit(step, states, request->responses);
    evaluate(step, 0, states, request->responses);
  });
  request->answered = true;
  return request;
}

}  // namespace heelstrike
