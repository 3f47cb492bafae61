// FMUs for co-simulation in scenarios: permissions, and interrupted runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zip.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/cli/program.hpp"
#include "tests/integration/cli/scenarios.hpp"
#include "tests/integration/cli/server_pair.hpp"

namespace heelstrike::cli_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class GuideFmu : public testing::Test {
 protected:
  GuideFmu() {
    fs::copy_file(examples + "fmi/lift.yaml", folder.path() / "lift.yaml");
    fs::copy_file(HEELSTRIKE_CONTROLLER, folder.path() / "controller.fmu");
  }
  [[nodiscard]] std::vector<std::string> run_into(const std::string& output, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"run", "lift.yaml", "-o", output, "--force", "--set", "output.checkpoint_interval=0.1"});
    return more;
  }
  [[nodiscard]] std::string table(const std::string& output) const {
    return read_text(folder.path() / output / "timeseries.csv");
  }

  const ScratchFolder folder;
  const ProgramOptions here{.working_folder = folder.path(), .environment = {}};
};

TEST_F(GuideFmu, IsLoadedInPrivateServersAndInProcessAndRemotelyByPermission) {
  const Finished own = run("heelstrike", run_into("own"), here);
  ASSERT_EQ(own.exit_code, 0) << own.err;
  const Finished inside = run("heelstrike", run_into("inside", {"--in-process"}), here);
  ASSERT_EQ(inside.exit_code, 0) << inside.err;
  EXPECT_TRUE(table("own") == table("inside"));
  {
    const ScratchFolder sockets;
    const ServerPair shared(sockets.path());
    const Finished rejected = run("heelstrike", run_into("shared", {"--mbs", shared.mbs_address}), here);
    EXPECT_EQ(rejected.exit_code, 2) << rejected.err;
    EXPECT_FALSE(fs::exists(folder.path() / "shared")) << "a run that never began must not leave a folder";
    EXPECT_THAT(rejected.err, HasSubstr("lift.yaml:14: forces.controller.file"));
    EXPECT_THAT(rejected.err, HasSubstr("mbs_server with --allow-fmu"));
  }
  const ScratchFolder sockets;
  const ServerPair trusting(sockets.path(), {}, {"--allow-fmu"});
  const Finished allowed = run("heelstrike", run_into("allowed", {"--mbs", trusting.mbs_address}), here);
  ASSERT_EQ(allowed.exit_code, 0) << allowed.err;
  EXPECT_TRUE(table("allowed") == table("own"));
}

TEST_F(GuideFmu, IsOpenedByValidate) {
  const Finished good = run("heelstrike", {"validate", "lift.yaml"}, here);
  ASSERT_EQ(good.exit_code, 0) << good.err;
  const std::string yaml = read_text(folder.path() / "lift.yaml");
  const auto complaint = [&](const std::string& what, const std::string& by) {
    std::string changed = yaml;
    changed.replace(changed.find(what), what.size(), by);
    std::ofstream(folder.path() / "changed.yaml") << changed;
    const Finished rejected = run("heelstrike", {"validate", "changed.yaml"}, here);
    EXPECT_NE(rejected.exit_code, 0);
    return rejected.err;
  };
  EXPECT_THAT(complaint("variable: force", "variable: farce"), HasSubstr("found 'farce', which it does not have"));
  EXPECT_THAT(complaint("column: lift.z_m", "column: lift.h_m"), HasSubstr("found 'lift.h_m'"));
  std::ofstream(folder.path() / "controller.fmu") << "no unit";
  EXPECT_THAT(complaint("end_time: 5", "end_time: 4"), HasSubstr("expected an FMU (.fmu, a zip archive)"));
}

TEST_F(GuideFmu, DamagedFileEndsTheRunBeforeItsFolder) {
  ASSERT_EQ(run("heelstrike", run_into("whole"), here).exit_code, 0);
  const std::string before = table("whole");
  const std::string unit = read_text(folder.path() / "controller.fmu");
  fs::remove(folder.path() / "controller.fmu");  // may be shared with the build folder
  std::ofstream(folder.path() / "controller.fmu", std::ios::binary) << unit.substr(0, unit.size() / 2);
  const auto expect_rejected = [&](const std::vector<std::string>& arguments) {
    const Finished rejected = run("heelstrike", arguments, here);
    EXPECT_EQ(rejected.exit_code, 2) << arguments.front() << ": " << rejected.err;
    EXPECT_THAT(rejected.err, HasSubstr("lift.yaml:14: forces.controller.file: expected an FMU (.fmu, a zip archive)"));
    EXPECT_FALSE(fs::exists(folder.path() / "out")) << "a run that never began must not leave a folder";
  };
  expect_rejected(run_into("out"));
  expect_rejected(run_into("out", {"--in-process"}));
  expect_rejected({"sweep", "lift.yaml", "--vary", "analysis.end_time=1,2", "-o", "out"});
  expect_rejected({"compare", "lift.yaml", "--schemes", "jacobi", "--macro-steps", "1e-3", "-o", "out"});
  const ScratchFolder sockets;
  const ServerPair trusting(sockets.path(), {}, {"--allow-fmu"});
  expect_rejected(run_into("out", {"--mbs", trusting.mbs_address}));
  expect_rejected(run_into("whole"));
  EXPECT_TRUE(table("whole") == before) << "an earlier run is overwritten only by one that begins";
}

