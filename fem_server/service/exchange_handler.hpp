/// Handles the requests of one Exchange stream (hot path). Used by one thread.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "fem_server/service/metrics.hpp"
#include "fem_server/service/session_table.hpp"
#include "heelstrike/v1/contact.pb.h"

namespace heelstrike::fem {

class ExchangeHandler {
 public:
  ExchangeHandler(SessionTable& sessions, Metrics& metrics, std::size_t max_pairs, SessionTable::Client client)
      : sessions_(sessions), metrics_(metrics), max_pairs_(max_pairs), client_(std::move(client)) {}

  static constexpr std::size_t max_requests = 1024;  ///< in one message

  /// Handles all requests of the message in sequence and writes the reply in place. A failure is the outcome of its
  /// pair; a failed commit is the outcome of all pairs, because all advance or none.
  /// @throws Error{invalid_input} for a request without pairs, Error{limit} for too many pairs or requests: protocol
  ///         violations that end the stream
  void process(const v1::ExchangeRequest& request, v1::ExchangeResponse& reply);
  /// Whether this stream keeps a session open.
  [[nodiscard]] bool has_open_session() const;

 private:
  void handle_request(const v1::ExchangeRequest& request, v1::ExchangeResponse& reply);
  void evaluate(const v1::ExchangeRequest& request, v1::ExchangeResponse& reply);
  void commit(const v1::ExchangeRequest& request, v1::ExchangeResponse& reply);
  void prepare_commit(const v1::ExchangeRequest& request);
  void attach(const v1::ExchangeRequest& request, v1::ExchangeResponse& reply);
  /// Session of pair `i`, by its id or else the last one named; cached between requests to avoid the lock of the table.
  /// @throws Error{not_found}
  [[nodiscard]] OpenSession& session_of(const v1::ExchangeRequest& request, std::size_t i);
  void fail(v1::PairResponse& reply, const Error& error);

  SessionTable& sessions_;
  Metrics& metrics_;
  std::size_t max_pairs_;
  SessionTable::Client client_;
  std::vector<std::unique_ptr<OpenSession::StreamReference>> attached_;
  std::vector<Session*> committing_;
  std::vector<PairState> states_;
  std::vector<Response> responses_;
};

}  // namespace heelstrike::fem
