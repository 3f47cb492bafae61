/// Why work could not be done, kept instead of thrown: for answers that come in one list, each with its own fate.
#pragma once

#include <functional>
#include <memory>

#include "common/errors/error.hpp"

namespace heelstrike {

/// @return what `work` throws, RecoverableError as such and what is no Error as an internal one; null when it throws
///         nothing
[[nodiscard]] std::shared_ptr<const Error> refusal(const std::function<void()>& work);

}  // namespace heelstrike
