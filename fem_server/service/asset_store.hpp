/// Input files of sessions: uploaded files by digest, files of the server owner by name from one folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "common/contact/contact.hpp"
#include "fem_server/service/limits.hpp"

namespace heelstrike::fem {

/// Thread-safe. Returned content remains valid after eviction from the store.
class AssetStore {
 public:
  using Content = std::shared_ptr<const AssetContent>;

  /// @param folder  folder of the named assets; empty = none
  AssetStore(const ServiceLimits& limits, std::filesystem::path folder);

  /// Checks digest, name and size of an upload.
  /// @throws Error{invalid_input}, Error{limit}
  void check_header(const std::string& sha256, const std::string& name, std::uint64_t size_bytes) const;

  [[nodiscard]] bool contains(const std::string& sha256) const;

  /// @throws Error{invalid_input} when the digest does not match the content
  void insert(AssetContent asset);

  /// By digest, or by name when the digest is empty.
  /// @throws Error{not_found} with a remedy; Error{invalid_input} for a name that is not a plain file name;
  /// Error{file}
  [[nodiscard]] Content find(const AssetKey& file);

 private:
  struct Stored {
    Content content;
    std::uint64_t last_used = 0;
  };
  [[nodiscard]] Content find_uploaded(const std::string& sha256);
  [[nodiscard]] Content read_named(const std::string& name) const;
  void evict_assets(std::size_t bytes);

  ServiceLimits limits_;
  std::filesystem::path folder_;
  mutable std::mutex mutex_;
  std::map<std::string, Stored> uploaded_;
  std::size_t stored_bytes_ = 0;
  std::uint64_t uses_ = 0;
};

}  // namespace heelstrike::fem
