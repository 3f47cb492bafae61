/// Base64 as in VTK XML files and HTML pages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heelstrike {

/// Decodes at most `n` bytes from the start of `text`. White space is skipped; another stream may follow padding, as
/// VTK writes header and data in sequence. Stops at the first other character.
[[nodiscard]] std::string decode_base64(std::string_view text, std::size_t n);

[[nodiscard]] std::string encode_base64(std::string_view bytes);

}  // namespace heelstrike
