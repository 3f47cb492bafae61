#include "fem_server/service/asset_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/errors/error.hpp"
#include "common/files/digest.hpp"

namespace heelstrike::fem {

namespace {

bool is_digest(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Letters, digits and "._- ": excludes separators, hidden files and encoded forms of them.
bool is_plain_name(const std::string& name) {
  constexpr char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._- ";
  return !name.empty() && name.size() <= 255 && name.front() != '.' &&
         name.find_first_not_of(allowed) == std::string::npos;
}

struct File {
  int fd;
  ~File() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

AssetStore::AssetStore(const ServiceLimits& limits, std::filesystem::path folder)
    : limits_(limits), folder_(std::move(folder)) {
  if (!folder_.empty() && !std::filesystem::is_directory(folder_)) {
    throw file_error(folder_.string(), fmt::format("asset folder '{}': no such folder", folder_.string()));
  }
}

void AssetStore::check_header(const std::string& sha256, const std::string& name, std::uint64_t size_bytes) const {
  if (!is_digest(sha256)) {
    throw input_error(
        "header.sha256",
        fmt::format("header.sha256: expected 64 lower-case hexadecimal digits, found '{}'", sha256.substr(0, 80)));
  }
  if (size_bytes == 0) {
    throw input_error(
        "header.size_bytes",
        fmt::format("header.size_bytes: expected a size > 0, found 0: the file '{}' is empty", name.substr(0, 255)));
  }
  const std::size_t limit = std::min(limits_.max_asset_bytes, limits_.max_asset_store_bytes);
  if (size_bytes > limit) {
    throw Error(
        ErrorCode::limit,
        fmt::format("asset '{}' has {} bytes, this server accepts {}; coarsen the mesh or raise --max-asset-mib",
                    name.substr(0, 255), size_bytes, limit),
        "header.size_bytes");
  }
}

bool AssetStore::contains(const std::string& sha256) const {
  const std::lock_guard lock(mutex_);
  return uploaded_.contains(sha256);
}

void AssetStore::insert(AssetContent asset) {
  const std::string digest = sha256_hex(asset.content);
  if (digest != asset.sha256) {
    throw input_error("header.sha256", fmt::format("asset '{}': the header has sha256 {}, the content {}; the file may "
                                                   "have changed during the upload",
                                                   asset.name, asset.sha256, digest));
  }
  const std::size_t size = asset.content.size();
  auto content = std::make_shared<const AssetContent>(std::move(asset));
  const std::lock_guard lock(mutex_);
  if (uploaded_.contains(digest)) return;
  evict_assets(size);
  stored_bytes_ += size;
  uploaded_.emplace(digest, Stored{.content = std::move(content), .last_used = ++uses_});
}

void AssetStore::evict_assets(std::size_t bytes) {
  while (!uploaded_.empty() && stored_bytes_ + bytes > limits_.max_asset_store_bytes) {
    const auto oldest = std::ranges::min_element(
        uploaded_, [](const auto& a, const auto& b) { return a.second.last_used < b.second.last_used; });
    stored_bytes_ -= oldest->second.content->content.size();
    uploaded_.erase(oldest);
  }
}

AssetStore::Content AssetStore::find(const AssetKey& file) {
  return file.sha256.empty() ? read_named(file.name) : find_uploaded(file.sha256);
}

AssetStore::Content AssetStore::find_uploaded(const std::string& sha256) {
  const std::lock_guard lock(mutex_);
  const auto it = uploaded_.find(sha256);
  if (it == uploaded_.end()) {
    throw not_found_error(
        fmt::format("asset with sha256 '{}' is not on the server; upload it before opening the session",
                    sha256.substr(0, 64)),
        "asset.sha256");
  }
  it->second.last_used = ++uses_;
  return it->second.content;
}

AssetStore::Content AssetStore::read_named(const std::string& name) const {
  if (folder_.empty()) {
    throw not_found_error(fmt::format("asset '{}': this server has no folder of named assets; start it with "
                                      "--assets-folder, or name a file beside the scenario, which is uploaded",
                                      name.substr(0, 255)),
                          "asset");
  }
  if (!is_plain_name(name)) {
    throw input_error("asset", fmt::format("asset: expected a plain file name (letters, digits, '._- ', no leading "
                                           "dot), found '{}'",
                                           name.substr(0, 255)));
  }
  const std::filesystem::path path = folder_ / name;
  const File file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  struct stat info {};
  if (file.fd < 0 || ::fstat(file.fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    throw not_found_error(fmt::format("asset '{}' is not in the server's asset folder", name), "asset");
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size > limits_.max_asset_bytes) {
    throw Error(ErrorCode::limit,
                fmt::format("asset '{}' has {} bytes, this server accepts {}", name, size, limits_.max_asset_bytes),
                "asset");
  }
  AssetContent asset{.sha256 = {}, .name = name, .content = std::string(size, '\0')};
  for (std::size_t done = 0; done < size;) {
    const ssize_t n = ::read(file.fd, asset.content.edit().data() + done, size - done);
    if (n <= 0) throw file_error(name, fmt::format("asset '{}' cannot be read: {}", name, std::strerror(errno)));
    done += static_cast<std::size_t>(n);
  }
  asset.sha256 = sha256_hex(asset.content);
  return std::make_shared<const AssetContent>(std::move(asset));
}

}  // namespace heelstrike::fem
