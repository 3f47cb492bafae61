#include "common/rpc/exchange_stream.hpp"

namespace heelstrike::rpc {

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

ExchangeStream::Outcome ExchangeStream::exchange(const v1::ExchangeRequest& request, v1::ExchangeResponse& response,
                                                 Deadline deadline) {
  if (!settle(deadline)) {
    cancel_and_settle();
    return Outcome::timed_out;
  }
  if (failed_ != 0) return Outcome::lost;
  begin(write);
  stream_->Write(request, tag(write));
  begin(read);
  stream_->Read(&response, tag(read));
  if (!settle(deadline)) {
    cancel_and_settle();
    return Outcome::timed_out;
  }
  return failed_ == 0 ? Outcome::replied : Outcome::lost;
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
