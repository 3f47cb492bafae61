// heelstrike doctor: checks that servers are reachable, healthy, and of the same version.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "client/subcommands/interpreters.hpp"
#include "client/subcommands/options.hpp"
#include "client/subcommands/subcommand.hpp"
#include "common/errors/error.hpp"
#include "common/process/version.hpp"
#include "heelstrike/v1/contact.grpc.pb.h"
#include "heelstrike/v1/simulation.grpc.pb.h"
#include "library/composition/embedded.hpp"
#include "library/composition/geometry.hpp"
#include "library/registries/catalog.hpp"
#include "library/runs/remote_runner.hpp"
#include "library/servers/servers.hpp"
#include "library/terminal/screen.hpp"
#include "report/pictures.hpp"
#include "rpc/call.hpp"
#include "rpc/remote_contact.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/sphere.hpp"

namespace heelstrike::client {
namespace {

using Json = nlohmann::ordered_json;

struct Check {
  std::string what;
  bool ok = false;
  bool optional = false;  ///< its failure does not make the system unhealthy
  std::string detail;
  ExitCode code = ExitCode::ok;
};

/// Runs one check; its exception is the finding.
bool add_check(std::vector<Check>& checks, std::string what, const std::function<std::string()>& examine) {
  Check check{.what = std::move(what), .ok = false, .optional = false, .detail = {}, .code = ExitCode::ok};
  try {
    check.detail = examine();
    check.ok = true;
  } catch (const Error& error) {
    check.detail = error.what();
    check.code = exit_code(error);
  }
  checks.push_back(std::move(check));
  return checks.back().ok;
}

std::string compare_versions(const v1::VersionInfo& version, const std::string& peer) {
  rpc::check_version(version, peer);
  if (version.version() != program_version) {
    throw Error(ErrorCode::version_mismatch,
                fmt::format("this program is version {}, {} is version {}; install the same version on both sides",
                            program_version, peer, version.version()));
  }
  return fmt::format("version {}, contract {}", version.version(), version.contract());
}

using Clock = std::chrono::steady_clock;
constexpr auto response_timeout = rpc::default_connect_timeout;  // all servers together

/// A server under test. Connecting begins in the constructor, so that several servers share the time for it.
class ServerUnderTest {
 public:
  ServerUnderTest(rpc::Endpoint endpoint, const std::string& program)
      : endpoint_(std::move(endpoint)), peer_(program + " at " + endpoint_.address) {
    try {
      channel_ = rpc::make_channel(endpoint_);
      (void)channel_->GetState(true);
    } catch (const Error& error) {
      rejection_ = error;
    }
  }

  [[nodiscard]] const rpc::Endpoint& endpoint() const { return endpoint_; }
  [[nodiscard]] const std::string& peer() const { return peer_; }

  /// @returns true when all checks passed
  template <class Service, class Request>
  bool examine(std::vector<Check>& checks, Clock::time_point until) const {
    const bool there = add_check(checks, peer_ + " is reachable", [&] {
      if (rejection_) throw *rejection_;
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
      // The last server has time for one attempt even if earlier ones used up the common time.
      rpc::wait_for_ready(*channel_, endpoint_, std::max(left, std::chrono::milliseconds{100}));
      return std::string("connected");
    });
    const bool healthy = there && add_check(checks, peer_ + " is healthy", [&] {
                           check_health(channel_, peer_);
                           return std::string("serving");
                         });
    const auto stub = there ? Service::NewStub(channel_) : nullptr;
    const bool same =
        healthy && add_check(checks, peer_ + " has the same version", [&] {
          v1::VersionInfo version;
          rpc::call("GetVersion of " + peer_,
                    {.timeout = std::chrono::seconds{5}, .reconnect_timeout = rpc::query_reconnect_timeout},
                    [&](grpc::ClientContext& context) { return stub->GetVersion(&context, Request{}, &version); });
          return compare_versions(version, peer_);
        });
    return same && add_check(checks, peer_ + " has capacity", [&] { return check_capacity(*stub); });
  }

 private:
  /// @throws Error{limit} when a resource is exhausted: further requests would be rejected
  template <class Stub>
  [[nodiscard]] std::string check_capacity(Stub& stub) const {
    v1::Capacity capacity;
    rpc::call("GetCapacity of " + peer_,
              {.timeout = std::chrono::seconds{5}, .reconnect_timeout = rpc::query_reconnect_timeout},
              [&](grpc::ClientContext& context) { return stub.GetCapacity(&context, {}, &capacity); });
    std::string text;
    bool full = false;
    for (const v1::Capacity::Slot& place : capacity.slots()) {
      full = full || place.used() >= place.limit();
      text += fmt::format("{}{} of {} {}", text.empty() ? "" : ", ", place.used(), place.limit(), place.resource());
    }
    if (full) {
      throw Error(ErrorCode::limit, "full: " + text + "; further requests are rejected", "capacity", true);
    }
    return text;
  }

