/// Serialisation of the numbers of a coupling scheme for checkpoints.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "common/spatial/spatial.hpp"

namespace heelstrike::mbs {

class NumberWriter {
 public:
  void add(double x) { numbers_.push_back(x); }
  template <typename Derived>
  void add(const Eigen::MatrixBase<Derived>& m) {
    for (Eigen::Index c = 0; c < m.cols(); ++c) {
      for (Eigen::Index r = 0; r < m.rows(); ++r) add(m(r, c));
    }
  }
  /// @param kind  of the scheme and of what it stores: others reject its bytes
  [[nodiscard]] std::string bytes(const std::string& kind) const;

 private:
  std::vector<double> numbers_;
};

class NumberReader {
 public:
  /// @throws Error{invalid_input} for bytes of another scheme and for damaged ones
  NumberReader(const std::string& bytes, const std::string& kind);

  /// @throws Error{invalid_input} at the end of the data
  [[nodiscard]] double next();
  void read(double& x) { x = next(); }
  /// A whole number from 0 to `most`. @throws Error{invalid_input} for any other
  [[nodiscard]] std::size_t count(std::size_t most);
  template <typename Derived>
  void read(Eigen::MatrixBase<Derived>& m) {
    for (Eigen::Index c = 0; c < m.cols(); ++c) {
      for (Eigen::Index r = 0; r < m.rows(); ++r) m(r, c) = next();
    }
  }
  /// @throws Error{invalid_input} when data remain
  void require_end() const;

 private:
  std::vector<double> numbers_;
  std::size_t at_ = 0;
};

}  // namespace heelstrike::mbs
