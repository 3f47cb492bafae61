/// Options for opening pairs, contacts, simulations and runs.
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
  std::string backend = {};           ///< contact back-end of every pair; empty = that of the file
  std::vector<std::string> set = {};  ///< "KEY=VALUE", e.g. "contact.restitution=0.6", in order
  /// The back-end is changed last: parameters in `set` that it does not have are omitted. For comparisons.
  bool backend_last = false;
  /// Text of the scenario, used instead of its file, which need not exist; empty = the content of the file.
  std::string text = {};
  /// Contents of files that the scenario names, by these names; other files are read from the folder of the scenario.
  std::map<std::string, std::string> files = {};
};

/// Encryption of connections to servers; all members empty = none.
struct Tls {
  std::string ca_file = {};           ///< certificate of the authority to trust; switches encryption on
  std::string certificate_file = {};  ///< client certificate, when the server requests one
  std::string key_file = {};          ///< key of the client certificate
  std::string authority = {};         ///< name expected in the server's certificate
};

/// Location of the contact computation, and monitoring.
struct OpenOptions {
  std::string server = {};  ///< fem_server: "host:port" or "unix:/path"; empty = in this process
  Tls tls = {};
  double reconnect_timeout = 300.0;  ///< [s] time for retries of a lost connection
  /// Called during the preparation, from the thread that opens; must not throw. May be empty.
  std::function<void(const Progress&)> on_progress = {};
  std::stop_token stop = {};  ///< ends a preparation, an advance or a run promptly
};

}  // namespace hs
