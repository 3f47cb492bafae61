/// One bidirectional Exchange call: messages are sent without waiting for replies, which arrive in the order of the
/// messages. Every wait has a deadline.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/async_stream.h>

#include <memory>
#include <stop_token>

#include "heelstrike/v1/contact.grpc.pb.h"
#include "rpc/call.hpp"
#include "rpc/message_socket.hpp"

namespace heelstrike::rpc {

class ExchangeStream {
 public:
  using Deadline = CallOperations::Deadline;
  enum class Outcome { done, lost, timed_out };  ///< a reply with a wrong checksum counts as lost

  /// Starts the call; an absent server is detected at the first reply.
  /// @param stop    cancels the call, also during a wait, whose outcome is then `lost`
  /// @param reply_watchdog  of messages through the call
  /// @param direct  carries the messages; without a socket the call carries them
  ExchangeStream(v1::ContactService::StubInterface& stub, const std::stop_token& stop,
                 ReplyWatchdog reply_watchdog = {}, TicketedSocket direct = {});
  /// Cancels the call unless `finish` has been called.
  ~ExchangeStream();
  ExchangeStream(const ExchangeStream&) = delete;
  ExchangeStream& operator=(const ExchangeStream&) = delete;

  /// Sends `request`, which may change after the call. Waits until the transport has accepted the previous message.
  /// After any outcome but `done` the stream is unusable.
  /// @param request  receives its checksum
  [[nodiscard]] Outcome send(v1::ExchangeRequest& request, Deadline deadline);
  /// Waits for the reply to the first message without reply. @pre there is such a message
  /// @param response  swapped with the reply
  [[nodiscard]] Outcome receive(v1::ExchangeResponse& response, Deadline deadline);

  /// Ends the call from this side; cancels it if the server has not responded by `deadline`. Returns the final status.
  grpc::Status finish(Deadline deadline);

  /// For the trailing metadata, after `finish`.
  [[nodiscard]] const grpc::ClientContext& context() const { return context_; }

 private:
  using Operation = CallOperations::Operation;
  /// Waits for one pending operation. `lost` if any has failed.
  [[nodiscard]] Outcome wait_for(Operation operation, Deadline deadline);
  /// The same for a reply on the socket, or for the end of the call.
  [[nodiscard]] Outcome receive_directly(v1::ExchangeResponse& response, Deadline deadline);
  void cancel_and_drain();
  [[nodiscard]] Outcome fail_corrupted();
  void begin_read();

  struct TryCancel {
    ExchangeStream* stream;
    void operator()() const;
  };

  grpc::ClientContext context_;
  CallOperations operations_;
  std::unique_ptr<MessageSocket> direct_;  ///< null = messages go through the call
  std::unique_ptr<grpc::ClientAsyncReaderWriterInterface<v1::ExchangeRequest, v1::ExchangeResponse>> stream_;
  v1::ExchangeResponse incoming_;      ///< target of the pending read
  std::size_t n_pending_replies_ = 0;  ///< replies
  const ReplyWatchdog reply_watchdog_;
  wire::ChecksumMonitor checksums_;  ///< of replies through the call
  bool finished_ = false;
  std::stop_callback<TryCancel> cancel_;  ///< last member: it needs the others
};

}  // namespace heelstrike::rpc
