/// Errors returned instead of thrown, for lists of results that succeed or fail independently.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string_view>

#include "common/errors/error.hpp"

namespace heelstrike {

/// Converts an exception other than Error: failed allocation is a limit, with a remedy; all else is a defect.
/// @param defect  place of the failure: "defect in the contact server"
[[nodiscard]] Error untyped_error(const std::exception& thrown, std::string_view defect);

/// @return the exception of `work`, RecoverableError unchanged and types other than Error as untyped_error(); null
/// without exception
[[nodiscard]] std::shared_ptr<const Error> rejection_error(const std::function<void()>& work);

}  // namespace heelstrike
