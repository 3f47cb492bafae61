/// Batch evaluation of prescribed motion, an optional extension of Contact.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "common/contact/contact.hpp"
#include "common/errors/error.hpp"

namespace heelstrike {

/// Result of one of many states.
struct BatchEntry {
  Response response;
  std::shared_ptr<const Error> error{};  ///< null when `response` is valid
};

/// Responses of all pairs along a motion.
struct MotionResponses {
  /// Of the states that all pairs committed: [pair][state], the same number for each pair.
  std::vector<std::vector<Response>> responses;
  /// Error of the first pair that rejected the next state; null = all states were committed.
  std::shared_ptr<const Error> error{};
};

class BatchContact {
 public:
  virtual ~BatchContact() = default;

  /// True if there are pairs and no response depends on committed states except for rounding and solver statistics;
  /// batches may then replace commits.
  [[nodiscard]] virtual bool history_independent() const = 0;

  /// Responses of one pair at many states given the committed history, in parallel, order preserved; bitwise equal to
  /// Contact::evaluate, but tangents may be zero unless requested. Pure.
  /// @param stop  cancels the work between two states
  /// @throws Error{cancelled} if stopped, Error for the batch as a whole; the error of a single state is in its entry
  [[nodiscard]] virtual std::vector<BatchEntry> evaluate_batch(std::size_t pair, std::span<const PairState> states,
                                                               bool tangents, std::stop_token stop) = 0;

  /// Commits states of prescribed motion in sequence, the pairs in parallel: equal to a sequence of Contact::commit
  /// except for rounding and for tangents, which may be zero. Ends before the first state that a pair rejects; all
  /// pairs have then advanced to the preceding state. Repeatable like a commit.
  /// @param first_step  of the first state: last committed step + 1
  /// @param states      [pair][state], the same number for each pair
  /// @param stop        cancels the work; all or nothing is committed
  /// @throws Error{cancelled} if stopped, Error{out_of_order} for another first step; the error of a state is in the
  /// result
  [[nodiscard]] virtual MotionResponses commit_motion(std::int64_t first_step,
                                                      std::span<const std::vector<PairState>> states,
                                                      std::stop_token stop) = 0;
};

}  // namespace heelstrike
