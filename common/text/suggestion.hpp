/// Messages for unknown names.
#pragma once

#include <span>
#include <string>

namespace heelstrike {

/// "did you mean 'hertz'?" if a known name is similar (nearest_name), else `otherwise`.
[[nodiscard]] std::string suggestion(const std::string& word, std::span<const std::string> known,
                                     const std::string& otherwise);

/// "unknown back-end 'herz' (did you mean 'hertz'?); known: hertz, hooke"
/// @param kind  of thing, "back-end"
[[nodiscard]] std::string unknown_name_message(const std::string& kind, const std::string& word,
                                      std::span<const std::string> known);

}  // namespace heelstrike
