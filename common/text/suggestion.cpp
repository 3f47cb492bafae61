#include "common/text/suggestion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <string_view>

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

std::vector<std::string> similar_names(const std::string& word, std::span<const std::string> candidates) {
  constexpr std::size_t shortest_part = 3;  // fewer letters are a part of too many names
  constexpr std::size_t most = 5;
  const bool is_long = word.size() >= shortest_part;
  std::vector<std::string> names;
  const auto collect = [&](const auto& matches) {
    if (!is_long || !names.empty()) return;
    for (const std::string& candidate : candidates) {
      const bool is_new = std::ranges::find(names, candidate) == names.end();
      if (is_new && matches(candidate)) names.push_back(candidate);
    }
    if (names.size() > most) names.resize(most);
  };
  collect([&](const std::string& candidate) { return candidate.starts_with(word); });
  if (names.empty()) {
    if (const auto near = nearest_name(word, candidates)) names.push_back(*near);
  }
  collect([&](const std::string& candidate) { return candidate.find(word) != std::string::npos; });
  return names;
}

std::string did_you_mean(std::span<const std::string> names) {
  std::string text = "did you mean ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string_view separator = i == 0 ? "" : i + 1 == names.size() ? " or " : ", ";
    text += fmt::format("{}'{}'", separator, names[i]);
  }
  return text + "?";
}

std::string suggestion(const std::string& word, std::span<const std::string> known, const std::string& otherwise) {
  const std::vector<std::string> names = similar_names(word, known);
  return names.empty() ? otherwise : did_you_mean(names);
}

std::string unknown_name_message(const std::string& kind, const std::string& word, std::span<const std::string> known) {
  return unknown_name_message(kind, word, known, suggestion(word, known, ""));
}

std::string unknown_name_message(const std::string& kind, const std::string& word, std::span<const std::string> known,
                                 const std::string& hint) {
  return fmt::format("unknown {} '{}'{}; known: {}", kind, word, hint.empty() ? "" : " (" + hint + ")",
                     fmt::join(known, ", "));
}

}  // namespace heelstrike
