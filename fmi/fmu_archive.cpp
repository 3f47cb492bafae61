#include "fmi/fmu_archive.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <minizip/unzip.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/files/output_file.hpp"
#include "fmi/fmi_platform.hpp"

namespace heelstrike::mbs {
namespace {

namespace fs = std::filesystem;

struct CloseArchive {
  void operator()(void* archive) const { unzClose(archive); }
};
using Archive = std::unique_ptr<void, CloseArchive>;

constexpr const char* description_name = "modelDescription.xml";
constexpr const char* dependencies_name = "documentation/externalDependencies.txt";

Error archive_error(const std::string& where, const std::string& text) {
  return input_error(where, fmt::format("{}: {}", where, text));
}

/// @param file  path for the archive; its reader requires a file
Archive open_archive(const std::string& content, const fs::path& file, const std::string& where) {
  write_whole_file(file, content);
  Archive archive(unzOpen64(file.c_str()));
  if (archive != nullptr) return archive;
  throw archive_error(
      where, fmt::format("expected an FMU (.fmu, a zip archive), found {} bytes of another format; export the FMU "
                         "again",
                         content.size()));
}

/// True for members that co-simulation on this platform needs; sources, other documents and other platforms are not
/// unpacked.
bool is_required(const std::string& name) {
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

/// Path of a member; creates its folders. @throws Error{invalid_input} if a file has the name of such a folder
fs::path location_of(const std::string& name, const fs::path& folder, const std::string& where) {
  const fs::path to = folder / name;
  const fs::path above = name.ends_with('/') ? to : to.parent_path();
  std::error_code error, ignored;
  fs::create_directories(above, error);
  const bool is_blocked = !fs::is_directory(above, ignored) || (above != to && fs::is_directory(to, ignored));
  if (!is_blocked) return to;
  if (error && error != std::errc::not_a_directory && error != std::errc::file_exists &&
      error != std::errc::filename_too_long) {
    throw file_error(to.string(),
                     fmt::format("{}: a part of the FMU cannot be written there: {}", to.string(), error.message()));
  }
  throw archive_error(
      where, fmt::format("expected members with compatible paths, found '{}' {}; export the FMU again", printable(name),
                         error == std::errc::filename_too_long ? "with too long a name" : "as a file and as a folder"));
}

#if defined(__x86_64__)
constexpr Elf64_Half own_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half own_machine = EM_AARCH64;
#endif

std::string machine_name(Elf64_Half machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86_64";
    case EM_AARCH64:
      return "aarch64";
    case EM_386:
      return "x86";
    case EM_ARM:
      return "aarch32";
    default:
      return fmt::format("machine {} of the ELF format", machine);
  }
}

/// Processor for which a shared library was compiled, if it is not that of this program. The loader reports such a file
/// as one that does not exist.
std::optional<std::string> foreign_machine(const std::string& bytes) {
  Elf64_Ehdr header;  // the processor has the same position in files of 32 bits
  if (bytes.size() < sizeof header || !bytes.starts_with(std::string_view(ELFMAG, SELFMAG))) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.e_machine == own_machine ? std::nullopt : std::optional(machine_name(header.e_machine));
}

/// True if all segments that the shared library declares lie inside the file. The loader does not check that, and
/// access to a mapped page beyond the end of the file terminates the process (SIGBUS).
bool is_whole(const std::string& bytes) {
  const auto taken = [&](std::uint64_t at, auto& to) {
    if (at > bytes.size() || bytes.size() - at < sizeof to) return false;
    std::memcpy(&to, bytes.data() + at, sizeof to);
    return true;
  };
  Elf64_Ehdr header;
  if (!taken(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) {
    return false;
  }
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part;
    if (!taken(header.e_phoff + i * sizeof part, part)) return false;
    if (part.p_offset > bytes.size() || bytes.size() - part.p_offset < part.p_filesz) return false;
  }
  return true;
}

/// Writes the archive's current member. @param size  [B] declared in the archive; no more than that is written
void write_member(void* archive, const std::string& name, std::uint64_t size, const fs::path& to,
                  const std::string& where) {
  errno = 0;
  std::ofstream file(to, std::ios::binary);
  if (!file && errno == ENAMETOOLONG) {
    throw archive_error(
        where, fmt::format("expected members with names of up to 255 characters, found '{}'; export the FMU again",
                           printable(name)));
  }
  std::array<char, 1U << 16U> part;
  int n = unzOpenCurrentFile(archive) == UNZ_OK ? 0 : -1;
  std::uint64_t written = 0;
  while (n >= 0 && (n = unzReadCurrentFile(archive, part.data(), part.size())) > 0) {
    written += static_cast<std::uint64_t>(n);
    if (written > size) break;
    file.write(part.data(), n);
  }
  const bool is_intact = n >= 0 && unzCloseCurrentFile(archive) == UNZ_OK;  // compares the checksum
  if (!is_intact || written != size)
    throw archive_error(where,
                        fmt::format("'{}' in the FMU cannot be unpacked; export the FMU again", printable(name)));
  file.close();
  if (!file) throw file_error(to.string(), to.string() + ": a part of the FMU cannot be written there");
}

/// @param members  names of all members, also of those that are not unpacked: other programs would unpack one or the
/// other. @throws Error{invalid_input} for a file that is the folder of another member
void require_distinct_paths(const std::set<std::string>& members, const std::string& where) {
  for (const std::string& name : members) {
    if (name.ends_with('/')) continue;
    const std::string folder = name + '/';
    const auto inside = members.lower_bound(folder);
    if (inside == members.end() || !inside->starts_with(folder)) continue;
    throw archive_error(where, fmt::format("expected members with compatible paths, found '{}' as a file and as a "
                                           "folder; export the FMU again",
                                           printable(name)));
  }
}

/// Name and size of the archive's current member.
std::pair<std::string, std::uint64_t> current_member(void* archive, const std::string& where) {
  std::array<char, 4096> name{};
  unz_file_info64 member;
  const int status = unzGetCurrentFileInfo64(archive, &member, name.data(), name.size() - 1, nullptr, 0, nullptr, 0);
  if (status != UNZ_OK || member.size_filename >= name.size()) {
    throw archive_error(where, "the archive of the FMU is damaged; export the FMU again");
  }
  // Some tools write other separators, or a leading "./", against the rules of the format; importers accept them.
  std::string plain = name.data();
  std::ranges::replace(plain, '\\', '/');
  while (plain.starts_with("./")) plain.erase(0, 2);
  return {plain, member.uncompressed_size};
}

}  // namespace

FmuArchive::FmuArchive(const std::string& content, const std::string& where) : where_(where) {
  std::string name = (fs::temp_directory_path() / "heelstrike-fmu-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw file_error(name, name + ": no folder for the parts of an FMU can be created; set TMPDIR to another folder");
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

FmuArchive::~FmuArchive() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void FmuArchive::unpack(const std::string& content) {
  const fs::path packed = folder_ / "archive";  // no member that is needed has this name
  const Archive archive = open_archive(content, packed, where_);
  std::uint64_t bytes = 0;
  std::set<std::string> platforms, members;
  int status = unzGoToFirstFile(archive.get());
  for (; status == UNZ_OK; status = unzGoToNextFile(archive.get())) {
    const auto [name, size] = current_member(archive.get(), where_);
    members.insert(name);
    if (name.starts_with("binaries/") && !name.ends_with('/')) {  // an empty folder is no platform
      const std::string platform = name.substr(9, name.find('/', 9) - 9);
      if (!platform.empty()) platforms.insert(platform);
    }
    if (!is_required(name)) continue;
    if (!is_inside(name)) {
      throw archive_error(
          where_, fmt::format("expected members inside the archive, found '{}'; the FMU cannot be trusted", name));
    }
    if (size > max_bytes || (bytes += size) > max_bytes) {
      throw archive_error(
          where_,
          fmt::format("expected at most {} bytes when unpacked, found more; remove resources from it", max_bytes));
    }
    const fs::path to = location_of(name, folder_, where_);
    if (!name.ends_with('/')) write_member(archive.get(), name, size, to, where_);
  }
  if (status != UNZ_END_OF_LIST_OF_FILE) {
    throw archive_error(where_, "the archive of the FMU is damaged; export the FMU again");
  }
  require_distinct_paths(members, where_);
  fs::remove(packed);
  platforms_ = fmt::format("{}", fmt::join(platforms, ", "));
  if (!fs::exists(folder_ / description_name)) {
    throw archive_error(
        where_,
        fmt::format("expected an FMU (.fmu), found an archive without {}; it is of another kind", description_name));
  }
}

std::string FmuArchive::description() const {
  return text_of(folder_ / description_name);
}

std::string FmuArchive::dependencies() const {
  std::string text = text_of(folder_ / dependencies_name);
  text.erase(text.find_last_not_of(" \r\n") + 1);
  return text;
}

fs::path FmuArchive::binary(const std::string& folder, const std::string& model_identifier) const {
  fs::path path = folder_ / folder / (model_identifier + ".so");
  const std::string platforms = platforms_.empty() ? "no platform" : printable(platforms_);
  if (!fs::is_regular_file(path)) {
    throw archive_error(where_, fmt::format("expected '{}/{}.so' in the FMU, found binaries for {}; export it for this "
                                            "system",
                                            folder, model_identifier, platforms));
  }
  const std::string bytes = text_of(path);
  if (const auto machine = foreign_machine(bytes)) {
    throw archive_error(where_,
                        fmt::format("expected a shared library for {} as '{}/{}.so' in the FMU, found one for {}, and "
                                    "binaries for {}; export it for this system",
                                    machine_name(own_machine), folder, model_identifier, *machine, platforms));
  }
  if (!is_whole(bytes)) {
    throw archive_error(where_,
                        fmt::format("expected a shared library of this system as '{}/{}.so' in the FMU, found {} bytes "
                                    "of another format or truncated; export the FMU again",
                                    folder, model_identifier, bytes.size()));
  }
  return path;
}

fs::path FmuArchive::resources() const {
  const fs::path path = folder_ / "resources";
  return fs::is_directory(path) ? path : fs::path();
}

}  // namespace heelstrike::mbs
