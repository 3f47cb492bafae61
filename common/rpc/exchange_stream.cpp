#include "common/rpc/exchange_stream.hpp"

namespace heelstrike::rpc {

ExchangeStream::ExchangeStream(v1::ContactService::StubInterface& stub, const std::stop_token& stop)
    : cancel_(stop, TryCancel{&context_}) {
  stream_ = stub.PrepareAsyncExchange(&context_, &operations_.queue());
  stream_->StartCall(operations_.begin(Operation::start));
}

ExchangeStream::~ExchangeStream() {
  if (finished_) return;
  context_.TryCancel();
  finish(Deadline{});
}

// A cancelled call completes all its operations at once, without the network: waiting without a deadline is safe.
void ExchangeStream::cancel_and_settle() {
  context_.TryCancel();
  (void)operations_.settle(Deadline::max());
}

ExchangeStream::Outcome ExchangeStream::wait_for(Operation operation, Deadline deadline) {
  if (!operations_.wait_for(operation, deadline)) {
    cancel_and_settle();
    return Outcome::timed_out;
  }
  return operations_.failed() ? Outcome::lost : Outcome::done;
}

void ExchangeStream::begin_read() {
  stream_->Read(&incoming_, operations_.begin(Operation::read));
}

ExchangeStream::Outcome ExchangeStream::send(const v1::ExchangeRequest& request, Deadline deadline) {
  for (const Operation operation : {Operation::start, Operation::write}) {
    if (const Outcome outcome = wait_for(operation, deadline); outcome != Outcome::done) return outcome;
  }
  // The message is serialised here and now.
  stream_->Write(request, operations_.begin(Operation::write));
  if (n_owed_++ == 0) begin_read();
  return Outcome::done;
}

ExchangeStream::Outcome ExchangeStream::receive(v1::ExchangeResponse& response, Deadline deadline) {
  if (const Outcome outcome = wait_for(Operation::read, deadline); outcome != Outcome::done) return outcome;
  response.Swap(&incoming_);
  if (--n_owed_ > 0) begin_read();
  return Outcome::done;
}

grpc::Status ExchangeStream::finish(Deadline deadline) {
  finished_ = true;
  if (!operations_.settle(deadline)) cancel_and_settle();
  if (!operations_.failed()) stream_->WritesDone(operations_.begin(Operation::writes_done));
  grpc::Status status;
  stream_->Finish(&status, operations_.begin(Operation::end));
  if (!operations_.settle(deadline)) cancel_and_settle();
  return status;
}

}  // namespace heelstrike::rpc
