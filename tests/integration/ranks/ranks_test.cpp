// heelstrike condense on several ranks: the cache file of one process, other input on one rank, a rank that is killed
// or has too little memory.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/integration/cli/fem_scenarios.hpp"
#include "tests/integration/cli/program.hpp"

namespace heelstrike::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

ProgramOptions with_cache(const ScratchFolder& folder, const std::string& cache) {
  return {.working_folder = folder.path(), .environment = {{"XDG_CACHE_HOME", (folder.path() / cache).string()}}};
}

const std::vector<std::string> mpirun_options{"--allow-run-as-root", "--oversubscribe"};

std::string heelstrike_program() {
  return (fs::path(HEELSTRIKE_BIN_DIR) / "heelstrike").string();
}

std::vector<std::string> on_ranks(int n, const std::vector<std::string>& arguments) {
  std::vector<std::string> all = mpirun_options;
  all.insert(all.end(), {"-n", std::to_string(n), heelstrike_program()});
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

/// One rank each with its own command.
std::vector<std::string> each_with(const std::vector<std::vector<std::string>>& commands) {
  std::vector<std::string> all = mpirun_options;
  for (std::size_t k = 0; k < commands.size(); ++k) {
    if (k > 0) all.emplace_back(":");
    all.insert(all.end(), {"-n", "1"});
    all.insert(all.end(), commands[k].begin(), commands[k].end());
  }
  return all;
}

std::vector<std::string> names_in(const fs::path& folder, const std::string& extension) {
  std::vector<std::string> names;
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    if (file.path().extension() == extension) names.push_back(fs::relative(file.path(), folder).string());
  }
  std::ranges::sort(names);
  return names;
}

/// Numbers of a stored dense compliance, after its first line and two digests.
std::vector<double> compliance_in(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  const std::size_t header = bytes.find('\n') + 1 + 2 * 64;
  std::vector<double> values((bytes.size() - header) / sizeof(double));
  std::memcpy(values.data(), bytes.data() + header, values.size() * sizeof(double));
  return values;
}

