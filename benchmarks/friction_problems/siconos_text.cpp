#include "benchmarks/friction_problems/siconos_text.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <cstdint>
#include <istream>
#include <limits>
#include <ostream>
#include <vector>

#include "common/errors/error.hpp"

namespace heelstrike::friction {
namespace {

using Triplets = std::vector<Eigen::Triplet<double>>;

/// Storage formats of W in the file, numbered as in Siconos.
enum Storage : std::int64_t { dense = 0, blocks = 1, sparse = 2 };
/// Formats of a sparse W.
enum SparseForm : std::int64_t { triplets = 1, compressed_columns = 2 };

/// Limit of solvable problems: a dense factor of that size would take 8 TB.
constexpr std::int64_t max_rows = 1'000'000;

class TextReader {
 public:
  TextReader(std::istream& in, const std::string& name) : in_(in), name_(name) {}

  [[nodiscard]] std::int64_t count(const std::string& what, std::int64_t least, std::int64_t most) {
    std::int64_t value = 0;
    if (!(in_ >> value)) fail(what, "a whole number");
    if (value < least || value > most) {
      throw input_error(what, fmt::format("{}: expected {} from {} to {}, found {}", name_, what, least, most, value));
    }
    return value;
  }
  [[nodiscard]] double number(const std::string& what) {
    double value = 0.0;
    if (!(in_ >> value)) fail(what, "a number");
    return value;
  }
  [[nodiscard]] std::vector<std::int64_t> counts(const std::string& what, std::int64_t n, std::int64_t most) {
    std::vector<std::int64_t> result;  // not preallocated: the stated number may exceed the content
    for (std::int64_t i = 0; i < n; ++i) result.push_back(count(what, 0, most));
    return result;
  }
  [[nodiscard]] Eigen::VectorXd vector(const std::string& what, std::int64_t n) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < n; ++i) values.push_back(number(what));
    return Eigen::Map<Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
  }
  void skip_line() { in_.ignore(std::numeric_limits<std::streamsize>::max(), '\n'); }
  void skip_past(char mark) { in_.ignore(std::numeric_limits<std::streamsize>::max(), mark); }

 private:
  [[noreturn]] void fail(const std::string& what, const char* kind) {
    const bool ended = in_.eof();
    throw input_error(what, fmt::format("{}: expected {} of {}, found {}: check that the file is a frictional contact "
                                        "problem in Siconos' text format",
                                        name_, kind, what, ended ? "the end of the file" : "other text"));
  }
  std::istream& in_;
  const std::string& name_;
};

void add(Triplets& entries, std::int64_t row, std::int64_t column, double value) {
  // Stored zeros are dropped.
  if (value != 0.0) entries.emplace_back(static_cast<int>(row), static_cast<int>(column), value);
}

void read_dense(TextReader& reader, std::int64_t size, Triplets& entries) {
  (void)reader.count("rows of W", size, size);
  (void)reader.count("columns of W", size, size);
  for (std::int64_t column = 0; column < size; ++column) {
    for (std::int64_t row = 0; row < size; ++row) add(entries, row, column, reader.number("W"));
  }
}

/// Blocks in compressed rows: start of each block row, column of each block, then index and column-major entries of
/// each block.
void read_blocks(TextReader& reader, std::int64_t size, Triplets& entries) {
  const std::int64_t n_blocks = reader.count("number of blocks of W", 1, size * size);
  const std::int64_t n_rows = reader.count("rows of blocks", 1, size);
  const std::int64_t n_columns = reader.count("columns of blocks", n_rows, n_rows);
  const auto row_ends = reader.counts("ends of the rows of blocks", n_rows, size);
  const auto column_ends = reader.counts("ends of the columns of blocks", n_columns, size);
  const std::int64_t n_starts = reader.count("number of starts of rows", 1, n_rows + 1);
  (void)reader.count("number of columns of blocks", n_blocks, n_blocks);
  const auto starts = reader.counts("starts of rows", n_starts, n_blocks);
  const auto columns = reader.counts("columns of blocks", n_blocks, n_columns - 1);
  for (std::size_t row = 0; row + 1 < starts.size(); ++row) {
    const std::int64_t first_row = row == 0 ? 0 : row_ends[row - 1];
    for (std::int64_t b = starts[row]; b < starts[row + 1]; ++b) {
      const auto column = static_cast<std::size_t>(columns[static_cast<std::size_t>(b)]);
      const std::int64_t first_column = column == 0 ? 0 : column_ends[column - 1];
      (void)reader.count("number of a block of W", b, b);
      for (std::int64_t j = first_column; j < column_ends[column]; ++j) {
        for (std::int64_t i = first_row; i < row_ends[row]; ++i) add(entries, i, j, reader.number("blocks of W"));
      }
    }
  }
}

