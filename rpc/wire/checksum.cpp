#include "rpc/wire/checksum.hpp"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <bit>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace heelstrike::wire {

namespace {

constexpr char checksum_tag = (15 << 3) | 1;

static_assert(std::endian::native == std::endian::little, "fixed64 has its lowest byte first");

}  // namespace

std::uint64_t checksum_of(std::string_view bytes) noexcept {
  const std::uint64_t sum = XXH3_64bits(bytes.data(), bytes.size());
  return sum == 0 ? 1 : sum;  // 0 means no checksum
}

std::uint64_t checksum_of(const google::protobuf::MessageLite& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&out);
  }
  return checksum_of(std::string_view(bytes));
}

void write_checksum(char* bytes, std::size_t n_message) noexcept {
  const std::uint64_t sum = checksum_of(std::string_view(bytes, n_message));
  bytes[n_message] = checksum_tag;
  std::memcpy(bytes + n_message + 1, &sum, sizeof sum);
}

void append_checksum(std::string& bytes) {
  const std::size_t n = bytes.size();
  bytes.resize(n + checksum_field_bytes);
  write_checksum(bytes.data(), n);
}

std::uint64_t checksum_of_serialised(std::string_view bytes) noexcept {
  if (bytes.size() < checksum_field_bytes || bytes[bytes.size() - checksum_field_bytes] != checksum_tag) return 0;
  return checksum_of(bytes.substr(0, bytes.size() - checksum_field_bytes));
}

Error corrupted_message_error(std::string_view what) {
  return {ErrorCode::unavailable,
          fmt::format("a {} has arrived with other bytes than were sent: the network between the two programs corrupts "
                      "data; it is sent again, and TLS rejects such bytes",
                      what),
          checksum_field, true};
}

}  // namespace heelstrike::wire
