// Loads of regions over the wire: the bits of a local contact, and the handling of servers that do not report them.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/contact/contact.hpp"
#include "common/errors/error.hpp"
#include "common/process/version.hpp"
#include "fem_server/sessions/local_contact.hpp"
#include "rpc/wire/contact_wire.hpp"
#include "scenario/surfaces/knee.hpp"
#include "server_process.hpp"

namespace heelstrike::testing_support {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

PairSpec knee() {
  const Material cartilage{.youngs_modulus = 10e6, .poissons_ratio = 0.45, .density = 0.0, .set = {}};
  PairSpec pair;
  pair.name = "knee";
  pair.backend = "elastic_foundation";
  pair.parameters = {{"thickness", 0.0025}, {"partner_thickness", 0.002}, {"friction", 0.05}, {"regions", "sets x+"}};
  pair.main = {.name = "tibia",
               .surface = KneeSurface{.dimensions = {}, .is_tibia = true, .edge = 0.003},
               .materials = {cartilage}};
  pair.partner = {.name = "femur", .surface = KneeSurface{.dimensions = {}, .edge = 0.003}, .materials = {cartilage}};
  return pair;
}

PairState pressed(int step) {
  PairState state;
  state.t = 0.01 * step;
  state.X_AB = {.R = rotation_from_vector({-0.002 * step, 0.01, 0.0}), .p = {0.0, 0.0003 - 0.0002 * step, 0.0}};
  state.V_AB = {.w = {-0.2, 0.0, 0.0}, .v = {0.01, -0.02, 0.0}};
  return state;
}

TEST(RemoteRegions, EqualThoseOfALocalContact) {
  const ServerProcess server;
  const std::vector<PairSpec> pairs{knee()};
  const auto remote = rpc::open_remote_contact({.endpoint = {.address = server.address(), .tls = {}}})(pairs, {}, {});
  const auto local = fem::open_local_contact(pairs, {}, {});
  EXPECT_THAT(remote->pairs().front().regions, ElementsAre("medial", "lateral", "x+"));
  EXPECT_EQ(remote->pairs().front().regions, local->pairs().front().regions);
  int n_loaded = 0;
  for (int step = 0; step < 4; ++step) {
    const PairState state = pressed(step);
    Response a, b;
    remote->evaluate(step, 0, {&state, 1}, {&a, 1});
    local->evaluate(step, 0, {&state, 1}, {&b, 1});
    ASSERT_EQ(a.regions.size(), 3U);
    EXPECT_EQ(a.regions, b.regions);
    const auto posted = remote->post(RequestKind::evaluate, step, {&state, 1});
    remote->drain();
    EXPECT_EQ(posted->responses.front().regions, b.regions);
    const auto batch = [&](Contact& contact) {
      return contact.evaluate_batch(0, {&state, 1}, false, {}).front().response.regions;
    };
    EXPECT_EQ(batch(*remote), batch(*local));
    remote->commit(step, {&state, 1}, {&a, 1});
    local->commit(step, {&state, 1}, {&b, 1});
    EXPECT_EQ(a.regions, b.regions);
    n_loaded += b.regions.front().force > 0.0 ? 1 : 0;
    // A repeated commit has the same response, also after its history was saved and restored.
    remote->restore_state(local->save_state());
    remote->commit(step, {&state, 1}, {&a, 1});
    EXPECT_EQ(a.regions, b.regions);
  }
  EXPECT_GT(n_loaded, 0);
  EXPECT_LT(n_loaded, 4);
}

/// Opens sessions and returns one result for every request, like a server with the given number of regions.
class FakeService final : public v1::ContactService::Service {
 public:
  FakeService(std::vector<std::string> named, int n_results) : named_(std::move(named)), n_results_(n_results) {}

 private:
  grpc::Status GetVersion(grpc::ServerContext* /*context*/, const v1::GetVersionRequest* /*request*/,
                          v1::VersionInfo* version) override {
    version->set_contract(contract_version);
    return grpc::Status::OK;
  }
  grpc::Status OpenSession(grpc::ServerContext* /*context*/, const v1::OpenSessionRequest* request,
                           grpc::ServerWriter<v1::OpenSessionResponse>* writer) override {
    v1::OpenSessionResponse response;
    auto& opened = *response.mutable_opened();
    opened.set_session_id("one");
    opened.set_pair(request->pair().name());
    opened.set_backend(request->pair().backend());
    opened.mutable_regions()->Assign(named_.begin(), named_.end());
    writer->Write(response);
    return grpc::Status::OK;
  }
  grpc::Status Exchange(grpc::ServerContext* /*context*/,
                        grpc::ServerReaderWriter<v1::ExchangeResponse, v1::ExchangeRequest>* stream) override {
    Response response;
    response.regions.resize(static_cast<std::size_t>(n_results_));
    for (v1::ExchangeRequest request; stream->Read(&request);) {
      v1::ExchangeResponse reply;
      reply.set_sequence(request.sequence());
      for (int i = 0; i < request.pairs_size(); ++i) {
        auto& pair = *reply.add_pairs();
        if (request.kind() != v1::ExchangeRequest::KIND_ATTACH) wire::to_proto(response, *pair.mutable_result());
      }
      stream->Write(reply);
    }
    return grpc::Status::OK;
  }
  grpc::Status CloseSession(grpc::ServerContext* /*context*/, const v1::CloseSessionRequest* /*request*/,
                            v1::CloseSessionResponse* /*response*/) override {
    return grpc::Status::OK;
  }

  std::vector<std::string> named_;
  int n_results_;
};

/// The contact of a fake server, and its reported stages.
class FakeContact {
 public:
  FakeContact(std::vector<std::string> named, int n_results, const PairSpec& pair)
      : service_(std::move(named), n_results) {
    const std::string address = "unix:" + folder_.path("fake.sock");
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    contact_ = rpc::open_remote_contact({.endpoint = {.address = address, .tls = {}}})(
        {&pair, 1}, {},
        {.run_id = "test",
         .on_progress = [this](std::string_view stage, double /*fraction*/) { stages_.emplace_back(stage); },
         .stop = {}});
  }
  [[nodiscard]] Contact& contact() { return *contact_; }
  [[nodiscard]] const std::vector<std::string>& stages() const { return stages_; }

 private:
  TemporaryFolder folder_;
  FakeService service_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::string> stages_;
  std::unique_ptr<Contact> contact_;
};

TEST(RemoteRegions, MissingInAnOldServerAreReported) {
  FakeContact old({}, 0, knee());
  EXPECT_THAT(old.contact().pairs().front().regions, IsEmpty());
  EXPECT_THAT(old.stages(), Contains(AllOf(HasSubstr("warning: "), HasSubstr("contact.knee"), HasSubstr("update"))));
  const PairState state = pressed(1);
  Response response;
  old.contact().evaluate(0, 0, {&state, 1}, {&response, 1});
  EXPECT_THAT(response.regions, IsEmpty());
  PairSpec plain = knee();
  plain.parameters["regions"] = "";
  FakeContact without_regions({}, 0, plain);
  EXPECT_THAT(without_regions.stages(), IsEmpty());
}

TEST(RemoteRegions, WithAWrongCountAreRejected) {
  FakeContact odd({"medial", "lateral"}, 1, knee());
  const PairState state = pressed(1);
  Response response;
  try {
    odd.contact().evaluate(0, 0, {&state, 1}, {&response, 1});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::internal);
    EXPECT_THAT(e.what(), AllOf(HasSubstr("'knee'"), HasSubstr("1 regions instead of 2")));
  }
}

}  // namespace
}  // namespace heelstrike::testing_support
