#include "client/runs/live_view.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>

#include "common/errors/error.hpp"
#include "common/results/output_file.hpp"
#include "common/results/run_folder.hpp"

namespace heelstrike::client {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t most_samples = 64;
constexpr std::size_t most_traces = 6;
constexpr const char* still_going = "The run has not ended";

double end_time_of(const fs::path& scenario) {
  try {
    return YAML::Load(read_whole_file(scenario))["analysis"]["end_time"].as<double>(0.0);
  } catch (const YAML::Exception&) {
    return 0.0;
  }
}

bool is_force(const std::string& column) {
  return column.ends_with(".fx_N") || column.ends_with(".fy_N") || column.ends_with(".fz_N");
}

}  // namespace

std::string spark_line(const std::vector<double>& values) {
  constexpr const char* blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (values.empty()) return {};
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  std::string line;
  for (const double value : values) {
    const double fraction = *high > *low ? (value - *low) / (*high - *low) : 0.0;
    line += blocks[static_cast<std::size_t>(std::lround(fraction * 7.0))];
  }
  return line;
}

LiveView::LiveView(fs::path folder) : folder_(std::move(folder)), first_look_(Clock::now()) {
  if (!fs::exists(folder_ / "scenario.yaml")) {
    throw file_error(folder_.string(),
                     fmt::format("{}: expected a run folder (with scenario.yaml), found none", folder_.string()));
  }
  end_time_ = end_time_of(folder_ / "scenario.yaml");
}

void LiveView::take_header(const std::string& line) {
  std::size_t column = 0;
  for (std::size_t at = 0; at <= line.size(); ++column) {
    const std::size_t comma = std::min(line.find(',', at), line.size());
    const std::string name = line.substr(at, comma - at);
    if (is_force(name) && traces_.size() < 3 * most_traces)
      traces_.push_back({.column = column, .name = name, .samples = {}});
    at = comma + 1;
  }
  has_header_ = true;
}

void LiveView::add(Trace& trace, double value) {
  trace.last = value;
  if (trace.n_pending == 0 || std::abs(value) > std::abs(trace.pending)) trace.pending = value;
  if (++trace.n_pending < trace.rows_per_sample) return;
  trace.samples.push_back(trace.pending);
  trace.n_pending = 0;
  if (trace.samples.size() <= most_samples) return;
  // Twice as coarse, the larger of two neighbours kept.
  for (std::size_t i = 0; i + 1 < trace.samples.size(); i += 2) {
    const double a = trace.samples[i];
    const double b = trace.samples[i + 1];
    trace.samples[i / 2] = std::abs(a) > std::abs(b) ? a : b;
  }
  trace.samples.resize(trace.samples.size() / 2);
  trace.rows_per_sample *= 2;
}

void LiveView::take_row(const std::string& line) {
  std::size_t column = 0;
  std::size_t next_trace = 0;
  for (std::size_t at = 0; at <= line.size(); ++column) {
    const std::size_t comma = std::min(line.find(',', at), line.size());
    const bool is_trace = next_trace < traces_.size() && traces_[next_trace].column == column;
    if (column == 0 || is_trace) {
      double value = 0.0;
      std::from_chars(line.data() + at, line.data() + comma, value);
      if (column == 0) {
        previous_time_ = time_;
        time_ = value;
      }
      if (is_trace) add(traces_[next_trace++], value);
    }
    at = comma + 1;
  }
  ++n_rows_;
}

void LiveView::read() {
  // Before the rows: what is written after this look is taken by the next one.
  const std::string reason = incomplete_reason(folder_);
  const bool ended = !reason.starts_with(still_going) && fs::exists(folder_ / "summary.json");
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
        const std::string line = rest_.substr(start, end - start);
        if (has_header_)
          take_row(line);
        else
          take_header(line);
        start = end + 1;
      }
      rest_.erase(0, start);
    }
  }
  if (time_at_first_look_ < 0.0) time_at_first_look_ = time_;
  over_ = ended;
  if (ended) outcome_ = reason.empty() ? "completed" : reason;
}

std::string LiveView::text() const {
  const double elapsed = std::chrono::duration<double>(Clock::now() - first_look_).count();
  const double gained = time_ - time_at_first_look_;
  std::string text = fmt::format("{}: t = {:.6g}", folder_.filename().string(), time_);
  if (end_time_ > 0.0) text += fmt::format(" of {:g} s, {:.0f} %", end_time_, 100.0 * std::min(1.0, time_ / end_time_));
  text += fmt::format(", {} rows, {:.3g} s apart", n_rows_, time_ - previous_time_);
  if (!over_ && gained > 0.0 && elapsed > 0.5) {
    const double pace = gained / elapsed;
    text += fmt::format(", {:.3g}x real time", pace);
    if (end_time_ > time_) text += fmt::format(", about {:.0f} s left", (end_time_ - time_) / pace);
  }
  text += over_ ? fmt::format("\n{}\n", outcome_) : "\n";
  std::size_t n_shown = 0;
  for (const Trace& trace : traces_) {
    const bool flat = std::all_of(trace.samples.begin(), trace.samples.end(), [](double v) { return v == 0.0; });
    if (flat || n_shown == most_traces) continue;
    ++n_shown;
    text += fmt::format("{:<24} {} {:.5g}\n", trace.name, spark_line(trace.samples), trace.last);
  }
  return text;
}

}  // namespace heelstrike::client