/// Prepares on one process and on `n` ranks, and compares the files of the caches.
void expect_same_files(const std::string& scenario, int n, const std::vector<std::string>& more = {}) {
  const ScratchFolder folder;
  std::vector<std::string> arguments{"condense", folder.write("block.yaml", scenario)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Finished alone = run("heelstrike", arguments, with_cache(folder, "one"));
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  const Finished together = run(HEELSTRIKE_MPIRUN, on_ranks(n, arguments), with_cache(folder, "many"));
  ASSERT_EQ(together.exit_code, 0) << together.err << together.out;
  EXPECT_THAT(together.err, AllOf(HasSubstr(fmt::format("on {} ranks takes about", n)), HasSubstr("on one rank")));
  for (const char* extension : {".mesh", ".compressed", ".modes"}) {
    EXPECT_EQ(names_in(folder.path() / "many", extension), names_in(folder.path() / "one", extension));
  }
  const std::vector<std::string> names = names_in(folder.path() / "one", ".compliance");
  ASSERT_EQ(names_in(folder.path() / "many", ".compliance"), names);
  EXPECT_FALSE(names.empty() && names_in(folder.path() / "one", ".compressed").empty());
  for (const std::string& name : names) {
    const std::vector<double> expected = compliance_in(folder.path() / "one" / name);
    const std::vector<double> found = compliance_in(folder.path() / "many" / name);
    ASSERT_EQ(found.size(), expected.size());
    double difference = 0.0;
    double largest = 0.0;
    for (std::size_t k = 0; k < found.size(); ++k) {
      difference = std::max(difference, std::abs(found[k] - expected[k]));
      largest = std::max(largest, std::abs(expected[k]));
    }
    fmt::print("{} numbers, largest {:.3e} m/N, difference {:.1e} of it\n", found.size(), largest,
               difference / largest);
    EXPECT_LE(difference, 1e-10 * largest);  // required
  }
  // The cache of the ranks serves one process, which then has nothing to prepare.
  const Finished after = run("heelstrike", arguments, with_cache(folder, "many"));
  EXPECT_EQ(after.exit_code, 0) << after.err;
  EXPECT_THAT(after.out, AllOf(HasSubstr("loaded from the cache"), testing::Not(HasSubstr("factorize"))));
}

TEST(CondenseOnRanks, WritesTheFilesOfOneProcess) {
  expect_same_files(block_scenario(), 2);
}

TEST(CondenseOnRanks, WritesTheFilesOfOneProcessOnFourRanksForAFreeBody) {
  expect_same_files(block_scenario("clamped_set: top", "support: inertia_relief"), 4);
}

TEST(CondenseOnRanks, WritesTheFilesOfTwoDeformableBodies) {
  expect_same_files(two_block_scenario(), 2);
}

TEST(CondenseOnRanks, WritesACompressedCompliance) {
  expect_same_files(block_scenario(), 2, {"--set", "contact.block-ground.parameters.compliance=compressed"});
}

TEST(CondenseOnRanks, WritesTheVibrationModesOfOneProcess) {
  std::string modal = block_scenario("backend: fem_condensed", "backend: fem_modal");
  modal.erase(modal.find(", friction: 0.5"), std::string(", friction: 0.5").size());
  expect_same_files(modal, 2, {"--set", "contact.block-ground.parameters.modes=5"});
}

TEST(CondenseOnRanks, RejectsOtherInputOfOneRank) {
  const ScratchFolder folder;
  const std::string file = folder.write("block.yaml", block_scenario());
  const std::string other = folder.write("other.yaml", block_scenario("2.0e6", "2.1e6"));
  const std::string program = heelstrike_program();
  const Finished differs =
      run(HEELSTRIKE_MPIRUN, each_with({{program, "condense", file}, {program, "condense", other}}),
          with_cache(folder, "cache"));
  EXPECT_EQ(differs.exit_code, 2) << differs.err;
  EXPECT_THAT(differs.err,
              AllOf(HasSubstr("expected the same scenario, files and version on all 2 ranks"), HasSubstr("rank 1")));
  const Finished missing =
      run(HEELSTRIKE_MPIRUN, each_with({{program, "condense", file}, {program, "condense", file + ".absent"}}),
          with_cache(folder, "cache"));
  EXPECT_EQ(missing.exit_code, 2) << missing.err;
  EXPECT_THAT(missing.err, AllOf(HasSubstr("rank 1: "), HasSubstr("absent")));
}

TEST(ServeOnRanks, RankZeroServesAndAllRanksFactorise) {
  const ScratchFolder folder;
  const std::string file = folder.write("block.yaml", block_scenario());
  const std::string socket = "unix:" + (folder.path() / "fem.sock").string();
  const std::string ready = (folder.path() / "ready").string();
  std::vector<std::string> arguments = mpirun_options;
  arguments.insert(arguments.end(), {"-n", "2", (fs::path(HEELSTRIKE_BIN_DIR) / "fem_server").string(), "--listen",
                                     socket, "--ready-file", ready, "--cache-dir", (folder.path() / "many").string()});
  Program servers(HEELSTRIKE_MPIRUN, arguments, with_cache(folder, "unused"));
  ASSERT_TRUE(eventually([&] { return fs::exists(ready); }, std::chrono::seconds{60})) << servers.output();
  const Finished client = run("heelstrike", {"condense", file, "--fem", socket}, with_cache(folder, "unused"));
  EXPECT_EQ(client.exit_code, 0) << client.err << servers.output();
  EXPECT_THAT(client.err, HasSubstr("on 2 ranks takes about"));
  EXPECT_EQ(names_in(folder.path() / "many", ".compliance").size(), 1U);
  servers.signal(SIGTERM);
  // mpirun has an exit code of its own after a signal.
  EXPECT_THAT(servers.wait().err, HasSubstr("event=stopped"));
}

std::string rank_of(pid_t process) {
  std::ifstream stream(fmt::format("/proc/{}/environ", process), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  const std::string name = "OMPI_COMM_WORLD_RANK=";
  const std::size_t place = bytes.find(name);
  return place == std::string::npos ? "" : bytes.substr(place + name.size(), 1);
}

TEST(CondenseOnRanks, EndsWithAnErrorWhenARankIsKilled) {
  const ScratchFolder folder;
  // Large enough to be at work for seconds after the memory is stated.
  const std::string file = folder.write("block.yaml", block_scenario("element_size: 0.005", "element_size: 0.0015"));
  Program ranks(HEELSTRIKE_MPIRUN, on_ranks(2, {"condense", file, "--json"}), with_cache(folder, "cache"));
  ASSERT_TRUE(ranks.wait_for_output("takes about", std::chrono::seconds{120})) << ranks.output();
  pid_t victim = 0;
  for (const pid_t process : children(ranks.pid(), "heelstrike")) {
    if (rank_of(process) == "1") victim = process;
  }
  ASSERT_NE(victim, 0);
  ASSERT_EQ(::kill(victim, SIGKILL), 0);
  const Finished ended = ranks.wait();
  EXPECT_NE(ended.exit_code, 0);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("rank 1 of 2 ended too early"), HasSubstr(fmt::format("process {}", victim)),
                               HasSubstr("while condensing this body to")));
  EXPECT_THAT(ended.out, HasSubstr("\"code\": \"unavailable\""));
}

TEST(CondenseOnRanks, ReportsARankWithoutMemory) {
  const ScratchFolder folder;
  const std::string file = folder.write("block.yaml", block_scenario("element_size: 0.005", "element_size: 0.0015"));
  const std::string program = heelstrike_program();
  // Enough to start, too little for the factors (92 MB); on a machine with many processors too little to start, because
  // every thread of OpenBLAS maps memory.
  const std::string limited = fmt::format("ulimit -v {}; exec {} condense {}", 950'000, program, file);
  const Finished ended = run(HEELSTRIKE_MPIRUN, each_with({{program, "condense", file}, {"/bin/sh", "-c", limited}}),
                             with_cache(folder, "cache"));
  EXPECT_NE(ended.exit_code, 0);
  EXPECT_THAT(ended.err, AllOf(HasSubstr("memory: "), HasSubstr("available to the process")));
}

}  // namespace
}  // namespace heelstrike::cli_test
