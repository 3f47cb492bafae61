#include "fem_server/sessions/session.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>
#include <thread>
#include <utility>

#include "common/contact/material_laws.hpp"
#include "common/errors/rejection.hpp"
#include "common/process/parallel.hpp"
#include "fem_server/sessions/session_bytes.hpp"

namespace heelstrike::fem {

namespace {

void check_finite(const PairState& state, const std::string& pair) {
  const bool finite = std::isfinite(state.t) && state.X_AB.R.allFinite() && state.X_AB.p.allFinite() &&
                      state.V_AB.w.allFinite() && state.V_AB.v.allFinite();
  if (finite) return;
  throw input_error("state",
                    fmt::format("pair '{}': expected finite time, pose and twist, found NaN or infinity at t = {} s, "
                                "p_AB = ({}, {}, {}) m, v_AB = ({}, {}, {}) m/s",
                                pair, state.t, state.X_AB.p.x(), state.X_AB.p.y(), state.X_AB.p.z(), state.V_AB.v.x(),
                                state.V_AB.v.y(), state.V_AB.v.z()));
}

bool is_bitwise_equal(const double* a, const double* b, std::ptrdiff_t n) {
  return std::equal(a, a + n, b, [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  });
}

bool is_bitwise_equal(const PairState& a, const PairState& b) {
  return is_bitwise_equal(&a.t, &b.t, 1) && is_bitwise_equal(a.X_AB.R.data(), b.X_AB.R.data(), 9) &&
         is_bitwise_equal(a.X_AB.p.data(), b.X_AB.p.data(), 3) &&
         is_bitwise_equal(a.V_AB.w.data(), b.V_AB.w.data(), 3) && is_bitwise_equal(a.V_AB.v.data(), b.V_AB.v.data(), 3);
}

/// Checks a state and rounds its pose as in the wire format.
PairState canonical(const PairState& state, const std::string& pair) {
  check_finite(state, pair);
  return {.t = state.t, .X_AB = canonical_pose(state.X_AB), .V_AB = state.V_AB};
}

void check_stop(const std::stop_token& stop, const char* what) {
  if (stop.stop_requested()) throw Error(ErrorCode::cancelled, fmt::format("{}: stopped on request", what));
}

constexpr const char* motion_commits_name = "commits along prescribed motion";

/// Number of batch states that a thread takes at once: adjacent states share work, but chunks shrink towards the end to
/// balance the load.
std::size_t shared_states(std::size_t left, unsigned n_threads) {
  constexpr std::size_t most = 8;
  return std::clamp<std::size_t>(left / (2 * std::max<std::size_t>(n_threads, 1)), 1, most);
}

}  // namespace

Session::Session(PairSpec pair, std::unique_ptr<ContactBackend> backend, std::string digest)
    : pair_(std::move(pair)), backend_(std::move(backend)) {
  description_ = {.name = pair_.name,
                  .backend = pair_.backend,
                  .parameters = backend_->traits().parameters,
                  .digest = std::move(digest),
                  .vibrates = backend_->traits().vibrates,
                  .vibrates_on_support = backend_->traits().vibrates_on_support,
                  .regions = backend_->traits().regions};
  description_.parameters.merge(laws_in_force(pair_));
  committed_.history = backend_->initial_history();
}

Session::CommittedState Session::committed_state() const {
  const std::lock_guard lock(mutex_);
  return committed_;
}

std::int64_t Session::committed_step() const {
  const std::lock_guard lock(mutex_);
  return committed_.step;
}

Response Session::evaluate(std::int64_t step, const PairState& state, const EvaluateOptions& options) const {
  std::shared_ptr<const History> history;
  {
    const std::lock_guard lock(mutex_);
    if (step != -1 && step != committed_.step + 1) {
      throw order_error(
          fmt::format("pair '{}': evaluate expected step {} (the one after the last commit) or -1, found {}",
                      pair_.name, committed_.step + 1, step));
    }
    history = committed_.history;
  }
  return backend_->evaluate(*history, canonical(state, pair_.name), options);
}

std::vector<BatchEntry> Session::evaluate_batch(std::span<const PairState> states, unsigned n_threads,
                                                const EvaluateOptions& options, const std::stop_token& stop) const {
  const std::shared_ptr<const History> history = committed_state().history;
  std::vector<BatchEntry> entries(states.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&]() noexcept {
    for (std::size_t begin = next; begin < states.size() && !stop.stop_requested(); begin = next) {
      const std::size_t end = std::min(states.size(), begin + shared_states(states.size() - begin, n_threads));
      if (!next.compare_exchange_weak(begin, end)) continue;
      evaluate_entries(*history, states.subspan(begin, end - begin), options,
                       std::span(entries).subspan(begin, end - begin));
    }
  };
  const std::size_t n = std::min<std::size_t>(std::max(n_threads, 1U), states.size());
  {
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < n; ++i) helpers.emplace_back(work);
    work();
  }
  check_stop(stop, "evaluations of a batch");
  return entries;
}

