#include "fem_server/sessions/local_contact.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <thread>

#include "common/errors/error.hpp"
#include "fem_server/sessions/open_session.hpp"
#include "scenario/shared_bodies.hpp"

namespace heelstrike::fem {

namespace {

/// The state as a remote session receives it. Session canonicalises the pose again, as after the wire.
PairState in_wire_frame(const PairState& state) {
  if (!state.X_AB.R.allFinite()) return state;  // Session rejects it with the name of the pair
  return {.t = state.t, .X_AB = canonical_pose(state.X_AB), .V_AB = state.V_AB};
}

FieldRequest request_as_sent(FieldRequest request) {
  request.X_WA = canonical_pose(request.X_WA);
  return request;
}

class LocalContact final : public Contact {
 public:
  LocalContact(std::vector<std::unique_ptr<Session>> sessions, StateOrigin origin)
      : sessions_(std::move(sessions)), origin_(origin) {
    for (const auto& session : sessions_) {
      descriptions_.push_back(session->description());
      pointers_.push_back(session.get());
    }
    sent_.resize(sessions_.size());
  }

  [[nodiscard]] std::span<const PairDescription> pairs() const override { return descriptions_; }

  void evaluate(std::int64_t step, std::int32_t /*iteration*/, std::span<const PairState> states,
                std::span<Response> responses) override {
    check_sizes("evaluate", states.size(), responses.size());
    for_each_session(pointers_,
                     [&](std::size_t i) { responses[i] = sessions_[i]->evaluate(step, in_wire_frame(states[i])); });
  }

  void commit(std::int64_t step, std::span<const PairState> states, std::span<Response> responses) override {
    check_sizes("commit", states.size(), responses.size());
    std::ranges::transform(states, sent_.begin(), in_wire_frame);
    commit_sessions(pointers_, step, sent_, responses);
  }

  [[nodiscard]] bool history_independent() const override {
    return !sessions_.empty() &&
           std::ranges::all_of(sessions_, [](const auto& session) { return session->traits().history_independent; });
  }
  [[nodiscard]] std::vector<BatchEntry> evaluate_batch(std::size_t pair, std::span<const PairState> states,
                                                       bool tangents, std::stop_token stop) override {
    std::vector<PairState> sent(states.size());
    std::ranges::transform(states, sent.begin(), in_wire_frame);
    return sessions_.at(pair)->evaluate_batch(sent, std::max(1U, std::thread::hardware_concurrency()),
                                              tangents ? EvaluateOptions{} : prescribed_motion, stop);
  }

  [[nodiscard]] MotionResponses commit_motion(std::int64_t first_step, std::span<const std::vector<PairState>> states,
                                              std::stop_token stop) override {
    std::vector<std::vector<PairState>> sent(states.begin(), states.end());
    for (auto& motion : sent) std::ranges::transform(motion, motion.begin(), in_wire_frame);
    return commit_motion_of_sessions(pointers_, first_step, sent, stop);
  }

  [[nodiscard]] std::vector<std::string> save_state() override {
    std::vector<std::string> states;
    for (const auto& session : sessions_) states.push_back(session->save_state());
    return states;
  }

  void restore_state(std::span<const std::string> states) override {
    check_sizes("restore_state", states.size(), states.size());
    const std::vector<std::string> before = save_state();
    try {
      for (std::size_t i = 0; i < sessions_.size(); ++i) sessions_[i]->restore_state(states[i], origin_);
    } catch (...) {
      for (std::size_t i = 0; i < sessions_.size(); ++i) sessions_[i]->restore_state(before[i]);
      throw;
    }
  }

  [[nodiscard]] std::string fields(std::size_t pair, const PairState& state, const FieldRequest& request) override {
    return session(pair).fields(in_wire_frame(state), request_as_sent(request));
  }

 private:
  [[nodiscard]] const Session& session(std::size_t pair) const {
    if (pair < sessions_.size()) return *sessions_[pair];
    throw input_error("pair", fmt::format("expected a pair below {}, found {}", sessions_.size(), pair));
  }
  void check_sizes(std::string_view verb, std::size_t n_states, std::size_t n_responses) const {
    if (n_states == sessions_.size() && n_responses == sessions_.size()) return;
    throw input_error("pairs",
                      fmt::format("{}: expected one entry for each of {} pairs, found {} states and {} responses", verb,
                                  sessions_.size(), n_states, n_responses));
  }

  std::vector<std::unique_ptr<Session>> sessions_;
  StateOrigin origin_;
  std::vector<Session*> pointers_;
  std::vector<PairDescription> descriptions_;
  std::vector<PairState> sent_;
};

}  // namespace

const AssetContent& find_asset(std::span<const AssetContent> assets, const AssetKey& file) {
  const auto it = std::ranges::find_if(assets, [&](const AssetContent& asset) {
    return file.sha256.empty() ? asset.name == file.name : asset.sha256 == file.sha256;
  });
  if (it != assets.end()) return *it;
  throw not_found_error(
      fmt::format("mesh '{}' (sha256 '{}') is not among the {} files of this run; name it in the scenario", file.name,
                  file.sha256, assets.size()),
      "surface.mesh");
}

std::span<const std::string> tunable_parameters(const std::string& backend) {
  return find_backend(backend).tunable;
}

std::unique_ptr<Contact> open_local_contact(std::span<const PairSpec> pairs, std::span<const AssetContent> assets,
                                            const OpenContext& context) {
  return local_contact_factory({})(pairs, assets, context);
}

ContactFactory local_contact_factory(std::string cache_directory, StateOrigin origin) {
  return [cache_directory = std::move(cache_directory), origin](
             std::span<const PairSpec> pairs, std::span<const AssetContent> assets,
             const OpenContext& context) -> std::unique_ptr<Contact> {
    reject_shared_bodies(pairs,
                         [](const std::string& name) { return has_elastic_bodies(find_backend(name).parameters); });
    std::vector<std::unique_ptr<Session>> sessions;
    for (const PairSpec& pair : pairs) {
      const double done = static_cast<double>(sessions.size());
      const double share = 1.0 / static_cast<double>(pairs.size());
      const PrepareContext prepare{
          .asset = [assets](const AssetKey& file) -> const AssetContent& { return find_asset(assets, file); },
          .on_progress =
              [&context, done, share](std::string_view stage, double fraction) {
                if (context.on_progress) context.on_progress(stage, (done + fraction) * share);
              },
          .stop = context.stop,
          .cache_directory = cache_directory};
      sessions.push_back(open_session(pair, prepare));
      prepare.on_progress("open", 1.0);
    }
    return std::make_unique<LocalContact>(std::move(sessions), origin);
  };
}

}  // namespace heelstrike::fem
