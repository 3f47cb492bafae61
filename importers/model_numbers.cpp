#include "importers/model_numbers.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

namespace heelstrike::models {

namespace {

constexpr std::string_view blanks = " \t\r\n";

/// A magnitude below the smallest double is 0, not an error as for std::from_chars. @param word  of a number
std::from_chars_result read_number(std::string_view word, double& value) {
  auto read = std::from_chars(word.data(), word.data() + word.size(), value);
  if (read.ec != std::errc::result_out_of_range) return read;
  value = std::strtod(std::string(word).c_str(), nullptr);
  if (std::abs(value) < 1.0) read.ec = std::errc();
  return read;
}

}  // namespace

std::optional<std::vector<double>> numbers_in(std::string_view text) {
  std::vector<double> numbers;
  for (text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size())); !text.empty();
       text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()))) {
    if (text.front() == '+') text.remove_prefix(1);
    double value = 0.0;
    const auto read = read_number(text.substr(0, text.find_first_of(blanks)), value);
    if (read.ec != std::errc() || !std::isfinite(value)) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
    if (!text.empty() && blanks.find(text.front()) == std::string_view::npos) return std::nullopt;
    numbers.push_back(value);
  }
  return numbers;
}

}  // namespace heelstrike::models
