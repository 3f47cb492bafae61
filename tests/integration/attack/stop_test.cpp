// Work without a waiting client ends, and a server stops on request during any computation.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <sstream>
#include <thread>

#include "common/errors/error.hpp"
#include "common/process/version.hpp"
#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/plane.hpp"
#include "tests/integration/cli/program.hpp"
#include "tests/integration/cli/scenarios.hpp"
#include "tests/integration/cli/server_pair.hpp"
#include "tests/integration/contact_service/server_process.hpp"

namespace heelstrike::testing_support {
namespace {

/// A rubber block on a plane; friction and fine elements make an evaluation take milliseconds.
v1::PairSpec block_over_plane(double element_size = 0.0025) {
  PairSpec spec;
  spec.name = "block-ground";
  spec.backend = "fem_condensed";
  spec.parameters = {{"element_size", element_size},
                     {"clamped_set", std::string("top")},
                     {"contact_set", std::string("bottom")},
                     {"friction", 0.5}};
  spec.main = {.name = "block",
               .surface = BlockSurface{.lengths = Vector3::Constant(0.02), .center = Vector3::Zero()},
               .materials = {{.youngs_modulus = 2e6, .poissons_ratio = 0.3, .density = 1000.0, .set = ""}}};
  spec.partner = {.name = "ground", .surface = PlaneSurface{}, .materials = {}};
  return message_of(spec);
}

/// A set of signals of /proc/PID/status, one bit for each from SIGHUP on.
std::uint64_t status_mask(const std::filesystem::path& file, const std::string& key) {
  const std::string text = cli_test::read_text(file);
  const auto at = text.find(key);
  return at == std::string::npos ? 0 : std::stoull(text.substr(at + key.size()), nullptr, 16);
}

/// A batch that takes a server minutes, requested by a separate thread.
class LongBatch {
 public:
  explicit LongBatch(const ServerProcess& server) : stub_(server.stub()) {
    v1::OpenSessionRequest open;
    open.set_contract(contract_version);
    *open.mutable_pair() = block_over_plane();
    request_.set_session_id(open_session(*stub_, open).session_id());
    for (int i = 0; i < 50'000; ++i) {
      PairState state;
      state.X_AB.p = Vector3(1e-8 * i, 0.0, -0.01 + 1e-4);
      *request_.add_states() = message_of(state);
    }
    const double before = processor_time();
    thread_ = std::thread([this] { status_ = stub_->EvaluateBatch(&context_, request_, &response_); });
    EXPECT_TRUE(cli_test::eventually([&] { return processor_time() > before + 0.5; })) << "the batch has not begun";
  }
  ~LongBatch() {
    context_.TryCancel();
    thread_.join();
  }
  LongBatch(const LongBatch&) = delete;
  LongBatch& operator=(const LongBatch&) = delete;
  void leave() { context_.TryCancel(); }

 private:
  /// [s] of the server of this test.
  static double processor_time() {
    const auto servers = cli_test::children(::getpid(), "fem_server");
    std::istringstream fields(cli_test::read_text("/proc/" + std::to_string(servers.at(0)) + "/stat"));
    std::string skipped;
    for (int i = 0; i < 13; ++i) fields >> skipped;
    double user = 0.0;
    double system = 0.0;
    fields >> user >> system;
    return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }

  std::unique_ptr<v1::ContactService::Stub> stub_;
  v1::EvaluateBatchRequest request_;
  v1::EvaluateBatchResponse response_;
  grpc::ClientContext context_;
  grpc::Status status_;
  std::thread thread_;
};

TEST(Stop, BatchEndsAfterItsClientHasDisconnected) {
  // The drain would wait for the batch: an idle server shows that the batch has ended.
  ServerProcess server({"--cache-dir", "", "--drain-timeout", "25"});
  LongBatch batch(server);
  batch.leave();
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0) << server.log();
  EXPECT_NE(server.log().find("result=idle"), std::string::npos) << server.log();
}

TEST(Stop, DrainTimeoutAppliesDuringAnyComputation) {
  ServerProcess server({"--cache-dir", "", "--drain-timeout", "0.3"});
  const LongBatch batch(server);
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0) << server.log();
  EXPECT_NE(server.log().find("result=timeout"), std::string::npos) << server.log();
}

TEST(Stop, SecondSignalStopsImmediately) {
  ServerProcess server({"--cache-dir", "", "--drain-timeout", "3600"});
  const LongBatch batch(server);
  EXPECT_EQ(server.wait(SIGTERM), 0) << server.log();
}

/// Whether all threads of `process` except the first block the stop signals. The first thread of a server waits for
/// them (sigtimedwait), for which the kernel delivers them.
bool blocks_stop_signals_everywhere(pid_t process) {
  constexpr std::uint64_t expected = (1U << (SIGHUP - 1)) | (1U << (SIGINT - 1)) | (1U << (SIGTERM - 1));
  const std::string number = std::to_string(process);
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + number + "/task")) {
    const bool is_first = task.path().filename() == number;
    if (!is_first && (status_mask(task.path() / "status", "SigBlk:") & expected) != expected) return false;
  }
  return true;
}

// Libraries start threads before main and install handlers (OpenBLAS, METIS): a signal delivered to another thread
// would end the process irregularly.
TEST(Stop, NoOtherThreadHandlesStopSignals) {
  const cli_test::ScratchFolder folder;
  const cli_test::ServerPair servers(folder.path());
  const std::string file = folder.write(
      "ball.yaml", cli_test::ball_scenario("end_time: 0.5", "end_time: 1.0e5, budget: {rows: 1000000000}"));
  const cli_test::Program client("heelstrike", {"run", file, "--in-process", "-o", "out", "--force"},
                                 {.working_folder = folder.path(), .environment = {}});
  ASSERT_TRUE(cli_test::eventually([&] { return !cli_test::read_text(folder.path() / "out/timeseries.csv").empty(); }));
  for (const pid_t process : {servers.fem->pid(), servers.mbs->pid(), client.pid()}) {
    EXPECT_TRUE(blocks_stop_signals_everywhere(process))
        << cli_test::read_text("/proc/" + std::to_string(process) + "/comm");
  }
}

TEST(Stop, IsDetectedWhileMetisHandlesTheSignal) {
  ServerProcess server({"--cache-dir", "", "--drain-timeout", "3600"});
  v1::OpenSessionRequest open;
  open.set_contract(contract_version);
  *open.mutable_pair() = block_over_plane(0.0011);  // 20,000 nodes, which METIS orders in about 0.1 s
  const auto stub = server.stub();
  const std::jthread client([&] {
    try {
      (void)open_session(*stub, open);
    } catch (const Error&) {  // the server has exited
    }
  });
  const pid_t process = cli_test::children(::getpid(), "fem_server").at(0);
  const auto status = "/proc/" + std::to_string(process) + "/status";
  // No other handler catches SIGTERM.
  ASSERT_TRUE(cli_test::eventually([&] { return (status_mask(status, "SigCgt:") & (1U << (SIGTERM - 1))) != 0; }));
  EXPECT_EQ(server.wait(SIGTERM), 0) << server.log();
}

}  // namespace
}  // namespace heelstrike::testing_support
