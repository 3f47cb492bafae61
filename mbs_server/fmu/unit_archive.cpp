#include "mbs_server/fmu/unit_archive.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <system_error>

#include "common/errors/error.hpp"
#include "common/process/fmi_platform.hpp"

namespace heelstrike::mbs {
namespace {

namespace fs = std::filesystem;

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, CloseArchive>;
struct CloseMember {
  void operator()(zip_file_t* member) const { zip_fclose(member); }
};

constexpr const char* description_name = "modelDescription.xml";
constexpr const char* dependencies_name = "documentation/externalDependencies.txt";

Error refused(const std::string& where, const std::string& text) {
  return input_error(where, fmt::format("{}: {}", where, text));
}

Archive open_archive(const std::string& content, const std::string& where) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(content.data(), content.size(), 0, &error);
  zip_t* archive = source == nullptr ? nullptr : zip_open_from_source(source, ZIP_RDONLY, &error);
  if (archive == nullptr) {
    if (source != nullptr) zip_source_free(source);
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw refused(where, fmt::format("expected a unit (.fmu, a zip archive), found {} bytes that are none ({}); export "
                                     "the unit again",
                                     content.size(), reason));
  }
  zip_error_fini(&error);
  return Archive(archive);
}

/// What a unit for co-simulation on this platform needs, and says of that; sources, other documents and other platforms
/// stay packed.
bool is_needed(const std::string& name) {
  return name == description_name || name == dependencies_name || name.starts_with("resources/") ||
         name.starts_with(fmi2_binaries + std::string("/")) || name.starts_with(fmi3_binaries + std::string("/"));
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool is_inside(const fs::path& name) {
  return name.is_relative() && std::ranges::none_of(name, [](const fs::path& part) { return part == ".."; });
}

/// @param size  [B] that the archive says; more than that is not written
void write_member(zip_t* archive, zip_uint64_t index, const std::string& name, zip_uint64_t size, const fs::path& to,
                  const std::string& where) {
  const std::unique_ptr<zip_file_t, CloseMember> member(zip_fopen_index(archive, index, 0));
  std::ofstream file(to, std::ios::binary);
  std::array<char, 1U << 16U> part;
  zip_int64_t n = member ? 0 : -1;
  zip_uint64_t written = 0;
  while (member && (n = zip_fread(member.get(), part.data(), part.size())) > 0) {
    written += static_cast<zip_uint64_t>(n);
    if (written > size) break;
    file.write(part.data(), n);
  }
  if (n < 0 || written != size)
    throw refused(where, fmt::format("'{}' in the unit cannot be unpacked; export the unit again", name));
  file.close();
  if (!file) throw file_error(to.string(), to.string() + ": a part of the unit cannot be written there");
}

}  // namespace

UnitArchive::UnitArchive(const std::string& content, const std::string& where) : where_(where) {
  std::string name = (fs::temp_directory_path() / "heelstrike-fmu-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw file_error(name, name + ": no folder can be made there for the parts of a unit; TMPDIR names another place");
  }
  folder_ = name;
  try {
    unpack(content);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
    throw;
  }
}

UnitArchive::~UnitArchive() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void UnitArchive::unpack(const std::string& content) {
  const Archive archive = open_archive(content, where_);
  const zip_int64_t n = zip_get_num_entries(archive.get(), 0);
  std::uint64_t bytes = 0;
  std::set<std::string> platforms;
  for (zip_uint64_t i = 0; i < static_cast<zip_uint64_t>(n); ++i) {
    zip_stat_t member;
    if (zip_stat_index(archive.get(), i, 0, &member) != 0) {
      throw refused(where_, "the archive of the unit is damaged; export the unit again");
    }
    const std::string name = member.name;
    if (name.starts_with("binaries/")) {
      const std::string platform = name.substr(9, name.find('/', 9) - 9);
      if (!platform.empty()) platforms.insert(platform);
    }
    if (!is_needed(name)) continue;
    if (!is_inside(name)) {
      throw refused(
          where_, fmt::format("expected members inside the archive, found '{}'; the unit is not to be trusted", name));
    }
    bytes += member.size;
    if (bytes > most_bytes) {
      throw refused(where_, fmt::format("expected at most {} bytes when unpacked, found more; take resources out of it",
                                        most_bytes));
    }
    const fs::path to = folder_ / name;
    if (name.ends_with('/')) {
      fs::create_directories(to);
      continue;
    }
    fs::create_directories(to.parent_path());
    write_member(archive.get(), i, name, member.size, to, where_);
  }
  platforms_ = fmt::format("{}", fmt::join(platforms, ", "));
  if (!fs::exists(folder_ / description_name)) {
    throw refused(where_, fmt::format("expected a unit (.fmu), found an archive without {}; it is another kind of file",
                                      description_name));
  }
}

std::string UnitArchive::description() const {
  return text_of(folder_ / description_name);
}

std::string UnitArchive::dependencies() const {
  std::string text = text_of(folder_ / dependencies_name);
  text.erase(text.find_last_not_of(" \r\n") + 1);
  return text;
}

fs::path UnitArchive::binary(const std::string& folder, const std::string& model_identifier) const {
  fs::path path = folder_ / folder / (model_identifier + ".so");
  if (!fs::exists(path)) {
    throw refused(where_, fmt::format("expected '{}/{}.so' in the unit, found binaries for {}; export it for this "
                                      "system",
                                      folder, model_identifier, platforms_.empty() ? "no platform" : platforms_));
  }
  return path;
}

fs::path UnitArchive::resources() const {
  const fs::path path = folder_ / "resources";
  return fs::is_directory(path) ? path : fs::path();
}

}  // namespace heelstrike::mbs
