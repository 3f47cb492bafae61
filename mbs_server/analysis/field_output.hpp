/// Output of the fields of contact pairs at the times of the scenario.
#pragma once

#include <optional>
#include <vector>

#include "common/results/run_records.hpp"
#include "mbs_server/coupling/contact_states.hpp"
#include "mbs_server/formulation/constraint.hpp"
#include "mbs_server/formulation/model.hpp"
#include "mbs_server/simulation/run_state.hpp"
#include "scenario/scenario.hpp"

namespace heelstrike::mbs {

/// Requests the fields from the contact partner and passes them to the sink. Pairs whose back-end has no fields are
/// excluded with one warning, as are pairs whose fields are unavailable because of the partner (stall, lost connection,
/// memory). The run continues in both cases, but ends as incomplete in the second (`data_loss`).
class FieldOutputWriter {
 public:
  /// @param spec  none = no output
  /// @param model  of the scenario; outlives this object, as the others
  FieldOutputWriter(const Scenario& scenario, const Model& model, const std::optional<FieldOutput>& spec,
                    RunSink& sink);

  /// Time of the next files; none = no more files.
  [[nodiscard]] std::optional<double> next_time() const;
  /// Continues from `t` in a resumed run.
  void skip_to(double t);
  /// Reason for missing files that the scenario requests and the back-end provides; none = complete.
  [[nodiscard]] const std::optional<Error>& data_loss() const { return data_loss_; }
  /// For checkpoints.
  [[nodiscard]] FieldPosition position() const { return {next_, excluded_, partner_written_}; }
  void restore(const FieldPosition& position);
  /// Writes the files of next_time() with the state at that time and moves on.
  void write(Contact& contact, const ContactStates& states, double t, const ConstVector& q, const ConstVector& qd);
  /// True if fields are also written at onset, peaks and separation of every contact.
  [[nodiscard]] bool at_events() const { return spec_ && spec_->at_events; }
  /// Writes the files of one pair at a state, independent of the output grid.
  void write_active_pair(std::size_t pair, Contact& contact, double t, const ConstVector& q, const ConstVector& qd);

 private:
  void write_pair(std::size_t pair, Contact& contact, double t, const ConstVector& q, const ConstVector& qd);

  const Scenario& scenario_;
  const Model& model_;
  std::optional<FieldOutput> spec_;
  RunSink& sink_;
  std::int64_t next_ = 0;
  std::vector<char> excluded_;         ///< pairs without fields
  std::optional<Error> data_loss_;     ///< the first loss
  std::vector<char> partner_written_;  ///< pairs whose partner's shape has been written
};

}  // namespace heelstrike::mbs
