/// Messages for unknown names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace heelstrike {

/// The candidate nearest to `word` by edit distance, if at most a third of the letters (or two, if that is more)
/// differ.
[[nodiscard]] std::optional<std::string> nearest_name(const std::string& word, std::span<const std::string> candidates);

/// Names that `word` may stand for, at most five: those that begin with it, else the nearest one (nearest_name), else
/// those that contain it. Words of one or two letters are compared with nearest_name only.
[[nodiscard]] std::vector<std::string> similar_names(const std::string& word, std::span<const std::string> candidates);

/// "did you mean 'fem_full' or 'fem_modal'?" @param names  at least one
[[nodiscard]] std::string did_you_mean(std::span<const std::string> names);

/// "did you mean 'hertz'?" if known names are similar (similar_names), else `otherwise`.
[[nodiscard]] std::string suggestion(const std::string& word, std::span<const std::string> known,
                                     const std::string& otherwise);

/// "unknown back-end 'herz' (did you mean 'hertz'?); known: hertz, hooke"
/// @param kind  of thing, "back-end"
[[nodiscard]] std::string unknown_name_message(const std::string& kind, const std::string& word,
                                               std::span<const std::string> known);
/// The same with another hint in parentheses; empty = none.
[[nodiscard]] std::string unknown_name_message(const std::string& kind, const std::string& word,
                                               std::span<const std::string> known, const std::string& hint);

}  // namespace heelstrike
