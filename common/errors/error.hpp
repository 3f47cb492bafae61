/// One error type for all failures that a caller can handle. It is translated once at each interface: to a gRPC status
/// (rpc/wire), to a SUNDIALS return code (mbs_server/integrators), to an exit code (client).
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace heelstrike {

/// Category of an error; mirrors heelstrike.v1.Error.Code.
enum class ErrorCode {
  invalid_input,     ///< an invalid value, name or size
  out_of_order,      ///< the call is not allowed in this phase or with this step number
  not_found,         ///< unknown or expired session, run or asset
  limit,             ///< a configured limit was reached
  unavailable,       ///< peer absent, connection lost or draining
  deadline,          ///< no response in time
  cancelled,         ///< stopped on request
  version_mismatch,  ///< peer has another contract version
  recoverable,       ///< too deep, or an inner solver did not converge: a smaller step may succeed
  solver_failed,     ///< the integrator failed
  file,              ///< a file or folder cannot be read or written
  unimplemented,     ///< declared, but not implemented
  internal           ///< a defect of the program
};

[[nodiscard]] std::string_view to_string(ErrorCode code);

/// `what()` is the complete message for a person: expected, found, where, remedy.
class Error : public std::runtime_error {
 public:
  /// @param field        offending field or key, dotted; empty without one
  /// @param retryable  the same call may succeed later
  Error(ErrorCode code, const std::string& message, std::string field = {}, bool retryable = false);

  [[nodiscard]] ErrorCode code() const { return code_; }
  [[nodiscard]] const std::string& field() const { return field_; }
  [[nodiscard]] bool retryable() const { return retryable_; }

 private:
  ErrorCode code_;
  std::string field_;
  bool retryable_;
};

/// The one failure after which an integrator reduces its step instead of failing.
class RecoverableError : public Error {
 public:
  explicit RecoverableError(const std::string& message, std::string field = {});
};

/// Shorthands for the most frequent kinds.
[[nodiscard]] Error input_error(std::string field, const std::string& message);
[[nodiscard]] Error order_error(const std::string& message);
[[nodiscard]] Error not_found_error(const std::string& message, std::string field = {});
[[nodiscard]] Error limit_error(std::string field, const std::string& message);
[[nodiscard]] Error unavailable_error(const std::string& message);
[[nodiscard]] Error file_error(std::string path, const std::string& message);

/// Throws `error` with the type of its code: RecoverableError for `recoverable`, else Error.
[[noreturn]] void throw_typed(const Error& error);

}  // namespace heelstrike
