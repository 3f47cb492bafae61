#include "rpc/server/exchange_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

#include "rpc/call.hpp"
#include "rpc/channel.hpp"
#include "rpc/server/call_watch.hpp"

namespace heelstrike::rpc {

namespace {

/// Longest wait of new calls and calls other than Exchange while a thread waits actively for messages (spinning).
constexpr std::chrono::microseconds idle_interval{500};
/// Interval of the search for idle calls.
constexpr std::chrono::milliseconds idle_poll_interval{1'000};
/// A call follows its socket at once. At this number of waiting sockets, those older than a handshake are removed:
/// their clients have disconnected or are hostile. Without such sockets a new client gets no socket; issued tickets
/// remain valid.
constexpr std::size_t max_waiting_sockets = 512;

}  // namespace

using Operation = CallOperations::Operation;
using Deadline = CallOperations::Deadline;

bool ServedExchange::read_directly(v1::ExchangeRequest& request) {
  const auto outcome = direct_->receive(request, MessageSocket::Deadline::max());
  if (outcome == MessageSocket::Outcome::too_large) {
    failure_status_ = {grpc::StatusCode::RESOURCE_EXHAUSTED,
                       "Received message larger than max: this server does not accept a message of that size; send "
                       "fewer requests at a time, or start the server with a larger --max-message-mib"};
  }
  if (outcome == MessageSocket::Outcome::damaged) reject_corrupted();
  return outcome == MessageSocket::Outcome::done;
}

/// Without error details, so that the client retries as after a lost connection.
void ServedExchange::reject_corrupted() {
  failure_status_ = {grpc::StatusCode::UNAVAILABLE, wire::corrupted_message_error("request").what()};
}

bool ServedExchange::read(v1::ExchangeRequest& request) {
  slot_->end_work();
  const bool received = receive(request);
  slot_->begin_work();
  return received;
}

bool ServedExchange::receive(v1::ExchangeRequest& request) {
  if (direct_) return read_directly(request);
  server_.record_spinning();
  stream_.Read(&request, operations_.begin(Operation::read));
  (void)operations_.wait_for(Operation::read, Deadline::max());
  if (operations_.failed()) return false;
  const std::uint64_t sent = request.checksum();
  request.clear_checksum();
  if (checksums_.intact(sent, sent == 0 ? 0 : wire::checksum_of(request))) return true;
  reject_corrupted();
  return false;
}

bool ServedExchange::write(v1::ExchangeResponse& reply) {
  slot_->end_work();  // a client that does not read replies is idle
  if (direct_) {
    reply.clear_checksum();
    return direct_->send(reply, MessageSocket::Deadline::max()) == MessageSocket::Outcome::done;
  }
  (void)operations_.wait_for(Operation::write, Deadline::max());
  if (operations_.failed()) return false;
  wire::set_message_checksum(reply);
  // The message is serialised immediately.
  stream_.Write(reply, operations_.begin(Operation::write));
  return true;
}

void ServedExchange::close() {
  context_.TryCancel();
  if (direct_) direct_->shut_down();
}

void ServedExchange::finish(const grpc::Status& status) {
  if (direct_) direct_->shut_down();
  (void)operations_.drain(Deadline::max());
  stream_.Finish(status.ok() ? failure_status_ : status, operations_.begin(Operation::end));
  (void)operations_.drain(Deadline::max());
}

ExchangeServer::ExchangeServer(grpc::ServerBuilder& builder, AsyncContactService& service, StreamSlots& slots,
                               Handler handle)
    : service_(service),
      slots_(slots),
      handle_(std::move(handle)),
      arrivals_(builder.AddCompletionQueue(/*is_frequently_polled=*/true)) {}

ExchangeServer::~ExchangeServer() {
  shut_down_sockets();
  if (grpc_server_ != nullptr) grpc_server_->Shutdown(std::chrono::system_clock::now());
  if (acceptor_.joinable()) acceptor_.join();
  {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return n_calls_ == 0; });
  }
  arrivals_->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (arrivals_->Next(&tag, &ok)) {
  }
}

void ExchangeServer::take_socket(int connection, std::size_t max_message_bytes) {
  Descriptor socket(connection);
  std::string ticket = make_ticket();
  if (ticket.empty()) return;
  const auto now = std::chrono::steady_clock::now();
  const std::scoped_lock lock(mutex_);
  if (is_shut_down_) return;
  if (waiting_.size() >= max_waiting_sockets) {
    std::erase_if(waiting_, [now](const WaitingSocket& w) { return now - w.since > handshake_timeout; });
  }
  if (waiting_.size() >= max_waiting_sockets) return;
  // Stored before its client has the ticket, because the call may follow immediately.
  waiting_.push_back({ticket, std::make_shared<MessageSocket>(std::move(socket), max_message_bytes), now});
  if (!send_ticket(connection, ticket)) waiting_.pop_back();
}

void ExchangeServer::shut_down_sockets() {
  const std::scoped_lock lock(mutex_);
  is_shut_down_ = true;
  waiting_.clear();
  for (const auto& socket : in_use_) socket->shut_down();
}

