#include "gait/marker_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

#include "common/errors/error.hpp"
#include "common/parameters/parameter.hpp"
#include "common/text/suggestion.hpp"
#include "common/text/text_file.hpp"
#include "gait/axes_and_units.hpp"

namespace heelstrike {
namespace {

constexpr double unregistered = std::numeric_limits<double>::quiet_NaN();

/// Tab-separated entries without surrounding blanks.
std::vector<std::string_view> entries_of(std::string_view line) {
  std::vector<std::string_view> entries;
  while (true) {
    const auto tab = line.find('\t');
    entries.push_back(trimmed(line.substr(0, tab)));
    if (tab == std::string_view::npos) return entries;
    line.remove_prefix(tab + 1);
  }
}

/// Nonempty entries of a header line, separated by tabs or, in a line without tabs, by blanks.
std::vector<std::string_view> header_entries_of(std::string_view line) {
  auto entries = entries_of(line);
  if (entries.size() == 1) {
    line = entries.front();
    entries.clear();
    for (std::size_t at = 0; (at = line.find_first_not_of(' ', at)) != std::string_view::npos;) {
      const std::size_t end = std::min(line.find(' ', at), line.size());
      entries.push_back(line.substr(at, end - at));
      at = end;
    }
  }
  std::erase(entries, std::string_view());
  return entries;
}

class TrcReader {
 public:
  TrcReader(std::string_view text, const std::string& file_name) : text_(text), lines_(text_.bytes()) {
    trial_.file_name = file_name;
  }

  MarkerTrial read() {
    read_values();
    read_names();
    while (const auto line = lines_.next()) {
      line_ = line->number;
      if (!trimmed(line->text).empty()) read_row(entries_of(line->text));
    }
    check_frames();
    return std::move(trial_);
  }

 private:
  [[noreturn]] void reject(const std::string& what) const {
    throw input_error("file", fmt::format("{}:{}: {}", trial_.file_name, line_, what));
  }

  std::vector<std::string_view> header_line(const std::string& meaning) {
    const auto line = lines_.next();
    line_ += 1;
    if (!line || trimmed(line->text).empty()) {
      reject(
          fmt::format("expected the header line with {}, found nothing; a .trc file has five header lines", meaning));
    }
    return header_entries_of(line->text);
  }

  double number(std::string_view entry, const std::string& meaning) const {
    if (entry.empty()) return unregistered;
    if (entry.front() == '+') entry.remove_prefix(1);
    double value = 0.0;
    const auto result = std::from_chars(entry.data(), entry.data() + entry.size(), value);
    if (result.ec != std::errc() || result.ptr != entry.data() + entry.size() || std::isinf(value)) {
      reject(fmt::format("{}: expected a number, found '{}'; correct the file", meaning, entry));
    }
    return value;
  }

  /// Required header value.
  std::string_view value(const std::string& key) const {
    const auto found = values_.find(key);
    if (found == values_.end()) {
      reject(fmt::format("expected the header value {}, found {}; correct the header", key, fmt::join(keys_, ", ")));
    }
    return found->second;
  }

  void read_values() {
    const std::string_view first = header_line("PathFileType").front();
    if (first.substr(0, first.find(' ')) != "PathFileType") {
      reject("expected 'PathFileType' at the start of a .trc file, found other text; check that it is a .trc file");
    }
    const auto keys = header_line("the names of the data values (DataRate, NumFrames, ...)");
    const auto values = header_line("the data values");
    if (keys.size() != values.size()) {
      reject(fmt::format("expected {} values, one for each name above, found {}; correct the header", keys.size(),
                         values.size()));
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      keys_.emplace_back(keys[i]);
      values_[std::string(keys[i])] = values[i];
    }
    values_line_ = line_;
    trial_.rate = number(value("DataRate"), "DataRate");
    if (!(trial_.rate > 0.0)) reject(fmt::format("DataRate: expected a rate > 0 [Hz], found {}", trial_.rate));
    const std::string_view units = value("Units");
    const auto length = length_of_unit(units);
    if (!length) reject(fmt::format("Units: expected mm, cm or m, found '{}'; correct the header", units));
    scale_ = *length;
    n_frames_ = number(value("NumFrames"), "NumFrames");
    n_markers_ = number(value("NumMarkers"), "NumMarkers");
  }

