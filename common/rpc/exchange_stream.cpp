#include "common/rpc/exchange_stream.hpp"

#include <thread>

namespace heelstrike::rpc {

namespace {

/// A reply is waited for awake so long. To fall asleep and be woken takes 50 to 200 us on the machines that were
/// measured, several times what a point law takes to answer; who stays awake for as long as that costs never loses more
/// than the same again (the ski rental problem [karlin1994]). The processor is yielded to whoever can use it.
constexpr std::chrono::microseconds awake{200};

}  // namespace

ExchangeStream::ExchangeStream(v1::ContactService::StubInterface& stub, const std::stop_token& stop)
    : cancel_(stop, TryCancel{&context_}) {
  stream_ = stub.PrepareAsyncExchange(&context_, &queue_);
  begin(start);
  stream_->StartCall(tag(start));
}

ExchangeStream::~ExchangeStream() {
  if (!finished_) {
    context_.TryCancel();
    finish(Deadline{});
  }
  queue_.Shutdown();
  void* done = nullptr;
  bool ok = false;
  while (queue_.Next(&done, &ok)) {
  }
}

bool ExchangeStream::next(Deadline deadline) {
  void* done = nullptr;
  bool ok = false;
  const auto state = deadline == Deadline::max() ? (queue_.Next(&done, &ok) ? grpc::CompletionQueue::GOT_EVENT
                                                                            : grpc::CompletionQueue::SHUTDOWN)
                                                 : queue_.AsyncNext(&done, &ok, deadline);
  if (state != grpc::CompletionQueue::GOT_EVENT) return false;
  const unsigned bit = 1U << *static_cast<int*>(done);
  pending_ &= ~bit;
  if (!ok) failed_ |= bit;
  return true;
}

void ExchangeStream::wait_awake(Operation operation) {
  const auto until = std::chrono::steady_clock::now() + awake;
  while (pending(operation) && std::chrono::steady_clock::now() < until) {
    if (!next(Deadline{})) std::this_thread::yield();
  }
}

bool ExchangeStream::settle(Deadline deadline) {
  while (pending_ != 0) {
    if (!next(deadline)) return false;
  }
  return true;
}

// A cancelled call completes all its operations at once, without the network: waiting without a deadline is safe.
void ExchangeStream::cancel_and_settle() {
  context_.TryCancel();
  settle(Deadline::max());
}

ExchangeStream::Outcome ExchangeStream::wait_for(Operation operation, Deadline deadline) {
  while (pending(operation)) {
    if (next(deadline)) continue;
    cancel_and_settle();
    return Outcome::timed_out;
  }
  return failed_ == 0 ? Outcome::done : Outcome::lost;
}

void ExchangeStream::begin_read() {
  begin(read);
  stream_->Read(&incoming_, tag(read));
}

ExchangeStream::Outcome ExchangeStream::send(const v1::ExchangeRequest& request, Deadline deadline) {
  for (const Operation operation : {start, write}) {
    if (const Outcome outcome = wait_for(operation, deadline); outcome != Outcome::done) return outcome;
  }
  // The message is serialised here and now.
  begin(write);
  stream_->Write(request, tag(write));
  if (n_owed_++ == 0) begin_read();
  return Outcome::done;
}

ExchangeStream::Outcome ExchangeStream::receive(v1::ExchangeResponse& response, Deadline deadline) {
  wait_awake(read);
  if (const Outcome outcome = wait_for(read, deadline); outcome != Outcome::done) return outcome;
  response.Swap(&incoming_);
  if (--n_owed_ > 0) begin_read();
  return Outcome::done;
}

grpc::Status ExchangeStream::finish(Deadline deadline) {
  finished_ = true;
  if (!settle(deadline)) cancel_and_settle();
  if (failed_ == 0) {
    begin(writes_done);
    stream_->WritesDone(tag(writes_done));
  }
  grpc::Status status;
  begin(end);
  stream_->Finish(&status, tag(end));
  if (!settle(deadline)) cancel_and_settle();
  return status;
}

}  // namespace heelstrike::rpc
