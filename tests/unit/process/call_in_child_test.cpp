// Calls in a copy of the process: failures arrive as they were thrown, crashes as errors, and nothing else changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <new>
#include <stop_token>
#include <string>
#include <thread>

#include "common/errors/error.hpp"
#include "common/process/call_in_child.hpp"

namespace heelstrike {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Error failure_of(const std::function<void()>& work) {
  try {
    call_in_child("the binary", work);
  } catch (const Error& error) {
    return error;
  }
  return {ErrorCode::internal, "no failure"};
}

TEST(CallInChild, ReturnsWithoutEffectOnThisProcess) {
  int changed = 0;
  call_in_child("", [&] { changed = 1; });
  EXPECT_EQ(changed, 0);
}

TEST(CallInChild, ErrorsArriveAsTheyWereThrown) {
  const std::string large(200'000, 'x');  // more than a pipe holds
  const Error error = failure_of([&] { throw not_found_error("message " + large, "a.field"); });
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  EXPECT_EQ(error.field(), "a.field");
  EXPECT_EQ(error.what(), "message " + large);
  EXPECT_EQ(failure_of([] { throw std::bad_alloc(); }).code(), ErrorCode::limit);
}

TEST(CallInChild, CrashesAreErrorsOfTheInput) {
  const Error crash = failure_of([] { (void)std::raise(SIGKILL); });
  EXPECT_EQ(crash.code(), ErrorCode::invalid_input);
  EXPECT_THAT(crash.what(), AllOf(HasSubstr("the binary: expected"), HasSubstr("signal 9")));
  EXPECT_THAT(failure_of([] { ::_exit(7); }).what(), HasSubstr("exit code 7"));
}

TEST(CallInChild, StopsOnRequest) {
  std::stop_source stop;
  const std::jthread later([&] { stop.request_stop(); });
  try {
    call_in_child(
        "", [] { std::this_thread::sleep_for(std::chrono::hours(1)); }, stop.get_token());
    FAIL() << "the call returned";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::cancelled);
  }
}

}  // namespace
}  // namespace heelstrike
