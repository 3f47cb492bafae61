/// A running fem_server and mbs_server for clients.
#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <memory>
#include <string>

#include "tests/integration/cli/program.hpp"

namespace heelstrike::cli_test {

/// Both on Unix sockets in `folder`; ended with SIGTERM, with a check of their regular end.
struct ServerPair {
  explicit ServerPair(const std::filesystem::path& folder, std::map<std::string, std::string> mbs_environment = {},
                      std::vector<std::string> mbs_arguments = {}, std::vector<std::string> fem_arguments = {})
      : fem_address("unix:" + (folder / "fem.sock").string()), mbs_address("unix:" + (folder / "mbs.sock").string()) {
    fem_arguments.insert(fem_arguments.begin(), {"--listen", fem_address});
    fem = std::make_unique<Program>("fem_server", fem_arguments);
    std::vector<std::string> arguments = {"--listen",  mbs_address, "--fem",
                                          fem_address, "--spool",   (folder / "spool").string()};
    arguments.insert(arguments.end(), mbs_arguments.begin(), mbs_arguments.end());
    mbs = std::make_unique<Program>(
        "mbs_server", arguments, ProgramOptions{.working_folder = folder, .environment = std::move(mbs_environment)});
    EXPECT_TRUE(fem->wait_for_output("event=listening")) << fem->output();
    EXPECT_TRUE(mbs->wait_for_output("event=listening")) << mbs->output();
  }
  ~ServerPair() {
    for (Program* server : {mbs.get(), fem.get()}) {
      if (server == nullptr) continue;
      server->signal(SIGTERM);
      EXPECT_EQ(server->wait().exit_code, 0) << server->output();
    }
  }
  ServerPair(const ServerPair&) = delete;
  ServerPair& operator=(const ServerPair&) = delete;

  std::string fem_address;
  std::string mbs_address;
  std::unique_ptr<Program> fem;
  std::unique_ptr<Program> mbs;
};

}  // namespace heelstrike::cli_test
