// Invalid requests to finite-element back-ends over the wire: the server returns a typed error and continues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "common/errors/error.hpp"
#include "common/process/version.hpp"
#include "rpc/call.hpp"
#include "scenario/surfaces/block.hpp"
#include "scenario/surfaces/plane.hpp"
#include "server_process.hpp"

namespace heelstrike::testing_support {
namespace {

using testing::HasSubstr;

/// A block of 20 mm, clamped at its top, over a plane.
v1::PairSpec block_over_plane() {
  PairSpec spec;
  spec.name = "block-ground";
  spec.backend = "fem_condensed";
  spec.parameters = {{"element_size", 0.01},
                     {"clamped_set", std::string("top")},
                     {"contact_set", std::string("bottom")},
                     {"max_penetration", 0.004}};
  spec.main = {.name = "block",
               .surface = BlockSurface{.lengths = Vector3::Constant(0.02), .center = Vector3::Zero()},
               .materials = {{.youngs_modulus = 2e6, .poissons_ratio = 0.3, .density = 1000.0, .set = ""}}};
  spec.partner = {.name = "ground", .surface = PlaneSurface{}, .materials = {}};
  return message_of(spec);
}

/// Response with the plane `depth` [m] above the sole of the block.
v1::PairResponse pressed(v1::ContactService::Stub& stub, const std::string& session, double depth) {
  PairState state;
  state.X_AB.p = Vector3(0.0, 0.0, -0.01 + depth);
  v1::PairRequest request;
  request.set_session_id(session);
  request.set_step(-1);
  *request.mutable_state() = message_of(state);
  return evaluate_one(stub, request);
}

TEST(FemRejections, ExcessivePenetrationIsRecoverableWithoutSideEffects) {
  ServerProcess server({"--cache-dir", ""});
  const auto stub = server.stub();
  v1::OpenSessionRequest request;
  request.set_contract(contract_version);
  *request.mutable_pair() = block_over_plane();
  const std::string session = open_session(*stub, request).session_id();
  const v1::PairResponse before = pressed(*stub, session, 1e-4);
  ASSERT_TRUE(before.has_result()) << before.DebugString();
  EXPECT_GT(before.result().f_a().force().z(), 0.0);
  const v1::PairResponse deep = pressed(*stub, session, 0.0045);
  EXPECT_EQ(deep.error().code(), v1::Error::CODE_RECOVERABLE) << deep.DebugString();
  EXPECT_THAT(deep.error().message(), HasSubstr("overlap by 0.0045 m, deeper than max_penetration = 0.004 m"));
  EXPECT_EQ(pressed(*stub, session, 1e-4).SerializeAsString(), before.SerializeAsString());
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
}

TEST(FemRejections, InvalidMaterialsAreReportedByField) {
  ServerProcess server({"--cache-dir", ""});
  const auto stub = server.stub();
  const auto rejected = [&](const std::function<void(v1::Material&)>& change) {
    v1::OpenSessionRequest request;
    request.set_contract(contract_version);
    *request.mutable_pair() = block_over_plane();
    change(*request.mutable_pair()->mutable_main()->mutable_materials(0));
    try {
      (void)open_session(*stub, request);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input) << error.what();
      return error.field();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(rejected([](auto& m) { m.set_poissons_ratio(0.5); }), "pair.main.materials[0].poissons_ratio");
  EXPECT_EQ(rejected([](auto& m) { m.set_poissons_ratio(-0.1); }), "pair.main.materials[0].poissons_ratio");
  EXPECT_EQ(rejected([](auto& m) { m.set_youngs_modulus(0.0); }), "pair.main.materials[0].youngs_modulus");
  EXPECT_EQ(rejected([](auto& m) { m.set_youngs_modulus(-2e6); }), "pair.main.materials[0].youngs_modulus");
  EXPECT_EQ(rejected([](auto& m) { m.set_density(-1.0); }), "pair.main.materials[0].density");
  EXPECT_EQ(rejected([](auto&) {}), "accepted");
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
}

}  // namespace
}  // namespace heelstrike::testing_support
