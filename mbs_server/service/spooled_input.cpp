#include "mbs_server/service/spooled_input.hpp"

#include <fmt/format.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/util/delimited_message_util.h>

#include <algorithm>
#include <fstream>

#include "common/errors/error.hpp"
#include "common/files/output_file.hpp"

namespace heelstrike::mbs {
namespace {

constexpr std::size_t chunk_bytes = 1U << 20U;  // limit of FileChunk

void write(const v1::SubmitRunRequest& part, OutputFile& file) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::util::SerializeDelimitedToZeroCopyStream(part, &stream);
  }
  file.write(bytes);
}

}  // namespace

void write_spooled_input(const std::filesystem::path& file, const std::string& digest,
                         const v1::SubmitRunRequest::Header& header, std::span<const AssetContent> files) {
  write_whole_file(file, [&](OutputFile& output) {
    output.write(digest + '\n');
    v1::SubmitRunRequest part;
    *part.mutable_header() = header;
    write(part, output);
    for (const AssetContent& content : files) {
      std::size_t at = 0;
      do {
        auto& chunk = *part.mutable_file();
        chunk.set_name(content.name);
        chunk.set_content(content.content.substr(at, chunk_bytes));
        at += chunk_bytes;
        chunk.set_last(at >= content.content.size());
        write(part, output);
      } while (at < content.content.size());
    }
  });
}

std::string digest_of_spooled_input(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string line;
  std::getline(stream, line);
  return line;
}

void read_spooled_input(const std::filesystem::path& file, const std::function<bool(v1::SubmitRunRequest&)>& take) {
  std::ifstream stream(file, std::ios::binary);
  std::string digest;
  std::getline(stream, digest);
  google::protobuf::io::IstreamInputStream input(&stream);
  v1::SubmitRunRequest part;
  bool clean_end = false;
  while (google::protobuf::util::ParseDelimitedFromZeroCopyStream(&part, &input, &clean_end)) {
    if (!take(part)) return;
    part.Clear();
  }
  if (!clean_end) {
    throw file_error(file.string(), fmt::format("{}: expected the submission of a run, found other bytes; submit "
                                                "the run again",
                                                file.string()));
  }
}

}  // namespace heelstrike::mbs
