#include "fem_server/service/exchange_handler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "common/errors/error.hpp"
#include "common/errors/rejection.hpp"
#include "rpc/wire/contact_wire.hpp"
#include "rpc/wire/error_wire.hpp"

namespace heelstrike::fem {

namespace {

using wire::FieldPath;

void read_state(const v1::PairRequest& request, PairState& state, const FieldPath& pair) {
  const FieldPath path(pair, "state");
  if (!request.has_state()) wire::throw_missing(path);
  wire::from_proto(request.state(), state, path);
}

Error to_internal_error(const std::exception& error) {
  return untyped_error(error, "defect in the contact server");
}

void evaluate_into(OpenSession& session, const v1::PairRequest& request, const EvaluateOptions& options,
                   const FieldPath& path, v1::PairResponse& reply, Metrics& metrics) {
  PairState state;
  read_state(request, state, path);
  const OpenSession::CallReference use(session);
  const auto begin = std::chrono::steady_clock::now();
  const Response response = session.session().evaluate(request.step(), state, options);
  metrics.evaluated(std::chrono::steady_clock::now() - begin);
  wire::to_proto(response, *reply.mutable_result(), options.tangents);
}

}  // namespace

void ExchangeHandler::process(const v1::ExchangeRequest& request, v1::ExchangeResponse& reply) {
  if (static_cast<std::size_t>(request.following_size()) >= max_requests) {
    throw limit_error("more", fmt::format("more: this server accepts {} requests in a message, found {}", max_requests,
                                          request.following_size() + 1));
  }
  while (reply.following_size() < request.following_size()) reply.add_following();
  while (reply.following_size() > request.following_size()) reply.mutable_following()->RemoveLast();
  reply.set_sequence(request.sequence());
  handle_request(request, reply);
  for (int i = 0; i < request.following_size(); ++i) handle_request(request.following(i), *reply.mutable_following(i));
}

bool ExchangeHandler::has_open_session() const {
  return std::ranges::any_of(attached_, [](const auto& session) { return session && session->session().is_open(); });
}

void ExchangeHandler::handle_request(const v1::ExchangeRequest& request, v1::ExchangeResponse& reply) {
  const auto n = static_cast<std::size_t>(request.pairs_size());
  if (n == 0) throw input_error("pairs", "pairs: expected at least one pair in an exchange, found none");
  if (n > max_pairs_) {
    throw limit_error("pairs",
                      fmt::format("pairs: this server accepts {} pairs in an exchange, found {}", max_pairs_, n));
  }
  attached_.resize(n);
  reply.clear_committed_steps();
  while (reply.pairs_size() < request.pairs_size()) reply.add_pairs();
  while (reply.pairs_size() > request.pairs_size()) reply.mutable_pairs()->RemoveLast();
  switch (request.kind()) {
    case v1::ExchangeRequest::KIND_EVALUATE:
      return evaluate(request, reply);
    case v1::ExchangeRequest::KIND_COMMIT:
      return commit(request, reply);
    case v1::ExchangeRequest::KIND_ATTACH:
      return attach(request, reply);
    default:
      for (auto& pair : *reply.mutable_pairs()) {
        fail(pair, input_error("kind", fmt::format("kind: expected evaluate (1), commit (2) or attach (3), found {}",
                                                   static_cast<int>(request.kind()))));
      }
  }
}

OpenSession& ExchangeHandler::session_of(const v1::ExchangeRequest& request, std::size_t i) {
  const auto& id = request.pairs(static_cast<int>(i)).session_id();
  auto& known = attached_[i];
  if (id.empty() && known) {
    if (known->session().is_open()) return known->session();
    (void)sessions_.find(known->session().id(), client_);  // throws with the reason for its absence
  }
  if (!known || !known->session().is_open() || known->session().id() != id) {
    known.reset();
    known = std::make_unique<OpenSession::StreamReference>(sessions_.find(id, client_));
  }
  return known->session();
}

void ExchangeHandler::attach(const v1::ExchangeRequest& request, v1::ExchangeResponse& reply) {
  for (int i = 0; i < request.pairs_size(); ++i) {
    auto& pair = *reply.mutable_pairs(i);
    try {
      OpenSession& session = session_of(request, static_cast<std::size_t>(i));
      session.update_last_used();
      pair.clear_outcome();
      reply.add_committed_steps(session.session().committed_step());
    } catch (const Error& error) {
      fail(pair, error);
    }
  }
}

void ExchangeHandler::evaluate(const v1::ExchangeRequest& request, v1::ExchangeResponse& reply) {
  const FieldPath root("");
  for (int i = 0; i < request.pairs_size(); ++i) {
    auto& pair = *reply.mutable_pairs(i);
    try {
      const auto index = static_cast<std::size_t>(i);
      evaluate_into(session_of(request, index), request.pairs(i), {.tangents = !request.skip_tangents()},
                    FieldPath(root, "pairs", index), pair, metrics_);
    } catch (const Error& error) {
      fail(pair, error);
    } catch (const std::exception& error) {
      fail(pair, to_internal_error(error));
    }
  }
}

void ExchangeHandler::prepare_commit(const v1::ExchangeRequest& request) {
  const auto n = static_cast<std::size_t>(request.pairs_size());
  committing_.clear();
  states_.resize(n);
  responses_.resize(n);
  const FieldPath root("");
  for (std::size_t i = 0; i < n; ++i) {
    const auto& pair = request.pairs(static_cast<int>(i));
    const FieldPath path(root, "pairs", i);
    Session* session = &session_of(request, i).session();
    if (std::ranges::find(committing_, session) != committing_.end()) {
      throw input_error("pairs", fmt::format("pairs[{}]: the same session appears twice in a commit", i));
    }
    if (pair.step() != request.pairs(0).step()) {
      throw input_error("pairs", fmt::format("pairs[{}].step: all pairs commit the same step; expected {}, found {}", i,
                                             request.pairs(0).step(), pair.step()));
    }
    committing_.push_back(session);
    read_state(pair, states_[i], path);
  }
}

void ExchangeHandler::commit(const v1::ExchangeRequest& request, v1::ExchangeResponse& reply) {
  const auto fail_all = [&](const Error& error) {
    for (auto& pair : *reply.mutable_pairs()) fail(pair, error);
  };
  try {
    prepare_commit(request);
    std::deque<OpenSession::CallReference> uses;  // a commit may take longer than the idle time
    for (const auto& attached : attached_) uses.emplace_back(attached->session());
    commit_sessions(committing_, request.pairs(0).step(), states_, responses_);
    for (int i = 0; i < request.pairs_size(); ++i) {
      const auto index = static_cast<std::size_t>(i);
      wire::to_proto(responses_[index], *reply.mutable_pairs(i)->mutable_result());
      metrics_.committed();
    }
  } catch (const Error& error) {
    fail_all(error);
  } catch (const std::exception& error) {
    fail_all(to_internal_error(error));
  }
}

void ExchangeHandler::fail(v1::PairResponse& reply, const Error& error) {
  metrics_.failed(error.code());
  wire::to_proto(error, *reply.mutable_error());
}

}  // namespace heelstrike::fem
