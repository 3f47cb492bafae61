#include "rpc/exchange_stream.hpp"

#include <algorithm>
#include <utility>

namespace heelstrike::rpc {

namespace {

/// A server that ends a call also closes its socket, except if it could not accept the call: a wait for a reply on the
/// socket therefore polls the end of the call at this interval.
constexpr std::chrono::milliseconds call_poll_interval{100};

}  // namespace

void ExchangeStream::TryCancel::operator()() const {
  stream->context_.TryCancel();
  if (stream->direct_) stream->direct_->shut_down();
}

ExchangeStream::ExchangeStream(v1::ContactService::StubInterface& stub, const std::stop_token& stop,
                               ReplyWatchdog reply_watchdog, TicketedSocket direct)
    : direct_(std::move(direct.socket)), reply_watchdog_(std::move(reply_watchdog)), cancel_(stop, TryCancel{this}) {
  if (direct_) context_.AddMetadata(ticket_metadata, direct.ticket);
  stream_ = stub.PrepareAsyncExchange(&context_, &operations_.queue());
  stream_->StartCall(operations_.begin(Operation::start));
}

ExchangeStream::~ExchangeStream() {
  if (finished_) return;
  context_.TryCancel();
  finish(Deadline{});
}

// A cancelled call completes all its operations immediately and locally: waiting without a deadline is safe.
void ExchangeStream::cancel_and_drain() {
  context_.TryCancel();
  (void)operations_.drain(Deadline::max());
}

ExchangeStream::Outcome ExchangeStream::wait_for(Operation operation, Deadline deadline) {
  for (;;) {
    const Deadline next_poll = reply_watchdog_.period.count() > 0
                                   ? std::chrono::system_clock::now() + reply_watchdog_.period
                                   : Deadline::max();
    if (operations_.wait_for(operation, std::min(deadline, next_poll)))
      return operations_.failed() ? Outcome::lost : Outcome::done;
    const bool timed_out = std::chrono::system_clock::now() >= deadline;
    if (!timed_out && reply_watchdog_.is_peer_active()) continue;
    cancel_and_drain();
    return timed_out ? Outcome::timed_out : Outcome::lost;
  }
}

void ExchangeStream::begin_read() {
  stream_->Read(&incoming_, operations_.begin(Operation::read));
}

ExchangeStream::Outcome ExchangeStream::receive_directly(v1::ExchangeResponse& response, Deadline deadline) {
  for (;;) {
    const Deadline next_poll = std::chrono::system_clock::now() + call_poll_interval;
    const auto outcome = direct_->receive(response, std::min(deadline, next_poll));
    if (outcome == MessageSocket::Outcome::done) return Outcome::done;
    if (outcome == MessageSocket::Outcome::damaged) return fail_corrupted();
    if (outcome != MessageSocket::Outcome::timed_out) return Outcome::lost;
    if (std::chrono::system_clock::now() >= deadline) {
      cancel_and_drain();
      return Outcome::timed_out;
    }
    // No message is read from such a call; the read completes at its end.
    if (!operations_.pending(Operation::start) && !operations_.pending(Operation::read)) begin_read();
    operations_.poll();
    if (operations_.failed()) return Outcome::lost;
  }
}

/// Cancelled by the client, so that the status is that of a lost connection.
ExchangeStream::Outcome ExchangeStream::fail_corrupted() {
  cancel_and_drain();
  return Outcome::lost;
}

ExchangeStream::Outcome ExchangeStream::send(v1::ExchangeRequest& request, Deadline deadline) {
  if (direct_) {
    request.clear_checksum();
    const auto outcome = direct_->send(request, deadline);
    if (outcome == MessageSocket::Outcome::timed_out) {
      cancel_and_drain();
      return Outcome::timed_out;
    }
    return outcome == MessageSocket::Outcome::done ? Outcome::done : Outcome::lost;
  }
  for (const Operation operation : {Operation::start, Operation::write}) {
    if (const Outcome outcome = wait_for(operation, deadline); outcome != Outcome::done) return outcome;
  }
  wire::set_message_checksum(request);
  // The message is serialised here and now.
  stream_->Write(request, operations_.begin(Operation::write));
  if (n_pending_replies_++ == 0) begin_read();
  return Outcome::done;
}

ExchangeStream::Outcome ExchangeStream::receive(v1::ExchangeResponse& response, Deadline deadline) {
  if (direct_) return receive_directly(response, deadline);
  if (const Outcome outcome = wait_for(Operation::read, deadline); outcome != Outcome::done) return outcome;
  response.Swap(&incoming_);
  if (--n_pending_replies_ > 0) begin_read();
  const std::uint64_t sent = response.checksum();
  response.clear_checksum();
  if (!checksums_.intact(sent, sent == 0 ? 0 : wire::checksum_of(response))) return fail_corrupted();
  return Outcome::done;
}

grpc::Status ExchangeStream::finish(Deadline deadline) {
  finished_ = true;
  // The server interprets the end of the socket as the end of the messages and ends the call.
  if (direct_) direct_->shut_down();
  if (!operations_.drain(deadline)) cancel_and_drain();
  if (!operations_.failed()) stream_->WritesDone(operations_.begin(Operation::writes_done));
  grpc::Status status;
  stream_->Finish(&status, operations_.begin(Operation::end));
  if (!operations_.drain(deadline)) cancel_and_drain();
  return status;
}

}  // namespace heelstrike::rpc
