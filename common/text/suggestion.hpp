/// Words for a name that nobody knows.
#pragma once

#include <span>
#include <string>

namespace heelstrike {

/// "did you mean 'hertz'?" where a known name is near enough to be meant (nearest_name), else `otherwise`.
[[nodiscard]] std::string suggestion(const std::string& word, std::span<const std::string> known,
                                     const std::string& otherwise);

/// "there is no back-end 'herz' (did you mean 'hertz'?); known are: hertz, hooke"
/// @param kind  of thing, "back-end"
[[nodiscard]] std::string unknown_name_message(const std::string& kind, const std::string& word,
                                      std::span<const std::string> known);

}  // namespace heelstrike
