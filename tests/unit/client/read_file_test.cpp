// Files named by a user: for files of any kind, reading ends with their content or with a reason.
#include "common/files/read_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "library/runs/mesh_file.hpp"
#include "library/runs/run_request.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ReadFile : public testing::Test {
 protected:
  ReadFile() : folder_(fs::temp_directory_path() / ("heelstrike_read_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~ReadFile() override { fs::remove_all(folder_); }

  [[nodiscard]] fs::path written(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }
  [[nodiscard]] fs::path pipe() const {
    const fs::path path = folder_ / "pipe";
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    return path;
  }

  fs::path folder_;
};

std::string rejection_error(const fs::path& path, ErrorCode expected, const ReadLimits& limits = {}) {
  try {
    (void)read_file(path, "mesh", limits);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), expected) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(path.string()));
    return error.what();
  }
  return "was read";
}

TEST_F(ReadFile, ReturnsTheBytes) {
  const std::string bytes("a\0\xff\n", 4);
  EXPECT_EQ(read_file(written("a", bytes), "mesh"), bytes);
  EXPECT_EQ(read_file(written("b", ""), "mesh"), "");
}

TEST_F(ReadFile, RejectsOtherThanFiles) {
  EXPECT_THAT(rejection_error(folder_, ErrorCode::invalid_input), HasSubstr("found the folder"));
  EXPECT_THAT(rejection_error(folder_ / "none", ErrorCode::invalid_input), HasSubstr("does not exist"));
  EXPECT_THAT(rejection_error("/dev/zero", ErrorCode::invalid_input), HasSubstr("found the device"));
  // Reading the memory of this process at address 0 is an I/O error.
  EXPECT_THAT(rejection_error("/proc/self/mem", ErrorCode::file), HasSubstr("cannot be read: Input/output error"));
}

TEST_F(ReadFile, NamesPointersOfGitLfs) {
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
  EXPECT_THAT(rejection_error(written("walk.c3d", pointer), ErrorCode::invalid_input),
              testing::AllOf(HasSubstr("found a pointer of Git LFS"), HasSubstr("git lfs pull")));
  const std::string notes = pointer + std::string(2000, 'x');
  EXPECT_EQ(read_file(written("notes.txt", notes), "mesh"), notes);
}

TEST_F(ReadFile, RejectsFilesAboveTheLimitBeforeReading) {
  const fs::path path = written("large", "x");
  fs::resize_file(path, 3ULL << 30U);  // sparse
  EXPECT_THAT(rejection_error(path, ErrorCode::invalid_input), HasSubstr("at most 2048 MiB, found 3072 MiB"));
}

TEST_F(ReadFile, ReadsAPipeWithAWriter) {
  const fs::path path = pipe();
  std::jthread writer([&] { std::ofstream(path) << std::string(3'000'000, 'x'); });
  EXPECT_EQ(read_file(path, "mesh").size(), 3'000'000U);
}

TEST_F(ReadFile, FailsOnASilentOrEndlessPipe) {
  const fs::path path = pipe();
  EXPECT_THAT(rejection_error(path, ErrorCode::file, {.timeout = 0.1}), HasSubstr("without data for"));
  std::jthread endless([&](const std::stop_token& stop) {
    const int fd = ::open(path.c_str(), O_RDWR | O_NONBLOCK);
    const std::string block(4096, 'x');
    while (!stop.stop_requested()) (void)!::write(fd, block.data(), block.size());
    ::close(fd);
  });
  EXPECT_THAT(rejection_error(path, ErrorCode::invalid_input, {.max_bytes = 1U << 20U}), HasSubstr("more than 1 MiB"));
}

TEST_F(ReadFile, StopsOnRequest) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW((void)read_file(pipe(), "mesh", {.stop = stop.get_token()}), Error);
}