/// Replaces a text by another one of the same length in a member of an FMU.
void replace_in(const fs::path& fmu, const std::string& member, const std::string& text, const std::string& by) {
  int failure = 0;
  zip_t* archive = zip_open(fmu.c_str(), 0, &failure);
  ASSERT_NE(archive, nullptr);
  zip_stat_t size;
  ASSERT_EQ(zip_stat(archive, member.c_str(), 0, &size), 0);
  std::string content(size.size, '\0');
  zip_file_t* file = zip_fopen(archive, member.c_str(), 0);
  ASSERT_EQ(zip_fread(file, content.data(), content.size()), static_cast<zip_int64_t>(content.size()));
  zip_fclose(file);
  for (auto at = content.find(text); at != std::string::npos; at = content.find(text)) {
    content.replace(at, text.size(), by);
  }
  zip_source_t* source = zip_source_buffer(archive, content.data(), content.size(), 0);
  ASSERT_GE(zip_file_add(archive, member.c_str(), source, ZIP_FL_OVERWRITE), 0);
  ASSERT_EQ(zip_close(archive), 0);
}

/// Its file is whole: only loading it, or a call of it, shows that it cannot run.
TEST_F(GuideFmu, FailureToLoadEndsTheRunBeforeItsFolder) {
  const std::string binary = "binaries/x86_64-linux/controller.so", description = "modelDescription.xml";
  struct Damage {
    std::string member, text, by, message;
  };
  for (const Damage& damage :
       {Damage{binary, "libc.so.6", "libq.so.6", "cannot be loaded (libq.so.6"},
        Damage{binary, "fmi3DoStep", "fmi3NoStep", "has no function fmi3DoStep"},
        Damage{description, "heelstrike-example", "heelstrike-exchange", "cannot be instantiated with its token"}}) {
    fs::remove(folder.path() / "controller.fmu");
    fs::copy_file(HEELSTRIKE_CONTROLLER, folder.path() / "controller.fmu");
    replace_in(folder.path() / "controller.fmu", damage.member, damage.text, damage.by);
    for (const std::vector<std::string>& mode : {std::vector<std::string>{}, {"--in-process"}}) {
      const Finished rejected = run("heelstrike", run_into("out", mode), here);
      EXPECT_EQ(rejected.exit_code, 2) << rejected.err;
      EXPECT_THAT(rejected.err, HasSubstr("lift.yaml:14: forces.controller.file"));
      EXPECT_THAT(rejected.err, HasSubstr(damage.message));
      EXPECT_FALSE(fs::exists(folder.path() / "out")) << "a run that never began must not leave a folder";
    }
  }
}

/// Code that ends its process ends a copy of the program.
TEST_F(GuideFmu, ACrashingBinaryIsAnErrorOfTheFile) {
  fs::remove(folder.path() / "controller.fmu");
  fs::copy_file(HEELSTRIKE_CONTROLLER, folder.path() / "controller.fmu");
  // The allocation of an instance becomes a call of abort().
  replace_in(folder.path() / "controller.fmu", "binaries/x86_64-linux/controller.so", "calloc",
             std::string("abort\0", 6));
  for (const char* command : {"validate", "run"}) {
    const Finished rejected = run("heelstrike", {command, (folder.path() / "lift.yaml").string()}, here);
    EXPECT_EQ(rejected.exit_code, 2) << command << rejected.err;
    EXPECT_THAT(rejected.err, HasSubstr("expected code that returns")) << command;
  }
}

/// Values of `--set` may correct the scenario: it is checked with them.
TEST_F(GuideFmu, ComparisonChecksTheScenarioAsItIsRun) {
  const std::string yaml = read_text(folder.path() / "lift.yaml");
  std::string changed = yaml;
  changed.replace(changed.find("controller.fmu"), std::string("controller.fmu").size(), "absent.fmu");
  std::ofstream(folder.path() / "changed.yaml") << changed;
  std::vector<std::string> command = {"compare",       "changed.yaml", "--schemes", "jacobi",
                                      "--macro-steps", "1e-3",         "-o",        "out"};
  EXPECT_EQ(run("heelstrike", command, here).exit_code, 2);
  EXPECT_FALSE(fs::exists(folder.path() / "out"));
  command.insert(command.end(), {"--set", "forces.controller.file=controller.fmu", "--set", "analysis.end_time=0.1"});
  const Finished compared = run("heelstrike", command, here);
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
}

TEST_F(GuideFmu, KilledRunResumesWithTheSameBytes) {
  for (const std::vector<std::string>& mode : {std::vector<std::string>{}, {"--in-process"}}) {
    ASSERT_EQ(run("heelstrike", run_into("whole", mode), here).exit_code, 0);
    bool cut = false;
    // On a busy machine a run may end before the next poll.
    for (int attempt = 0; attempt < 10 && !cut; ++attempt) {
      fs::remove_all(folder.path() / "cut");
      Program client("heelstrike", run_into("cut", mode), here);
      const auto has_checkpoint = [&] {
        std::error_code missing;
        for (fs::directory_iterator entry(folder.path() / "cut/checkpoints", missing), end; !missing && entry != end;
             entry.increment(missing)) {
          if (entry->path().extension() == ".ckpt") return true;
        }
        return false;
      };
      while (!has_checkpoint() && alive(client.pid())) std::this_thread::yield();
      client.signal(SIGKILL);
      (void)client.wait();
      cut = fs::exists(folder.path() / "cut/INCOMPLETE");
    }
    ASSERT_TRUE(cut);
    const Finished resumed = run("heelstrike", {"resume", "cut"}, here);
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_THAT(read_text(folder.path() / "cut/run.log"), HasSubstr("resumed from step_"));
    EXPECT_TRUE(table("cut") == table("whole"));
  }
}

}  // namespace
}  // namespace heelstrike::cli_test
