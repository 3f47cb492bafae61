#include "report/live/live_view.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>

#include "common/errors/error.hpp"
#include "common/files/output_file.hpp"
#include "common/results/run_folder.hpp"
#include "report/columns.hpp"

namespace heelstrike {
namespace {

namespace fs = std::filesystem;

constexpr const char* running_mark = "The run has not ended";

double end_time_of(const fs::path& scenario) {
  try {
    return YAML::Load(read_whole_file(scenario))["analysis"]["end_time"].as<double>(0.0);
  } catch (const YAML::Exception&) {
    return 0.0;
  }
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t comma = std::min(line.find(',', at), line.size());
    cells.push_back(line.substr(at, comma - at));
    at = comma + 1;
  }
  return cells;
}

}  // namespace

LiveView::LiveView(fs::path folder) : folder_(std::move(folder)) {
  if (!fs::exists(folder_ / "scenario.yaml")) {
    throw file_error(folder_.string(),
                     fmt::format("{}: expected a run folder (with scenario.yaml), found none", folder_.string()));
  }
  if (!folder_.has_filename()) folder_ = folder_.parent_path();
  run_->set_end_time(end_time_of(folder_ / "scenario.yaml"));
}

void LiveView::read_line(const std::string& line) {
  if (!has_header_) {
    std::vector<Column> columns;
    for (const std::string& name : cells_of(line)) columns.push_back({name, report::read_column_name(name).unit, ""});
    run_->on_schema(columns);
    has_header_ = true;
    return;
  }
  row_.clear();
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t comma = std::min(line.find(',', at), line.size());
    double value = std::numeric_limits<double>::quiet_NaN();  // of an empty cell
    std::from_chars(line.data() + at, line.data() + comma, value);
    row_.push_back(value);
    at = comma + 1;
  }
  run_->on_row(row_);
}

void LiveView::read_fields() {
  if (!fs::exists(folder_ / "fields.pvd")) return;
  const auto files = report::read_field_index(folder_);
  for (; n_fields_ < files.size(); ++n_fields_) {
    const report::FieldFile& file = files[n_fields_];
    const auto owner = report::part_owner(file.name, run_->columns());
    if (!owner) continue;
    run_->on_fields({.time = file.time,
                     .pair = owner->pair,
                     .body = owner->body,
                     .part = FieldPart::main,
                     .vtu = read_whole_file(folder_ / file.file)});
  }
}

void LiveView::read() {
  // Read before the rows: later rows are read by the next poll.
  const std::string reason = incomplete_reason(folder_);
  const bool ended = !reason.starts_with(running_mark) && fs::exists(folder_ / "summary.json");
  std::ifstream file(folder_ / "timeseries.csv", std::ios::binary);
  if (file) {
    file.seekg(static_cast<std::streamoff>(offset_));
    std::string chunk(1 << 16, '\0');
    while (file.read(chunk.data(), static_cast<std::streamsize>(chunk.size())) || file.gcount() > 0) {
      const auto n = static_cast<std::size_t>(file.gcount());
      offset_ += n;
      rest_.append(chunk, 0, n);
      std::size_t start = 0;
      for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', start)) {
        read_line(rest_.substr(start, end - start));
        start = end + 1;
      }
      rest_.erase(0, start);
    }
  }
  if (has_header_) read_fields();
  if (ended && !over()) run_->finish(read_summary(folder_).status, reason);
}

}  // namespace heelstrike
