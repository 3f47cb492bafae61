#include "server_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "common/process/version.hpp"
#include "rpc/call.hpp"
#include "rpc/server/ready_line.hpp"
#include "rpc/wire/contact_wire.hpp"
#include "rpc/wire/error_wire.hpp"
#include "rpc/wire/pair_spec_wire.hpp"
#include "scenario/surfaces/plane.hpp"
#include "scenario/surfaces/sphere.hpp"
#include "tests/support/child_environment.hpp"

namespace heelstrike::testing_support {

namespace {

const std::string program = std::string(HEELSTRIKE_BIN_DIR) + "/fem_server";

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Starts the program with both outputs in `log`; `ready_fd` >= 0 is passed as descriptor 3.
pid_t start(const std::vector<std::string>& arguments, const std::string& log, int ready_fd) {
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::vector<std::string> variables = child_environment();
  std::vector<char*> envp;
  for (auto& variable : variables) envp.push_back(variable.data());
  envp.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  if (ready_fd >= 0) posix_spawn_file_actions_adddup2(&actions, ready_fd, 3);
  pid_t pid = -1;
  const int failure = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw std::runtime_error(fmt::format("cannot start {}: {}", program, std::strerror(failure)));
  return pid;
}

/// @param nudge  signal sent repeatedly until the end; 0 = none
int wait_for(pid_t pid, int nudge = 0) {
  const auto deadline = std::chrono::steady_clock::now() + scaled_time_limit(std::chrono::seconds{30});
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << "the server did not end in time";
      ::kill(pid, SIGKILL);
      ::waitpid(pid, &status, 0);
      break;
    }
    if (nudge != 0) ::kill(pid, nudge);
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "heelstrike-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
  folder_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::filesystem::remove_all(folder_);
}

ServerProcess::ServerProcess(std::vector<std::string> arguments, std::vector<std::string> listen) {
  if (listen.empty()) listen = {"127.0.0.1:0", "unix:" + folder_.path("fem.sock")};
  for (const auto& address : listen) arguments.insert(arguments.end(), {"--listen", address});
  arguments.insert(arguments.end(), {"--ready-fd", "3", "--exit-with-parent"});
  std::array<int, 2> pipe{};
  // Descriptors above 3, so that dup2 to 3 clears close-on-exec.
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const int write_end = ::fcntl(pipe[1], F_DUPFD_CLOEXEC, 10);
  ::close(pipe[1]);
  pid_ = start(arguments, folder_.path("log"), write_end);
  ::close(write_end);
  try {
    addresses_ = rpc::read_ready_fd(pipe[0], scaled_time_limit(30'000));
  } catch (const std::exception& error) {
    ::close(pipe[0]);
    throw std::runtime_error(fmt::format("{}; log:\n{}", error.what(), log()));
  }
  ::close(pipe[0]);
}

ServerProcess::~ServerProcess() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGCONT);
  // A regular end, so that the leak check runs; a second SIGTERM shortens the drain.
  EXPECT_EQ(wait_for(pid_, SIGTERM), killed_ ? 128 + SIGKILL : 0) << log();
}

void ServerProcess::signal(int number) {
  killed_ = killed_ || number == SIGKILL;
  ::kill(pid_, number);
}

void ServerProcess::freeze() const {
  ::kill(pid_, SIGSTOP);
  int status = 0;
  ::waitpid(pid_, &status, WUNTRACED);
}

int ServerProcess::wait(int nudge) {
  const int code = wait_for(pid_, nudge);
  pid_ = -1;
  return code;
}

std::string ServerProcess::log() const {
  return read_file(folder_.path("log"));
}

bool ServerProcess::wait_for_log(const std::string& text) const {
  const auto deadline = std::chrono::steady_clock::now() + scaled_time_limit(std::chrono::seconds{20});
  while (log().find(text) == std::string::npos) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  return true;
}

std::unique_ptr<v1::ContactService::Stub> ServerProcess::stub(std::size_t i) const {
  return v1::ContactService::NewStub(rpc::make_channel({.address = address(i), .tls = {}}));
}

Finished run_server(const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  const int code = wait_for(start(arguments, folder.path("log"), -1));
  return {.exit_code = code, .output = read_file(folder.path("log"))};
}

PairSpec ball_on_ground(const std::string& name) {
  PairSpec spec;
  spec.name = name;
  spec.backend = "flores";
  spec.parameters = {{"stiffness", 1.4e8}, {"restitution", 0.8}};
  spec.main = {.name = "ball", .surface = SphereSurface{.radius = 0.1}, .materials = {}};
  spec.partner = {.name = "ground", .surface = PlaneSurface{}, .materials = {}};
  return spec;
}

PairState ball_at(double t, double height, double speed) {
  PairState state;
  state.t = t;
  // A is the ball, slightly rotated so that no number of the pose is trivial; B is the ground.
  const Matrix3 R = rotation_from_vector({0.1 + t, 0.2, -0.3});
  state.X_AB = {.R = R, .p = R * Vector3(0.01, 0.02, -height)};
  state.V_AB = {.w = Vector3::Zero(), .v = R * Vector3(0.0, 0.0, speed)};
  return state;
}

v1::PairSpec message_of(const PairSpec& spec) {
  v1::PairSpec message;
  wire::to_proto(spec, message);
  return message;
}

v1::PairState message_of(const PairState& state) {
  v1::PairState message;
  wire::to_proto(state, message);
  return message;
}

v1::SessionDescription open_session(v1::ContactService::Stub& stub, const PairSpec& spec) {
  v1::OpenSessionRequest request;
  *request.mutable_pair() = message_of(spec);
  request.set_run_id("test");
  request.set_contract(contract_version);
  return open_session(stub, request);
}

v1::PairResponse evaluate_one(v1::ContactService::Stub& stub, const v1::PairRequest& request) {
  v1::EvaluateBatchRequest batch;
  batch.set_session_id(request.session_id());
  *batch.add_states() = request.state();
  v1::EvaluateBatchResponse all;
  try {
    rpc::call("EvaluateBatch", {}, [&](auto& context) { return stub.EvaluateBatch(&context, batch, &all); });
  } catch (const Error& error) {
    v1::PairResponse failed;
    wire::to_proto(error, *failed.mutable_error());
    return failed;
  }
  return all.pairs(0);
}

v1::SessionDescription open_session(v1::ContactService::Stub& stub, const v1::OpenSessionRequest& request) {
  v1::SessionDescription opened;
  rpc::call("OpenSession", {}, [&](grpc::ClientContext& context) {
    const auto reader = stub.OpenSession(&context, request);
    v1::OpenSessionResponse event;
    while (reader->Read(&event)) {
      if (event.has_opened()) opened = event.opened();
    }
    return reader->Finish();
  });
  return opened;
}

std::unique_ptr<Contact> open_contact(rpc::RemoteContactOptions options) {
  const PairSpec pairs[] = {ball_on_ground()};
  return rpc::open_remote_contact(std::move(options))(pairs, {}, {.run_id = "test", .on_progress = {}, .stop = {}});
}

std::unique_ptr<Contact> open_contact(const std::string& address) {
  // Long enough for a restarted server, short enough for one that is never restarted.
  return open_contact(rpc::RemoteContactOptions{.endpoint = {.address = address, .tls = {}},
                                                .reconnect_timeout = std::chrono::seconds{10}});
}

std::string bits(const Response& response) {
  v1::ContactResult message;
  wire::to_proto(response, message);
  return message.SerializeAsString();
}

std::string bounce(Contact& contact, int n_steps) {
  const std::size_t n_pairs = contact.pairs().size();
  std::vector<Response> responses(n_pairs);
  std::string results;
  for (int step = 0; step <= n_steps; ++step) {
    const double phase = 1e-3 * step;
    const std::vector<PairState> states(n_pairs, ball_at(phase, 0.1 + 2e-5 * std::cos(60.0 * phase), 0.5));
    for (int iteration = 0; iteration < 2; ++iteration) {
      contact.evaluate(step, iteration, states, responses);
      for (const auto& response : responses) results += bits(response);
    }
    contact.commit(step, states, responses);
    for (const auto& response : responses) results += bits(response);
  }
  return results;
}

}  // namespace heelstrike::testing_support
