/// Messages for unknown names.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace heelstrike {

/// The candidate nearest to `word` by edit distance, if at most a third of the letters (or two, if that is more)
/// differ.
[[nodiscard]] std::optional<std::string> nearest_name(const std::string& word, std::span<const std::string> candidates);

/// "did you mean 'hertz'?" if a known name is similar (nearest_name), else `otherwise`.
[[nodiscard]] std::string suggestion(const std::string& word, std::span<const std::string> known,
                                     const std::string& otherwise);

/// "unknown back-end 'herz' (did you mean 'hertz'?); known: hertz, hooke"
/// @param kind  of thing, "back-end"
[[nodiscard]] std::string unknown_name_message(const std::string& kind, const std::string& word,
                                               std::span<const std::string> known);

}  // namespace heelstrike
