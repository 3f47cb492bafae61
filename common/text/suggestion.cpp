#include "common/text/suggestion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/parameters/parameter.hpp"

namespace heelstrike {

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
