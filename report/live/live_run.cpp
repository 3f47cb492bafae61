#include "report/live/live_run.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>

#include "common/errors/error.hpp"
#include "common/results/thinning.hpp"
#include "report/columns.hpp"

namespace heelstrike {

void SampleHistory::add(double time, double value) {
  samples_.push_back({time, value});
  if (samples_.size() >= capacity_) coarsen();
}

void SampleHistory::coarsen() {
  // The newest sample is not grouped: viewers show it as the current value.
  const Sample newest = samples_.back();
  samples_.pop_back();
  std::size_t n = 1;  // the first sample is retained
  for (std::size_t group = 1; group < samples_.size(); group += 4) {
    const auto begin = samples_.begin() + static_cast<std::ptrdiff_t>(group);
    const auto end = samples_.begin() + static_cast<std::ptrdiff_t>(std::min(group + 4, samples_.size()));
    const auto smaller = [](const Sample& a, const Sample& b) { return a.value < b.value; };
    auto [low, high] = std::minmax_element(begin, end, smaller);
    if (high < low) std::swap(low, high);
    const Sample first = *low;
    const Sample second = *high;
    samples_[n++] = first;
    if (low != high) samples_[n++] = second;
  }
  samples_.resize(n);
  samples_.push_back(newest);
}

std::vector<Sample> SampleHistory::thinned(std::size_t budget) const {
  std::vector<double> values;
  values.reserve(samples_.size());
  for (const Sample& sample : samples_) values.push_back(sample.value);
  std::vector<Sample> kept;
  for (const std::size_t row : rows_with_extremes(values, budget)) kept.push_back(samples_[row]);
  return kept;
}

namespace {

constexpr std::size_t max_traces = 48;
constexpr std::size_t text_width = 64;
constexpr std::size_t text_curves = 6;

/// True for columns that show the progress of contact and integration.
bool is_watched(const report::ColumnName& name) {
  constexpr std::array watched = {"force",     "indentation", "peak_pressure", "area",
                                  "step_size", "energy",      "region_force",  "region_peak_pressure"};
  return std::ranges::find(watched, name.quantity) != watched.end();
}

/// The value of largest magnitude in each of `width` blocks.
std::vector<double> blocks_of(const std::vector<Sample>& samples, std::size_t width) {
  std::vector<double> blocks;
  const std::size_t n = std::min(width, samples.size());
  for (std::size_t b = 0; b < n; ++b) {
    double value = 0.0;
    for (std::size_t i = b * samples.size() / n; i < (b + 1) * samples.size() / n; ++i) {
      if (std::abs(samples[i].value) > std::abs(value)) value = samples[i].value;
    }
    blocks.push_back(value);
  }
  return blocks;
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

void LiveRun::on_schema(std::span<const Column> columns) {
  const std::scoped_lock lock(mutex_);
  columns_.clear();
  traces_.clear();
  for (const Column& column : columns) columns_.push_back(column.name);
  const std::vector<report::ColumnName> names = report::read_column_names(columns_);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const report::ColumnName& name = names[c];
    if (c == 0 || !is_watched(name) || traces_.size() == max_traces) continue;
    traces_.push_back(
        {.column = c, .name = columns[c].name, .unit = name.unit, .history = SampleHistory(), .last = 0.0});
  }
  ++version_;
}

void LiveRun::on_row(std::span<const double> values) {
  const std::scoped_lock lock(mutex_);
  if (values.size() != columns_.size() || values.empty()) return;  // truncated by a killed writer
  row_.assign(values.begin(), values.end());
  previous_time_ = state_.progress.time;
  state_.progress.time = values[0];
  if (!first_row_) {
    first_row_ = Clock::now();
    time_at_first_row_ = values[0];
  }
  for (Trace& trace : traces_) {
    const double value = values[trace.column];
    if (!trace.history.samples().empty() && value != trace.history.samples().front().value) trace.varies = true;
    trace.history.add(values[0], value);
    trace.last = value;
  }
  ++state_.rows;
  ++version_;
}

void LiveRun::on_rows_skipped(std::uint64_t n_rows) {
  const std::scoped_lock lock(mutex_);
  state_.rows += n_rows;
  // Thinned rows do not determine the step size; the server reports it.
  previous_time_ = state_.progress.time;
}

void LiveRun::on_progress(const Progress& progress) {
  const std::scoped_lock lock(mutex_);
  const double time = std::max(state_.progress.time, progress.time);
  state_.progress = progress;
  state_.progress.time = time;
  ++version_;
}

void LiveRun::on_log(std::string_view level, std::string_view text) {
  if (level != "warning" && level != "error") return;
  set_note(std::string(text));
}

void LiveRun::on_resumed(std::optional<std::int64_t> /*step*/) {
  {
    const std::scoped_lock lock(mutex_);
    state_.rows = 0;  // curves restart with the following schema
  }
  set_note("the run was resumed after the failure of its server");
}

void LiveRun::on_fields(const FieldFrame& frame) {
  if (frame.part != FieldPart::main || frame.vtu.empty()) return;
  const std::string name = frame.pair + " " + frame.body;
  report::FieldGrid grid;
  try {
    // A large file is read without the lock, which would block viewers.
    grid = report::parse_vtu(frame.vtu, name);
  } catch (const Error& error) {
    return set_note(error.what());  // no map, but the run continues
  }
  if (!report::PressureMap::has_pressure(grid)) return;
  const std::scoped_lock lock(mutex_);
  const auto known = prints_.find(name);
  if (known == prints_.end()) {
    prints_.emplace(name, Print{frame.time, {grid, report::pose_in_row(columns_, row_, frame.body)}});
  } else {
    known->second.time = frame.time;
    known->second.map.add(grid);
  }
  ++version_;
}

void LiveRun::set_end_time(double end_time) {
  const std::scoped_lock lock(mutex_);
  state_.progress.end_time = end_time;
}

void LiveRun::set_note(const std::string& note) {
  const std::scoped_lock lock(mutex_);
  if (state_.note == note) return;
  state_.note = note;
  ++version_;
}

void LiveRun::finish(const std::string& state, const std::string& note) {
  const std::scoped_lock lock(mutex_);
  state_.state = state;
  state_.note = note;
  ++version_;
}

LiveState LiveRun::state_locked() const {
  LiveState state = state_;
  const Progress& p = state.progress;
  if (p.step_size == 0.0 && state.rows > 1) state.progress.step_size = p.time - previous_time_;
  if (p.wall_time > 0.0) {
    state.pace = p.time / p.wall_time;
  } else if (first_row_ && !state.over()) {
    const double elapsed = std::chrono::duration<double>(Clock::now() - *first_row_).count();
    if (elapsed > 0.5) state.pace = (p.time - time_at_first_row_) / elapsed;
  }
  if (!state.over() && state.pace > 0.0 && p.end_time > p.time) state.remaining = (p.end_time - p.time) / state.pace;
  return state;
}

LiveState LiveRun::state() const {
  const std::scoped_lock lock(mutex_);
  return state_locked();
}

std::vector<std::string> LiveRun::columns() const {
  const std::scoped_lock lock(mutex_);
  return columns_;
}

std::uint64_t LiveRun::version() const {
  const std::scoped_lock lock(mutex_);
  return version_;
}

std::vector<LiveCurve> LiveRun::curves(std::size_t budget) const {
  const std::scoped_lock lock(mutex_);
  std::vector<LiveCurve> curves;
  for (const Trace& trace : traces_) {
    if (trace.varies) curves.push_back({trace.name, trace.unit, trace.history.thinned(budget), trace.last});
  }
  return curves;
}

std::vector<LiveMap> LiveRun::maps(std::size_t n_cells) const {
  const std::scoped_lock lock(mutex_);
  std::vector<LiveMap> maps;
  for (const auto& [name, print] : prints_) {
    maps.push_back({name, print.time, print.map.peak_pressure(), print.map.view(print.map.latest(), n_cells),
                    print.map.view(print.map.peak(), n_cells)});
  }
  return maps;
}

std::string LiveRun::text(const std::string& name) const {
  const std::scoped_lock lock(mutex_);
  const LiveState state = state_locked();
  const Progress& p = state.progress;
  std::string text = fmt::format("{}: t = {:.6g}", name, p.time);
  if (p.end_time > 0.0)
    text += fmt::format(" of {:g} s, {:.0f} %", p.end_time, 100.0 * std::min(1.0, p.time / p.end_time));
  if (!p.stage.empty() && p.time == 0.0) text += fmt::format(", preparing {} {:.0f} %", p.stage, 100.0 * p.fraction);
  text += fmt::format(", {} rows, step {:.3g} s", state.rows, p.step_size);
  if (state.pace > 0.0) text += fmt::format(", {:.3g}x real time", state.pace);
  if (state.remaining > 0.0) text += fmt::format(", about {:.0f} s left", state.remaining);
  text += "\n";
  if (state.over() || !state.note.empty()) {
    text += state.over() ? state.state : std::string("note");
    text += state.note.empty() ? std::string("\n") : ": " + state.note + "\n";
  }
  std::size_t n_displayed = 0;
  for (const Trace& trace : traces_) {
    if (!trace.varies || trace.unit != "N" || n_displayed == text_curves) continue;
    ++n_displayed;
    text += fmt::format("{:<24} {} {:.5g} N\n", trace.name, spark_line(blocks_of(trace.history.samples(), text_width)),
                        trace.last);
  }
  return text;
}

}  // namespace heelstrike
