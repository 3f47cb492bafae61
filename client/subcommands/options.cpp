#include "client/subcommands/options.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <csignal>

#include "common/errors/error.hpp"
#include "library/composition/embedded.hpp"
#include "library/runs/remote_runner.hpp"
#include "report/tables.hpp"
#include "rpc/contact_calls.hpp"
#include "rpc/remote_contact.hpp"

namespace heelstrike::client {

void add_tls_options(CLI::App& command, rpc::ClientTls& tls, const std::string& group) {
  command.add_option("--tls-ca", tls.ca_file, "Certificate of the authority to trust; enables encryption")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--tls-cert", tls.certificate_file, "Client certificate, when the servers request one")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--tls-key", tls.key_file, "Key of the client certificate")->type_name("FILE")->group(group);
  command.add_option("--tls-authority", tls.authority, "Name expected in the servers' certificates")
      ->type_name("NAME")
      ->group(group);
}

void add_server_options(CLI::App& command, ServerOptions& options) {
  const std::string group = "Servers (default: a private pair is started)";
  command.add_option("--mbs", options.mbs, "Address of a running mbs_server: host:port or unix:/path")
      ->type_name("ADDRESS")
      ->group(group);
  command.add_option("--fem", options.fem, "Address of a running fem_server: host:port or unix:/path")
      ->type_name("ADDRESS")
      ->group(group);
  command
      .add_option_function<double>(
          "--reconnect-timeout",
          [&options](double seconds) {
            options.reconnect_timeout = std::chrono::milliseconds(static_cast<std::int64_t>(1000.0 * seconds));
          },
          "Time for retries of a lost connection to a named server [s] (default 300)")
      ->check(CLI::Range(0.0, 86400.0))
      ->type_name("SECONDS")
      ->group(group);
  add_tls_options(command, options.tls, group);
}

void add_connection_options(CLI::App& command, ConnectionOptions& options) {
  add_server_options(command, options.servers);
  command.add_flag("--in-process", options.in_process, "Compute in this process: no servers, no sockets")
      ->excludes("--mbs")
      ->excludes("--fem")
      ->group("Servers (default: a private pair is started)");
}

std::pair<std::string, double> read_named_number(const std::string& option, const std::string& text) {
  const auto equals = std::min(text.find('='), text.size());
  double value = 0.0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(std::min(text.data() + equals + 1, end), end, value);
  if (equals == 0 || read.ec != std::errc() || read.ptr != end || !std::isfinite(value)) {
    throw input_error(option, fmt::format("{}: expected NAME=NUMBER, found '{}'", option, text));
  }
  return {text.substr(0, equals), value};
}

void add_override_options(CLI::App& command, Overrides& overrides) {
  command.add_option("--backend", overrides.backend, "Contact back-end for every pair; see heelstrike backends")
      ->type_name("NAME");
  add_set_option(command, overrides);
}

void add_table_options(CLI::App& command, std::vector<std::string>& tables) {
  for (const report::TableFormat& format : report::table_formats()) {
    command.add_flag_callback(
        format.option(), [&tables, name = format.name] { tables.push_back(name); }, format.description);
  }
}

void add_set_option(CLI::App& command, Overrides& overrides) {
  command
      .add_option("--set", overrides.assignments,
                  "Override a key of the scenario; repeatable.\n"
                  "contact.restitution=0.6 sets a parameter of all pairs, contact.PAIR.restitution=0.6 of one,\n"
                  "analysis.end_time=5 any other key")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->take_all();
}

void add_exit_with_parent(CLI::App& command) {
  // SIGKILL instead of a stop: the run remains resumable when the sweep is started again.
  command
      .add_option_function<pid_t>("--exit-with-parent",
                                  [](pid_t parent) {
                                    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
                                    // The kernel sends no signal for a parent that has already ended.
                                    if (::getppid() != parent) ::raise(SIGKILL);
                                  })
      ->group("");
}

void add_scenario_argument(CLI::App& command, std::filesystem::path& scenario) {
  command.add_option("scenario", scenario, "Scenario file (YAML)")->required()->type_name("FILE");
}

std::vector<BackendInfo> known_backends(const ServerOptions& options) {
  if (options.fem.empty()) return embedded_backends();
  return rpc::list_backends({.address = options.fem, .tls = options.tls});
}

ContactFactory contact_factory(const ServerOptions& options) {
  if (options.fem.empty()) return embedded_contact();
  rpc::RemoteContactOptions remote;
  remote.endpoint = {.address = options.fem, .tls = options.tls};
  remote.reconnect_timeout = options.reconnect_timeout;
  remote.is_server_known = true;  // it has reported its back-ends, with which the scenario was read
  return rpc::open_remote_contact(remote);
}

std::unique_ptr<Runner> make_runner(const ConnectionOptions& options, const std::filesystem::path& log) {
  if (options.in_process) return make_embedded_runner();
  return std::make_unique<RemoteRunner>(options.servers, log);
}

}  // namespace heelstrike::client
