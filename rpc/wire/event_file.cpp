#include "rpc/wire/event_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "common/errors/error.hpp"
#include "rpc/wire/checksum.hpp"

namespace heelstrike::wire {
namespace {

constexpr std::size_t max_varint_bytes = 10;
constexpr std::size_t prefetch_bytes = 1U << 16U;  // [bytes] a few hundred events per system call

Error io_error(const std::filesystem::path& path, const char* what, int code) {
  return file_error(path.string(),
                    fmt::format("{} {}: {}", what, path.string(), std::generic_category().message(code)));
}

}  // namespace

EventFileWriter::EventFileWriter(std::filesystem::path path) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
  if (file_ < 0) throw io_error(path_, "cannot create the event file", errno);
}

EventFileWriter::EventFileWriter(std::filesystem::path path, std::uint64_t size) : path_(std::move(path)), size_(size) {
  file_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file_ < 0 || ::ftruncate(file_, static_cast<off_t>(size)) != 0) {
    const int code = errno;
    if (file_ >= 0) ::close(file_);
    throw io_error(path_, "cannot continue the event file", code);
  }
}

EventFileWriter::~EventFileWriter() {
  ::close(file_);
}

std::uint64_t EventFileWriter::append(const v1::RunEvent& event) {
  const std::size_t length = event.ByteSizeLong();
  buffer_.resize(max_varint_bytes + length + checksum_field_bytes);
  auto* start = reinterpret_cast<std::uint8_t*>(buffer_.data());
  auto* body = google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(length + checksum_field_bytes, start);
  event.SerializeWithCachedSizesToArray(body);
  write_checksum(reinterpret_cast<char*>(body), length);
  const auto* end = body + length + checksum_field_bytes;
  std::size_t left = static_cast<std::size_t>(end - start);
  const char* from = buffer_.data();
  const std::uint64_t size_before = size_;
  while (left > 0) {
    const ssize_t written = ::write(file_, from, left);
    if (written < 0) {
      if (errno == EINTR) continue;
      const int code = errno;
      if (::ftruncate(file_, static_cast<off_t>(size_before)) == 0) size_ = size_before;
      throw io_error(path_, "cannot append to the event file", code);
    }
    from += written;
    left -= static_cast<std::size_t>(written);
    size_ += static_cast<std::uint64_t>(written);
  }
  return size_;
}

EventFileReader::EventFileReader(const std::filesystem::path& path) : path_(path) {
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) throw io_error(path, "cannot open the event file", errno);
}

EventFileReader::~EventFileReader() {
  ::close(file_);
}

bool EventFileReader::fill(std::size_t bytes) {
  const auto used = static_cast<std::size_t>(position_ - buffer_start_);
  if (buffer_.size() - used >= bytes) return true;
  buffer_.erase(0, used);
  buffer_start_ = position_;
  while (buffer_.size() < bytes) {
    const std::size_t have = buffer_.size();
    const std::size_t n_wanted_bytes = std::max(bytes - have, prefetch_bytes);
    buffer_.resize(have + n_wanted_bytes);
    const ssize_t got = ::pread(file_, buffer_.data() + have, n_wanted_bytes, static_cast<off_t>(buffer_start_ + have));
    buffer_.resize(have + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got <= 0) return false;
  }
  return true;
}

bool EventFileReader::next(v1::RunEvent& event, std::uint64_t limit) {
  if (position_ >= limit || !fill(1)) return false;
  fill(max_varint_bytes);  // fewer bytes are valid at the end of the file
  const std::size_t used = static_cast<std::size_t>(position_ - buffer_start_);
  const std::size_t there = std::min(buffer_.size() - used, max_varint_bytes);
  google::protobuf::io::CodedInputStream head(reinterpret_cast<const std::uint8_t*>(buffer_.data()) + used,
                                              static_cast<int>(there));
  std::uint64_t length = 0;
  if (!head.ReadVarint64(&length)) return false;
  const auto prefix = static_cast<std::size_t>(head.CurrentPosition());
  if (length > INT32_MAX || position_ + prefix + length > limit) return false;
  if (!fill(prefix + static_cast<std::size_t>(length))) return false;
  const auto start = static_cast<std::size_t>(position_ - buffer_start_) + prefix;
  if (!event.ParseFromArray(buffer_.data() + start, static_cast<int>(length))) return false;
  const std::uint64_t sent = event.checksum();
  event.clear_checksum();
  if (sent != 0 && sent != checksum_of_serialised(std::string_view(buffer_).substr(start, length))) {
    throw file_error(path_.string(), fmt::format("{}: expected the event that was written at byte {}, found another: "
                                                 "the file was corrupted or changed by another program",
                                                 path_.string(), position_));
  }
  position_ += prefix + length;
  return true;
}

}  // namespace heelstrike::wire
