#include "rpc/server/upload_budget.hpp"

#include <fmt/format.h>

#include "common/errors/error.hpp"

namespace heelstrike::rpc {

UploadBudget::Share::~Share() {
  const std::scoped_lock lock(budget_.mutex_);
  budget_.used_ -= bytes_;
  const auto own = budget_.used_by_.find(account_);
  if (own != budget_.used_by_.end() && (own->second -= bytes_) == 0) budget_.used_by_.erase(own);
}

void UploadBudget::Share::take(std::size_t bytes) {
  const std::scoped_lock lock(budget_.mutex_);
  std::size_t& own = budget_.used_by_[account_];
  const bool own_is_full = own + bytes > budget_.per_client_;
  if (own_is_full || budget_.used_ + bytes > budget_.total_) {
    if (own == 0) budget_.used_by_.erase(account_);
    throw Error(ErrorCode::limit,
                fmt::format("unfinished uploads {} would take more than {} MiB of this server's memory together; try "
                            "again when others have ended, or raise --max-upload-mib",
                            own_is_full ? "of this client" : "of all clients",
                            (own_is_full ? budget_.per_client_ : budget_.total_) >> 20U),
                "upload", true);
  }
  own += bytes;
  budget_.used_ += bytes;
  bytes_ += bytes;
}

}  // namespace heelstrike::rpc
