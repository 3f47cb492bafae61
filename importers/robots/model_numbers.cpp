#include "importers/robots/model_numbers.hpp"

#include <charconv>
#include <cmath>

namespace heelstrike::models {

std::optional<std::vector<double>> numbers_in(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  std::vector<double> numbers;
  for (text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size())); !text.empty();
       text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()))) {
    if (text.front() == '+') text.remove_prefix(1);
    double value = 0.0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (read.ec != std::errc() || !std::isfinite(value)) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
    if (!text.empty() && blanks.find(text.front()) == std::string_view::npos) return std::nullopt;
    numbers.push_back(value);
  }
  return numbers;
}

}  // namespace heelstrike::models
