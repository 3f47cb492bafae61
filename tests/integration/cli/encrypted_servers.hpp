/// Both servers with mutual TLS; the multibody server is a client of the contact server with its own certificate.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/integration/cli/program.hpp"
#include "tests/support/certificates.hpp"

namespace heelstrike::cli_test {

class EncryptedServers : public testing::Test {
 protected:
  void SetUp() override {
    fem = std::make_unique<Program>("fem_server", with_tls({"--listen", fem_address}));
    ASSERT_TRUE(fem->wait_for_output("event=listening")) << fem->output();
    start_mbs();
  }
  void start_mbs() {
    mbs = std::make_unique<Program>(
        "mbs_server",
        with_tls({"--listen", mbs_address, "--spool", (folder.path() / "spool").string(), "--fem", fem_address,
                  "--fem-tls-ca", certificates.certificate("ca"), "--fem-tls-cert", certificates.certificate("client"),
                  "--fem-tls-key", certificates.key("client"), "--fem-tls-authority", "contact.test"}));
    ASSERT_TRUE(mbs->wait_for_output("event=listening")) << mbs->output();
  }
  [[nodiscard]] std::vector<std::string> with_tls(std::vector<std::string> options) const {
    options.insert(options.end(), {"--tls-cert", certificates.certificate("server"), "--tls-key",
                                   certificates.key("server"), "--tls-client-ca", certificates.certificate("ca")});
    return options;
  }

  ScratchFolder folder;
  testing_support::Certificates certificates{folder.path()};
  std::string fem_address = "unix:" + (folder.path() / "fem.sock").string();
  std::string mbs_address = "unix:" + (folder.path() / "mbs.sock").string();
  std::unique_ptr<Program> fem;
  std::unique_ptr<Program> mbs;
};

}  // namespace heelstrike::cli_test
