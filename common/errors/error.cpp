#include "common/errors/error.hpp"

#include <utility>

namespace heelstrike {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_input:
      return "invalid input";
    case ErrorCode::out_of_order:
      return "out of order";
    case ErrorCode::not_found:
      return "not found";
    case ErrorCode::limit:
      return "limit reached";
    case ErrorCode::unavailable:
      return "unavailable";
    case ErrorCode::deadline:
      return "deadline exceeded";
    case ErrorCode::cancelled:
      return "cancelled";
    case ErrorCode::version_mismatch:
      return "version mismatch";
    case ErrorCode::recoverable:
      return "recoverable";
    case ErrorCode::solver_failed:
      return "solver failed";
    case ErrorCode::file:
      return "file";
    case ErrorCode::unimplemented:
      return "not implemented";
    case ErrorCode::internal:
      return "internal";
  }
  return "internal";
}

Error::Error(ErrorCode code, const std::string& message, std::string field, bool retryable)
    : std::runtime_error(message), code_(code), field_(std::move(field)), retryable_(retryable) {}

RecoverableError::RecoverableError(const std::string& message, std::string field)
    : Error(ErrorCode::recoverable, message, std::move(field), true) {}

Error input_error(std::string field, const std::string& message) {
  return {ErrorCode::invalid_input, message, std::move(field)};
}
Error order_error(const std::string& message) {
  return {ErrorCode::out_of_order, message};
}
Error not_found_error(const std::string& message, std::string field) {
  return {ErrorCode::not_found, message, std::move(field)};
}
Error limit_error(std::string field, const std::string& message) {
  return {ErrorCode::limit, message, std::move(field)};
}
Error unavailable_error(const std::string& message) {
  return {ErrorCode::unavailable, message, {}, true};
}
Error file_error(std::string path, const std::string& message) {
  return {ErrorCode::file, message, std::move(path)};
}

void throw_typed(const Error& error) {
  if (error.code() == ErrorCode::recoverable) throw RecoverableError(error.what(), error.field());
  throw error;
}

}  // namespace heelstrike
