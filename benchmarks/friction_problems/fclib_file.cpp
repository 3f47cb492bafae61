#include "benchmarks/friction_problems/fclib_file.hpp"

#include <fmt/format.h>
#include <hdf5.h>
#include <hdf5_hl.h>

#include <Eigen/SparseLU>
#include <array>
#include <vector>

#include "common/errors/error.hpp"

namespace heelstrike::friction {
namespace {

/// Values of `nz` for compressed storage; otherwise it is the number of triplets.
constexpr int by_columns = -1;
constexpr int compressed_rows = -2;

/// An open file or group.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  [[nodiscard]] hid_t id() const { return id_; }
  [[nodiscard]] bool valid() const { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

class Reader {
 public:
  Reader(const std::filesystem::path& file)
      : name_(file.string()), file_(H5Fopen(name_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose) {
    if (!file_.valid())
      throw file_error(name_,
                       fmt::format("{}: expected an HDF5 file of FCLIB, found a file that cannot be opened", name_));
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool has(const std::string& path) const { return H5LTpath_valid(file_.id(), path.c_str(), 1) > 0; }

  [[nodiscard]] std::vector<int> integers(const std::string& path) const {
    std::vector<int> values(size_of(path, H5T_INTEGER));
    if (H5LTread_dataset_int(file_.id(), path.c_str(), values.data()) < 0) fail(path, "whole numbers");
    return values;
  }
  [[nodiscard]] int integer(const std::string& path) const {
    const std::vector<int> values = integers(path);
    if (values.size() != 1) fail(path, "one number");
    return values[0];
  }
  [[nodiscard]] Eigen::VectorXd numbers(const std::string& path) const {
    Eigen::VectorXd values(static_cast<Eigen::Index>(size_of(path, H5T_FLOAT)));
    if (H5LTread_dataset_double(file_.id(), path.c_str(), values.data()) < 0) fail(path, "numbers");
    return values;
  }
  [[nodiscard]] Eigen::SparseMatrix<double> matrix(const std::string& path) const;

 private:
  [[nodiscard]] std::size_t size_of(const std::string& path, H5T_class_t requested) const {
    int rank = 0;
    if (!has(path) || H5LTget_dataset_ndims(file_.id(), path.c_str(), &rank) < 0) fail(path, "a dataset");
    std::array<hsize_t, H5S_MAX_RANK> extents{};
    H5T_class_t kind = H5T_NO_CLASS;
    std::size_t bytes = 0;
    if (H5LTget_dataset_info(file_.id(), path.c_str(), extents.data(), &kind, &bytes) < 0 || kind != requested ||
        rank > 1) {
      fail(path, requested == H5T_FLOAT ? "a list of numbers" : "a list of whole numbers");
    }
    return rank == 0 ? 1 : extents[0];
  }
  [[noreturn]] void fail(const std::string& path, const char* expected) const {
    throw input_error(
        path, fmt::format("{}: expected {} at {}, found none: check that it is an FCLIB file", name_, expected, path));
  }

  std::string name_;
  Handle file_;
};

/// Reads a compressed or triplet matrix; all indices are checked before assembly.
Eigen::SparseMatrix<double> Reader::matrix(const std::string& path) const {
  const int rows = integer(path + "/m"), columns = integer(path + "/n"), nz = integer(path + "/nz");
  const std::vector<int> p = integers(path + "/p"), i = integers(path + "/i");
  const Eigen::VectorXd x = numbers(path + "/x");
  const auto reject = [&](const std::string& found) {
    throw input_error(path, fmt::format("{}: expected a sparse matrix at {}, found {}", name_, path, found));
  };
  if (rows < 1 || columns < 1) reject(fmt::format("{} rows and {} columns", rows, columns));
  if (nz < compressed_rows) reject(fmt::format("nz = {}", nz));
  const int majors = nz == by_columns ? columns : rows;
  const int minors = nz == by_columns ? rows : columns;
  const std::size_t n_entries =
      nz >= 0 ? static_cast<std::size_t>(nz) : (p.empty() || p.back() < 0 ? 0 : static_cast<std::size_t>(p.back()));
  if (i.size() < n_entries || static_cast<std::size_t>(x.size()) < n_entries) {
    reject(fmt::format("{} entries of which {} have an index and {} a value", n_entries, i.size(), x.size()));
  }
  std::vector<Eigen::Triplet<double>> entries;
  const auto add = [&](int row, int column, std::size_t k) {
    if (row < 0 || row >= rows || column < 0 || column >= columns) {
      reject(fmt::format("an entry in row {} and column {} of {} x {}", row, column, rows, columns));
    }
    entries.emplace_back(row, column, x[static_cast<Eigen::Index>(k)]);
  };
  if (nz >= 0) {
    if (p.size() < n_entries) reject("triplets without columns");
    for (std::size_t k = 0; k < n_entries; ++k) add(i[k], p[k], k);
  } else {
    if (p.size() != static_cast<std::size_t>(majors) + 1)
      reject(fmt::format("{} starts for {} lines", p.size(), majors));
    for (int line = 0; line < majors; ++line) {
      const int first = p[static_cast<std::size_t>(line)], last = p[static_cast<std::size_t>(line) + 1];
      if (first < 0 || last < first || static_cast<std::size_t>(last) > n_entries)
        reject("starts of lines that are not in order");
      for (int k = first; k < last; ++k) {
        const int minor = i[static_cast<std::size_t>(k)];
        if (minor < 0 || minor >= minors) reject(fmt::format("an index {} of {}", minor, minors));
        add(nz == compressed_rows ? line : minor, nz == compressed_rows ? minor : line, static_cast<std::size_t>(k));
      }
    }
  }
  Eigen::SparseMatrix<double> result(rows, columns);
  result.setFromTriplets(entries.begin(), entries.end());
  return result;
}

/// Equality constraints of a local problem, V' r + R lambda + s = 0 with u = W r + V lambda + q, are eliminated.
void eliminate_equalities(const Reader& reader, LocalProblem& problem) {
  if (!reader.has("/fclib_local/V")) return;
  const Eigen::SparseMatrix<double> V = reader.matrix("/fclib_local/V"), R = reader.matrix("/fclib_local/R");
  const Eigen::VectorXd s = reader.numbers("/fclib_local/vectors/s");
  if (V.rows() != problem.W.rows() || V.cols() != R.rows() || R.rows() != R.cols() || s.size() != R.rows() ||
      problem.q.size() != V.rows()) {
    throw input_error(
        "/fclib_local/V",
        fmt::format("{}: expected V, R and s of sizes consistent with W, found V {} x {}, R {} x {}, s {}",
                    reader.name(), V.rows(), V.cols(), R.rows(), R.cols(), s.size()));
  }
  const Eigen::SparseLU<Eigen::SparseMatrix<double>> factor(R);
  if (factor.info() != Eigen::Success) {
    throw input_error("/fclib_local/R",
                      fmt::format("{}: expected an invertible R, found a singular matrix", reader.name()));
  }
  const Eigen::MatrixXd by_reactions = factor.solve(Eigen::MatrixXd(V.transpose()));
  problem.W = (Eigen::MatrixXd(problem.W) - V * by_reactions).sparseView(1.0, 0.0);
  problem.q -= V * factor.solve(s);
}

/// The matrix of M v - G lambda = H r + f, G' v = - b; M alone without constraints.
Eigen::SparseMatrix<double> with_equalities(const Eigen::SparseMatrix<double>& M,
                                            const Eigen::SparseMatrix<double>& G) {
  std::vector<Eigen::Triplet<double>> entries;
  const auto add = [&](const Eigen::SparseMatrix<double>& from, Eigen::Index row, Eigen::Index column, bool rotated) {
    for (Eigen::Index k = 0; k < from.outerSize(); ++k) {
      for (Eigen::SparseMatrix<double>::InnerIterator it(from, k); it; ++it) {
        if (rotated) {
          entries.emplace_back(row + it.col(), column + it.row(), it.value());
        } else {
          entries.emplace_back(row + it.row(), column + it.col(), it.value());
        }
      }
    }
  };
  add(M, 0, 0, false);
  add(-G, 0, M.cols(), false);
  add(G, M.rows(), 0, true);
  Eigen::SparseMatrix<double> all(M.rows() + G.cols(), M.cols() + G.cols());
  all.setFromTriplets(entries.begin(), entries.end());
  return all;
}

void reduce_global(const Reader& reader, LocalProblem& problem) {
  const Eigen::SparseMatrix<double> M = reader.matrix("/fclib_global/M"), H = reader.matrix("/fclib_global/H");
  const Eigen::VectorXd f = reader.numbers("/fclib_global/vectors/f"), w = reader.numbers("/fclib_global/vectors/w");
  if (M.rows() != M.cols() || H.rows() != M.rows() || f.size() != M.rows() || w.size() != H.cols()) {
    throw input_error(
        "/fclib_global",
        fmt::format("{}: expected M, H, f and w of consistent sizes, found M {} x {}, H {} x {}, f {}, w {}",
                    reader.name(), M.rows(), M.cols(), H.rows(), H.cols(), f.size(), w.size()));
  }
  Eigen::SparseMatrix<double> G(M.rows(), 0);
  Eigen::VectorXd b(0);
  if (reader.has("/fclib_global/G")) {
    G = reader.matrix("/fclib_global/G");
    b = reader.numbers("/fclib_global/vectors/b");
    if (G.rows() != M.rows() || b.size() != G.cols()) {
      throw input_error("/fclib_global/G",
                        fmt::format("{}: expected G and b of sizes consistent with M, found G {} x {}, b {}",
                                    reader.name(), G.rows(), G.cols(), b.size()));
    }
  }
  const Eigen::SparseLU<Eigen::SparseMatrix<double>> factor(with_equalities(M, G));
  if (factor.info() != Eigen::Success) {
    throw input_error("/fclib_global/M", fmt::format("{}: expected M and G that determine the motion, found a singular "
                                                     "system",
                                                     reader.name()));
  }
  const auto motion = [&](const Eigen::MatrixXd& forces, const Eigen::VectorXd& shifts) -> Eigen::MatrixXd {
    Eigen::MatrixXd all = Eigen::MatrixXd::Zero(M.rows() + G.cols(), forces.cols());
    all.topRows(M.rows()) = forces;
    if (shifts.size() > 0) all.bottomRows(G.cols()).colwise() = -shifts;
    return factor.solve(all).topRows(M.rows());
  };
  const Eigen::MatrixXd W = H.transpose() * motion(Eigen::MatrixXd(H), {});
  problem.W = W.sparseView(1.0, 0.0);
  problem.q = w + H.transpose() * motion(f, b).col(0);
}

void write_list(hid_t file, const std::string& path, const std::vector<int>& values, bool& written) {
  const hsize_t size = values.size();
  written = written && H5LTmake_dataset_int(file, path.c_str(), 1, &size, values.data()) >= 0;
}
void write_list(hid_t file, const std::string& path, const Eigen::VectorXd& values, bool& written) {
  const auto size = static_cast<hsize_t>(values.size());
  written = written && H5LTmake_dataset_double(file, path.c_str(), 1, &size, values.data()) >= 0;
}

}  // namespace

LocalProblem read_fclib(const std::filesystem::path& file) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // suppresses HDF5 error traces on stderr
  const Reader reader(file);
  LocalProblem problem;
  const bool local = reader.has("/fclib_local");
  if (!local && !reader.has("/fclib_global")) {
    throw input_error("fclib", reader.name() + ": expected /fclib_local or /fclib_global, found neither");
  }
  const std::string root = local ? "/fclib_local" : "/fclib_global";
  problem.dimension = reader.integer(root + "/spacedim");
  problem.mu = reader.numbers(root + "/vectors/mu");
  if (local) {
    problem.W = reader.matrix("/fclib_local/W");
    problem.q = reader.numbers("/fclib_local/vectors/q");
    eliminate_equalities(reader, problem);
  } else {
    reduce_global(reader, problem);
  }
  check_problem(problem, reader.name());
  return problem;
}

void write_fclib(const LocalProblem& problem, const FclibInfo& info, const std::filesystem::path& file) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const Handle out(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  bool written = out.valid();
  DelassusMatrix W = problem.W;
  W.makeCompressed();
  for (const char* group : {"/fclib_local", "/fclib_local/W", "/fclib_local/vectors", "/fclib_local/info"}) {
    if (written) written = Handle(H5Gcreate2(out.id(), group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose).valid();
  }
  const auto size = static_cast<int>(W.rows());
  const auto n_entries = static_cast<int>(W.nonZeros());
  write_list(out.id(), "/fclib_local/spacedim", std::vector<int>{problem.dimension}, written);
  write_list(out.id(), "/fclib_local/W/m", std::vector<int>{size}, written);
  write_list(out.id(), "/fclib_local/W/n", std::vector<int>{size}, written);
  write_list(out.id(), "/fclib_local/W/nzmax", std::vector<int>{n_entries}, written);
  write_list(out.id(), "/fclib_local/W/nz", std::vector<int>{compressed_rows}, written);
  write_list(out.id(), "/fclib_local/W/p", std::vector<int>(W.outerIndexPtr(), W.outerIndexPtr() + size + 1), written);
  write_list(out.id(), "/fclib_local/W/i", std::vector<int>(W.innerIndexPtr(), W.innerIndexPtr() + n_entries), written);
  write_list(out.id(), "/fclib_local/W/x", Eigen::Map<const Eigen::VectorXd>(W.valuePtr(), n_entries), written);
  write_list(out.id(), "/fclib_local/vectors/q", problem.q, written);
  write_list(out.id(), "/fclib_local/vectors/mu", problem.mu, written);
  const std::array<std::pair<const char*, const std::string*>, 3> texts = {
      {{"title", &info.title}, {"description", &info.description}, {"math_info", &info.math_info}}};
  for (const auto& [name, text] : texts) {
    const std::string path = std::string("/fclib_local/info/") + name;
    written = written && H5LTmake_dataset_string(out.id(), path.c_str(), text->c_str()) >= 0;
  }
  if (!written) throw file_error(file.string(), fmt::format("{}: cannot write the FCLIB problem", file.string()));
}

}  // namespace heelstrike::friction
