#include "rpc/call_operations.hpp"

#include <thread>

namespace heelstrike::rpc {

CallOperations::~CallOperations() {
  queue_.Shutdown();
  void* done = nullptr;
  bool ok = false;
  while (queue_.Next(&done, &ok)) {
  }
}

void* CallOperations::begin(Operation operation) {
  pending_ |= bit(operation);
  return &tags_[static_cast<std::size_t>(operation)];
}

bool CallOperations::next(Deadline deadline) {
  void* done = nullptr;
  bool ok = false;
  const auto state = deadline == Deadline::max() ? (queue_.Next(&done, &ok) ? grpc::CompletionQueue::GOT_EVENT
                                                                            : grpc::CompletionQueue::SHUTDOWN)
                                                 : queue_.AsyncNext(&done, &ok, deadline);
  if (state != grpc::CompletionQueue::GOT_EVENT) return false;
  const unsigned completed = bit(*static_cast<int*>(done));
  pending_ &= ~completed;
  if (!ok) failed_ |= completed;
  return true;
}

bool CallOperations::wait_for(Operation operation, Deadline deadline) {
  const auto until = std::chrono::steady_clock::now() + spin_time;
  while (pending(operation) && std::chrono::steady_clock::now() < until) {
    if (!next(Deadline{})) std::this_thread::yield();
  }
  while (pending(operation)) {
    if (!next(deadline)) return false;
  }
  return true;
}

void CallOperations::poll() {
  while (any_pending() && next(Deadline{})) {
  }
}

bool CallOperations::drain(Deadline deadline) {
  while (any_pending()) {
    if (!next(deadline)) return false;
  }
  return true;
}

}  // namespace heelstrike::rpc
