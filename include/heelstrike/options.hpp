/// How pairs, contacts, simulations and runs are opened.
#pragma once

#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include <heelstrike/types.hpp>

namespace hs {

/// Changes to a scenario as on the command line.
struct Changes {
  std::string backend = {};           ///< contact back-end of every pair; empty = as the file says
  std::vector<std::string> set = {};  ///< "KEY=VALUE", e.g. "contact.restitution=0.6", in order
  /// The back-end is changed last: parameters in `set` that it does not know are left out. For comparisons.
  bool backend_last = false;
  /// Text of the scenario, in place of what is in its file, which need not be there; empty = the file's.
  std::string text = {};
  /// Contents of files that the scenario names, by these names; others are read, from the folder of its file.
  std::map<std::string, std::string> files = {};
};

/// Encryption towards servers; everything empty = none.
struct Tls {
  std::string ca_file = {};           ///< certificate of the authority to trust; switches encryption on
  std::string certificate_file = {};  ///< own certificate, when the server asks for one
  std::string key_file = {};          ///< its key
  std::string authority = {};         ///< name expected in the server's certificate
};

/// Where contact is computed and who watches.
struct OpenOptions {
  std::string server = {};  ///< fem_server: "host:port" or "unix:/path"; empty = in this process
  Tls tls = {};
  double reconnect_timeout = 300.0;  ///< [s] how long a lost connection is tried again
  /// Called from the thread that opens while it prepares; must not throw. May be empty.
  std::function<void(const Progress&)> on_progress = {};
  std::stop_token stop = {};  ///< ends a preparation, an advance or a run soon
};

}  // namespace hs
