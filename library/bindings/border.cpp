#include "library/bindings/border.hpp"

#include <fmt/format.h>

#include <utility>

namespace heelstrike::bindings {

hs::ErrorCode public_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_input:
      return hs::ErrorCode::invalid_input;
    case ErrorCode::out_of_order:
      return hs::ErrorCode::out_of_order;
    case ErrorCode::not_found:
      return hs::ErrorCode::not_found;
    case ErrorCode::limit:
      return hs::ErrorCode::limit;
    case ErrorCode::unavailable:
      return hs::ErrorCode::unavailable;
    case ErrorCode::deadline:
      return hs::ErrorCode::deadline;
    case ErrorCode::cancelled:
      return hs::ErrorCode::cancelled;
    case ErrorCode::version_mismatch:
      return hs::ErrorCode::version_mismatch;
    case ErrorCode::recoverable:
      return hs::ErrorCode::recoverable;
    case ErrorCode::solver_failed:
      return hs::ErrorCode::solver_failed;
    case ErrorCode::file:
      return hs::ErrorCode::file;
    case ErrorCode::unimplemented:
      return hs::ErrorCode::unimplemented;
    case ErrorCode::internal:
      return hs::ErrorCode::internal;
  }
  return hs::ErrorCode::internal;
}

hs::Error public_error(const Error& error, const std::string& file) {
  const auto* issue = dynamic_cast<const config::Issue*>(&error);
  return {public_code(error.code()), error.what(), file, issue != nullptr ? issue->line() : 0, error.field(),
          error.retryable()};
}

void Gate::enter(const char* call) {
  const auto refuse = [&](const char* reason) {
    throw hs::Error(hs::ErrorCode::out_of_order, fmt::format("{}: {}() {}", what_, call, reason), {}, 0, call);
  };
  if (::getpid() != process_) {
    refuse("was called in a child process; an object opened before a fork belongs to the parent: open it in the child");
  }
  if (busy_.exchange(true, std::memory_order_acquire)) {
    refuse("was called while another thread is in a call of the same object; open one object for each thread");
  }
  if (!open_) {
    busy_.store(false, std::memory_order_release);
    refuse("was called after close(); open it again");
  }
}

bool Gate::close() {
  if (::getpid() != process_) return false;
  if (!open_) return true;
  const Pass pass(*this, "close");
  open_ = false;
  return true;
}

}  // namespace heelstrike::bindings

namespace hs {

const char* to_string(ErrorCode code) noexcept {
  constexpr const char* names[] = {"invalid input", "out of order",      "not found", "limit reached",
                                   "unavailable",   "deadline exceeded", "cancelled", "version mismatch",
                                   "recoverable",   "solver failed",     "file",      "not implemented",
                                   "internal"};
  return names[static_cast<int>(code)];
}

Error::Error(ErrorCode code, const std::string& message, std::string file, int line, std::string key, bool retryable)
    : std::runtime_error(message),
      code_(code),
      file_(std::move(file)),
      line_(line),
      key_(std::move(key)),
      retryable_(retryable) {}
Error::~Error() = default;

}  // namespace hs
