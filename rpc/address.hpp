/// Address of a server: `unix:/absolute/path` or `host:port`.
#pragma once

#include <string>

namespace heelstrike::rpc {

struct Address {
  bool is_unix = false;
  std::string path;  ///< of a Unix socket
  std::string host;  ///< name, IPv4 address, or IPv6 address without brackets
  int port = 0;      ///< 0 = chosen by the system when listening

  /// In the user's notation, which is also a valid gRPC target.
  [[nodiscard]] std::string text() const;
};

/// @throws Error{invalid_input} with an example, for anything else than the two forms, a path that is not absolute or
/// longer
///         than the 107 bytes a Unix socket allows, a port outside 0..65535
[[nodiscard]] Address parse_address(const std::string& text);

}  // namespace heelstrike::rpc
