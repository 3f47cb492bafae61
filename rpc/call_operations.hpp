/// The operations of one streaming call and the queue on which they complete, of either end.
///
/// The thread that works on the call drives the queue itself: no second thread has to wake it.
#pragma once

#include <grpcpp/completion_queue.h>

#include <array>
#include <chrono>

namespace heelstrike::rpc {

class CallOperations {
 public:
  using Deadline = std::chrono::system_clock::time_point;
  /// A message is waited for awake so long. To fall asleep and be woken takes 25 to 200 us on the machines that were
  /// measured; who stays awake for as long as that costs never loses more than the same again (the ski rental problem
  /// [karlin1994]). It is three times as long, because the answers of coarse finite-element contacts take 0.2 to 0.5
  /// ms: whoever falls asleep just before them pays for both (bench_fem_ball). The processor is yielded to whoever can
  /// use it.
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
  /// Whether any operation has failed.
  [[nodiscard]] bool failed() const { return failed_ != 0; }

  /// Waits for an operation, for a moment without sleeping; false = it is still pending at the deadline.
  [[nodiscard]] bool wait_for(Operation operation, Deadline deadline);
  /// Takes note of what has completed, without waiting.
  void poll();
  /// Waits for all that was begun; false = something is pending at the deadline.
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
