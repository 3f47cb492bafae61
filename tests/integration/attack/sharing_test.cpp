// Clients that share a server: none can deprive, observe or affect the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <deque>
#include <filesystem>
#include <memory>

#include "common/files/digest.hpp"
#include "rpc/call.hpp"
#include "tests/integration/attack/raw_runs.hpp"
#include "tests/integration/cli/encrypted_servers.hpp"
#include "tests/integration/cli/program.hpp"
#include "tests/integration/cli/scenarios.hpp"
#include "tests/integration/cli/server_pair.hpp"
#include "tests/integration/contact_service/server_process.hpp"

namespace heelstrike::testing_support {
namespace {

using cli_test::ball_scenario;
using cli_test::eventually;
using cli_test::run;
using cli_test::ScratchFolder;
using cli_test::ServerPair;
using testing::HasSubstr;
using testing::Not;

std::string hours_of_a_ball() {
  return ball_scenario("end_time: 0.5", "end_time: 1.0e5, budget: {rows: 1000000000}");
}

TEST(Sessions, SessionsOfLostClientsAreReplacedAndAFullTableIsReported) {
  const ServerProcess server({"--max-sessions", "3", "--min-lease", "0.2"});
  const auto stub = server.stub();
  const auto streaming = open_contact(server.address());
  for (int i = 0; i < 2; ++i) (void)open_session(*stub);
  // The sessions are unused: after 0.2 s each may be replaced by that of a new client.
  EXPECT_TRUE(eventually([&] {
    try {
      (void)open_session(*stub);
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::limit) << error.what();
      return false;
    }
  }));
  EXPECT_FALSE(bounce(*streaming, 2).empty()) << "sessions held by a stream remain";
  const auto doctor = run("heelstrike", {"doctor", "--fem", server.address()});
  EXPECT_EQ(doctor.exit_code, 4) << doctor.out;
  EXPECT_THAT(doctor.out, HasSubstr("3 of 3 sessions"));
}

TEST(Sessions, SessionsWithoutAStreamExpireEarlyAndAreNotLogged) {
  const ServerProcess server({"--lease", "3"});
  const auto streaming = open_contact(server.address());  // holds its session from the opening on, before any exchange
  const auto stub = server.stub();
  const std::string id = open_session(*stub).session_id();
  EXPECT_TRUE(server.wait_for_log("event=session_expired")) << server.log();
  EXPECT_FALSE(bounce(*streaming, 2).empty());
  EXPECT_THAT(server.log(), Not(HasSubstr(id)));
}

TEST(Uploads, HaveAMemoryBudget) {
  const ServerProcess server({"--max-upload-mib", "4"});  // half of it for one client
  const auto stub = server.stub();
  std::deque<grpc::ClientContext> contexts;
  v1::UploadAssetResponse response;
  v1::UploadAssetRequest part;
  std::vector<std::unique_ptr<grpc::ClientWriter<v1::UploadAssetRequest>>> unfinished;
  for (int i = 0; i < 3; ++i) {
    auto& writer = unfinished.emplace_back(stub->UploadAsset(&contexts.emplace_back(), &response));
    part.mutable_header()->set_sha256(sha256_hex(std::to_string(i)));
    part.mutable_header()->set_name("mesh.stl");
    part.mutable_header()->set_size_bytes(60U << 20U);
    ASSERT_TRUE(writer->Write(part));
    part.set_chunk(std::string(1U << 20U, 'x'));
    if (i < 2) {
      ASSERT_TRUE(writer->Write(part));
    }
  }
  // Two MiB may have arrived; the third is rejected.
  grpc::Status rejected;
  for (int i = 0; i < 100 && unfinished[2]->Write(part); ++i) {
  }
  rejected = unfinished[2]->Finish();
  EXPECT_EQ(rejected.error_code(), grpc::RESOURCE_EXHAUSTED) << rejected.error_message();
  EXPECT_THAT(rejected.error_message(), HasSubstr("--max-upload-mib"));
  for (int i = 0; i < 2; ++i) contexts[static_cast<std::size_t>(i)].TryCancel();
  for (int i = 0; i < 2; ++i) (void)unfinished[static_cast<std::size_t>(i)]->Finish();
}

TEST(Runs, RepeatedSubmissionStartsNoSecondRun) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path());
  RawRuns runs(servers.mbs_address);
  EXPECT_EQ(runs.submit(hours_of_a_ball(), "mine"), "mine");
  EXPECT_EQ(runs.submit(hours_of_a_ball(), "mine"), "mine");
  EXPECT_EQ(runs.count(), 1);
  EXPECT_EQ(code_of([&] { runs.submit(ball_scenario(), "mine"); }), ErrorCode::invalid_input) << "another scenario";
  runs.cancel("mine");
  EXPECT_EQ(runs.watch("mine").status(), "cancelled");
}

