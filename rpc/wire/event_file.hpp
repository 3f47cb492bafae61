/// A file of numbered RunEvent messages, each preceded by its length as a varint: the spool of the multibody server,
/// which the client reads after a server was killed.
///
/// Every event is one write(), so that all events appended before a kill -9 are in the file; an incomplete last event
/// (power loss, full disk) is detected and ignored. Corrupted events are detected by their checksum
/// (rpc/wire/checksum.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "heelstrike/v1/simulation.pb.h"

namespace heelstrike::wire {

/// Appends events; the file is created with permissions 0600. One writer per file, one thread at a time.
class EventFileWriter {
 public:
  /// @throws Error{file} if the file exists or cannot be created
  explicit EventFileWriter(std::filesystem::path path);
  /// Continues an existing file after its first `size` bytes; an incomplete event after them is truncated.
  /// @throws Error{file}
  EventFileWriter(std::filesystem::path path, std::uint64_t size);
  EventFileWriter(const EventFileWriter&) = delete;
  EventFileWriter& operator=(const EventFileWriter&) = delete;
  ~EventFileWriter();

  /// One write(). @param event  without checksum. @returns the size of the file afterwards [bytes]
  /// @throws Error{file} e.g. on a full disk; the file then ends with the previous event
  std::uint64_t append(const v1::RunEvent& event);

 private:
  std::filesystem::path path_;
  int file_ = -1;
  std::uint64_t size_ = 0;
  std::string buffer_;
};

/// Reads events in order, while another thread or process may append.
class EventFileReader {
 public:
  /// @throws Error{file} if the file cannot be opened
  explicit EventFileReader(const std::filesystem::path& path);
  EventFileReader(const EventFileReader&) = delete;
  EventFileReader& operator=(const EventFileReader&) = delete;
  ~EventFileReader();

  /// The next complete event, without its checksum.
  /// @returns false at the end of the file, at an incomplete event, or at byte `limit`; call again later.
  /// @throws Error{file} for a corrupted event
  bool next(v1::RunEvent& event, std::uint64_t limit = UINT64_MAX);
  /// Bytes read so far: the start of the next event.
  [[nodiscard]] std::uint64_t position() const { return position_; }

 private:
  bool fill(std::size_t bytes);

  std::filesystem::path path_;
  int file_ = -1;
  std::uint64_t position_ = 0;      ///< in the file, of the first byte not yet returned
  std::uint64_t buffer_start_ = 0;  ///< in the file, of buffer_[0]
  std::string buffer_;
};

}  // namespace heelstrike::wire
