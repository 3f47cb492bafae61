/// The boundary of the installed library: internal exceptions become the public exception, and calls that are not
/// allowed fail before they have any effect.
#pragma once

#include <unistd.h>

#include <atomic>
#include <exception>
#include <functional>
#include <new>
#include <string>

#include <heelstrike/error.hpp>

#include "common/errors/error.hpp"
#include "scenario/schema/document.hpp"

namespace heelstrike::bindings {

[[nodiscard]] hs::ErrorCode public_code(ErrorCode code);
/// @param file  file of errors that have a line
[[nodiscard]] hs::Error public_error(const Error& error, const std::string& file);

/// Calls `work` and converts its exceptions to hs::Error. @param file  scenario of the call
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

/// Admits one call at a time, in the process that opened the object, until it is closed. An object owns threads and
/// connections, which a child process does not have.
class Gate {
 public:
  explicit Gate(std::string what) : what_(std::move(what)) {}

  /// One call, from beginning to end.
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

  /// No further call is admitted. @returns false in a child process, where nothing may be destroyed
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
