/// Contact with a history along prescribed motion: its history is committed not only at the rows but on a grid that is
/// refined between them until the work of the contact is resolved, so that neither work nor rows depend on the rows.
///
/// Each interval between two rows starts without intermediate states, which costs nothing where the rows resolve the
/// contact. Its history is restored and committed again with additional states where
///  - the work done on the pairs differs from the increase of their stored energy plus their dissipation,
///  - the power of their damping is curved,
///  - a pair turns, or touches and separates, between two states, as the cubic through their gaps shows,
///  - a contact begins between two states with another approach velocity than that of the state that commits it.
/// Decisions depend on the interval and on what was committed before it alone, not on the number of rows in a call.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "mbs_server/analysis/analysis_state.hpp"
#include "mbs_server/coupling/contact_exchange.hpp"
#include "mbs_server/coupling/contact_states.hpp"
#include "mbs_server/formulation/model.hpp"

namespace heelstrike::mbs {

class ContactPath {
 public:
  using State = ContactExchange::PrescribedState;
  /// The motion between the last row and the next one. @throws RecoverableError where it is unknown
  using Motion = std::function<State(double t)>;

  /// @param model, exchange  outlive this object
  ContactPath(const Model& model, ContactExchange& exchange)
      : model_(model), exchange_(exchange), last_(model.pairs.size()) {}

  /// Commits some of the rows that follow the last accepted one, in sequence. Slip work in their responses is that
  /// since the preceding row.
  /// @param motion  between the last row and rows[0]
  /// @return number of rows that were committed or rejected; of them only the last can have an `error`
  [[nodiscard]] std::size_t commit(std::span<State> rows, const Motion& motion, const std::stop_token& stop);
  /// To be called for each committed row in sequence. @return [J] dissipated by damping since the preceding row
  double accept();
  /// [J] Until the last accepted row: dissipated, the estimated error of that number, and all energy stored, released
  /// and dissipated. @{
  [[nodiscard]] double dissipated() const { return dissipated_; }
  [[nodiscard]] double error() const { return error_; }
  [[nodiscard]] double exchanged() const { return exchanged_; }
  /// @}
  /// Writes the state, or reads it.
  void exchange_state(AnalysisState& state);

 private:
  /// One pair at a committed state.
  struct Point {
    GapPoint gap;
    double stored = 0.0;     ///< [J]
    double damping = 0.0;    ///< [W]
    double power = 0.0;      ///< [W] of the motion on the contact
    double force = 0.0;      ///< [N]
    double slip_work = 0.0;  ///< [J] since the preceding state
  };
  using Points = std::vector<Point>;  ///< of all pairs
  /// Work of all pairs in an interval.
  struct Work {
    double damping = 0.0;    ///< [J]
    double slip = 0.0;       ///< [J]
    double exchanged = 0.0;  ///< [J] stored, released and dissipated
    double error = 0.0;      ///< [J] of the dissipation
    [[nodiscard]] double dissipated() const { return damping + slip; }
    Work& operator+=(const Work& other);
  };
  /// A committed row that has not been accepted.
  struct Row {
    Points points;
    Work work;
  };
  /// An interval between two committed states.
  struct Step {
    double begin, end;  ///< [s]
    Work work;
    double next;             ///< [s] where it is divided
    double turn;             ///< [s] of the gap
    bool divides = false;    ///< regardless of its error
    double turn_work = 0.0;  ///< [J] of the force until the turn and back
  };

  [[nodiscard]] Points points_of(const State& state) const;
  [[nodiscard]] std::size_t commit_rows(std::span<State> rows, const std::stop_token& stop);
  void refine(State& row, const Motion& motion, const std::vector<std::string>& history, const std::stop_token& stop);
  /// [J] In an interval. @param largest  [J] exchanged in an earlier one
  [[nodiscard]] static double allowed_error(double largest, const Work& work);
  [[nodiscard]] static Step step_between(const Point& a, const Point& b);
  /// Work along committed states after `from`, and in `times`, sorted, where intermediate ones are required.
  [[nodiscard]] Work work_along(const Points& from, std::span<const Points> path, double largest,
                                std::vector<double>& times) const;

  const Model& model_;
  ContactExchange& exchange_;
  std::size_t n_attempted_ = 1;  ///< rows of the next attempt without intermediate states
  Points last_;                  ///< at the last accepted row
  std::int64_t n_accepted_ = 0;  ///< rows since the start
  double largest_ = 0.0;         ///< [J] exchanged in an accepted interval
  double dissipated_ = 0.0;      ///< [J]
  double error_ = 0.0;           ///< [J]
  double exchanged_ = 0.0;       ///< [J]
  /// [-] Part of the exchanged energy by which the balance of the contact remained open on the finest grid: contact
  /// that does not report all its dissipation, as that of viscous materials.
  double unexplained_ = 0.0;
  std::deque<Row> rows_;
};

}  // namespace heelstrike::mbs
