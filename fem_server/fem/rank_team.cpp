#include "fem_server/fem/rank_team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include "common/errors/pair_limit.hpp"
#include "fem_server/fem/body_shares.hpp"
#include "fem_server/fem/byte_stream.hpp"
#include "fem_server/fem/dense_kernels.hpp"
#include "fem_server/fem/element_library.hpp"
#include "fem_server/fem/rank_watch.hpp"

namespace heelstrike::fem {

namespace {

std::atomic<RankTeam*> team_of_process{nullptr};

enum class RankCommand : std::uint8_t { assemble, factorize, solve, columns, release, end };

/// Bytes of a failure, for the other ranks; empty = none.
std::string bytes_of(const std::exception_ptr& failure) {
  if (failure == nullptr) return {};
  ByteWriter writer;
  const auto put = [&](ErrorCode code, const std::string& message, const std::string& field) {
    writer.put(code);
    writer.put_all(message);
    writer.put_all(field);
  };
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    put(error.code(), error.what(), error.field());
  } catch (const std::bad_alloc&) {
    put(ErrorCode::limit, "", "");
  } catch (const std::exception& error) {
    put(ErrorCode::internal, error.what(), "");
  }
  return writer.take();
}

/// @param found  of every rank, by bytes_of
void throw_first(const std::vector<std::string>& found, std::size_t own) {
  // The own failure first: its text needs no explanation.
  std::size_t k = own;
  if (found[own].empty()) {
    k = static_cast<std::size_t>(std::ranges::find_if(found, [](const std::string& bytes) { return !bytes.empty(); }) -
                                 found.begin());
  }
  if (k == found.size()) return;
  ByteReader reader(found[k]);
  const auto code = reader.get<ErrorCode>();
  const std::string message = reader.get_text();
  const std::string field = reader.get_text();
  if (code == ErrorCode::limit && message.empty()) throw std::bad_alloc();
  const std::string text = k == own ? message : fmt::format("rank {}: {}", k, message);
  if (code == ErrorCode::limit) throw PairLimit(field, text);  // the ranks have no other limits
  throw_typed(Error(code, text, field));
}

template <class Action>
std::exception_ptr failure_of(const Action& action) {
  try {
    action();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

/// What a rank assembles, and the unknown (-1 = fixed) of each dof of its share.
struct Assignment {
  BodyShare share;
  std::vector<std::int32_t> unknowns;
};

std::string bytes_of(const Assignment& assignment) {
  ByteWriter writer;
  writer.put_all(assignment.share.bytes());
  writer.put_all(assignment.unknowns);
  return writer.take();
}

Assignment assignment_from(std::string_view bytes) {
  ByteReader reader(bytes);
  BodyShare share = BodyShare::from_bytes(reader.get_text());
  return {.share = std::move(share), .unknowns = reader.get_all<std::int32_t>()};
}

TriangleEntries own_entries(const Assignment& assignment) {
  const SparseMatrix K = own_stiffness(assignment.share);
  TriangleEntries entries;
  for (Eigen::Index column = 0; column < K.cols(); ++column) {
    const std::int32_t j = assignment.unknowns[static_cast<std::size_t>(column)];
    if (j < 0) continue;
    for (SparseMatrix::InnerIterator entry(K, column); entry; ++entry) {
      const std::int32_t i = assignment.unknowns[static_cast<std::size_t>(entry.row())];
      if (i < j) continue;  // fixed, or in the upper triangle
      entries.rows.push_back(i);
      entries.columns.push_back(j);
      entries.values.push_back(entry.value());
    }
  }
  return entries;
}

/// [B] of an entry: row, column, value.
constexpr double triangle_entry = 2 * sizeof(std::int32_t) + sizeof(double);

}  // namespace

struct RankTeam::Work {
  std::unique_ptr<DistributedCholesky> factor;
  std::size_t n_entries = 0;  ///< of the stiffness on this rank

  /// Collective. @param own  returns the assignment of this rank
  void assemble(RankTeam& team, const std::function<Assignment()>& own, std::int32_t n_unknowns,
                std::span<const std::int32_t> order, std::size_t n_last) {
    use_one_blas_thread();
    TriangleEntries entries;
    team.check_all(bytes_of(failure_of([&] { entries = own_entries(own()); })));
    n_entries = entries.values.size();
    factor = team.group_->make_factor();
    factor->analyse(n_unknowns, std::move(entries), order, n_last);
    const double need = factor->memory()[team.group_->rank()].predicted;
    team.check_all(bytes_of(failure_of([&] {
      const double left = available_address_space();
      if (need <= left) return;
      throw PairLimit("memory",
                      fmt::format("memory: its part of the factors would take about {}, {} are available to the "
                                  "process; use more ranks or larger elements, or raise the memory limit of the "
                                  "process (ulimit -v, container limit)",
                                  memory_text(need), memory_text(left)));
    })));
  }
};

RankTeam::RankTeam(std::unique_ptr<RankGroup> group, std::function<void(const Error&)> on_loss)
    : group_(std::move(group)), on_loss_(std::move(on_loss)) {
  watch_ = std::make_unique<RankWatch>(*group_, [this](std::size_t rank, const std::string& process) {
    std::string task;
    {
      const std::scoped_lock lock(task_mutex_);
      task = task_;
    }
    on_loss_(
        Error(ErrorCode::unavailable,
              fmt::format("rank {} of {} ended too early ({}){}; a process that is killed without a message of its "
                          "own mostly exceeded the memory of its machine (dmesg, sacct); use more machines, fewer "
                          "ranks on each, larger elements, or compliance: compressed",
                          rank, group_->size(), process, task.empty() ? "" : " while " + task)));
  });
  if (leads()) team_of_process = this;
}

RankTeam::~RankTeam() {
  watch_->expect_end();
  if (leads()) {
    team_of_process = nullptr;
    std::string command(1, static_cast<char>(RankCommand::end));
    group_->broadcast(command);
  } else if (!ended_) {
    follow();  // its input was rejected: rank 0 ends as well
  }
  // No rank closes its connection before all others expect that.
  (void)group_->all_gather("");
  watch_.reset();
}

void RankTeam::set_task(const std::string& task) {
  const std::scoped_lock lock(task_mutex_);
  task_ = task;
}

void RankTeam::check_all(const std::string& failure_bytes) {
  throw_first(group_->all_gather(failure_bytes), group_->rank());
}

void RankTeam::agree_on(const std::function<std::string()>& read) {
  std::string digest;
  check_all(bytes_of(failure_of([&] { digest = read(); })));
  const std::vector<std::string> all = group_->all_gather(digest);
  const auto other = std::ranges::find_if(all, [&](const std::string& of_rank) { return of_rank != all.front(); });
  if (other == all.end()) return;
  throw input_error(
      "scenario", fmt::format("expected the same scenario, files and version on all {} ranks, found others on rank {} "
                              "than on rank 0; start all ranks with the same command in a folder that all machines see",
                              all.size(), other - all.begin()));
}

void RankTeam::follow() {
  std::unique_ptr<Work> work;
  for (;;) {
    std::string command;
    group_->broadcast(command);
    ByteReader reader(command);
    const auto kind = reader.get<RankCommand>();
    if (kind == RankCommand::end) {
      ended_ = true;
      return;
    }
    const auto act = [&] {
      switch (kind) {
        case RankCommand::assemble: {
          const auto n_unknowns = reader.get<std::int32_t>();
          work = std::make_unique<Work>();
          const std::string bytes = group_->receive(0);
          work->assemble(
              *this, [&] { return assignment_from(bytes); }, n_unknowns, {}, 0);
          ByteWriter entries;
          entries.put(work->n_entries);
          (void)group_->all_gather(entries.take());
          (void)work->factor->memory();
          break;
        }
        case RankCommand::factorize:
          (void)work->factor->factorize();
          (void)work->factor->memory();
          break;
        case RankCommand::solve: {
          Eigen::MatrixXd none;
          work->factor->solve(none);
          break;
        }
        case RankCommand::columns:
          (void)work->factor->inverse_entries({}, reader.get<std::int64_t>());
          break;
        case RankCommand::release:
          work.reset();
          break;
        case RankCommand::end:
          break;
      }
    };
    // All ranks fail alike, and rank 0 reports it; after a failed assembly it has no factor to release.
    try {
      act();
    } catch (const std::exception&) {
      if (kind == RankCommand::assemble) work.reset();
    }
  }
}

RankTeam* leading_team() {
  return team_of_process;
}

bool started_by_mpi() {
  // Open MPI; PMIx (srun --mpi=pmix); PMI of MPICH and of Slurm.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

std::unique_ptr<RankSession> join_team(std::function<void(const Error&)> on_loss) {
  if (!started_by_mpi()) return nullptr;
  std::unique_ptr<RankGroup> group = element_library().join_ranks();
  if (group == nullptr) return nullptr;
  return std::make_unique<RankTeam>(std::move(group), std::move(on_loss));
}

namespace {

std::string command_bytes(RankCommand command) {
  return std::string(1, static_cast<char>(command));
}

}  // namespace

RankFactor::RankFactor(RankTeam& team, const BodyModel& body, std::span<const std::int64_t> order,
                       std::vector<std::int64_t> dofs, const std::string& what, std::size_t n_last)
    : team_(team),
      lock_(team.factor_mutex_),
      n_dofs_(body.n_dofs()),
      free_(order.begin(), order.end()),
      work_(std::make_unique<RankTeam::Work>()) {
  if (free_.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw Error(ErrorCode::limit, fmt::format("expected at most 2^31 unknowns, found {}", free_.size()));
  }
  team_.set_task(what);
  // Unknowns are numbered by ascending dofs; MUMPS gets the elimination order separately.
  std::ranges::sort(free_);
  std::vector<std::int32_t> unknown_of(n_dofs_, -1);
  for (std::size_t i = 0; i < free_.size(); ++i) {
    unknown_of[static_cast<std::size_t>(free_[i])] = static_cast<std::int32_t>(i);
  }
  const auto unknowns = [&](std::span<const std::int64_t> list) {
    std::vector<std::int32_t> result;
    for (const std::int64_t dof : list) result.push_back(unknown_of[static_cast<std::size_t>(dof)]);
    return result;
  };
  columns_ = unknowns(dofs);
  const std::vector<std::int32_t> elimination = unknowns(order);
  std::vector<std::string> assignments;
  std::optional<Assignment> own;
  for (BodyShare& share : shares_of(body, team_.size())) {
    std::vector<std::int32_t> own_unknowns;
    for (const std::uint32_t node : share.nodes) {
      for (std::size_t axis = 0; axis < 3; ++axis) own_unknowns.push_back(unknown_of[3 * std::size_t{node} + axis]);
    }
    Assignment assignment{.share = std::move(share), .unknowns = std::move(own_unknowns)};
    if (own) {
      assignments.push_back(bytes_of(assignment));
    } else {
      own = std::move(assignment);
    }
  }
  ByteWriter command;
  command.put(RankCommand::assemble);
  command.put(static_cast<std::int32_t>(free_.size()));
  std::string bytes = command.take();
  team_.group_->broadcast(bytes);
  for (std::size_t k = 1; k < team_.size(); ++k) {
    team_.group_->send(k, assignments[k - 1]);
    assignments[k - 1] = {};
  }
  work_->assemble(
      team_, [&] { return std::move(*own); }, static_cast<std::int32_t>(free_.size()), elimination, n_last);
  ByteWriter entries;
  entries.put(work_->n_entries);
  const std::vector<std::string> all = team_.group_->all_gather(entries.take());
  const std::vector<RankMemory> memory = work_->factor->memory();
  for (std::size_t k = 0; k < all.size(); ++k) {
    const auto n = static_cast<double>(ByteReader(all[k]).get<std::size_t>());
    need_.push_back({.matrices = triangle_entry * n, .factors = memory[k].predicted});
  }
}

RankFactor::~RankFactor() {
  std::string bytes = command_bytes(RankCommand::release);
  team_.group_->broadcast(bytes);
  work_.reset();
  team_.set_task("");
}

bool RankFactor::factorize() {
  std::string bytes = command_bytes(RankCommand::factorize);
  team_.group_->broadcast(bytes);
  const bool positive = work_->factor->factorize();
  used_.clear();
  for (const RankMemory& memory : work_->factor->memory()) used_.push_back(memory.used);
  return positive;
}

Eigen::MatrixXd RankFactor::schur_complement() const {
  return work_->factor->schur_complement();
}

Eigen::MatrixXd RankFactor::solve(const Eigen::MatrixXd& rhs) const {
  Eigen::MatrixXd columns(static_cast<Eigen::Index>(free_.size()), rhs.cols());
  for (std::size_t i = 0; i < free_.size(); ++i) columns.row(static_cast<Eigen::Index>(i)) = rhs.row(free_[i]);
  std::string bytes = command_bytes(RankCommand::solve);
  team_.group_->broadcast(bytes);
  work_->factor->solve(columns);
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(rhs.rows(), rhs.cols());
  for (std::size_t i = 0; i < free_.size(); ++i) result.row(free_[i]) = columns.row(static_cast<Eigen::Index>(i));
  return result;
}

Eigen::MatrixXd RankFactor::lower_columns(Eigen::Index first, Eigen::Index n) const {
  const auto n_rows = static_cast<Eigen::Index>(columns_.size()) - first;
  if (first < first_of_panel_ || first + n > first_of_panel_ + panel_.cols()) {
    const Eigen::Index n_columns = std::min(std::max(n, columns_at_once), n_rows);
    ByteWriter command;
    command.put(RankCommand::columns);
    command.put(static_cast<std::int64_t>(n_columns));
    std::string bytes = command.take();
    team_.group_->broadcast(bytes);
    panel_.resize(0, 0);
    panel_ = work_->factor->inverse_entries(std::span(columns_).subspan(static_cast<std::size_t>(first)), n_columns);
    first_of_panel_ = first;
  }
  const Eigen::Index skipped = first - first_of_panel_;
  return panel_.block(skipped, skipped, n_rows, n);
}

}  // namespace heelstrike::fem
