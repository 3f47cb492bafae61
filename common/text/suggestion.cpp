#include "common/text/suggestion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace heelstrike {
namespace {

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string> nearest_name(const std::string& word, std::span<const std::string> candidates) {
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const auto& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(const std::string& word, std::span<const std::string> known, const std::string& otherwise) {
  const auto near = nearest_name(word, known);
  return near ? fmt::format("did you mean '{}'?", *near) : otherwise;
}

std::string unknown_name_message(const std::string& kind, const std::string& word, std::span<const std::string> known) {
  const std::string near = suggestion(word, known, "");
  return fmt::format("unknown {} '{}'{}; known: {}", kind, word, near.empty() ? "" : " (" + near + ")",
                     fmt::join(known, ", "));
}

}  // namespace heelstrike
