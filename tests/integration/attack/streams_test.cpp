// Idle streams: a client that opens many of them does not block others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <deque>
#include <filesystem>
#include <map>
#include <memory>

#include "rpc/call.hpp"
#include "rpc/channel.hpp"
#include "rpc/message_socket.hpp"
#include "tests/integration/attack/raw_runs.hpp"
#include "tests/integration/cli/program.hpp"
#include "tests/integration/cli/scenarios.hpp"
#include "tests/integration/cli/server_pair.hpp"
#include "tests/integration/contact_service/server_process.hpp"

namespace heelstrike::testing_support {
namespace {

using cli_test::eventually;
using Stream = grpc::ClientReaderWriter<v1::ExchangeRequest, v1::ExchangeResponse>;

/// Exchange streams over many connections.
class IdleStreams {
 public:
  IdleStreams(const std::string& address, int n_connections, int n_streams) {
    for (int c = 0; c < n_connections; ++c) {
      stubs_.push_back(v1::ContactService::NewStub(rpc::make_channel({.address = address, .tls = {}})));
      for (int s = 0; s < n_streams; ++s) streams_.push_back(stubs_.back()->Exchange(&contexts_.emplace_back()));
    }
  }
  ~IdleStreams() {
    for (auto& context : contexts_) context.TryCancel();
    for (auto& stream : streams_) (void)stream->Finish();
  }
  IdleStreams(const IdleStreams&) = delete;
  IdleStreams& operator=(const IdleStreams&) = delete;
  [[nodiscard]] Stream& stream(std::size_t i) { return *streams_.at(i); }
  [[nodiscard]] std::size_t size() const { return streams_.size(); }

