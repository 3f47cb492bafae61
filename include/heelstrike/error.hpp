/// The one exception of the library.
#pragma once

#include <stdexcept>
#include <string>

#include <heelstrike/export.hpp>

namespace hs {

/// What kind of thing went wrong.
enum class ErrorCode {
  invalid_input,     ///< a value, name or size that cannot be accepted
  out_of_order,      ///< the call is not allowed now: after close(), beside another thread, in a child process
  not_found,         ///< unknown or expired session, run or file on a server
  limit,             ///< a configured limit was reached
  unavailable,       ///< server away, connection lost or draining
  deadline,          ///< no answer in time
  cancelled,         ///< stopped on request
  version_mismatch,  ///< the server speaks another contract
  recoverable,       ///< too deep, or an inner solver did not converge: a smaller step may succeed
  solver_failed,     ///< the integrator gave up
  file,              ///< a file or folder cannot be read or written
  unimplemented,     ///< the back-end does not offer this
  internal           ///< a defect of the library
};

/// "invalid input" and so on.
[[nodiscard]] HEELSTRIKE_API const char* to_string(ErrorCode code) noexcept;

/// Thrown by everything in this library. `what()` is a whole sentence for a person: what was expected, what was found,
/// where, what to do; of several mistakes in one file it has one line for each.
class HEELSTRIKE_API Error : public std::runtime_error {
 public:
  /// @param file  where the mistake is, as it was named by the caller; empty when in no file
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
