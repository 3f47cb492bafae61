/// Many independent questions at once: what a contact offers beside Contact when it can answer them in parallel.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "common/contact/contact.hpp"
#include "common/errors/error.hpp"

namespace heelstrike {

/// Answer to one of many states.
struct BatchEntry {
  Response response;
  std::shared_ptr<const Error> error{};  ///< null when `response` is valid
};

class BatchContact {
 public:
  virtual ~BatchContact() = default;

  /// Whether there are pairs and no answer of any of them depends on what was committed but for rounding (solver
  /// statistics aside): batches may then replace commits.
  [[nodiscard]] virtual bool memoryless() const = 0;

  /// Answers of one pair at many states against the committed history, in parallel, order kept; the same bits as
  /// Contact::evaluate gives for each. Pure.
  /// @throws Error for the batch as a whole; what a single state meets is in its entry
  [[nodiscard]] virtual std::vector<BatchEntry> evaluate_batch(std::size_t pair, std::span<const PairState> states) = 0;
};

}  // namespace heelstrike