  void read_names() {
    const auto entries = header_line("Frame#, Time and the marker names");
    const auto is = [&](std::size_t i, std::string_view word) {
      return std::ranges::equal(entries[i].substr(0, word.size()), word,
                                [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
    };
    if (entries.size() < 3 || !is(0, "frame") || !is(1, "time")) {
      reject("expected 'Frame#', 'Time' and marker names, found other text; correct the header");
    }
    for (std::size_t i = 2; i < entries.size(); ++i) {
      const std::string name(entries[i]);
      if (std::ranges::find(trial_.names, name) != trial_.names.end()) {
        reject(fmt::format("expected unique marker names, found '{}' twice; rename one", name));
      }
      trial_.names.push_back(name);
    }
    const std::size_t n = trial_.names.size();
    trial_.positions.resize(n);
    const auto columns = header_line("X1, Y1, Z1, ...");
    if (columns.size() != 3 * n) {
      reject(
          fmt::format("expected the columns X1, Y1, Z1, ... of {} markers, one for each name above, found {} columns; "
                      "correct the header",
                      n, columns.size()));
    }
    if (static_cast<double>(n) != n_markers_) {
      note(fmt::format("NumMarkers is {}, the file has {} markers; all are used", n_markers_, n));
    }
  }

  void read_row(std::vector<std::string_view> entries) {
    const std::size_t expected = 2 + 3 * trial_.names.size();
    // Trailing tabs are common; an unseen marker at the end of a row may be omitted together with its tabs.
    while (entries.size() > expected && entries.back().empty()) entries.pop_back();
    if (entries.size() > expected && (entries.size() - expected) % 3 == 0) {
      n_unnamed_ = std::max(n_unnamed_, (entries.size() - expected) / 3);
      entries.resize(expected);
    }
    if (entries.size() < 2 || entries.size() > expected) {
      reject(fmt::format("expected {} entries (frame, time and {} markers), found {}; correct the row", expected,
                         trial_.names.size(), entries.size()));
    }
    entries.resize(expected);
    const double time = number(entries[1], "Time");
    if (!std::isfinite(time)) reject("Time: expected a number [s], found nothing; correct the row");
    if (!trial_.times.empty() && !(time > trial_.times.back())) {
      reject(
          fmt::format("expected a time above {} s of the row before, found {} s; times must increase: correct the "
                      "file",
                      trial_.times.back(), time));
    }
    trial_.times.push_back(time);
    for (std::size_t i = 0; i < trial_.names.size(); ++i) {
      Vector3 p;
      for (int c = 0; c < 3; ++c) {
        p[c] = number(entries[2 + 3 * i + static_cast<std::size_t>(c)], trial_.names[i]);
      }
      const bool seen = p.allFinite() && !p.isZero(0.0);
      trial_.positions[i].push_back(seen ? Vector3(scale_ * p) : Vector3::Constant(unregistered));
    }
  }

  void check_frames() {
    line_ = values_line_;
    if (trial_.frames() < 2) reject(fmt::format("expected at least two rows, found {}", trial_.frames()));
    if (n_unnamed_ > 0)
      note(fmt::format("rows have up to {} additional markers without names, which are skipped", n_unnamed_));
    if (const auto frames = static_cast<double>(trial_.frames()); frames != n_frames_) {
      note(fmt::format("NumFrames is {}, the file has {} rows; all are used{}", n_frames_, frames,
                       frames < n_frames_ ? "; check for a truncated file" : ""));
    }
    const double found = static_cast<double>(trial_.frames() - 1) / (trial_.times.back() - trial_.times.front());
    if (std::abs(found / trial_.rate - 1.0) > 0.05) {
      note(fmt::format("DataRate is {} Hz, the times have {:.4g} Hz, which is used", trial_.rate, found));
      trial_.rate = found;
    }
  }

  void note(const std::string& what) {
    trial_.notes.push_back(fmt::format("{}:{}: {}", trial_.file_name, values_line_, what));
  }

  MarkedText text_;
  TextLines lines_;
  std::size_t line_ = 0;
  std::size_t values_line_ = 0;
  std::vector<std::string> keys_;
  std::map<std::string, std::string_view> values_;
  double scale_ = 0.0;
  double n_frames_ = 0.0;
  double n_markers_ = 0.0;
  std::size_t n_unnamed_ = 0;
  MarkerTrial trial_;
};

}  // namespace

std::size_t MarkerTrial::index(const std::string& name) const {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  throw input_error("markers",
                    fmt::format("{}: expected a marker '{}', found none of that name; {}", file_name, name,
                                suggestion(name, names, fmt::format("the file has {}", fmt::join(names, ", ")))));
}

MarkerTrial read_trc(std::string_view text, const std::string& file_name) {
  return TrcReader(text, file_name).read();
}

std::string trc_text(const MarkerTrial& trial, std::size_t first_frame) {
  std::string text = fmt::format(
      "PathFileType\t4\t(X/Y/Z)\t{}\n"
      "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames\n"
      "{}\t{}\t{}\t{}\tmm\t{}\t{}\t{}\nFrame#\tTime",
      trial.file_name, trial.rate, trial.rate, trial.frames(), trial.names.size(), trial.rate, first_frame,
      trial.frames());
  for (std::size_t i = 0; i < trial.names.size(); ++i)
    text += "\t" + trial.names[i] + (i + 1 < trial.names.size() ? "\t\t" : "");
  text += "\n\t";
  for (std::size_t i = 1; i <= trial.names.size(); ++i) text += fmt::format("\tX{}\tY{}\tZ{}", i, i, i);
  text += "\n\n";
  for (std::size_t k = 0; k < trial.frames(); ++k) {
    text += fmt::format("{}\t{}", first_frame + k, trial.times[k]);
    for (const auto& positions : trial.positions) {
      const Vector3 p = 1e3 * positions[k];
      text += is_seen(p) ? fmt::format("\t{}\t{}\t{}", static_cast<float>(p.x()), static_cast<float>(p.y()),
                                       static_cast<float>(p.z()))
                         : "\t\t\t";
    }
    text += '\n';
  }
  return text;
}

}  // namespace heelstrike