TEST(Runs, RowsHaveAQuota) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path(), {}, {"--max-row-mib", "1"});
  const std::string file = folder.write("ball.yaml", ball_scenario("interval: 1.0e-3", "interval: 1.0e-6"));
  const auto result = run("heelstrike", {"run", file, "--mbs", servers.mbs_address, "-o", "out", "--quiet"},
                          {.working_folder = folder.path(), .environment = {}});
  EXPECT_EQ(result.exit_code, 4) << result.err;
  EXPECT_THAT(result.err, HasSubstr("--max-row-mib"));
  EXPECT_LT(std::filesystem::file_size(folder.path() / "out/timeseries.csv"), 8U << 20U);
}

TEST(Logs, ForgedLinesAreEscapedAndInvalidUtf8IsAccepted) {
  const ScratchFolder folder;
  const ServerPair servers(folder.path());
  RawRuns runs(servers.mbs_address);
  EXPECT_EQ(code_of([&] { runs.submit(ball_scenario(), "a\nevent=forged \033[2J\""); }), ErrorCode::invalid_input);
  ASSERT_TRUE(servers.mbs->wait_for_output("event=rejected"));
  EXPECT_THAT(servers.mbs->output(), HasSubstr("a\\nevent=forged \\x1b[2J\\\""));
  EXPECT_THAT(servers.mbs->output(), Not(HasSubstr("\nevent=forged")));
  try {
    runs.submit("# h\xF6he\n" + ball_scenario());
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("UTF-8"));
  }
  EXPECT_EQ(runs.watch(runs.submit(ball_scenario())).status(), "completed");
}

/// Clients identified by the names of their certificates.
class Owners : public cli_test::EncryptedServers {
 protected:
  [[nodiscard]] rpc::Endpoint endpoint(const std::string& address, const std::string& client) const {
    return {.address = address,
            .tls = {.ca_file = certificates.certificate("ca"),
                    .certificate_file = certificates.certificate(client),
                    .key_file = certificates.key(client),
                    .authority = "contact.test"}};
  }
};

TEST_F(Owners, RunsAreVisibleToTheirOwnerOnly) {
  RawRuns owner(endpoint(mbs_address, "client"));
  RawRuns guest(endpoint(mbs_address, "guest"));
  owner.submit(hours_of_a_ball(), "mine");
  const auto rejected_for_guests = [](RawRuns& runs) {
    EXPECT_EQ(runs.count(), 0);
    EXPECT_EQ(code_of([&] { runs.watch("mine"); }), ErrorCode::not_found);
    EXPECT_EQ(code_of([&] { runs.cancel("mine"); }), ErrorCode::not_found);
    EXPECT_EQ(code_of([&] { runs.forget("mine"); }), ErrorCode::not_found);
  };
  rejected_for_guests(guest);
  EXPECT_EQ(owner.count(), 1);
  mbs->signal(SIGKILL);
  mbs->wait();
  start_mbs();
  RawRuns guest_later(endpoint(mbs_address, "guest"));
  rejected_for_guests(guest_later);
  EXPECT_EQ(RawRuns(endpoint(mbs_address, "client")).count(), 1) << "interrupted, and still its owner's";
}

TEST_F(Owners, SessionsAreUsableByTheirOwnerOnly) {
  const auto stub_of = [&](const std::string& client) {
    return v1::ContactService::NewStub(rpc::make_channel(endpoint(fem_address, client)));
  };
  v1::PairRequest request;
  request.set_session_id(open_session(*stub_of("client")).session_id());
  request.set_step(-1);
  *request.mutable_state() = message_of(ball_at(0.0, 0.1, 1.0));
  const auto evaluate_as = [&](const std::string& client) { return evaluate_one(*stub_of(client), request); };
  EXPECT_TRUE(evaluate_as("client").has_result());
  EXPECT_EQ(evaluate_as("guest").error().code(), v1::Error::CODE_NOT_FOUND);
}

}  // namespace
}  // namespace heelstrike::testing_support
