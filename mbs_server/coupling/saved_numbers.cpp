#include "mbs_server/coupling/saved_numbers.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "common/errors/error.hpp"

namespace heelstrike::mbs {
namespace {

[[noreturn]] void throw_invalid_state(const std::string& expected, const std::string& found) {
  throw input_error("checkpoint", fmt::format("checkpoint: expected {}, found {}; resume from another one, or restart "
                                              "the run",
                                              expected, found));
}

std::string heading(const std::string& kind) {
  return "coupling " + kind + '\n';
}

}  // namespace

std::string NumberWriter::bytes(const std::string& kind) const {
  std::string bytes = heading(kind);
  const std::size_t begin = bytes.size();
  bytes.resize(begin + numbers_.size() * sizeof(double));
  if (!numbers_.empty()) std::memcpy(bytes.data() + begin, numbers_.data(), numbers_.size() * sizeof(double));
  return bytes;
}

NumberReader::NumberReader(const std::string& bytes, const std::string& kind) {
  const std::string begin = heading(kind);
  if (!bytes.starts_with(begin) || (bytes.size() - begin.size()) % sizeof(double) != 0) {
    throw_invalid_state(fmt::format("the state of the coupling scheme '{}'", kind),
                        "that of another scheme, or damaged bytes");
  }
  numbers_.resize((bytes.size() - begin.size()) / sizeof(double));
  if (!numbers_.empty()) std::memcpy(numbers_.data(), bytes.data() + begin.size(), numbers_.size() * sizeof(double));
  for (const double x : numbers_) {
    if (!std::isfinite(x)) throw_invalid_state("finite numbers of the coupling scheme", fmt::to_string(x));
  }
}

double NumberReader::next() {
  if (at_ == numbers_.size())
    throw_invalid_state("more numbers of the coupling scheme", fmt::to_string(numbers_.size()));
  return numbers_[at_++];
}

std::size_t NumberReader::count(std::size_t most) {
  const double x = next();
  if (!(x >= 0.0 && x <= static_cast<double>(most) && x == std::floor(x))) {
    throw_invalid_state(fmt::format("a count of the coupling scheme from 0 to {}", most), fmt::to_string(x));
  }
  return static_cast<std::size_t>(x);
}

void NumberReader::require_end() const {
  if (at_ != numbers_.size())
    throw_invalid_state(fmt::format("{} numbers of the coupling scheme", at_), fmt::to_string(numbers_.size()));
}

}  // namespace heelstrike::mbs
