/// Options that several subcommands share, with the same wording.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "library/runs/run_request.hpp"
#include "library/runs/runner.hpp"
#include "library/servers/servers.hpp"
#include "scenario/backend_info.hpp"

namespace CLI {
class App;
}

namespace heelstrike::client {

struct ConnectionOptions {
  ServerOptions servers;
  bool in_process = false;
};

/// --mbs, --fem, --tls-ca, --tls-cert, --tls-key, --tls-authority
void add_server_options(CLI::App& command, ServerOptions& options);
/// The same and --in-process
void add_connection_options(CLI::App& command, ConnectionOptions& options);
/// --set, repeatable
void add_set_option(CLI::App& command, Overrides& overrides);
/// --exit-with-parent, hidden from the help: for the runs that a sweep starts
void add_exit_with_parent(CLI::App& command);
/// "NAME=NUMBER". @param option  for messages, "--weight". @throws Error{invalid_input} for another text
[[nodiscard]] std::pair<std::string, double> read_named_number(const std::string& option, const std::string& text);
/// --backend and --set
void add_override_options(CLI::App& command, Overrides& overrides);
/// One flag for each format of report/tables.hpp. @param tables  receives the names of the formats
void add_table_options(CLI::App& command, std::vector<std::string>& tables);
/// SCENARIO
void add_scenario_argument(CLI::App& command, std::filesystem::path& scenario);
/// --tls-ca, --tls-cert, --tls-key, --tls-authority
void add_tls_options(CLI::App& command, rpc::ClientTls& tls, const std::string& group);

/// The back-ends of the named contact server, else those of this program. @throws as rpc::list_backends
[[nodiscard]] std::vector<BackendInfo> known_backends(const ServerOptions& options);
/// Contact on the named contact server, else in this process.
[[nodiscard]] ContactFactory contact_factory(const ServerOptions& options);
/// @param log  log file of started servers. @throws as RemoteRunner
[[nodiscard]] std::unique_ptr<Runner> make_runner(const ConnectionOptions& options, const std::filesystem::path& log);

}  // namespace heelstrike::client
