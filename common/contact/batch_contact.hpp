/// Many questions about a prescribed motion: what a contact offers beside Contact when it can answer them at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "common/contact/contact.hpp"
#include "common/errors/error.hpp"

namespace heelstrike {

/// Answer to one of many states.
struct BatchEntry {
  Response response;
  std::shared_ptr<const Error> error{};  ///< null when `response` is valid
};

/// Answers of all pairs along a motion.
struct MotionResponses {
  /// Of the states that all pairs could take: [pair][state], the same number for each pair.
  std::vector<std::vector<Response>> responses;
  /// Why the next state could not be taken, as the first pair that refused it says; null = all states were.
  std::shared_ptr<const Error> error{};
};

class BatchContact {
 public:
  virtual ~BatchContact() = default;

  /// Whether there are pairs and no answer of any of them depends on what was committed but for rounding (solver
  /// statistics aside): batches may then replace commits.
  [[nodiscard]] virtual bool history_independent() const = 0;

  /// Answers of one pair at many states against the committed history, in parallel, order kept; the same bits as
  /// Contact::evaluate gives for each, but for tangents, which may be left zero unless they are wanted. Pure.
  /// @param stop  ends the work between two states
  /// @throws Error{cancelled} when stopped, Error for the batch as a whole; what a single state meets is in its entry
  [[nodiscard]] virtual std::vector<BatchEntry> evaluate_batch(std::size_t pair, std::span<const PairState> states,
                                                               bool tangents, std::stop_token stop) = 0;

  /// Commits states of prescribed motion one after the other, each pair on its own way, side by side: what
  /// Contact::commit gives for step after step, but for rounding and for tangents, which may be left zero. Ends before
  /// the first state that a pair refuses; all pairs have then advanced to the one before. Repeatable as a commit is.
  /// @param first_step  of the first state: last committed step + 1
  /// @param states      [pair][state], the same number for each pair
  /// @param stop        ends the work soon; all of it is committed or nothing
  /// @throws Error{cancelled} when stopped, Error{out_of_order} for another first step; what a state meets is in the
  ///         answer
  [[nodiscard]] virtual MotionResponses commit_motion(std::int64_t first_step,
                                                    std::span<const std::vector<PairState>> states,
                                                    std::stop_token stop) = 0;
};

}  // namespace heelstrike
