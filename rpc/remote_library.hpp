/// Contacts at a server for whoever does without gRPC until a server is asked for: what needs it stands in a module.
#pragma once

#include <string>
#include <string_view>

#include "common/contact/contact.hpp"

namespace heelstrike::rpc {

/// The module's functions. Errors pass its border as exceptions.
struct RemoteLibrary {
  std::string_view version;  ///< of the program that it was built with
  /// open_remote_contact with the defaults of RemoteContactOptions, without encryption.
  ContactFactory (*contact)(const std::string& address) = nullptr;
};

/// Name of the module's file, and of the one function in it that is found by name.
inline constexpr const char* remote_library_file = "libheelstrike_remote.so";
inline constexpr const char* remote_library_function = "heelstrike_remote_library";

/// Loads the module when it is called first, and keeps it. Thread-safe. @throws as load_module and require_same_version
[[nodiscard]] const RemoteLibrary& remote_library();

}  // namespace heelstrike::rpc
