/// One error type for everything a caller can act on. Where it crosses a border it is translated once: to a gRPC status
/// (rpc/wire), to a SUNDIALS return code (mbs_server/integrators), to an exit code (client).
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace heelstrike {

/// What kind of thing went wrong; mirrors heelstrike.v1.Error.Code.
enum class ErrorCode {
  invalid_input,     ///< a value, name or size that cannot be accepted
  out_of_order,      ///< the call is not allowed in this phase or with this step number
  not_found,         ///< unknown or expired session, run or asset
  limit,             ///< a configured limit was reached
  unavailable,       ///< peer away, connection lost or draining
  deadline,          ///< no answer in time
  cancelled,         ///< stopped on request
  version_mismatch,  ///< peer speaks another contract
  recoverable,       ///< too deep, or an inner solver did not converge: a smaller step may succeed
  solver_failed,     ///< the integrator gave up
  file,              ///< a file or folder cannot be read or written
  unimplemented,     ///< the verb exists, its work does not yet
  internal           ///< a defect of the program
};

[[nodiscard]] std::string_view to_string(ErrorCode code);

/// `what()` is the whole sentence for a person: what was expected, what was found, where, what to do.
class Error : public std::runtime_error {
 public:
  /// @param field        offending field or key, dotted; empty when none
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

/// The one failure that an integrator answers with a smaller step instead of giving up.
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

/// Throws `error` as the type its code asks for: RecoverableError for `recoverable`, else Error.
[[noreturn]] void throw_typed(const Error& error);

}  // namespace heelstrike
