/// Shared by the tests of sessions: a pair, a back-end declared as expensive, errors by code and text.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "common/errors/error.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/sphere.hpp"

namespace heelstrike::fem::testing_support {

inline PairSpec ball_on_ground(const std::string& name = "ball-ground", double restitution = 0.6) {
  PairSpec pair;
  pair.name = name;
  pair.backend = "flores";
  pair.parameters = {{"stiffness", 1.4e8}, {"restitution", restitution}};
  pair.main.surface = PlaneSurface{};
  pair.partner.surface = SphereSurface{.radius = 0.1, .center = Vector3::Zero()};
  return pair;
}

template <typename Call>
std::pair<ErrorCode, std::string> error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {ErrorCode::internal, "no error"};
}

/// A back-end declared as expensive, so that its pairs are committed concurrently; rejects states after 5 s, fails with
/// an internal error on those before 0 s.
class ExpensiveBackend final : public ContactBackend {
 public:
  /// @param on_commit  called at the beginning of a commit, if not empty
  explicit ExpensiveBackend(std::unique_ptr<ContactBackend> inner, std::function<void()> on_commit = {})
      : ContactBackend({.parameters = inner->traits().parameters, .expensive = true}),
        inner_(std::move(inner)),
        on_commit_(std::move(on_commit)) {}
  [[nodiscard]] std::shared_ptr<const History> initial_history() const override { return inner_->initial_history(); }
  [[nodiscard]] Response evaluate(const History& history, const PairState& state,
                                  const EvaluateOptions& options) const override {
    return inner_->evaluate(history, state, options);
  }
  [[nodiscard]] Committed commit(const History& history, const PairState& state,
                                 const EvaluateOptions& options) const override {
    if (on_commit_) on_commit_();
    if (state.t < 0.0) throw std::logic_error("a defect");
    if (state.t > 5.0) throw RecoverableError(fmt::format("rejected at {}", state.t));
    return inner_->commit(history, state, options);
  }
  [[nodiscard]] std::shared_ptr<const History> load_history(std::string_view bytes) const override {
    return inner_->load_history(bytes);
  }

 private:
  std::unique_ptr<ContactBackend> inner_;
  std::function<void()> on_commit_;
};

}  // namespace heelstrike::fem::testing_support
