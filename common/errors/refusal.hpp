/// Why work could not be done, kept instead of thrown: for answers that come in one list, each with its own fate.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string_view>

#include "common/errors/error.hpp"

namespace heelstrike {

/// What an exception that is no Error means to a caller: memory that could not be had is a limit, with what to do;
/// all else is a defect.
/// @param defect  who failed: "defect in the contact server"
[[nodiscard]] Error untyped_error(const std::exception& thrown, std::string_view defect);

/// @return what `work` throws, RecoverableError as such and what is no Error as untyped_error(); null when it throws
///         nothing
[[nodiscard]] std::shared_ptr<const Error> refusal(const std::function<void()>& work);

}  // namespace heelstrike