/// CSparse format: two lines with sizes, then the entries.
void read_sparse(TextReader& reader, std::int64_t size, Triplets& entries) {
  const std::int64_t form =
      reader.count("form of the sparse W (1 triplets, 2 compressed columns)", triplets, compressed_columns);
  reader.skip_line();
  reader.skip_line();
  if (form == triplets) reader.skip_past(':');  // "triplet: 3-by-3, nzmax: ..."
  reader.skip_past(':');
  (void)reader.count("room for entries of W", 0, size * size);
  reader.skip_past(':');
  // For compressed columns the number of entries is in "nnz: 3, 1-norm: ...".
  const std::int64_t n_entries = reader.count("entries of W", 0, size * size);
  reader.skip_line();
  if (form == triplets) {
    for (std::int64_t i = 0; i < n_entries; ++i) {
      const std::int64_t row = reader.count("row of an entry of W", 0, size - 1);
      const std::int64_t column = reader.count("column of an entry of W", 0, size - 1);
      reader.skip_past(':');
      add(entries, row, column, reader.number("W"));
    }
    return;
  }
  for (std::int64_t column = 0; column < size; ++column) {
    reader.skip_past(':');
    reader.skip_past('s');  // "col 0 : locations 0 to 0"
    const std::int64_t first = reader.count("place of an entry of W", 0, n_entries);
    reader.skip_past('o');
    const std::int64_t last = reader.count("place of an entry of W", -1, n_entries - 1);
    for (std::int64_t i = first; i <= last; ++i) {
      const std::int64_t row = reader.count("row of an entry of W", 0, size - 1);
      reader.skip_past(':');
      add(entries, row, column, reader.number("W"));
    }
  }
}

}  // namespace

LocalProblem read_siconos_text(std::istream& in, const std::string& name) {
  TextReader reader(in, name);
  LocalProblem problem;
  problem.dimension = static_cast<int>(reader.count("dimension", 2, 3));
  const std::int64_t n_contacts = reader.count("number of contacts", 1, max_rows / problem.dimension);
  const std::int64_t size = problem.dimension * n_contacts;
  const std::int64_t storage = reader.count("storage of W (0 dense, 1 blocks, 2 sparse)", dense, sparse);
  (void)reader.count("rows of W", size, size);
  (void)reader.count("columns of W", size, size);
  Triplets entries;
  if (storage == dense) read_dense(reader, size, entries);
  if (storage == blocks) read_blocks(reader, size, entries);
  if (storage == sparse) read_sparse(reader, size, entries);
  problem.W.resize(size, size);
  problem.W.setFromTriplets(entries.begin(), entries.end());
  problem.q = reader.vector("q", size);
  problem.mu = reader.vector("mu", n_contacts);
  check_problem(problem, name);
  return problem;
}

void write_siconos_text(const LocalProblem& problem, std::ostream& out) {
  const int d = problem.dimension;
  const auto n = static_cast<int>(problem.n_contacts());
  std::vector<int> starts = {0}, columns;
  std::string values;
  for (int row = 0; row < n; ++row) {
    std::vector<char> there(static_cast<std::size_t>(n), 0);
    for (int i = 0; i < d; ++i) {
      for (DelassusMatrix::InnerIterator entry(problem.W, d * row + i); entry; ++entry) {
        there[static_cast<std::size_t>(entry.col() / d)] = 1;
      }
    }
    for (int column = 0; column < n; ++column) {
      if (there[static_cast<std::size_t>(column)] == 0) continue;
      values += fmt::format("{}\n", columns.size());
      columns.push_back(column);
      for (int j = 0; j < d; ++j) {
        for (int i = 0; i < d; ++i) values += fmt::format("{}\n", problem.W.coeff(d * row + i, d * column + j));
      }
    }
    starts.push_back(static_cast<int>(columns.size()));
  }
  std::vector<int> ends(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) ends[static_cast<std::size_t>(i)] = d * (i + 1);
  fmt::print(out, "{}\n{}\n{}\n{}\n{}\n", d, n, std::int64_t{blocks}, d * n, d * n);
  fmt::print(out, "{}\n{}\n{}\n", columns.size(), n, n);
  fmt::print(out, "{}\n{}\n", fmt::join(ends, "\t"), fmt::join(ends, "\t"));
  fmt::print(out, "{}\n{}\n{}\n{}\n", starts.size(), columns.size(), fmt::join(starts, "\t"), fmt::join(columns, "\t"));
  out << values;
  fmt::print(out, "{}\n{}\n0\n", fmt::join(problem.q.begin(), problem.q.end(), " "),
             fmt::join(problem.mu.begin(), problem.mu.end(), " "));
}

}  // namespace heelstrike::friction
