/// The boundary of the installed library: public to internal numbers and back, internal exceptions to the public one,
/// and calls that are not allowed, which fail before they have any effect.
#pragma once

#include <unistd.h>

#include <atomic>
#include <exception>
#include <functional>
#include <new>
#include <string>
#include <utility>

#include <heelstrike/error.hpp>
#include <heelstrike/options.hpp>
#include <heelstrike/types.hpp>

#include "common/contact/contact.hpp"
#include "common/errors/error.hpp"
#include "library/runs/run_request.hpp"
#include "rpc/channel.hpp"

namespace heelstrike::bindings {

/// The public codes are the internal ones, in the same order.
[[nodiscard]] constexpr hs::ErrorCode public_code(ErrorCode code) {
  return static_cast<hs::ErrorCode>(code);
}
/// @param file  file of errors that have a line
[[nodiscard]] hs::Error public_error(const Error& error, const std::string& file);

/// Calls `work` and converts its exceptions to hs::Error. @param file  scenario of the call
template <typename Work>
auto with_public_errors(const std::string& file, Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const Error& error) {
    throw public_error(error, file);
  } catch (const hs::Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw hs::Error(hs::ErrorCode::limit, "not enough memory for this call; coarser meshes need less", file);
  } catch (const std::exception& defect) {
    throw hs::Error(hs::ErrorCode::internal, std::string("defect of the library, please report it: ") + defect.what(),
                    file);
  }
}

/// Admits one call at a time, in the process that opened the object, until it is closed. An object owns threads and
/// connections, which a child process does not have.
class CallGuard {
 public:
  explicit CallGuard(std::string what) : what_(std::move(what)) {}

  /// Calls `work` as the call `name` of the object. @param file  scenario of the call
  /// @throws hs::Error, out_of_order if the call is not admitted
  template <typename Work>
  auto call(const char* name, Work&& work, const std::string& file = {}) -> decltype(work()) {
    const Admission admission(*this, name);
    return with_public_errors(file, std::forward<Work>(work));
  }

  /// No further call is admitted. @returns false in a child process, where nothing may be destroyed
  [[nodiscard]] bool close();
  [[nodiscard]] bool is_open() const { return open_; }

 private:
  /// One call, from beginning to end.
  class Admission {
   public:
    Admission(CallGuard& guard, const char* call) : guard_(guard) { guard_.enter(call); }
    ~Admission() { guard_.busy_.store(false, std::memory_order_release); }
    Admission(const Admission&) = delete;
    Admission& operator=(const Admission&) = delete;

   private:
    CallGuard& guard_;
  };
  void enter(const char* call);

  std::string what_;
  pid_t process_ = ::getpid();
  std::atomic<bool> busy_{false};
  std::atomic<bool> open_{true};
};

/// @throws Error{invalid_input} for a matrix that is not a rotation to 1e-6, and for numbers that are not finite
[[nodiscard]] PairState inside(const hs::State& state);
void take(const Response& from, hs::Response& to);
[[nodiscard]] Overrides inside(const hs::Changes& changes);
[[nodiscard]] rpc::ClientTls inside(const hs::Tls& tls);
/// Contact on the named server, else in this process. @throws Error{invalid_input} for a negative timeout
[[nodiscard]] ContactFactory contact_source(const hs::OpenOptions& options);
/// An open context whose progress starts at zero and is passed to the user's on_progress.
[[nodiscard]] OpenContext open_context(const hs::OpenOptions& options);

}  // namespace heelstrike::bindings
