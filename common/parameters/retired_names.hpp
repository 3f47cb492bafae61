/// Keys and parameters that had another name before version 0.1.0, for error messages of this version.
#pragma once

#include <optional>
#include <string_view>

namespace heelstrike {

/// The present name of a retired key; none for a name that was never a key or still is one.
[[nodiscard]] std::optional<std::string_view> present_name(std::string_view retired);

}  // namespace heelstrike
