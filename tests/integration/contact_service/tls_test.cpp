// TLS and mutual TLS with certificates made on the spot.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "common/errors/error.hpp"
#include "server_process.hpp"
#include "tests/support/child_environment.hpp"

namespace heelstrike::testing_support {
namespace {

/// An authority with a certificate for "contact.test" and one for a client, and a second authority nobody trusts.
class Tls : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(file("server.ext")) << "subjectAltName=DNS:contact.test\n";
    for (const std::string ca : {"ca", "other"}) {
      run("req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=" + ca + " -keyout " + file(ca + ".key") + " -out " +
          file(ca + ".pem"));
    }
    issue("server", "ca", " -extfile " + file("server.ext"));
    issue("client", "ca", "");
    issue("stranger", "other", "");
  }

  void issue(const std::string& name, const std::string& ca, const std::string& extensions) {
    run("req -newkey rsa:2048 -nodes -subj /CN=" + name + " -keyout " + file(name + ".key") + " -out " +
        file(name + ".csr"));
    run("x509 -req -days 2 -in " + file(name + ".csr") + " -CA " + file(ca + ".pem") + " -CAkey " + file(ca + ".key") +
        " -CAcreateserial -out " + file(name + ".pem") + extensions);
  }

  static void run(const std::string& arguments) {
    const std::string command = "openssl " + arguments + " >/dev/null 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }

  [[nodiscard]] std::string file(const std::string& name) const { return folder_.path(name); }

  [[nodiscard]] std::vector<std::string> server_options() const {
    return {"--tls-cert", file("server.pem"), "--tls-key", file("server.key")};
  }

  [[nodiscard]] rpc::ClientTls client(const std::string& ca, const std::string& certificate) const {
    rpc::ClientTls tls{
        .ca_file = file(ca + ".pem"), .certificate_file = {}, .key_file = {}, .authority = "contact.test"};
    if (!certificate.empty()) {
      tls.certificate_file = file(certificate + ".pem");
      tls.key_file = file(certificate + ".key");
    }
    return tls;
  }

  static bool works(const std::string& address, const rpc::ClientTls& tls) {
    try {
      const auto contact =
          open_contact(rpc::RemoteContactOptions{.endpoint = {.address = address, .tls = tls},
                                                 .connect_timeout = patience(std::chrono::milliseconds{1500}),
                                                 .call_timeout = patience(std::chrono::milliseconds{3000})});
      return !bounce(*contact, 3).empty();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unavailable) << error.what();
      return false;
    }
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(Tls, ServerIsTrustedByItsAuthorityAndNameOnly) {
  const ServerProcess server(server_options(), {"127.0.0.1:0"});
  EXPECT_TRUE(works(server.address(), client("ca", "")));
  EXPECT_FALSE(works(server.address(), client("other", "")));
  EXPECT_FALSE(works(server.address(), {}));  // no TLS against TLS
  rpc::ClientTls other_name = client("ca", "");
  other_name.authority = "somebody.else";
  EXPECT_FALSE(works(server.address(), other_name));
}

TEST_F(Tls, MutualTlsLetsOnlyKnownClientsIn) {
  auto options = server_options();
  options.insert(options.end(), {"--tls-client-ca", file("ca.pem")});
  const ServerProcess server(options, {"127.0.0.1:0"});
  EXPECT_TRUE(works(server.address(), client("ca", "client")));
  EXPECT_FALSE(works(server.address(), client("ca", "")));
  EXPECT_FALSE(works(server.address(), client("ca", "stranger")));
}

TEST_F(Tls, HalfAKeyPairIsRefusedByTheClient) {
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
