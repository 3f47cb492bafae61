/// Text files with a byte-order mark at their start.
#pragma once

#include <string>
#include <string_view>

namespace heelstrike {

/// Text of a file without its byte-order mark: the UTF-8 mark is removed, UTF-16 (either order) becomes UTF-8. Bytes
/// without a mark are passed on unchanged, without a copy. The bytes must outlive this object.
class MarkedText {
 public:
  explicit MarkedText(std::string_view bytes);
  MarkedText(const MarkedText&) = delete;
  MarkedText& operator=(const MarkedText&) = delete;

  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  /// Describes the conversion; empty without one.
  [[nodiscard]] std::string note() const { return recoded_.empty() ? "" : "the file is UTF-16 and was read as such"; }

 private:
  std::string recoded_;
  std::string_view bytes_;
};

}  // namespace heelstrike