void Session::evaluate_entries(const History& history, std::span<const PairState> states,
                               const EvaluateOptions& options, std::span<BatchEntry> entries) const {
  std::vector<PairState> good;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < states.size(); ++i) {
    entries[i].error = rejection_error([&] { good.push_back(canonical(states[i], pair_.name)); });
    if (!entries[i].error) places.push_back(i);
  }
  const auto handle_request = [&](std::size_t k) {
    BatchEntry& entry = entries[places[k]];
    entry.error = rejection_error([&] { entry.response = backend_->evaluate(history, good[k], options); });
  };
  const BatchEvaluation* batches = backend_->batches();
  if (batches != nullptr && !options.tangents && good.size() > 1) {
    const auto together = rejection_error([&] {
      std::vector<BatchEntry> batch = batches->evaluate_all(history, good);
      for (std::size_t k = 0; k < places.size(); ++k) entries[places[k]] = std::move(batch[k]);
    });
    if (!together) return;
    // E.g. insufficient memory for the whole batch: evaluate one by one to find the affected states.
  }
  for (std::size_t k = 0; k < places.size(); ++k) handle_request(k);
}

Session::PreparedCommit Session::prepare_commit(std::int64_t step, const PairState& state) const {
  const CommittedState last = committed_state();
  if (step == last.step && step >= 0) {
    return {.step = step,
            .state = last.state,
            .committed = {last.history, repeated(last, step, state)},
            .repetition = true};
  }
  if (step != last.step + 1) {
    throw order_error(fmt::format("pair '{}': commit expected step {}, found {}; steps are committed consecutively",
                                  pair_.name, last.step + 1, step));
  }
  return {.step = step, .state = state, .committed = commit_after(last, state), .repetition = false};
}

Committed Session::commit_after(const CommittedState& last, const PairState& state) const {
  const PairState at = canonical(state, pair_.name);
  Committed committed = backend_->commit(*last.history, at);
  if (last.step >= 0 || traits().history_independent || !(committed.response.gap <= 0.0)) return committed;
  // Before the first commit friction has no stick point: the response has no tangential stiffness.
  Response stuck;
  if (rejection_error([&] { stuck = backend_->evaluate(*committed.history, at); })) return committed;
  committed.response.dF_A_dX = stuck.dF_A_dX;
  committed.response.dF_A_dV = stuck.dF_A_dV;
  return committed;
}

void Session::check_current(const PreparedCommit& prepared) const {
  const bool next = !prepared.repetition && prepared.step == committed_.step + 1;
  const bool published = prepared.step == committed_.step && is_bitwise_equal(prepared.state, committed_.state);
  if (next || published) return;
  throw order_error(
      fmt::format("pair '{}': another commit or restore intervened between the two phases of the commit of step {}; "
                  "the session is at step {}",
                  pair_.name, prepared.step, committed_.step));
}

void Session::publish(PreparedCommit prepared) {
  Session* const self = this;
  publish_all({&self, 1}, {&prepared, 1});
}

std::vector<std::unique_lock<std::mutex>> Session::locked(std::span<Session* const> sessions) {
  // Locks in order of addresses avoid deadlock between streams that commit the same sessions.
  std::vector<Session*> ordered(sessions.begin(), sessions.end());
  std::ranges::sort(ordered, std::less<>());
  std::vector<std::unique_lock<std::mutex>> locks;
  locks.reserve(ordered.size());
  for (const Session* session : ordered) locks.emplace_back(session->mutex_);
  return locks;
}