 private:
  std::vector<std::unique_ptr<v1::ContactService::Stub>> stubs_;
  std::deque<grpc::ClientContext> contexts_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

std::map<std::string, v1::Capacity::Slot> capacity(v1::ContactService::Stub& stub) {
  v1::Capacity result;
  rpc::call("GetCapacity", {.reconnect_timeout = std::chrono::milliseconds{20'000}},
            [&](auto& context) { return stub.GetCapacity(&context, {}, &result); });
  std::map<std::string, v1::Capacity::Slot> places;
  for (const auto& place : result.slots()) places[place.resource()] = place;
  return places;
}

TEST(Streams, IdleStreamsDoNotBlockOtherClients) {
  const ServerProcess server({}, {"127.0.0.1:0"});
  const auto early = open_contact(server.address());
  const IdleStreams idlers(server.address(), 12, 100);
  const auto stub = server.stub();
  EXPECT_TRUE(eventually([&] { return capacity(*stub)["exchange streams"].used() > 100U; }));
  auto places = capacity(*stub);
  EXPECT_EQ(places["exchange streams"].limit(), 1024U);
  EXPECT_EQ(places["exchange streams of this client"].limit(), 512U);
  EXPECT_LE(places["exchange streams of this client"].used(), 512U);
  EXPECT_FALSE(bounce(*open_contact(server.address()), 3).empty()) << "a new client is accepted";
  EXPECT_FALSE(bounce(*early, 3).empty()) << "and the existing client continues";
}

TEST(Streams, WithoutSessionsAreClosed) {
  const ServerProcess server({"--unused-stream-timeout", "0.2"}, {"127.0.0.1:0"});
  const auto stub = server.stub();
  const auto streaming = open_contact(server.address());
  IdleStreams idlers(server.address(), 2, 20);
  // A request for an unknown session does not hold one.
  v1::ExchangeRequest request;
  request.set_kind(v1::ExchangeRequest::KIND_ATTACH);
  request.add_pairs()->set_session_id("nobody's");
  ASSERT_TRUE(idlers.stream(0).Write(request));
  EXPECT_TRUE(eventually([&] { return capacity(*stub)["exchange streams"].used() == 1; }));
  v1::ExchangeResponse reply;
  for (std::size_t i = 1; i < idlers.size(); ++i) EXPECT_FALSE(idlers.stream(i).Read(&reply));
  EXPECT_FALSE(bounce(*streaming, 2).empty()) << "a stream with sessions remains open";
}

TEST(Streams, InactiveStreamsAreReplaced) {
  const ServerProcess server({"--max-streams", "6", "--max-streams-per-client", "6", "--min-lease", "0.2"},
                             {"127.0.0.1:0"});
  std::vector<std::unique_ptr<Contact>> contacts;
  // Seven clients share six places: each is served on request, because the others are idle meanwhile.
  for (int i = 0; i < 7; ++i) contacts.push_back(open_contact(server.address()));
  const std::string expected = bounce(*open_contact(server.address()), 5);
  for (auto& contact : contacts) EXPECT_EQ(bounce(*contact, 5), expected);
}

TEST(Streams, UploadAndReflectionStreamsDoNotBlockOtherClients) {
  const ServerProcess server({"--max-threads", "300"}, {"127.0.0.1:0"});
  std::deque<grpc::ClientContext> contexts;
  std::vector<std::unique_ptr<v1::ContactService::Stub>> stubs;
  std::vector<std::unique_ptr<grpc::ClientWriter<v1::UploadAssetRequest>>> uploads;
  v1::UploadAssetResponse response;
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  const grpc::internal::RpcMethod reflect("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                                          grpc::internal::RpcMethod::BIDI_STREAMING);
  std::vector<std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>>> requests;
  for (int c = 0; c < 4; ++c) {
    channels.push_back(rpc::make_channel({.address = server.address(), .tls = {}}));
    stubs.push_back(v1::ContactService::NewStub(channels.back()));
    for (int s = 0; s < 50; ++s) {
      uploads.push_back(stubs.back()->UploadAsset(&contexts.emplace_back(), &response));
      requests.emplace_back(grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>::Create(
          channels.back().get(), reflect, &contexts.emplace_back()));
    }
  }
  EXPECT_FALSE(bounce(*open_contact(server.address()), 3).empty());
  for (auto& context : contexts) context.TryCancel();
  for (auto& upload : uploads) (void)upload->Finish();
  for (auto& question : requests) (void)question->Finish();
}

TEST(Streams, WatchStreamsAreCountedPerClient) {
  const cli_test::ScratchFolder folder;
  const cli_test::ServerPair servers(folder.path(), {}, {"--max-watchers", "6"});
  RawRuns runs(servers.mbs_address);
  const std::string id =
      runs.submit(cli_test::ball_scenario("end_time: 0.5", "end_time: 1.0e5, budget: {rows: 1000000000}"));
  std::deque<grpc::ClientContext> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::RunEvent>>> watchers;
  v1::WatchRunRequest request;
  request.set_run_id(id);
  v1::RunEvent event;
  for (int i = 0; i < 3; ++i) {
    watchers.push_back(runs.stub().WatchRun(&contexts.emplace_back(), request));
    ASSERT_TRUE(watchers.back()->Read(&event));
  }
  EXPECT_EQ(code_of([&] { runs.watch(id); }), ErrorCode::limit) << "half of the places are for others";
  for (auto& context : contexts) context.TryCancel();
  for (auto& watcher : watchers) (void)watcher->Finish();
  runs.cancel(id);
  std::string status;
  EXPECT_TRUE(eventually([&] {
    try {
      status = runs.watch(id).status();
    } catch (const Error& error) {
      status = error.what();  // the places of disconnected clients are free soon
    }
    return status == "cancelled";
  })) << status;
}

TEST(Sockets, HaveTheirModeForAnyUmask) {
  const mode_t before = ::umask(0);
  const TemporaryFolder folder;
  for (const auto& [mask, option, expected] :
       {std::tuple{0000U, "", 0600U}, {0777U, "", 0600U}, {0077U, "660", 0660U}}) {
    ::umask(mask);
    std::vector<std::string> arguments;
    if (*option != '\0') arguments = {"--socket-mode", option};
    const std::string path = folder.path("fem.sock");
    {
      const ServerProcess server(arguments, {"unix:" + path});
      for (const std::string& file : {path, path + ".messages"}) {
        struct stat info {};
        ASSERT_EQ(::stat(file.c_str(), &info), 0) << file;
        EXPECT_EQ(info.st_mode & 0777U, expected) << file << " with umask " << mask;
      }
    }
    ::umask(0);
  }
  ::umask(before);
}

// The server stores the ticket before its client has it, and does not replace it by newer ones.
TEST(Sockets, FirstTicketIsValid) {
  const ServerProcess server;
  const rpc::Address address = rpc::parse_address(server.address(1));
  const auto stub = server.stub(1);
  for (int i = 0; i < 20; ++i) {
    auto [socket, ticket] = rpc::connect_message_socket(address, std::size_t{8} << 20U, std::chrono::seconds{20});
    ASSERT_NE(socket, nullptr);
    std::vector<rpc::TicketedSocket> later;
    for (int k = 0; k < 70; ++k) {
      later.push_back(rpc::connect_message_socket(address, std::size_t{8} << 20U, std::chrono::seconds{20}));
    }
    grpc::ClientContext context;
    context.AddMetadata(rpc::ticket_metadata, ticket);
    const auto stream = stub->Exchange(&context);
    v1::ExchangeRequest request;
    request.set_kind(v1::ExchangeRequest::KIND_ATTACH);
    request.add_pairs()->set_session_id("nobody's");
    const auto soon = std::chrono::system_clock::now() + std::chrono::seconds{20};
    ASSERT_EQ(socket->send(request, soon), rpc::MessageSocket::Outcome::done);
    v1::ExchangeResponse reply;
    EXPECT_EQ(socket->receive(reply, soon), rpc::MessageSocket::Outcome::done) << i;
    EXPECT_TRUE(reply.pairs(0).has_error());
    socket->shut_down();
    v1::ExchangeResponse none;
    while (stream->Read(&none)) {
    }
    EXPECT_TRUE(stream->Finish().ok());
  }
}

}  // namespace
}  // namespace heelstrike::testing_support