  rpc::Endpoint endpoint_;
  std::string peer_;
  std::shared_ptr<grpc::Channel> channel_;
  std::optional<Error> rejection_;  ///< reason for a missing channel
};

/// Stores the rows of the trial run.
class TrialSink : public RunSink {
 public:
  void on_schema(std::span<const Column> /*columns*/) override {}
  void on_row(std::span<const double> /*values*/) override { ++n_rows; }
  void on_progress(const Progress& /*progress*/) override {}
  void on_log(std::string_view /*level*/, std::string_view /*text*/) override {}
  void on_episode(const ContactEpisode& /*episode*/) override {}
  void on_checkpoint(const Checkpoint& /*checkpoint*/) override {}
  std::size_t n_rows = 0;
};

// A ball in free fall for 10 ms, 0.1 m above the ground: its final velocity is 9.81e-2 m/s and no contact occurs.
constexpr const char* trial_scenario = R"(heelstrike: 1
gravity: [0, 0, -9.81]
bodies:
  ball: {mass: 1.0, inertia: [0.1, 0.1, 0.1], position: [0, 0, 0.2]}
contact:
  ball-ground:
    main: {body: ball, surface: {sphere: {radius: 0.1}}}
    partner: {body: ground, surface: {plane: {normal: [0, 0, 1]}}}
    backend: hertz
    parameters: {stiffness: 1.0e8}
analysis: {type: forward, end_time: 0.01}
output: {interval: 1.0e-3}
)";

std::string trial_run(RemoteRunner& runner, std::stop_token stop) {
  RunRequest request;
  request.yaml = trial_scenario;
  request.file_name = "trial.yaml";
  request.scenario = parse_scenario(request.yaml, request.file_name, scenario_catalog(schemas_of(known_backends({}))));
  TrialSink sink;
  const RunSummary summary = runner.run(request, sink, std::move(stop));
  if (summary.error) throw *summary.error;
  constexpr std::size_t expected_rows = 11;  // every millisecond from 0 to 10 ms
  if (sink.n_rows < expected_rows || !summary.rpc || summary.rpc->calls == 0) {
    throw Error(ErrorCode::internal,
                fmt::format("the trial run gave {} rows and {} exchanges; expected at least {} rows "
                            "and one exchange",
                            sink.n_rows, summary.rpc ? summary.rpc->calls : 0, expected_rows));
  }
  return fmt::format("{} exchanges, median {:.0f} us", summary.rpc->calls, summary.rpc->p50_us);
}

/// One evaluation of a sphere 1 cm deep in a plane: F = K d = 1e6 N/m * 0.01 m.
std::string trial_exchange(const rpc::Endpoint& fem, std::stop_token stop) {
  PairSpec pair;
  pair.name = "doctor";
  pair.backend = "hooke";
  pair.parameters = {{"stiffness", 1.0e6}};
  pair.main = {.name = "ball", .surface = SphereSurface{.radius = 0.1}, .materials = {}};
  pair.partner = {.name = "ground", .surface = PlaneSurface{}, .materials = {}};
  constexpr double expected = 1.0e4;  // [N]
  PairState state;
  state.X_AB.p = Vector3(0.0, 0.0, -0.09);
  Response response;
  try {
    const auto contact = rpc::open_remote_contact({.endpoint = fem,
                                                   .call_timeout = std::chrono::seconds{5},
                                                   .open_timeout = std::chrono::seconds{5},
                                                   .exchange_timeout = std::chrono::seconds{5}})(
        std::span(&pair, 1), {}, {.run_id = "doctor", .on_progress = {}, .stop = std::move(stop)});
    contact->evaluate(0, 0, std::span(&state, 1), std::span(&response, 1));
  } catch (const Error& error) {
    // A server at its limits is healthy.
    if (error.code() != ErrorCode::limit) throw;
    return std::string("not tested: ") + error.what();
  }
  const double force = response.F_A.force.norm();
  if (!(std::abs(force - expected) <= 1e-9 * expected)) {
    throw Error(ErrorCode::internal, fmt::format("expected a force of {} N, found {} N", expected, force));
  }
  return fmt::format("{:g} N, as expected", force);
}

std::string verdict(const Check& check) {
  if (check.ok) return coloured("ok  ", Colour::green, Stream::out);
  if (check.optional) return coloured("none", Colour::yellow, Stream::out);
  return coloured("FAIL", Colour::red, Stream::out);
}

/// Checks of the servers that the user named.
std::vector<Check> examine_named(const ServerOptions& options, std::stop_token stop) {
  std::vector<Check> checks;
  std::optional<ServerUnderTest> fem;
  std::optional<ServerUnderTest> mbs;
  const auto until = Clock::now() + response_timeout;
  if (!options.fem.empty()) fem.emplace(rpc::Endpoint{.address = options.fem, .tls = options.tls}, "fem_server");
  if (!options.mbs.empty()) mbs.emplace(rpc::Endpoint{.address = options.mbs, .tls = options.tls}, "mbs_server");
  if (fem && fem->examine<v1::ContactService, v1::GetVersionRequest>(checks, until)) {
    add_check(checks, fem->peer() + " evaluates a contact", [&] { return trial_exchange(fem->endpoint(), stop); });
  }
  if (mbs) mbs->examine<v1::SimulationService, v1::GetSimulationVersionRequest>(checks, until);
  return checks;
}

/// What an interpreter of Python has for the package, and what to type for what it does not have.
std::string describe_interpreter(const std::filesystem::path& file) {
  const Interpreter python = examine_interpreter(file);
  const std::string numpy = python.numpy.empty() ? "no numpy" : "numpy " + python.numpy;
  const std::string found = fmt::format("Python {}, {}", python.version, numpy);
  if (python.problem.empty()) return fmt::format("{}, heelstrike {}", found, python.heelstrike);
  const std::filesystem::path package = python_package_folder();
  const bool is_not_found = python.problem.find("No module named 'heelstrike'") != std::string::npos;
  std::string remedy;
  if (python.numpy.empty() && is_not_found) {
    remedy = fmt::format("; for numpy: {}{} -m pip install numpy",
                         file == "/usr/bin/python3" ? "apt-get install python3-numpy, or " : "", file.string());
  }
  if (is_not_found && !package.empty()) remedy += fmt::format("; type export PYTHONPATH={}", package.string());
  if (is_not_found && package.empty()) remedy += "; install the package python3-heelstrike or the wheel of heelstrike";
  throw file_error(file.string(), fmt::format("{}, no heelstrike: {}{}", found, python.problem, remedy));
}

void examine_python(std::vector<Check>& checks) {
  const std::vector<std::filesystem::path> interpreters = find_interpreters();
  for (const std::filesystem::path& file : interpreters) {
    add_check(checks, fmt::format("{} imports heelstrike", file.string()), [&] { return describe_interpreter(file); });
    checks.back().optional = true;
  }
  if (!interpreters.empty()) return;
  add_check(checks, "Python imports heelstrike", []() -> std::string {
    throw file_error("python3",
                     "python3 is neither on the PATH nor in /usr/bin: apt-get install python3 python3-numpy");
  });
  checks.back().optional = true;
}

/// Checks of the helpers that local runs need beside the servers.
void examine_helpers(std::vector<Check>& checks, const std::stop_token& stop) {
  add_check(checks, "the mesher works", [&] { return check_mesher(stop); });
  add_check(checks, "the cache can be written", [] { return check_cache(); });
  add_check(checks, "pictures can be drawn", [] { return report::gnuplot_program().string(); });
  checks.back().optional = true;
  examine_python(checks);
}

std::vector<Check> examine(const ServerOptions& options, std::stop_token stop) {
  if (!options.mbs.empty() || !options.fem.empty()) return examine_named(options, std::move(stop));
  std::vector<Check> checks;
  std::unique_ptr<RemoteRunner> runner;
  const bool started = add_check(checks, "private servers start", [&] {
    runner = std::make_unique<RemoteRunner>(options, std::filesystem::path());
    return std::string("both ready");
  });
  if (!started) {
    examine_helpers(checks, stop);
    return checks;
  }
  const auto until = Clock::now() + response_timeout;
  ServerUnderTest(*runner->servers().fem(), "fem_server")
      .examine<v1::ContactService, v1::GetVersionRequest>(checks, until);
  ServerUnderTest(runner->servers().mbs(), "mbs_server")
      .examine<v1::SimulationService, v1::GetSimulationVersionRequest>(checks, until);
  add_check(checks, "a trial run works", [&] { return trial_run(*runner, stop); });
  examine_helpers(checks, stop);
  return checks;
}

ExitCode doctor(const ServerOptions& options, bool json, std::stop_token stop) {
  const std::vector<Check> checks = examine(options, std::move(stop));
  ExitCode code = ExitCode::ok;
  Json report = {
      {"healthy", true}, {"version", program_version}, {"contract", contract_version}, {"checks", Json::array()}};
  for (const Check& check : checks) {
    if (!check.ok && !check.optional && code == ExitCode::ok) code = check.code;
    report["checks"].push_back(
        {{"check", check.what}, {"ok", check.ok}, {"optional", check.optional}, {"detail", check.detail}});
    if (!json) fmt::print("{} {}: {}\n", verdict(check), check.what, check.detail);
  }
  report["healthy"] = code == ExitCode::ok;
  if (json) fmt::print("{}\n", report.dump(2));
  return code;
}

Action add_doctor(CLI::App& command, bool& as_json) {
  const auto options = std::make_shared<ServerOptions>();
  add_server_options(command, *options);
  command.add_flag("--json", as_json, "Print as JSON");
  return [options](bool json, const std::stop_token& stop) { return doctor(*options, json, stop); };
}

}  // namespace

Subcommand doctor_command() {
  return {.name = "doctor",
          .summary = "Check servers (reachable, healthy, same version), mesher, cache, plotting and Python",
          .examples =
              "  heelstrike doctor                          starts a private pair of servers and tests it\n"
              "  heelstrike doctor --fem localhost:50051    tests a running server; for health checks of containers",
          .add = add_doctor};
}

}  // namespace heelstrike::client
