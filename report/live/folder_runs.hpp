/// Run folders, read while they are written.
#pragma once

#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "report/live/live_run.hpp"
#include "report/live/live_view.hpp"

namespace heelstrike {

class FolderRuns final : public LiveRuns {
 public:
  /// @throws Error{file} when one of them is not a run folder
  explicit FolderRuns(const std::vector<std::filesystem::path>& folders);

  [[nodiscard]] std::string source() const override;
  [[nodiscard]] std::vector<LiveRunEntry> list() override;
  [[nodiscard]] std::shared_ptr<LiveRun> find(const std::string& id) override;
  [[nodiscard]] bool can_cancel() const override { return false; }
  void cancel(const std::string& id) override;

 private:
  void keep_reading(const std::stop_token& stop);

  std::vector<std::string> ids_;
  std::vector<LiveView> views_;  ///< read by the thread only
  std::jthread reader_;          ///< last member: stopped first
};

}  // namespace heelstrike
