/// Ranks of this program that factorise the stiffness of a body together.
///
/// Rank 0 runs the preparation as a single process does. For a factorisation it gives every rank a share of the
/// elements; each assembles its own, and none but rank 0 has the whole mesh, none the whole stiffness. The others wait
/// for commands (follow()). After every step the ranks exchange whether it succeeded, and rank 0 throws between two
/// commands only: no error of one rank leaves another one waiting. A rank whose process ends is noticed by RankWatch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "common/errors/error.hpp"
#include "common/process/rank_session.hpp"
#include "fem_server/fem/body_model.hpp"
#include "fem_server/fem/memory_need.hpp"
#include "fem_server/fem/rank_group.hpp"
#include "fem_server/fem/stiffness_factor.hpp"

namespace heelstrike::fem {

class RankWatch;

class RankTeam final : public RankSession {
 public:
  /// @param on_loss  called on another thread when a rank ended too early; must end the process
  RankTeam(std::unique_ptr<RankGroup> group, std::function<void(const Error&)> on_loss);
  ~RankTeam() override;

  [[nodiscard]] std::size_t size() const override { return group_->size(); }
  [[nodiscard]] bool leads() const override { return group_->rank() == 0; }
  void agree_on(const std::function<std::string()>& read) override;
  void follow() override;

 private:
  friend class RankFactor;
  /// State of a rank between two commands.
  struct Work;

  void set_task(const std::string& task);
  /// @throws the error of the first rank that has one, its own first. Collective
  void check_all(const std::string& failure_bytes);

  std::unique_ptr<RankGroup> group_;
  std::function<void(const Error&)> on_loss_;
  std::mutex factor_mutex_;  ///< one factorisation at a time
  std::mutex task_mutex_;
  std::string task_;  ///< for the message when a rank is lost
  std::unique_ptr<RankWatch> watch_;
  bool ended_ = false;  ///< follow() has returned
};

/// Team of this process, of which this is rank 0; null = it works alone.
[[nodiscard]] RankTeam* leading_team();

/// Joins the ranks of this program. @return null when a launcher started no other rank @throws Error{unavailable, file}
[[nodiscard]] std::unique_ptr<RankSession> join_team(std::function<void(const Error&)> on_loss);

/// Factorisation by the team. Used by rank 0 only, one function at a time.
class RankFactor final : public StiffnessFactor {
 public:
  /// Assembles and analyses.
  /// @param order  free dofs in their elimination order; the others are fixed at zero
  /// @param dofs   of lower_columns()
  /// @param what   task, for messages: "condensing this body to 16 candidate nodes"
  /// @param n_last  dofs at the end of the order that are not eliminated: schur_complement()
  RankFactor(RankTeam& team, const BodyModel& body, std::span<const std::int64_t> order, std::vector<std::int64_t> dofs,
             const std::string& what, std::size_t n_last = 0);
  ~RankFactor() override;

  /// Predicted memory of each rank, without the vectors and results of rank 0.
  [[nodiscard]] const std::vector<MemoryNeed>& need() const { return need_; }
  /// [B] taken by the factorisation on each rank, after it.
  [[nodiscard]] const std::vector<double>& used() const { return used_; }
  /// @return false when the stiffness is not positive definite
  [[nodiscard]] bool factorize();
  /// Columns that lower_columns() computes at once, if fewer are requested: every call passes the tree of all ranks.
  /// Calls with ascending `first` use the others.
  static constexpr Eigen::Index columns_at_once = 384;

  /// K_bb - K_ba K_aa^-1 K_ab on the last dofs, in their order.
  [[nodiscard]] Eigen::MatrixXd schur_complement() const;
  [[nodiscard]] Eigen::MatrixXd solve(const Eigen::MatrixXd& rhs) const override;
  [[nodiscard]] Eigen::MatrixXd lower_columns(Eigen::Index first, Eigen::Index n) const override;

 private:
  RankTeam& team_;
  std::unique_lock<std::mutex> lock_;
  std::size_t n_dofs_;
  std::vector<std::int64_t> free_;     ///< dof of each unknown
  std::vector<std::int32_t> columns_;  ///< unknowns of lower_columns()
  mutable Eigen::MatrixXd panel_;      ///< the last columns computed, from row and column first_of_panel_
  mutable Eigen::Index first_of_panel_ = 0;
  std::unique_ptr<RankTeam::Work> work_;
  std::vector<MemoryNeed> need_;
  std::vector<double> used_;
};

}  // namespace heelstrike::fem
