#include "gait/length_unit.hpp"

#include <algorithm>
#include <cctype>
#include <string>

namespace heelstrike {

std::optional<double> length_of_unit(std::string_view name) {
  struct Unit {
    std::string_view symbol;
    std::string_view word, other_word;
    double length;
  };
  static constexpr Unit units[] = {{"mm", "millimeters", "millimetres", 1e-3},
                                   {"cm", "centimeters", "centimetres", 1e-2},
                                   {"m", "meters", "metres", 1.0}};
  constexpr std::size_t min_word_length = 4;
  std::string small(name);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const Unit& unit : units) {
    const bool is_word =
        small.size() >= min_word_length && (unit.word.starts_with(small) || unit.other_word.starts_with(small));
    if (small == unit.symbol || is_word) return unit.length;
  }
  return std::nullopt;
}

}  // namespace heelstrike
