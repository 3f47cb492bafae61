#include "common/rpc/exchange_server.hpp"

#include <system_error>
#include <utility>

namespace heelstrike::rpc {

namespace {

/// New calls and those that are no Exchange wait for so long at most while messages are waited for awake.
constexpr std::chrono::microseconds look_distance{500};

}  // namespace

using Operation = CallOperations::Operation;
using Deadline = CallOperations::Deadline;

bool ServedExchange::read(v1::ExchangeRequest& request) {
  server_.note_awake();
  stream_.Read(&request, operations_.begin(Operation::read));
  (void)operations_.wait_for(Operation::read, Deadline::max());
  return !operations_.failed();
}

bool ServedExchange::write(const v1::ExchangeResponse& reply) {
  (void)operations_.wait_for(Operation::write, Deadline::max());
  if (operations_.failed()) return false;
  // The message is serialised here and now.
  stream_.Write(reply, operations_.begin(Operation::write));
  return true;
}

void ServedExchange::finish(const grpc::Status& status) {
  (void)operations_.settle(Deadline::max());
  stream_.Finish(status, operations_.begin(Operation::end));
  (void)operations_.settle(Deadline::max());
}

ExchangeServer::ExchangeServer(grpc::ServerBuilder& builder, AsyncContactService& service, int max_calls,
                               Handler handle)
    : service_(service),
      max_calls_(max_calls),
      handle_(std::move(handle)),
      arrivals_(builder.AddCompletionQueue(/*is_frequently_polled=*/true)) {}

ExchangeServer::~ExchangeServer() {
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
  call->finish(refused
                   ? grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                                  "this server has as many open Exchange calls as it takes; close one, or start the "
                                  "server with a larger --max-threads")
                   : handle_(*call));
  call.reset();
  // Notified under the lock: who waits for the last call may destroy this object as soon as it is let go.
  const std::scoped_lock lock(mutex_);
  --n_calls_;
  ended_.notify_all();
}

}  // namespace heelstrike::rpc
