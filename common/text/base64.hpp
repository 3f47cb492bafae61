/// Base64, of VTK XML files and of pages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heelstrike {

/// At most `n` decoded bytes from the start of `text`. White space is skipped; padding ends one stream and another may
/// follow, as VTK writes header and data one after the other. Stops at the first character that belongs to neither.
[[nodiscard]] std::string decode_base64(std::string_view text, std::size_t n);

[[nodiscard]] std::string encode_base64(std::string_view bytes);

}  // namespace heelstrike
