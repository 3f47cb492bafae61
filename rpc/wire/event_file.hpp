/// A file of numbered RunEvent messages, each preceded by its length as a varint: what the multibody server's spool is
/// made of, and what the client reads after a server has been killed.
///
/// Every event is one write() of whole bytes, so that whatever was appended before a kill -9 is in the file; a torn
/// last event (power loss, full disk) is recognised and left out. An event whose bytes have changed since is told by
/// its checksum (rpc/wire/checksum.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "heelstrike/v1/simulation.pb.h"

namespace heelstrike::wire {

/// Appends events; the file is made with permissions 0600. One writer per file, one thread at a time.
class EventFileWriter {
 public:
  /// @throws Error{file} when the file exists or cannot be made
  explicit EventFileWriter(std::filesystem::path path);
  /// Goes on in a file that exists, behind its first `size` bytes; a torn event behind them is dropped.
  /// @throws Error{file}
  EventFileWriter(std::filesystem::path path, std::uint64_t size);
  EventFileWriter(const EventFileWriter&) = delete;
  EventFileWriter& operator=(const EventFileWriter&) = delete;
  ~EventFileWriter();

  /// One write(). @param event  without checksum. @returns the size of the file afterwards [bytes]
  /// @throws Error{file} e.g. when the disk is full; the file then ends with the previous event
  std::uint64_t append(const v1::RunEvent& event);

 private:
  std::filesystem::path path_;
  int file_ = -1;
  std::uint64_t size_ = 0;
  std::string buffer_;
};

/// Reads events in order while another thread or process may still append.
class EventFileReader {
 public:
  /// @throws Error{file} when the file cannot be opened
  explicit EventFileReader(const std::filesystem::path& path);
  EventFileReader(const EventFileReader&) = delete;
  EventFileReader& operator=(const EventFileReader&) = delete;
  ~EventFileReader();

  /// The next whole event, without its checksum. @returns false at the end of the file, at a torn event, or at byte
  /// `limit`; call again later.
  /// @throws Error{file} for one that is not what was written
  bool next(v1::RunEvent& event, std::uint64_t limit = UINT64_MAX);
  /// Bytes read so far: the start of the next event.
  [[nodiscard]] std::uint64_t position() const { return position_; }

 private:
  bool fill(std::size_t bytes);

  std::filesystem::path path_;
  int file_ = -1;
  std::uint64_t position_ = 0;      ///< in the file, of the first byte not yet handed out
  std::uint64_t buffer_start_ = 0;  ///< in the file, of buffer_[0]
  std::string buffer_;
};

}  // namespace heelstrike::wire
