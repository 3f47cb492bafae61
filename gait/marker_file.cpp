#include "gait/marker_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <Eigen/Geometry>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "common/errors/error.hpp"
#include "common/parameters/parameter.hpp"
#include "common/text/suggestion.hpp"
#include "common/text/text_file.hpp"
#include "gait/axes_and_units.hpp"

namespace heelstrike {
namespace {

constexpr double unregistered = std::numeric_limits<double>::quiet_NaN();

/// Entries without surrounding blanks.
std::vector<std::string_view> entries_of(std::string_view line, char separator) {
  std::vector<std::string_view> entries;
  while (true) {
    const auto end = line.find(separator);
    entries.push_back(trimmed(line.substr(0, end)));
    if (end == std::string_view::npos) return entries;
    line.remove_prefix(end + 1);
  }
}

/// Appends the parts of a text that are separated by at least `n` blanks.
void append_parts(std::string_view text, std::size_t n, std::vector<std::string_view>& parts) {
  const std::string blanks(n, ' ');
  while (!(text = trimmed(text)).empty()) {
    const std::size_t end = std::min(text.find(blanks), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

/// Nonempty entries of a header line. Also separated by blanks: in a line without separators by one, else by two or
/// more, because the names of markers may contain a blank.
std::vector<std::string_view> header_entries_of(std::string_view line, char separator) {
  const auto entries = entries_of(line, separator);
  std::vector<std::string_view> parts;
  for (const std::string_view entry : entries) append_parts(entry, entries.size() == 1 ? 1 : 2, parts);
  return parts;
}

/// Spreadsheets save a .trc file with commas or semicolons.
char separator_of(std::string_view text) {
  constexpr std::string_view first_entry = "PathFileType";
  if (!text.starts_with(first_entry) || text.size() == first_entry.size()) return '\t';
  const char next = text[first_entry.size()];
  return next == ',' || next == ';' ? next : '\t';
}

class TrcReader {
 public:
  TrcReader(std::string_view text, const std::string& file_name)
      : text_(text), lines_(text_.bytes()), separator_(separator_of(text_.bytes())) {
    trial_.file_name = file_name;
  }

  MarkerTrial read() {
    read_values();
    read_names();
    while (const auto line = lines_.next()) {
      line_ = line->number;
      std::vector<std::string_view> entries = entries_of(line->text, separator_);
      const auto is_empty = [](std::string_view entry) { return entry.empty(); };
      if (!std::ranges::all_of(entries, is_empty)) read_row(std::move(entries));
    }
    check_frames();
    check_size();
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
    return header_entries_of(line->text, separator_);
  }

  double number(std::string_view entry, const std::string& meaning) const {
    if (entry.empty()) return unregistered;
    if (entry.front() == '+') entry.remove_prefix(1);
    std::string with_point;
    if (separator_ == ';' && entry.find(',') != std::string_view::npos) {
      with_point = entry;
      std::ranges::replace(with_point, ',', '.');
      entry = with_point;
    }
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
    const auto first = header_line("PathFileType");
    if (first.empty() || first.front().substr(0, first.front().find(' ')) != "PathFileType") {
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
    for (std::size_t i = 2; i < entries.size(); ++i) add_name(std::string(entries[i]));
    const std::size_t n = trial_.names.size();
    trial_.positions.resize(n);
    read_columns(n);
    if (static_cast<double>(n) != n_markers_) {
      note(fmt::format("NumMarkers is {}, the file has {} markers; all are used", n_markers_, n));
    }
  }

  /// The line X1, Y1, Z1, ..., which some programs leave empty, or write for some of the markers.
  void read_columns(std::size_t n_names) {
    const auto line = lines_.next();
    line_ += 1;
    if (!line) reject("expected the header line with X1, Y1, Z1, ..., found the end of the file");
    n_columns_ = header_entries_of(line->text, separator_).size();
    if (n_columns_ == 0) n_columns_ = 3 * n_names;
    if (n_columns_ > 3 * n_names || n_columns_ % 3 != 0) reject_columns();
    if (n_columns_ == 3 * n_names) return;
    trial_.notes.push_back(
        fmt::format("{}:{}: there are the columns X1, Y1, Z1, ... of {} markers, but {} names and "
                    "as many columns in the rows, which are used",
                    trial_.file_name, line_, n_columns_ / 3, n_names));
  }

  [[noreturn]] void reject_columns() const {
    reject(
        fmt::format("expected the columns X1, Y1, Z1, ... of {} markers, one for each name above, found {} columns; "
                    "correct the header",
                    trial_.names.size(), n_columns_));
  }

  /// True for a row with an empty entry in front of frame and time.
  static bool begins_with_separator(std::vector<std::string_view> entries, std::size_t expected) {
    while (entries.size() > expected && entries.back().empty()) entries.pop_back();
    return entries.size() == expected + 1 && entries.front().empty();
  }

  /// The name of the next marker; duplicates are numbered, as in C3D files.
  void add_name(const std::string& name) {
    const auto is_known = [&](const std::string& other) {
      return std::ranges::find(trial_.names, other) != trial_.names.end();
    };
    std::string unique = name;
    for (int k = 2; is_known(unique); ++k) unique = fmt::format("{}_{}", name, k);
    trial_.names.push_back(unique);
    if (unique == name) return;
    trial_.notes.push_back(fmt::format("{}:{}: marker {} is named {}: '{}' is the name of another one, too",
                                       trial_.file_name, line_, trial_.names.size(), unique, name));
  }

  void read_row(std::vector<std::string_view> entries) {
    const std::size_t expected = 2 + 3 * trial_.names.size();
    if (trial_.times.empty()) is_indented_ = begins_with_separator(entries, expected);
    if (is_indented_ && entries.front().empty()) entries.erase(entries.begin());
    // Trailing tabs are common; an unseen marker at the end of a row may be omitted together with its tabs.
    while (entries.size() > expected && entries.back().empty()) entries.pop_back();
    if (entries.size() > expected && (entries.size() - expected) % 3 == 0) {
      n_unnamed_ = std::max(n_unnamed_, (entries.size() - expected) / 3);
      entries.resize(expected);
    }
    const bool is_full = entries.size() >= expected;
    if (!is_full && n_columns_ < 3 * trial_.names.size()) reject_columns();
    if (entries.size() < 2 || entries.size() > expected) {
      reject(fmt::format("expected {} entries (frame, time and {} markers), found {}; correct the row", expected,
                         trial_.names.size(), entries.size()));
    }
    if (!is_full && n_short_++ == 0) first_short_ = line_;
    last_is_short_ = !is_full;
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
    if (n_short_ > 0) {
      note(
          fmt::format("{} rows have fewer entries than frame, time and {} markers, line {} the first; markers without "
                      "three of them count as unseen{}",
                      n_short_, trial_.names.size(), first_short_,
                      last_is_short_ ? "; the last row is one of them: check for a truncated file" : ""));
    }
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

  /// [m] Diagonal of the box about the seen markers of a frame; none for fewer than three.
  [[nodiscard]] std::optional<double> extent(std::size_t frame) const {
    Eigen::AlignedBox3d box;
    std::size_t n = 0;
    for (const auto& marker : trial_.positions) {
      if (!is_seen(marker[frame])) continue;
      box.extend(marker[frame]);
      ++n;
    }
    return n < 3 ? std::nullopt : std::optional(box.diagonal().norm());
  }

  /// A wrong unit is a factor of 10 to 1000, far outside of the sizes of persons, limbs and objects.
  void check_size() {
    constexpr double min_extent = 0.02, max_extent = 20.0;  // [m]
    std::vector<double> extents;
    for (std::size_t frame = 0; frame < trial_.frames(); ++frame) {
      if (const auto found = extent(frame)) extents.push_back(*found);
    }
    if (extents.empty()) return;
    // The median: single frames may have a marker that is far away.
    const auto middle = extents.begin() + static_cast<std::ptrdiff_t>(extents.size() / 2);
    std::ranges::nth_element(extents, middle);
    if (*middle >= min_extent && *middle <= max_extent) return;
    note(
        fmt::format("Units is {}, by which the markers of a frame extend over {:.3g} m; correct the unit (mm, cm or "
                    "m) if this is not their size",
                    values_.at("Units"), *middle));
  }

  void note(const std::string& what) {
    trial_.notes.push_back(fmt::format("{}:{}: {}", trial_.file_name, values_line_, what));
  }

  MarkedText text_;
  TextLines lines_;
  char separator_;
  std::size_t line_ = 0;
  std::size_t values_line_ = 0;
  std::vector<std::string> keys_;
  std::map<std::string, std::string_view> values_;
  double scale_ = 0.0;
  double n_frames_ = 0.0;
  double n_markers_ = 0.0;
  std::size_t n_columns_ = 0;
  bool is_indented_ = false;  ///< the rows begin with a separator
  std::size_t n_unnamed_ = 0;
  std::size_t n_short_ = 0,
              first_short_ = 0;  ///< rows with fewer entries than the header has, and the line of the first
  bool last_is_short_ = false;
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
