#include "rpc/server/upload_budget.hpp"

#include <fmt/format.h>

#include "common/errors/error.hpp"

namespace heelstrike::rpc {

UploadBudget::Share::~Share() {
  const std::scoped_lock lock(budget_.mutex_);
  budget_.used_ -= bytes_;
  const auto own = budget_.used_per_account_.find(account_);
  if (own != budget_.used_per_account_.end() && (own->second -= bytes_) == 0) budget_.used_per_account_.erase(own);
}

void UploadBudget::Share::reserve(std::size_t bytes) {
  const std::scoped_lock lock(budget_.mutex_);
  std::size_t& own = budget_.used_per_account_[account_];
  const bool is_client_limit_reached = own + bytes > budget_.per_client_;
  if (is_client_limit_reached || budget_.used_ + bytes > budget_.total_) {
    if (own == 0) budget_.used_per_account_.erase(account_);
    throw Error(ErrorCode::limit,
                fmt::format("unfinished uploads {} would exceed {} MiB of memory of this server together; try again "
                            "after other uploads, or raise --max-upload-mib",
                            is_client_limit_reached ? "of this client" : "of all clients",
                            (is_client_limit_reached ? budget_.per_client_ : budget_.total_) >> 20U),
                "upload", true);
  }
  own += bytes;
  budget_.used_ += bytes;
  bytes_ += bytes;
}

}  // namespace heelstrike::rpc
