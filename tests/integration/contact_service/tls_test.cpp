// TLS and mutual TLS with certificates made by the test.
#include <gtest/gtest.h>

#include "common/errors/error.hpp"
#include "server_process.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/child_environment.hpp"

namespace heelstrike::testing_support {
namespace {

class Tls : public testing::Test {
 protected:
  [[nodiscard]] std::string certificate(const std::string& name) const { return certificates_.certificate(name); }

  [[nodiscard]] std::vector<std::string> server_options() const {
    return {"--tls-cert", certificate("server"), "--tls-key", certificates_.key("server")};
  }

  [[nodiscard]] rpc::ClientTls client(const std::string& ca, const std::string& name) const {
    rpc::ClientTls tls{.ca_file = certificate(ca), .certificate_file = {}, .key_file = {}, .authority = "contact.test"};
    if (!name.empty()) {
      tls.certificate_file = certificate(name);
      tls.key_file = certificates_.key(name);
    }
    return tls;
  }

  static bool works(const std::string& address, const rpc::ClientTls& tls) {
    try {
      const auto contact =
          open_contact(rpc::RemoteContactOptions{.endpoint = {.address = address, .tls = tls},
                                                 .connect_timeout = scaled_time_limit(std::chrono::milliseconds{1500}),
                                                 .call_timeout = scaled_time_limit(std::chrono::milliseconds{3000})});
      return !bounce(*contact, 3).empty();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unavailable) << error.what();
      return false;
    }
  }

 private:
  TemporaryFolder folder_;
  Certificates certificates_{folder_.path("")};
};

TEST_F(Tls, ServerIsVerifiedByAuthorityAndName) {
  const ServerProcess server(server_options(), {"127.0.0.1:0"});
  EXPECT_TRUE(works(server.address(), client("ca", "")));
  EXPECT_FALSE(works(server.address(), client("other", "")));
  EXPECT_FALSE(works(server.address(), {}));  // no TLS against TLS
  rpc::ClientTls other_name = client("ca", "");
  other_name.authority = "somebody.else";
  EXPECT_FALSE(works(server.address(), other_name));
}

TEST_F(Tls, MutualTlsAcceptsKnownClientsOnly) {
  auto options = server_options();
  options.insert(options.end(), {"--tls-client-ca", certificate("ca")});
  const ServerProcess server(options, {"127.0.0.1:0"});
  EXPECT_TRUE(works(server.address(), client("ca", "client")));
  EXPECT_FALSE(works(server.address(), client("ca", "")));
  EXPECT_FALSE(works(server.address(), client("ca", "stranger")));
}

TEST_F(Tls, IncompleteKeyPairIsRejectedByTheClient) {
  rpc::ClientTls tls = client("ca", "client");
  tls.key_file.clear();
  try {
    (void)rpc::make_channel({.address = "127.0.0.1:1", .tls = tls});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
  }
}

}  // namespace
}  // namespace heelstrike::testing_support
