/// Memory budget of unfinished uploads, which cannot be checked before they are complete.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

namespace heelstrike::rpc {

/// Thread-safe.
class UploadBudget {
 public:
  /// @param per_client  [bytes] of all unfinished uploads of one client
  /// @param total       [bytes] of all unfinished uploads
  UploadBudget(std::size_t per_client, std::size_t total) : per_client_(per_client), total_(total) {}

  /// Memory of one upload so far; released at its end.
  class Share {
   public:
    Share(UploadBudget& budget, std::string account) : budget_(budget), account_(std::move(account)) {}
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    /// @throws Error{limit}, until other uploads have ended
    void reserve(std::size_t bytes);

   private:
    UploadBudget& budget_;
    std::string account_;
    std::size_t bytes_ = 0;
  };

 private:
  std::size_t per_client_;
  std::size_t total_;
  std::mutex mutex_;  ///< guards the following members
  std::size_t used_ = 0;
  std::map<std::string, std::size_t> used_per_account_;
};

}  // namespace heelstrike::rpc
