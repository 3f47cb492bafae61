/// Fields of the contact pairs at the times the scenario asks for.
#pragma once

#include <optional>
#include <vector>

#include "scenario/scenario.hpp"
#include "common/results/run_records.hpp"
#include "mbs_server/coupling/contact_states.hpp"
#include "mbs_server/formulation/constraint.hpp"
#include "mbs_server/formulation/model.hpp"
#include "mbs_server/simulation/run_state.hpp"

namespace heelstrike::mbs {

/// Asks the contact partner for the fields and hands them to the sink. A pair whose back-end has none is left out,
/// which a warning says once. So is one whose fields cannot be had because of the partner: a stall, a lost connection,
/// memory. The run goes on in both cases, but ends as incomplete in the second (`lost`).
class FieldOutputWriter {
 public:
  /// @param spec  none = nothing is ever due
  /// @param model  of the scenario; outlives this object, as the others
  FieldOutputWriter(const Scenario& scenario, const Model& model, const std::optional<FieldOutput>& spec,
                    RunSink& sink);

  /// Time of the next files; none when there are none to come.
  [[nodiscard]] std::optional<double> next_time() const;
  /// Goes on from `t` in a resumed run.
  void skip_to(double t);
  /// Why files are missing that the scenario asks for and the back-end has; none = all are there.
  [[nodiscard]] const std::optional<Error>& data_loss() const { return data_loss_; }
  /// For checkpoints.
  [[nodiscard]] FieldPosition position() const { return {next_, excluded_, partner_written_}; }
  void restore(const FieldPosition& position);
  /// Writes the files of next_time() with the state at that time and moves on.
  void write(Contact& contact, const ContactStates& states, double t, const ConstVector& q, const ConstVector& qd);
  /// Whether onset, peaks and end of every contact are drawn as well.
  [[nodiscard]] bool at_events() const { return spec_ && spec_->at_events; }
  /// The files of one pair at a state, whatever is due.
  void write_active_pair(std::size_t pair, Contact& contact, double t, const ConstVector& q, const ConstVector& qd);

 private:
  void write_pair(std::size_t pair, Contact& contact, double t, const ConstVector& q, const ConstVector& qd);

  const Scenario& scenario_;
  const Model& model_;
  std::optional<FieldOutput> spec_;
  RunSink& sink_;
  std::int64_t next_ = 0;
  std::vector<char> excluded_;            ///< pairs without fields
  std::optional<Error> data_loss_;        ///< the first loss
  std::vector<char> partner_written_;  ///< pairs whose partner's shape has been written
};

}  // namespace heelstrike::mbs
