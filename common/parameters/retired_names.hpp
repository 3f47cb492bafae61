/// Keys and parameters that had another name before version 0.1.0, for error messages of this version.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace heelstrike {

struct RetiredName {
  std::string_view retired;
  std::string_view present;  ///< a key of a scenario or a parameter of a back-end
};

/// Each retired name once.
[[nodiscard]] std::span<const RetiredName> retired_names();

/// The present name of a retired key; none for a name that is not in the table.
[[nodiscard]] std::optional<std::string_view> present_name(std::string_view retired);

}  // namespace heelstrike
