#include "report/live/folder_runs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>

#include "common/errors/error.hpp"

namespace heelstrike {
namespace {

constexpr std::chrono::milliseconds poll_interval{250};

}  // namespace

FolderRuns::FolderRuns(const std::vector<std::filesystem::path>& folders) {
  for (const auto& folder : folders) {
    views_.emplace_back(folder);
    views_.back().read();
    ids_.push_back(fmt::format("run-{}", ids_.size() + 1));
  }
  reader_ = std::jthread([this](const std::stop_token& stop) { keep_reading(stop); });
}

void FolderRuns::keep_reading(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  while (!wake.wait_for(lock, stop, poll_interval, [] { return false; }) && !stop.stop_requested()) {
    for (LiveView& view : views_) {
      if (view.over()) continue;
      try {
        view.read();
        view.run()->set_note({});
      } catch (const Error& error) {
        view.run()->set_note(error.what());
      }
    }
  }
}

std::string FolderRuns::source() const {
  std::vector<std::string> names;
  for (const LiveView& view : views_) names.push_back(view.folder().string());
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<LiveRunEntry> FolderRuns::list() {
  std::vector<LiveRunEntry> entries;
  for (std::size_t i = 0; i < views_.size(); ++i) {
    entries.push_back({ids_[i], views_[i].folder().filename().string(), views_[i].run()->state()});
  }
  return entries;
}

std::shared_ptr<LiveRun> FolderRuns::find(const std::string& id) {
  const auto found = std::ranges::find(ids_, id);
  if (found == ids_.end()) throw not_found_error(fmt::format("unknown run '{}'", id));
  return views_[static_cast<std::size_t>(found - ids_.begin())].run();
}

void FolderRuns::cancel(const std::string& /*id*/) {
  throw input_error("cancel",
                    "a run can be stopped only when it is watched at its multibody server: heelstrike watch ADDRESS");
}

}  // namespace heelstrike