void Session::publish_all(std::span<Session* const> sessions, std::span<PreparedCommit> prepared) {
  const std::vector<std::unique_lock<std::mutex>> locks = locked(sessions);
  for (std::size_t i = 0; i < sessions.size(); ++i) sessions[i]->check_current(prepared[i]);
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    CommittedState& committed_state = sessions[i]->committed_;
    if (prepared[i].step == committed_state.step) continue;
    committed_state = {.history = std::move(prepared[i].committed.history),
                       .step = prepared[i].step,
                       .state = prepared[i].state,
                       .response = prepared[i].committed.response,
                       .motion = nullptr};
  }
}

Response Session::repeated(const CommittedState& committed_state, std::int64_t step, const PairState& state) const {
  const PairState* before = step == committed_state.step ? &committed_state.state : nullptr;
  const Response* response = &committed_state.response;
  if (committed_state.motion && step >= committed_state.motion->first_step && step <= committed_state.step) {
    const auto i = static_cast<std::size_t>(step - committed_state.motion->first_step);
    before = &committed_state.motion->states[i];
    response = &committed_state.motion->responses[i];
  }
  if (before != nullptr && is_bitwise_equal(state, *before)) return *response;
  throw order_error(
      fmt::format("pair '{}': step {} is already committed, {}; commit step {} next, or repeat the last commit with "
                  "the same input",
                  pair_.name, step,
                  before == nullptr ? std::string("and too old to be repeated")
                                    : fmt::format("with another state (t = {} s, now {} s)", before->t, state.t),
                  committed_state.step + 1));
}

namespace {

void lower(Session::RejectedIndex& rejected, std::size_t n) {
  std::size_t now = rejected;
  while (n < now && !rejected.compare_exchange_weak(now, n)) {
  }
}

}  // namespace

Session::PreparedMotion Session::prepare_motion(std::int64_t first_step, std::span<const PairState> states,
                                                RejectedIndex& rejected, const std::stop_token& stop) const {
  const CommittedState last = committed_state();
  if (first_step < 0 || first_step > last.step + 1) {
    throw order_error(fmt::format("pair '{}': commit expected step {}, found {}; steps are committed consecutively",
                                  pair_.name, last.step + 1, first_step));
  }
  PreparedMotion prepared{
      .first_step = first_step, .base_history = last.history, .states = {}, .committed = {}, .error = {}};
  std::shared_ptr<const History> history = last.history;
  for (const PairState& state : states) {
    check_stop(stop, motion_commits_name);
    // The state that another session rejected is still tried: the error of the first rejecting session is reported.
    if (prepared.states.size() > rejected) break;
    const std::int64_t step = first_step + std::ssize(prepared.states);
    Committed committed;
    if (step <= last.step) {
      committed = {.history = last.history, .response = repeated(last, step, state)};
    } else {
      prepared.error = rejection_error(
          [&] { committed = backend_->commit(*history, canonical(state, pair_.name), prescribed_motion); });
      if (prepared.error) {
        lower(rejected, prepared.states.size());
        break;
      }
      history = committed.history;
    }
    prepared.states.push_back(state);
    prepared.committed.push_back(std::move(committed));
  }
  return prepared;
}

void Session::publish_motion(std::span<Session* const> sessions, std::span<PreparedMotion> prepared, std::size_t n) {
  if (n == 0) return;
  const std::vector<std::unique_lock<std::mutex>> locks = locked(sessions);
  const auto last_step = [&](std::size_t i) { return prepared[i].first_step + static_cast<std::int64_t>(n) - 1; };
  // A retry may run concurrently with the call that it repeats.
  const auto published = [&](std::size_t i) {
    const CommittedState& committed_state = sessions[i]->committed_;
    if (committed_state.step != last_step(i)) return false;
    const PairState* states = committed_state.motion ? committed_state.motion->states.data() : &committed_state.state;
    const std::size_t n_states = committed_state.motion ? committed_state.motion->states.size() : 1;
    for (std::size_t k = 0; k < std::min(n, n_states); ++k) {
      if (!is_bitwise_equal(states[n_states - 1 - k], prepared[i].states[n - 1 - k])) return false;
    }
    return true;
  };
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    if (sessions[i]->committed_.history == prepared[i].base_history || published(i)) continue;
    throw order_error(fmt::format(
        "pair '{}': another commit or restore intervened between the two phases of the commits of steps {} to {}; the "
        "session is at step {}",
        sessions[i]->pair_.name, prepared[i].first_step, last_step(i), sessions[i]->committed_.step));
  }
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    CommittedState& committed_state = sessions[i]->committed_;
    if (committed_state.step >= last_step(i)) continue;
    auto motion = std::make_shared<CommittedMotion>();
    motion->first_step = prepared[i].first_step;
    motion->states.assign(prepared[i].states.begin(), prepared[i].states.begin() + static_cast<std::ptrdiff_t>(n));
    for (std::size_t k = 0; k < n; ++k) motion->responses.push_back(prepared[i].committed[k].response);
    committed_state = {.history = prepared[i].committed[n - 1].history,
                       .step = last_step(i),
                       .state = motion->states.back(),
                       .response = motion->responses.back(),
                       .motion = nullptr};
    committed_state.motion = std::move(motion);
  }
}

