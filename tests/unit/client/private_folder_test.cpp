// Private folders: their place, their permissions, and the remains of killed clients.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "common/errors/error.hpp"
#include "library/servers/private_folder.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;

/// $XDG_RUNTIME_DIR points to a fresh folder.
class PrivateFolderTest : public testing::Test {
 protected:
  PrivateFolderTest() {
    std::string name = (fs::temp_directory_path() / "hs-base-XXXXXX").string();
    base = ::mkdtemp(name.data());
    ::setenv("XDG_RUNTIME_DIR", base.c_str(), 1);
  }
  ~PrivateFolderTest() override {
    ::unsetenv("XDG_RUNTIME_DIR");
    fs::remove_all(base);
  }
  /// An unused process number.
  static pid_t unused_process_number() {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ::waitpid(child, nullptr, 0);
    return child;
  }
  fs::path base;
};

TEST_F(PrivateFolderTest, IsPrivateAndRemovedWithItsContents) {
  fs::path path;
  {
    const PrivateFolder folder;
    path = folder.path();
    EXPECT_EQ(path.parent_path(), base);
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    fs::create_directory(path / "spool");
    std::ofstream(path / "spool/run.events") << "x";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(PrivateFolderTest, OnlyFoldersOfTerminatedClientsAreRemoved) {
  const PrivateFolder living;
  const fs::path stale = base / fmt::format("heelstrike-{}-abcdef", unused_process_number());
  const fs::path other = base / "heelstrike-notes";
  const fs::path foreign = base / "something";
  for (const fs::path& folder : {stale, other, foreign}) fs::create_directory(folder);
  std::ofstream(stale / "fem.sock") << "x";
  EXPECT_EQ(remove_stale_folders(base), 1U);
  EXPECT_FALSE(fs::exists(stale));
  for (const fs::path& folder : {living.path(), other, foreign}) EXPECT_TRUE(fs::exists(folder)) << folder;
}

TEST_F(PrivateFolderTest, TooLongSocketPathIsRejectedAndALongBaseIsNotUsed) {
  const PrivateFolder folder;
  EXPECT_EQ(folder.socket("fem.sock"), folder.path() / "fem.sock");
  EXPECT_THROW((void)folder.socket(std::string(107, 'x')), Error);
  const fs::path long_base = base / std::string(80, 'x');
  fs::create_directory(long_base);
  ::setenv("XDG_RUNTIME_DIR", long_base.c_str(), 1);
  EXPECT_EQ(runtime_directory(), "/tmp");
}

}  // namespace
}  // namespace heelstrike::client