TEST_F(ReadFile, ConvertsAScenarioInLatin1) {
  const std::string name = "Fu\xdf.csv";
  (void)written(name, "time,x\n0,0\n1,1\n2,2\n");
  const fs::path scenario = written("m\xfcller.yaml",
                                    "# gr\xfc\xdf Gott\nheelstrike: 1\ngravity: [0, 0, 0]\nbodies:\n"
                                    "  a: {mass: 1, inertia: [1, 1, 1]}\nloads:\n  l: {body: a, fx: {file: {name: " +
                                        name +
                                        ", column: x}}}\nanalysis: {type: forward, end_time: 1}\n"
                                        "output: {interval: 1}\n");
  const RunRequest request = load_request(scenario, {}, {});
  for (const std::string& text : {request.yaml, request.file_name, request.files.at(0).name}) {
    EXPECT_EQ(as_utf8(text), text) << "a protocol accepts UTF-8 only";
  }
  EXPECT_EQ(request.files.at(0).name, "Fu\xc3\x9f.csv");
  ASSERT_FALSE(request.notes.empty());
  EXPECT_THAT(request.notes[0], HasSubstr("read as Latin-1"));
}

// With a byte-order mark, as written by editors of Windows.
TEST_F(ReadFile, ConvertsAScenarioWithAByteOrderMark) {
  const std::string text =
      "heelstrike: 1\ngravity: [0, 0, 0]\nbodies:\n  a: {mass: 1, inertia: [1, 1, 1]}\n"
      "analysis: {type: forward, end_time: 1}\noutput: {interval: 1}\n";
  std::string wide = "\xff\xfe";
  for (const char c : text) wide += {c, '\0'};
  EXPECT_EQ(load_request(written("mark.yaml", "\xef\xbb\xbf" + text), {}, {}).yaml, text);
  const RunRequest request = load_request(written("wide.yaml", wide), {}, {});
  EXPECT_EQ(request.yaml, text);
  EXPECT_THAT(request.notes, testing::Contains(HasSubstr("UTF-16")));
}

TEST(Printable, EscapesControlCharacters) {
  EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(printable("a\x1b[2J\xe9\x7f\xc2\x9b!"), "a\\x1b[2J\\xe9\\x7f\\xc2\\x9b!");
  EXPECT_EQ(printable("\xc0\xaf\xed\xa0\x80\xf5"), "\\xc0\\xaf\\xed\\xa0\\x80\\xf5") << "overlong, half a pair, none";
  EXPECT_EQ(printable("a\nb"), "a b");
  EXPECT_EQ(strip_control_characters("a\nb\r"), "a\nb\\x0d");
  EXPECT_EQ(printable("\xc3\xbc\xc3\xbc", 3), "\xc3\xbc...") << "cut at a whole character";
}

// Servers open no files, so that included files are embedded in the deck.
TEST_F(ReadFile, ReadsTheFilesIncludedByAnAbaqusDeck) {
  fs::create_directories(folder_ / "mesh");
  (void)written("mesh/nodes.inp", "\xEF\xBB\xBF*Node\r\n1, 0, 0, 0\r\n");
  (void)written("mesh/elements.txt", "1, 1, 2, 3, 4\n");
  (void)written("mesh/all.inp",
                "** parts\n*INCLUDE, INPUT=nodes.inp\n*Element, type=C3D4,\n  Input=mesh/elements.txt\n");
  const fs::path deck = written("deck.inp", "*Heading\n*include,\n input = \"mesh/all.inp\"\n*Step\n");
  EXPECT_EQ(read_mesh_file(deck, "mesh"),
            "*Heading\n** parts\n*Node\n1, 0, 0, 0\n*Element, type=C3D4\n1, 1, 2, 3, 4\n*Step\n");
  // Decks without included files, and files of other kinds, are unchanged.
  EXPECT_EQ(read_mesh_file(written("plain.inp", "*Node\r\n1, 0, 0, 0\r\n"), "mesh"), "*Node\r\n1, 0, 0, 0\r\n");
  EXPECT_EQ(read_mesh_file(written("a.txt", "*include, input=b\n"), "mesh"), "*include, input=b\n");
  const auto message = [&](const std::string& text) -> std::string {
    try {
      (void)read_mesh_file(written("bad.inp", text), "mesh");
    } catch (const Error& error) {
      return error.what();
    }
    return "was read";
  };
  EXPECT_THAT(message("*Node\n*Include, input=none.inp\n"),
              testing::AllOf(HasSubstr("bad.inp, line 2"), HasSubstr("none.inp")));
  EXPECT_THAT(message("*Include, input=bad.inp\n"), HasSubstr("check whether a file includes itself"));
}

}  // namespace
}  // namespace heelstrike::client
