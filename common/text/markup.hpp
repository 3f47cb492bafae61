/// Escaping of text in HTML and XML.
#pragma once

#include <string>
#include <string_view>

namespace heelstrike {

/// For content and quoted attributes: & < > " ' as entities.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace heelstrike
