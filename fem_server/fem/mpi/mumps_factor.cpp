#include "fem_server/fem/mpi/mumps_factor.hpp"

#include <dmumps_c.h>
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <new>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

namespace {

constexpr int use_world = -987654;  // MPI_COMM_WORLD in the C interface of MUMPS
constexpr double megabyte = 1e6;    // the unit of INFO(15) and INFO(22)

/// Steps of MUMPS (JOB).
enum class Job : int { analyse = 1, factorize = 2, solve = 3, start = -1, end = -2 };

/// Additional workspace [%] (ICNTL(14)): positive definite matrices need no pivoting, only the imbalance of the dynamic
/// distribution of work.
constexpr int first_relaxation = 10;
constexpr int max_relaxation = 320;

class MumpsFactor final : public DistributedCholesky {
 public:
  MumpsFactor() {
    data_.comm_fortran = use_world;
    data_.par = 1;  // rank 0 works, too
    data_.sym = 1;  // positive definite
    run(Job::start, "starting MUMPS");
    for (const int unit : {1, 2, 3}) control(unit) = -1;  // no messages
    control(4) = 0;
    control(5) = 0;   // assembled entries
    control(18) = 3;  // distributed, in any partition
    control(28) = 1;  // analysis on rank 0
    control(7) = 1;   // with our order
    control(14) = first_relaxation;
  }
  MumpsFactor(const MumpsFactor&) = delete;
  MumpsFactor& operator=(const MumpsFactor&) = delete;
  ~MumpsFactor() override {
    data_.job = static_cast<int>(Job::end);
    dmumps_c(&data_);
  }

  void analyse(std::int32_t n_unknowns, TriangleEntries own, std::span<const std::int32_t> order,
               std::size_t n_last) override {
    own_ = std::move(own);
    for (std::int32_t& row : own_.rows) ++row;  // Fortran counts from 1
    for (std::int32_t& column : own_.columns) ++column;
    data_.n = n_unknowns;
    data_.nnz_loc = static_cast<MUMPS_INT8>(own_.values.size());
    data_.irn_loc = own_.rows.data();
    data_.jcn_loc = own_.columns.data();
    data_.a_loc = own_.values.data();
    place_.assign(order.size(), 0);
    for (std::size_t k = 0; k < order.size(); ++k) place_[static_cast<std::size_t>(order[k])] = static_cast<int>(k) + 1;
    data_.perm_in = place_.data();
    if (n_last > 0) {
      control(19) = 1;  // the whole Schur complement on rank 0
      for (const std::int32_t unknown : order.last(n_last)) last_.push_back(unknown + 1);
      schur_.resize(n_last * n_last);
      data_.size_schur = static_cast<int>(n_last);
      data_.listvar_schur = last_.data();
      data_.schur = schur_.data();
    }
    run(Job::analyse, "analysing the stiffness matrix");
  }

  [[nodiscard]] bool factorize() override {
    for (;;) {
      data_.job = static_cast<int>(Job::factorize);
      dmumps_c(&data_);
      const int status = data_.infog[0];
      // -8, -9: more workspace than predicted.
      if ((status != -8 && status != -9) || control(14) >= max_relaxation) break;
      control(14) *= 2;
    }
    // -10: a zero pivot, -40: a negative one on the root of the tree; INFOG(12) counts negative ones elsewhere.
    if (data_.infog[0] == -10 || data_.infog[0] == -40) return false;
    check("factorising the stiffness matrix");
    own_ = {};
    return data_.infog[11] == 0;
  }

  [[nodiscard]] Eigen::MatrixXd schur_complement() const override {
    const auto n = static_cast<Eigen::Index>(last_.size());
    // By rows, of which the lower triangle is certain: Eigen's columns, hence its upper triangle.
    const Eigen::Map<const Eigen::MatrixXd> rows(schur_.data(), n, n);
    return rows.selfadjointView<Eigen::Upper>();
  }