bool ExchangeServer::assign_socket(ServedExchange& call) {
  const auto& metadata = call.context_.client_metadata();
  const auto found = metadata.find(ticket_metadata);
  if (found == metadata.end()) return true;
  const std::string_view ticket(found->second.data(), found->second.size());
  const std::scoped_lock lock(mutex_);
  const auto waiting = std::ranges::find(waiting_, ticket, &WaitingSocket::ticket);
  if (waiting == waiting_.end()) return false;
  call.direct_ = std::move(waiting->socket);
  waiting_.erase(waiting);
  in_use_.insert(call.direct_);
  return true;
}

void ExchangeServer::start(grpc::Server& server) {
  grpc_server_ = &server;
  acceptor_ = std::jthread([this] { accept_calls(); });
}

void ExchangeServer::accept_calls() {
  for (;;) {
    auto call = std::make_shared<ServedExchange>(*this);
    service_.RequestExchange(&call->context_, &call->stream_, &call->operations_.queue(), arrivals_.get(), call.get());
    Arrival arrival = next_arrival();
    while (arrival == Arrival::nothing) arrival = next_arrival();
    if (arrival == Arrival::shutdown) return;
    begin(std::move(call));
  }
}

ExchangeServer::Arrival ExchangeServer::next_arrival() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_poll_ >= idle_poll_interval) {
    last_poll_ = now;
    slots_.close_idle();
  }
  void* tag = nullptr;
  bool ok = false;
  auto state = grpc::CompletionQueue::TIMEOUT;
  if (is_any_spinning()) {
    std::this_thread::sleep_for(idle_interval);
    state = arrivals_->AsyncNext(&tag, &ok, Deadline{});
  } else {
    is_blocked_ = true;
    // A thread that began to spin before this was set has not woken the acceptor; a later one does.
    if (!is_any_spinning())
      state = arrivals_->AsyncNext(&tag, &ok, std::chrono::system_clock::now() + idle_poll_interval);
    is_blocked_ = false;
  }
  if (state == grpc::CompletionQueue::TIMEOUT) return Arrival::nothing;
  if (state == grpc::CompletionQueue::SHUTDOWN) return Arrival::shutdown;
  if (tag == &alarm_) {
    alarm_is_set_ = false;
    return Arrival::nothing;
  }
  return ok ? Arrival::call : Arrival::shutdown;
}

void ExchangeServer::record_spinning() {
  // Longer than the wait, so that processing of a short message does not count as blocking.
  spin_until_ = (std::chrono::steady_clock::now() + 2 * CallOperations::spin_time).time_since_epoch().count();
  if (is_blocked_ && !alarm_is_set_.exchange(true)) alarm_.Set(arrivals_.get(), Deadline{}, &alarm_);
}

bool ExchangeServer::is_any_spinning() const {
  return std::chrono::steady_clock::now().time_since_epoch().count() < spin_until_;
}

void ExchangeServer::begin(std::shared_ptr<ServedExchange> call) {
  {
    const std::scoped_lock lock(mutex_);
    ++n_calls_;
  }
  grpc::Status rejection;
  if (!assign_socket(*call)) {
    rejection = {grpc::StatusCode::UNAVAILABLE,
                 "the socket for the messages of this call no longer exists; call again"};
  } else {
    const std::weak_ptr<ServedExchange> weak = call;
    call->slot_ = slots_.acquire(identity_of(call->context_).account, [weak] {
      if (const auto open = weak.lock()) open->close();
    });
    if (!call->slot_) {
      rejection = {grpc::StatusCode::RESOURCE_EXHAUSTED,
                   fmt::format("this server has {} it accepts in total or from one client; close one, or start the "
                               "server with a larger --max-streams or --max-streams-per-client",
                               stream_limit_message)};
    }
  }
  try {
    std::thread([this, call, rejection]() mutable { serve(std::move(call), rejection); }).detach();
  } catch (const std::system_error&) {
    // Clients do not retry: unlike slots, the threads of a process seldom become available.
    serve(std::move(call), {grpc::StatusCode::RESOURCE_EXHAUSTED,
                            "threads: expected one for this call, found that the limit of the server's process or of "
                            "its memory is reached; raise the limits (ulimit -u, ulimit -v, the container's limits)"});
  }
}

void ExchangeServer::serve(std::shared_ptr<ServedExchange> call, const grpc::Status& rejection) {
  call->finish(rejection.ok() ? handle_(*call) : rejection);
  call->slot_.reset();  // before the call is destroyed: closing from another thread uses both
  const std::shared_ptr<MessageSocket> direct = std::move(call->direct_);
  call.reset();
  // Notified under the lock, because the thread that waits for the last call may destroy this object after the lock is
  // released.
  const std::scoped_lock lock(mutex_);
  in_use_.erase(direct);
  --n_calls_;
  ended_.notify_all();
}

}  // namespace heelstrike::rpc
