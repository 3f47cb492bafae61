// Programs started by the client: ready, early exit, ignored requests, and missing programs.
#include <gtest/gtest.h>
#include <signal.h>

#include "common/errors/error.hpp"
#include "common/process/process.hpp"

namespace heelstrike::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

ChildOptions shell(const std::string& script) {
  return {.name = "test shell", .program = "/bin/sh", .arguments = {"-c", script}, .log = {}};
}

Error error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return {ErrorCode::internal, "no error"};
}

TEST(ChildProcess, ReadyLineArrivesAndTheDestructorEndsTheProgram) {
  pid_t pid = 0;
  {
    ChildProcess child(shell("echo ready here >&3; exec sleep 1000"));
    EXPECT_EQ(child.wait_until_ready(seconds{30}), "ready here");
    EXPECT_FALSE(child.ended().has_value());
    pid = child.pid();
  }
  EXPECT_NE(::kill(pid, 0), 0) << "still there";
}

TEST(ChildProcess, ExitBeforeReadyIsReportedWithItsCode) {
  // Servers end with 3 if memory or threads are not available.
  for (const auto& [command, code] : {std::pair("exit 4", ErrorCode::unavailable), {"exit 3", ErrorCode::limit}}) {
    ChildProcess child(shell(command));
    const Error error = error_of([&] { child.wait_until_ready(seconds{30}); });
    EXPECT_EQ(error.code(), code);
    EXPECT_NE(std::string(error.what()).find(std::string("exit code ") + command[5]), std::string::npos)
        << error.what();
  }
}

TEST(ChildProcess, TimeoutBeforeReadyIsADeadline) {
  ChildProcess child(shell("exec sleep 1000"));
  EXPECT_EQ(error_of([&] { child.wait_until_ready(milliseconds{20}); }).code(), ErrorCode::deadline);
}

TEST(ChildProcess, ProcessIgnoringTheRequestIsKilled) {
  ChildProcess child(shell("trap '' TERM; echo ready >&3; exec sleep 1000"));
  child.wait_until_ready(seconds{30});
  child.stop(milliseconds{20});
  ASSERT_TRUE(child.ended().has_value());
  EXPECT_EQ(child.ended()->text(), "signal 9 (Killed)");
}

TEST(ChildProcess, MissingProgramIsReported) {
  const Error error = error_of([] { ChildProcess({.name = "x", .program = "/no/such", .arguments = {}, .log = {}}); });
  EXPECT_EQ(error.code(), ErrorCode::file);
  EXPECT_NE(std::string(error.what()).find("/no/such"), std::string::npos) << error.what();
}

}  // namespace
}  // namespace heelstrike::client
