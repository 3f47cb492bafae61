/// Content digests: what addresses uploaded assets and identifies prepared sessions and checkpoints.
#pragma once

#include <string>
#include <string_view>

namespace heelstrike {

/// SHA-256 of `bytes` as 64 lower-case hexadecimal digits.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace heelstrike
