/// Server side of Exchange calls, each processed by a separate thread that waits actively for messages for a moment
/// (CallOperations). A synchronous handler of gRPC blocks between messages; its wake-up costs more than the rest of a
/// short exchange.
///
/// A socket is read by the thread that polls it first, and the thread that accepts new calls polls the sockets of all
/// connections: if it blocked there, it would be woken for each message, only to pass it to the spinning thread. While
/// a thread spins, the acceptor polls periodically instead. Calls with a separate socket for messages (MessageSocket)
/// do not need this.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "heelstrike/v1/contact.grpc.pb.h"
#include "rpc/call.hpp"
#include "rpc/message_socket.hpp"
#include "rpc/server/stream_slots.hpp"

namespace heelstrike::rpc {

using AsyncContactService = v1::ContactService::WithAsyncMethod_Exchange<v1::ContactService::Service>;

class ExchangeServer;

/// One call. Used by one thread.
class ServedExchange {
 public:
  explicit ServedExchange(ExchangeServer& server) : server_(server), stream_(&context_) {}

  /// Waits for the next message; false = the client has ended the messages or disconnected.
  [[nodiscard]] bool read(v1::ExchangeRequest& request);
  /// Sends a reply, which may change after the call. Waits until the transport has accepted the previous one; false =
  /// the client has disconnected.
  /// @param reply  receives its checksum
  [[nodiscard]] bool write(v1::ExchangeResponse& reply);
  [[nodiscard]] grpc::ServerContext& context() { return context_; }
  /// Sets whether a session would lose its client with this call (StreamSlots).
  void set_has_session(bool has_session) { slot_->set_has_session(has_session); }

 private:
  friend class ExchangeServer;
  void finish(const grpc::Status& status);
  /// Ends waiting for messages, from any thread.
  void close();
  [[nodiscard]] bool receive(v1::ExchangeRequest& request);
  [[nodiscard]] bool read_directly(v1::ExchangeRequest& request);
  void reject_corrupted();

  ExchangeServer& server_;
  std::unique_ptr<StreamSlots::Slot> slot_;  ///< null = rejected
  grpc::ServerContext context_;
  CallOperations operations_;
  std::shared_ptr<MessageSocket> direct_;  ///< null = messages come through the call
  grpc::Status failure_status_;            ///< of the call
  wire::ChecksumMonitor checksums_;        ///< of requests through the call
  grpc::ServerAsyncReaderWriter<v1::ExchangeResponse, v1::ExchangeRequest> stream_;
};

class ExchangeServer {
 public:
  using Handler = std::function<grpc::Status(ServedExchange&)>;

  /// Adds a queue for the calls to a server that is to be built with `service`.
  /// @param slots  for open calls; calls without one are rejected with RESOURCE_EXHAUSTED. Must outlive this object
  /// @param handle  serves a call to its end; called from many threads at once
  ExchangeServer(grpc::ServerBuilder& builder, AsyncContactService& service, StreamSlots& slots, Handler handle);
  /// Shuts the server down and waits for the last call. Must be destroyed before the server: a rejected call in the
  /// queue still refers to the server until it is removed.
  ~ExchangeServer();
  ExchangeServer(const ExchangeServer&) = delete;
  ExchangeServer& operator=(const ExchangeServer&) = delete;

  /// A client has connected a socket for the messages of a future call. From any thread.
  /// @param connection        owned from now on
  /// @param max_message_bytes  longer messages end the call
  void take_socket(int connection, std::size_t max_message_bytes);
  /// Ends the messages of all calls with sockets and rejects new ones, because cancelling calls does not wake threads
  /// that wait on sockets. Called before the server is shut down.
  void shut_down_sockets();

  /// Starts accepting calls. @param server  the built server; must outlive this object
  void start(grpc::Server& server);

 private:
  friend class ServedExchange;
  enum class Arrival { call, nothing, shutdown };

  void accept_calls();
  /// Waits for a call; returns early if other work is due.
  [[nodiscard]] Arrival next_arrival();
  /// Records that a thread spins from now on.
  void record_spinning();
  [[nodiscard]] bool is_any_spinning() const;
  void begin(std::shared_ptr<ServedExchange> call);
  /// Assigns the socket of its ticket to the call; false = the ticket has no socket.
  [[nodiscard]] bool assign_socket(ServedExchange& call);
  void serve(std::shared_ptr<ServedExchange> call, const grpc::Status& rejection);

  AsyncContactService& service_;
  StreamSlots& slots_;
  Handler handle_;
  std::unique_ptr<grpc::ServerCompletionQueue> arrivals_;
  grpc::Server* grpc_server_ = nullptr;  ///< once started
  std::mutex mutex_;
  std::condition_variable ended_;
  int n_calls_ = 0;  ///< guarded by the mutex, like the following
  bool is_shut_down_ = false;
  struct WaitingSocket {
    std::string ticket;
    std::shared_ptr<MessageSocket> socket;
    std::chrono::steady_clock::time_point since;
  };
  std::deque<WaitingSocket> waiting_;  ///< for their calls, oldest first
  std::set<std::shared_ptr<MessageSocket>> in_use_;
  std::atomic<std::chrono::steady_clock::rep> spin_until_ = 0;
  std::atomic<bool> is_blocked_ = false;  ///< the acceptor
  grpc::Alarm alarm_;                     ///< wakes it
  std::atomic<bool> alarm_is_set_ = false;
  std::chrono::steady_clock::time_point last_poll_{};  ///< of the acceptor, for idle calls
  std::jthread acceptor_;
};

}  // namespace heelstrike::rpc
