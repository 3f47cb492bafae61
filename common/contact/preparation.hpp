/// Conventions between the preparation of contact and its display.
#pragma once

#include <string_view>

namespace heelstrike {

/// Prefix of a stage that is a warning: it is displayed and not only logged.
inline constexpr std::string_view warning_mark = "warning: ";
/// Prefix of a stage that is a statement about the model: it is logged and is not a state of progress.
inline constexpr std::string_view note_mark = "note: ";

}  // namespace heelstrike
