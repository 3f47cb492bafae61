#include "common/rpc/exchange_server.hpp"

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

namespace heelstrike::rpc {

namespace {

/// New calls and those that are no Exchange wait for so long at most while messages are waited for awake.
constexpr std::chrono::microseconds look_distance{500};
/// A call follows its socket at once. Sockets beyond so many that wait for one belong to clients that are gone or mean
/// no good: the oldest is closed, and its client, if there is one, tries again.
constexpr std::size_t most_waiting_sockets = 64;

}  // namespace

using Operation = CallOperations::Operation;
using Deadline = CallOperations::Deadline;

bool ServedExchange::read_directly(v1::ExchangeRequest& request) {
  const auto outcome = direct_->receive(request, MessageSocket::Deadline::max());
  if (outcome == MessageSocket::Outcome::too_large) {
    misuse_ = {grpc::StatusCode::RESOURCE_EXHAUSTED,
               "Received message larger than max: this server takes no message of that size; send fewer questions at "
               "a time, or start the server with a larger --max-message-mib"};
  }
  return outcome == MessageSocket::Outcome::done;
}

bool ServedExchange::read(v1::ExchangeRequest& request) {
  if (direct_) return read_directly(request);
  server_.note_awake();
  stream_.Read(&request, operations_.begin(Operation::read));
  (void)operations_.wait_for(Operation::read, Deadline::max());
  return !operations_.failed();
}

bool ServedExchange::write(const v1::ExchangeResponse& reply) {
  if (direct_) return direct_->send(reply, MessageSocket::Deadline::max()) == MessageSocket::Outcome::done;
  (void)operations_.wait_for(Operation::write, Deadline::max());
  if (operations_.failed()) return false;
  // The message is serialised here and now.
  stream_.Write(reply, operations_.begin(Operation::write));
  return true;
}

void ServedExchange::finish(const grpc::Status& status) {
  if (direct_) direct_->shut_down();
  (void)operations_.settle(Deadline::max());
  stream_.Finish(status.ok() ? misuse_ : status, operations_.begin(Operation::end));
  (void)operations_.settle(Deadline::max());
}

ExchangeServer::ExchangeServer(grpc::ServerBuilder& builder, AsyncContactService& service, int max_calls,
                               Handler handle)
    : service_(service),
      max_calls_(max_calls),
      handle_(std::move(handle)),
      arrivals_(builder.AddCompletionQueue(/*is_frequently_polled=*/true)) {}

ExchangeServer::~ExchangeServer() {
  shut_sockets();
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
  std::string ticket = send_ticket(connection);
  if (ticket.empty()) return;
  const std::scoped_lock lock(mutex_);
  if (shut_) return;
  if (waiting_.size() == most_waiting_sockets) waiting_.pop_front();
  waiting_.push_back({std::move(ticket), std::make_shared<MessageSocket>(std::move(socket), max_message_bytes)});
}

void ExchangeServer::shut_sockets() {
  const std::scoped_lock lock(mutex_);
  shut_ = true;
  waiting_.clear();
  for (const auto& socket : in_use_) socket->shut_down();
}

bool ExchangeServer::give_socket(ServedExchange& call) {
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
  void* tag = nullptr;
  bool ok = false;
  if (anyone_awake()) {
    std::this_thread::sleep_for(look_distance);
    const auto state = arrivals_->AsyncNext(&tag, &ok, Deadline{});
    if (state == grpc::CompletionQueue::TIMEOUT) return Arrival::nothing;
  } else {
    sleeps_ = true;
    // Whoever has begun to wait awake before this was set has not woken us, whoever comes later does.
    const bool sleep = !anyone_awake();
    const bool shutdown = sleep && !arrivals_->Next(&tag, &ok);
    sleeps_ = false;
    if (!sleep) return Arrival::nothing;
    if (shutdown) return Arrival::shutdown;
  }
  if (tag == &alarm_) {
    alarm_is_set_ = false;
    return Arrival::nothing;
  }
  return ok ? Arrival::call : Arrival::shutdown;
}

void ExchangeServer::note_awake() {
  // Longer than the wait, so that the work on a light message does not count as sleep.
  awake_until_ = (std::chrono::steady_clock::now() + 2 * CallOperations::awake).time_since_epoch().count();
  if (sleeps_ && !alarm_is_set_.exchange(true)) alarm_.Set(arrivals_.get(), Deadline{}, &alarm_);
}

bool ExchangeServer::anyone_awake() const {
  return std::chrono::steady_clock::now().time_since_epoch().count() < awake_until_;
}

void ExchangeServer::begin(std::shared_ptr<ServedExchange> call) {
  bool refused = false;
  {
    const std::scoped_lock lock(mutex_);
    refused = n_calls_++ >= max_calls_;
  }
  try {
    std::thread([this, call, refused]() mutable { serve(std::move(call), refused); }).detach();
  } catch (const std::system_error&) {
    serve(std::move(call), true);  // the machine has no thread left
  }
}

void ExchangeServer::serve(std::shared_ptr<ServedExchange> call, bool refused) {
  const bool has_socket = give_socket(*call);
  call->finish(refused
                   ? grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                                  "this server has as many open Exchange calls as it takes; close one, or start the "
                                  "server with a larger --max-threads")
               : has_socket ? handle_(*call)
                            : grpc::Status(grpc::StatusCode::UNAVAILABLE,
                                           "the socket for the messages of this call is no longer there; call again"));
  const std::shared_ptr<MessageSocket> direct = std::move(call->direct_);
  call.reset();
  // Notified under the lock: who waits for the last call may destroy this object as soon as it is let go.
  const std::scoped_lock lock(mutex_);
  in_use_.erase(direct);
  --n_calls_;
  ended_.notify_all();
}

}  // namespace heelstrike::rpc
