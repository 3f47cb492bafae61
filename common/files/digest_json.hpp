/// JSON that contains its own digest, so that later changes are detected.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace heelstrike {

/// Text of the object `json` with a last key `sha256`, the SHA-256 of the text without this key. Invalid UTF-8 is
/// replaced by the replacement character.
[[nodiscard]] std::string json_with_digest(nlohmann::ordered_json json);

enum class DigestState { none, intact, broken };

/// Compares such an object with its digest; `none` = it has no digest, as in earlier versions.
[[nodiscard]] DigestState check_digest(nlohmann::ordered_json json);

}  // namespace heelstrike
