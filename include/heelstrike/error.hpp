/// The only exception of the library.
#pragma once

#include <stdexcept>
#include <string>

#include <heelstrike/export.hpp>

namespace hs {

/// Kind of an error.
enum class ErrorCode {
  invalid_input,     ///< a value, name or size that is not valid
  out_of_order,      ///< the call is not allowed now: after close(), concurrent with another call, in a child process
  not_found,         ///< unknown or expired session, run or file on a server
  limit,             ///< a configured limit was reached
  unavailable,       ///< server unreachable, connection lost or server draining
  deadline,          ///< no response in time
  cancelled,         ///< stopped on request
  version_mismatch,  ///< the server uses another version of the contract
  recoverable,       ///< too deep, or an inner solver did not converge: a smaller step may succeed
  solver_failed,     ///< the integrator failed
  file,              ///< a file or folder cannot be read or written
  unimplemented,     ///< the back-end does not offer this
  internal           ///< a defect of the library
};

/// "invalid input" and so on.
[[nodiscard]] HEELSTRIKE_API const char* to_string(ErrorCode code) noexcept;

/// Thrown by all functions of this library. `what()` is a full sentence for the user: what was expected, what was
/// found, where, and the remedy; it has one line for each of several errors in one file.
class HEELSTRIKE_API Error : public std::runtime_error {
 public:
  /// @param file  location of the error, as the caller named it; empty when it is in no file
  /// @param line  in `file`, from 1; 0 = unknown
  /// @param key   offending key of the file, dotted, or argument of the call; empty when none
  /// @param retryable  the same call may succeed later
  Error(ErrorCode code, const std::string& message, std::string file = {}, int line = 0, std::string key = {},
        bool retryable = false);
  Error(const Error&) = default;
  Error& operator=(const Error&) = default;
  ~Error() override;

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  [[nodiscard]] const std::string& file() const noexcept { return file_; }
  [[nodiscard]] int line() const noexcept { return line_; }
  [[nodiscard]] const std::string& key() const noexcept { return key_; }
  [[nodiscard]] bool retryable() const noexcept { return retryable_; }

 private:
  ErrorCode code_;
  std::string file_;
  int line_;
  std::string key_;
  bool retryable_;
};

}  // namespace hs
