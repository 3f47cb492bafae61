/// Contacts at a server without link dependency on gRPC, which is in a module that is loaded on first use.
#pragma once

#include <string>
#include <string_view>

#include "common/contact/contact.hpp"

namespace heelstrike::rpc {

/// The module's functions. Errors are thrown across its boundary.
struct RemoteLibrary {
  std::string_view version;  ///< of the program that it was built with
  /// open_remote_contact with the defaults of RemoteContactOptions, without encryption.
  ContactFactory (*contact)(const std::string& address) = nullptr;
};

/// Name of the module's file and of its one exported function.
inline constexpr const char* remote_library_file = "libheelstrike_remote.so";
inline constexpr const char* remote_library_function = "heelstrike_remote_library";

/// Loads the module at the first call and keeps it. Thread-safe. @throws as load_module and require_same_version
[[nodiscard]] const RemoteLibrary& remote_library();

}  // namespace heelstrike::rpc
