// Invalid requests to a server: rejected with a typed error that names the field, for that client only.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>

#include "common/errors/error.hpp"
#include "common/process/version.hpp"
#include "rpc/call.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "server_process.hpp"

namespace heelstrike::testing_support {
namespace {

Error memory_error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return {ErrorCode::internal, "no error"};
}

bool mentions(const Error& error, const std::string& text) {
  return std::string(error.what()).find(text) != std::string::npos;
}

TEST(Rejections, InvalidStatesAreReportedByField) {
  const ServerProcess server;
  const auto stub = server.stub();
  v1::PairRequest good;
  good.set_session_id(open_session(*stub).session_id());
  good.set_step(-1);
  *good.mutable_state() = message_of(ball_at(0.0, 0.1, 1.0));
  ASSERT_TRUE(evaluate_one(*stub, good).has_result());

  v1::PairRequest request = good;
  request.mutable_state()->mutable_x_ab()->mutable_rotation()->set_w(1.5);
  auto response = evaluate_one(*stub, request);
  EXPECT_EQ(response.error().code(), v1::Error::CODE_INVALID_INPUT) << response.DebugString();
  EXPECT_EQ(response.error().field(), "states[0].X_AB.rotation");

  request = good;
  request.mutable_state()->mutable_v_ab()->mutable_linear()->set_y(std::numeric_limits<double>::quiet_NaN());
  response = evaluate_one(*stub, request);
  EXPECT_EQ(response.error().code(), v1::Error::CODE_INVALID_INPUT) << response.DebugString();
  EXPECT_EQ(response.error().field(), "states[0].V_AB.linear.y");

  request = good;
  request.clear_state();
  EXPECT_EQ(evaluate_one(*stub, request).error().field(), "states[0].X_AB");
  EXPECT_TRUE(evaluate_one(*stub, good).has_result());
}

TEST(Rejections, UnknownBackendIsReportedWithTheKnownOnes) {
  const ServerProcess server;
  PairSpec spec = ball_on_ground();
  spec.backend = "florse";
  const Error error = memory_error_of([&] { open_session(*server.stub(), spec); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_input);
  EXPECT_TRUE(mentions(error, "hunt_crossley") && mentions(error, "flores")) << error.what();
}

TEST(Rejections, UnknownParameterAndMissingSurfaceAreReportedByField) {
  const ServerProcess server;
  const auto stub = server.stub();
  PairSpec spec = ball_on_ground();
  spec.parameters["stifness"] = 1.0;
  const Error error = memory_error_of([&] { open_session(*stub, spec); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_input);
  EXPECT_TRUE(mentions(error, "stifness") && mentions(error, "did you mean 'stiffness'")) << error.what();
  EXPECT_NE(error.field().find("stifness"), std::string::npos) << error.field();

  v1::OpenSessionRequest request;
  request.set_contract(contract_version);
  *request.mutable_pair() = message_of(ball_on_ground());
  request.mutable_pair()->mutable_partner()->clear_surface();
  EXPECT_EQ(memory_error_of([&] { open_session(*stub, request); }).field(), "pair.partner.surface");
}

TEST(Rejections, ContractMismatchIsRejected) {
  const ServerProcess server;
  v1::OpenSessionRequest request;
  *request.mutable_pair() = message_of(ball_on_ground());
  request.set_contract(contract_version + 1);
  const Error error = memory_error_of([&] { open_session(*server.stub(), request); });
  EXPECT_EQ(error.code(), ErrorCode::version_mismatch) << error.what();
}

TEST(Rejections, UnknownAndExpiredSessionsAreNotFound) {
  const ServerProcess server({"--idle-timeout", "0.3"});
  const auto stub = server.stub();
  v1::PairRequest request;
  request.set_session_id("no-such-session");
  request.set_step(-1);
  *request.mutable_state() = message_of(ball_at(0.0, 0.1, 1.0));
  EXPECT_EQ(evaluate_one(*stub, request).error().code(), v1::Error::CODE_NOT_FOUND);

  request.set_session_id(open_session(*stub).session_id());
  EXPECT_TRUE(evaluate_one(*stub, request).has_result());
  ASSERT_TRUE(server.wait_for_log("event=session_expired")) << server.log();
  const v1::Error error = evaluate_one(*stub, request).error();
  EXPECT_EQ(error.code(), v1::Error::CODE_NOT_FOUND);
  EXPECT_NE(error.message().find("0.3 s"), std::string::npos) << error.message();
}

TEST(Rejections, RequestAboveTheSizeLimitAffectsNoOtherClient) {
  const ServerProcess server({"--max-message-mib", "1"});
  const auto stub = server.stub();
  const auto other = open_contact(server.address());
  v1::EvaluateBatchRequest request;
  request.set_session_id(open_session(*stub).session_id());
  while (request.ByteSizeLong() < (std::size_t{2} << 20)) {
    for (int i = 0; i < 1000; ++i) *request.add_states() = message_of(ball_at(0.0, 0.1, 1.0));
  }
  v1::EvaluateBatchResponse response;
  const Error error = memory_error_of([&] {
    rpc::call("EvaluateBatch", {}, [&](auto& context) { return stub->EvaluateBatch(&context, request, &response); });
  });
  EXPECT_EQ(error.code(), ErrorCode::limit) << error.what();
  EXPECT_FALSE(bounce(*other, 3).empty());
}

TEST(Rejections, SessionLimitDoesNotAffectOpenSessions) {
  const ServerProcess server({"--max-sessions", "2"});
  const auto first = open_contact(server.address());
  auto second = open_contact(server.address());
  const Error error = memory_error_of([&] { open_contact(server.address()); });
  EXPECT_EQ(error.code(), ErrorCode::limit);
  EXPECT_TRUE(mentions(error, "all 2 sessions") && mentions(error, "--max-sessions")) << error.what();
  EXPECT_FALSE(bounce(*first, 3).empty());
  second.reset();
  EXPECT_FALSE(bounce(*open_contact(server.address()), 3).empty());
}

TEST(Rejections, NamedAssetsStayInTheirFolder) {
  const TemporaryFolder assets;
  const ServerProcess server({"--assets-folder", assets.path("")});
  const auto stub = server.stub();
  for (const std::string name : {"../etc/passwd", "/etc/passwd", "..", ".hidden", "a/b.stl", "a\\b", "missing.stl"}) {
    PairSpec spec = ball_on_ground();
    spec.backend = "flores";
    spec.partner.surface =
        MeshSurface{.sha256 = {}, .asset_name = name, .format = "stl", .length_scale = 1.0, .X_BodyMesh = {}};
    const Error error = memory_error_of([&] { open_session(*stub, spec); });
    EXPECT_TRUE(error.code() == ErrorCode::invalid_input || error.code() == ErrorCode::not_found) << error.what();
  }
}

TEST(Rejections, InvalidBytesOnThePortAreSurvived) {
  const ServerProcess server({}, {"127.0.0.1:0"});
  const int port = std::stoi(server.address().substr(server.address().rfind(':') + 1));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::mt19937 engine(1);
  for (int attempt = 0; attempt < 20; ++attempt) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    std::string bytes = attempt % 2 == 0 ? "" : "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";  // invalid after a valid start
    for (int i = 0; i < 4096; ++i) bytes.push_back(static_cast<char>(engine()));
    (void)::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    ::close(socket);
  }
  EXPECT_FALSE(bounce(*open_contact(server.address()), 3).empty());
}

}  // namespace
}  // namespace heelstrike::testing_support
