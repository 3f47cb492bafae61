/// JSON that holds its own digest, so that a byte that has changed since shows.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace heelstrike {

/// The text of `json`, an object, with the SHA-256 of the text without it as its last key, `sha256`. Text that is not
/// UTF-8 gets a replacement character.
[[nodiscard]] std::string json_with_digest(nlohmann::ordered_json json);

enum class DigestState { none, intact, broken };

/// Whether such an object is as it was written; `none` = it has no digest, as those of earlier versions.
[[nodiscard]] DigestState check_digest(nlohmann::ordered_json json);

}  // namespace heelstrike
