/// Numbers that begin at a cache line, for loops over vector lanes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

namespace heelstrike::fem {

template <class Number>
class AlignedNumbers {
 public:
  AlignedNumbers() = default;
  /// Not initialised: memory is touched first where it is filled.
  explicit AlignedNumbers(std::size_t n)
      : data_(static_cast<Number*>(::operator new (n * sizeof(Number), std::align_val_t{line}))) {}
  [[nodiscard]] static AlignedNumbers zeros(std::size_t n) {
    AlignedNumbers result(n);
    std::fill_n(result.data(), n, Number{0});
    return result;
  }
  [[nodiscard]] Number* data() { return data_.get(); }
  [[nodiscard]] const Number* data() const { return data_.get(); }
  [[nodiscard]] Number& operator[](std::size_t i) { return data_[i]; }
  [[nodiscard]] const Number& operator[](std::size_t i) const { return data_[i]; }

 private:
  static constexpr std::size_t line = 64;
  struct Free {
    void operator()(Number* numbers) const { ::operator delete (numbers, std::align_val_t{line}); }
  };
  std::unique_ptr<Number[], Free> data_;
};

}  // namespace heelstrike::fem
