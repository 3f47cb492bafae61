/// The plan of a sweep, FOLDER/plan.jsonl: a header and one line for each run. Every worker reads it; it is replaced as
/// a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "client/sweeps/sweep_grid.hpp"
#include "library/runs/run_request.hpp"

namespace heelstrike::client {

struct SweepHeader {
  std::string version;             ///< of the program that planned: workers of another version end with an error
  std::filesystem::path scenario;  ///< absolute
  std::string identity;            ///< sha256 of the text of the scenario
  /// sha256 of the files of all runs that were checked, by their names in the scenario
  std::map<std::string, std::string> files = {};
  Overrides overrides = {};  ///< of all runs: back-end and assignments
};

/// One line of a plan.
struct SweepRun {
  std::size_t number = 0;  ///< from 1
  std::string key;         ///< 16 hexadecimal digits: a digest of all inputs, equal for equal runs of different plans
  SweepPoint point;
};

class SweepPlan {
 public:
  /// @throws Error{file}
  static void write(const std::filesystem::path& folder, const SweepHeader& header,
                    const std::vector<SweepPoint>& points);
  static void remove(const std::filesystem::path& folder);
  /// 16 hexadecimal digits.
  [[nodiscard]] static std::string key_of(const SweepHeader& header, const SweepPoint& point);
  /// Keeps the positions of the lines (8 bytes a run), not the lines. @throws Error{file} for a missing, truncated or
  /// damaged plan
  explicit SweepPlan(const std::filesystem::path& folder);

  [[nodiscard]] const SweepHeader& header() const { return header_; }
  [[nodiscard]] std::size_t size() const { return lines_.size(); }
  /// @param number  1 to size(). @throws Error{file}
  [[nodiscard]] SweepRun run(std::size_t number) const;
  /// The request of a run.
  /// @throws as load_request
  [[nodiscard]] static RunRequest request(const SweepHeader& header, const SweepPoint& point,
                                          const BackendSchemas& schemas, const std::stop_token& stop = {});

 private:
  [[noreturn]] void fail(const std::string& found) const;

  std::filesystem::path path_;
  SweepHeader header_;
  std::vector<std::uint64_t> lines_;
  mutable std::ifstream file_;
};

/// @throws Error{invalid_input} when the text of the scenario differs from that of the plan, Error{file} without it
void check_planned_scenario(const SweepHeader& header);
/// @throws Error{invalid_input} when a file of the request differs from that of the plan
void check_planned_files(const SweepHeader& header, const RunRequest& request);

}  // namespace heelstrike::client
