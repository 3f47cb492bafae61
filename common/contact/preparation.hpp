/// Words that a preparation of contact and those who show it agree on.
#pragma once

#include <string_view>

namespace heelstrike {

/// Beginning of a stage that is no stage but something the user should know: it is shown and not only logged.
inline constexpr std::string_view warning_mark = "warning: ";

}  // namespace heelstrike