std::string Session::save_state() const {
  const CommittedState now = committed_state();
  return session_bytes({.backend = pair_.backend,
                        .digest = description_.digest,
                        .history = now.history->save(),
                        .step = now.step,
                        .state = now.state,
                        .response = now.response});
}

void Session::restore_state(std::string_view bytes, StateOrigin origin) {
  const SessionRecord record = session_record(bytes, pair_.name, pair_.backend, description_.digest, origin);
  CommittedState restored{.history = backend_->load_history(record.history),
                          .step = record.step,
                          .state = record.state,
                          .response = record.response,
                          .motion = nullptr};
  const std::lock_guard lock(mutex_);
  committed_ = std::move(restored);
}

std::string Session::fields(const PairState& state, const FieldRequest& request) const {
  return backend_->fields(*committed_state().history, canonical(state, pair_.name), request);
}

void for_each_session(std::span<Session* const> sessions, const std::function<void(std::size_t)>& work) {
  const auto n_expensive = static_cast<std::size_t>(
      std::ranges::count_if(sessions, [](const Session* session) { return session->traits().expensive; }));
  // hardware_concurrency() reads a file at every call, which costs more than a point law.
  const std::size_t n_threads =
      n_expensive < 2 ? 1 : std::min<std::size_t>(n_expensive, std::thread::hardware_concurrency());
  for_each_in_parallel(sessions.size(), n_threads, work);
}

MotionResponses commit_motion_of_sessions(std::span<Session* const> sessions, std::int64_t first_step,
                                          std::span<const std::vector<PairState>> states, const std::stop_token& stop) {
  const std::size_t n = states.empty() ? 0 : states.front().size();
  if (states.size() != sessions.size() || std::ranges::any_of(states, [n](const auto& s) { return s.size() != n; })) {
    throw input_error("pairs", fmt::format("commits from step {}: expected the same number of states for each of {} "
                                           "pairs, found {} pairs, the first with {} states",
                                           first_step, sessions.size(), states.size(), n));
  }
  std::vector<Session::PreparedMotion> prepared(sessions.size());
  Session::RejectedIndex rejected{std::numeric_limits<std::size_t>::max()};
  for_each_session(sessions, [&](std::size_t i) {
    prepared[i] = sessions[i]->prepare_motion(first_step, states[i], rejected, stop);
  });
  check_stop(stop, motion_commits_name);
  MotionResponses responses;
  std::size_t n_used = n;
  for (const Session::PreparedMotion& motion : prepared) {
    if (motion.states.size() >= n_used) continue;
    n_used = motion.states.size();
    responses.error = motion.error;
  }
  Session::publish_motion(sessions, prepared, n_used);
  for (const Session::PreparedMotion& motion : prepared) {
    auto& pair_responses = responses.responses.emplace_back();
    for (std::size_t k = 0; k < n_used; ++k) pair_responses.push_back(motion.committed[k].response);
  }
  return responses;
}

void commit_sessions(std::span<Session* const> sessions, std::int64_t step, std::span<const PairState> states,
                     std::span<Response> responses) {
  if (states.size() != sessions.size() || responses.size() != sessions.size()) {
    throw input_error(
        "pairs", fmt::format("commit of step {}: expected {} states and responses, one per pair, found {} and {}", step,
                             sessions.size(), states.size(), responses.size()));
  }
  std::vector<Session::PreparedCommit> prepared(sessions.size());
  for_each_session(sessions, [&](std::size_t i) { prepared[i] = sessions[i]->prepare_commit(step, states[i]); });
  Session::publish_all(sessions, prepared);
  for (std::size_t i = 0; i < sessions.size(); ++i) responses[i] = prepared[i].committed.response;
}

}  // namespace heelstrike::fem
