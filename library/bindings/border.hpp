/// The border of the installed library: what is thrown inside becomes the public exception, and calls that are not
/// allowed are refused before they touch anything.
#pragma once

#include <unistd.h>

#include <atomic>
#include <exception>
#include <functional>
#include <new>
#include <string>

#include <heelstrike/error.hpp>

#include "scenario/mistakes.hpp"
#include "common/errors/error.hpp"

namespace heelstrike::bindings {

[[nodiscard]] hs::ErrorCode public_code(ErrorCode code);
/// @param file  that mistakes with a line are in
[[nodiscard]] hs::Error public_error(const Error& error, const std::string& file);

/// Calls `work`, and throws as hs::Error what it throws. @param file  scenario that the call is about
template <typename Work>
auto at_border(const std::string& file, Work&& work) -> decltype(work()) {
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

/// Lets one call through at a time, in the process that made it, until it is closed. An object behind it has threads
/// and connections that a child process does not have.
class Gate {
 public:
  explicit Gate(std::string what) : what_(std::move(what)) {}

  /// One call, from its beginning to its end.
  class Pass {
   public:
    /// @throws hs::Error{out_of_order}
    Pass(Gate& gate, const char* call) : gate_(gate) { gate_.enter(call); }
    ~Pass() { gate_.busy_.store(false, std::memory_order_release); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    Gate& gate_;
  };

  /// No call will be let through again. @returns false in a child process, where nothing may be taken down
  [[nodiscard]] bool close();
  [[nodiscard]] bool is_open() const { return open_; }

 private:
  void enter(const char* call);

  std::string what_;
  pid_t process_ = ::getpid();
  std::atomic<bool> busy_{false};
  std::atomic<bool> open_{true};
};

}  // namespace heelstrike::bindings