  [[nodiscard]] std::vector<RankMemory> memory() override {
    int n_ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    const std::array<double, 2> own{megabyte * data_.info[14], megabyte * data_.info[21]};
    std::vector<double> all(2 * static_cast<std::size_t>(n_ranks));
    MPI_Allgather(own.data(), 2, MPI_DOUBLE, all.data(), 2, MPI_DOUBLE, MPI_COMM_WORLD);
    std::vector<RankMemory> result;
    for (std::size_t k = 0; k < all.size(); k += 2) result.push_back({.predicted = all[k], .used = all[k + 1]});
    return result;
  }

  void solve(Eigen::MatrixXd& columns) override {
    control(20) = 0;  // dense right-hand sides
    control(21) = 0;  // solution on rank 0
    control(30) = 0;
    data_.rhs = columns.data();
    data_.lrhs = static_cast<int>(columns.rows());
    data_.nrhs = static_cast<int>(columns.cols());
    control(27) = std::max(1, data_.nrhs);
    run(Job::solve, "solving with the factors");
  }

  [[nodiscard]] Eigen::MatrixXd inverse_entries(std::span<const std::int32_t> rows, Eigen::Index n_columns) override {
    control(30) = 1;
    const auto n_rows = static_cast<Eigen::Index>(rows.size());
    Eigen::MatrixXd entries = Eigen::MatrixXd::Zero(n_rows, n_columns);
    // Column by column of the whole inverse, most of them empty; the columns ascend as MUMPS needs them.
    std::vector<int> start;
    std::vector<int> row;
    std::vector<Eigen::Index> column_of;
    if (n_rows > 0) {
      std::vector<Eigen::Index> column_at(static_cast<std::size_t>(data_.n), -1);
      for (Eigen::Index j = 0; j < n_columns; ++j)
        column_at[static_cast<std::size_t>(rows[static_cast<std::size_t>(j)])] = j;
      start.reserve(column_at.size() + 1);
      row.reserve(static_cast<std::size_t>(entries.size()));
      for (const Eigen::Index j : column_at) {
        start.push_back(static_cast<int>(row.size()) + 1);
        if (j < 0) continue;
        column_of.push_back(j);
        for (const std::int32_t i : rows) row.push_back(i + 1);
      }
      start.push_back(static_cast<int>(row.size()) + 1);
    }
    std::vector<double> values(row.size(), 0.0);
    data_.nz_rhs = static_cast<int>(row.size());
    data_.nrhs = data_.n;
    data_.irhs_ptr = start.data();
    data_.irhs_sparse = row.data();
    data_.rhs_sparse = values.data();
    control(27) = std::max(1, static_cast<int>(n_columns));
    run(Job::solve, "computing columns of the inverse");
    for (std::size_t k = 0; k < column_of.size(); ++k) {
      entries.col(column_of[k]) =
          Eigen::Map<const Eigen::VectorXd>(values.data() + k * static_cast<std::size_t>(n_rows), n_rows);
    }
    return entries;
  }

 private:
  /// Control parameter with the number of the manual.
  int& control(int number) { return data_.icntl[number - 1]; }

  void run(Job job, const char* what) {
    data_.job = static_cast<int>(job);
    dmumps_c(&data_);
    check(what);
  }

  void check(const char* what) const {
    const int status = data_.infog[0];
    if (status >= 0) return;
    // Allocations that failed: -7, -13 (main memory), -8, -9 (workspace), -19 (memory limit).
    for (const int memory : {-7, -8, -9, -13, -19}) {
      if (status == memory) throw std::bad_alloc();
    }
    throw Error(ErrorCode::internal, fmt::format("{} failed: MUMPS status {} ({})", what, status, data_.infog[1]));
  }

  DMUMPS_STRUC_C data_{};
  TriangleEntries own_;
  std::vector<int> last_;      ///< unknowns of the Schur complement, from 1
  std::vector<double> schur_;  ///< on rank 0
  std::vector<int> place_;     ///< in the elimination order, of each unknown, from 1
};

}  // namespace

std::unique_ptr<DistributedCholesky> make_mumps_factor() {
  return std::make_unique<MumpsFactor>();
}

}  // namespace heelstrike::fem
