/// The operations of one streaming call and their completion queue, for both ends.
///
/// The thread of the call drives the queue itself: no wake-up by a second thread is needed.
#pragma once

#include <grpcpp/completion_queue.h>

#include <array>
#include <chrono>

namespace heelstrike::rpc {

class CallOperations {
 public:
  using Deadline = std::chrono::system_clock::time_point;
  /// Busy waiting for a message before blocking (spinning). Blocking and wake-up take 25 to 200 us on the measured
  /// machines; spinning for this time at most doubles the cost (ski rental problem [karlin1994]). The value is three
  /// times as long, because evaluations of coarse finite-element contacts take 0.2 to 0.5 ms: blocking just before them
  /// would cost both (bench_fem_ball). The processor is yielded to other threads meanwhile.
  static constexpr std::chrono::microseconds spin_time{600};
  enum Operation : int { start, write, read, writes_done, end, n_operations };

  CallOperations() = default;
  /// @pre nothing is pending
  ~CallOperations();
  CallOperations(const CallOperations&) = delete;
  CallOperations& operator=(const CallOperations&) = delete;

  [[nodiscard]] grpc::CompletionQueue& queue() { return queue_; }
  /// Notes that an operation begins. @return its tag on the queue
  [[nodiscard]] void* begin(Operation operation);
  [[nodiscard]] bool pending(Operation operation) const { return (pending_ & bit(operation)) != 0; }
  [[nodiscard]] bool any_pending() const { return pending_ != 0; }
  /// True if any operation has failed.
  [[nodiscard]] bool failed() const { return failed_ != 0; }

  /// Waits for an operation, at first spinning; false = it is still pending at the deadline.
  [[nodiscard]] bool wait_for(Operation operation, Deadline deadline);
  /// Records completed operations without waiting.
  void poll();
  /// Waits for all pending operations; false = some are pending at the deadline.
  [[nodiscard]] bool drain(Deadline deadline);

 private:
  [[nodiscard]] static unsigned bit(int operation) { return 1U << static_cast<unsigned>(operation); }
  /// Waits for one operation; false = deadline passed.
  bool next(Deadline deadline);

  grpc::CompletionQueue queue_;
  std::array<int, n_operations> tags_{start, write, read, writes_done, end};  ///< addresses serve as tags
  unsigned pending_ = 0;
  unsigned failed_ = 0;
};

}  // namespace heelstrike::rpc
