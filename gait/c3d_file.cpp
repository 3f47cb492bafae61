#include "gait/c3d_file.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>

#include "common/errors/error.hpp"
#include "gait/axes_and_units.hpp"

namespace heelstrike {
namespace {

constexpr std::size_t block = 512;
constexpr double missing = std::numeric_limits<double>::quiet_NaN();
constexpr double max_frames = 4294967296.0;  ///< limit of the 32-bit frame count of long trials

enum class Processor { intel = 84, dec = 85, mips = 86 };

/// Location and length of the frames according to the header or the parameters.
struct Layout {
  std::size_t n_points = 0;
  std::size_t n_channels = 0, samples = 0;  ///< samples of one channel in a frame
  std::size_t first_block = 0;              ///< from 1
  std::size_t n_frames = 0;

  [[nodiscard]] std::size_t start() const { return (first_block - 1) * block; }
  [[nodiscard]] std::size_t frame_bytes(bool is_float) const {
    return (is_float ? 4 : 2) * (4 * n_points + n_channels * samples);
  }
};

/// Appends a value unless it is present.
template <typename Value>
void add_once(std::vector<Value>& values, const Value& value) {
  if (std::ranges::find(values, value) == values.end()) values.push_back(value);
}

/// Counts above 32767 are stored in signed words.
double as_count(double word) {
  return word < 0.0 ? word + 65536.0 : word;
}

std::string without_blanks(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\0' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return std::string(text);
}

/// Combines a low and a high word.
double long_count(const std::vector<double>& words) {
  const double count = words.size() == 2 ? as_count(words[0]) + 65536.0 * as_count(words[1]) : 0.0;
  return count >= 0.0 && count < max_frames ? count : 0.0;
}

/// DEC format: swapped words, exponent bias 128, mantissa from 0.5 to 1.
double dec_float(std::uint32_t bits) {
  const auto exponent = static_cast<int>((bits >> 23U) & 0xFFU);
  if (exponent == 0) return 0.0;
  const double mantissa = std::ldexp(static_cast<double>((bits & 0x7FFFFFU) | 0x800000U), -24);
  return (bits >> 31U ? -1.0 : 1.0) * std::ldexp(mantissa, exponent - 128);
}

class C3dReader {
 public:
  C3dReader(std::string_view bytes, const std::string& file_name) : bytes_(bytes) {
    trial_.markers.file_name = file_name;
  }

  C3dTrial read() {
    if (!is_c3d(bytes_)) {
      reject("expected a C3D file, whose second byte is 0x50, found another value");
    }
    const std::size_t parameters = block * (std::max<std::size_t>(byte(0), 1) - 1);
    const std::uint32_t processor = byte(parameters + 3);
    if (processor < 84 || processor > 86) {
      reject(
          fmt::format("expected processor type 84 (Intel), 85 (DEC) or 86 (MIPS) in byte 4 of the parameter section, "
                      "found {}; the file is damaged",
                      processor));
    }
    processor_ = static_cast<Processor>(processor);
    // Checks that the complete header is present.
    (void)byte(block - 1);
    read_parameters(parameters);
    read_layout();
    read_times();
    read_points();
    read_analog();
    read_events();
    return std::move(trial_);
  }

 private:
  [[noreturn]] void reject(const std::string& what) const {
    throw input_error("file", fmt::format("{}: {}", trial_.markers.file_name, what));
  }

  // Numbers at file offsets.
  [[nodiscard]] std::uint32_t byte(std::size_t at) const {
    if (at >= bytes_.size()) {
      reject(fmt::format("expected more than {} bytes, found the end of the file; the file is truncated", at));
    }
    return static_cast<std::uint8_t>(bytes_[at]);
  }
  [[nodiscard]] int signed_byte(std::size_t at) const { return static_cast<std::int8_t>(byte(at)); }
  [[nodiscard]] std::uint32_t unsigned_word(std::size_t at) const {
    const std::uint32_t first = byte(at), second = byte(at + 1);
    return processor_ == Processor::mips ? first << 8U | second : second << 8U | first;
  }
  [[nodiscard]] int word(std::size_t at) const { return static_cast<std::int16_t>(unsigned_word(at)); }
  [[nodiscard]] double real(std::size_t at) const {
    const std::uint32_t first = unsigned_word(at), second = unsigned_word(at + 2);
    if (processor_ == Processor::dec) return dec_float(first << 16U | second);
    return std::bit_cast<float>(processor_ == Processor::mips ? first << 16U | second : second << 16U | first);
  }

  void read_parameters(std::size_t start) {
    // Some programs write a wrong number of blocks; the section ends at the latest where the data begin.
    const std::size_t stated = start + block * byte(start + 2), data = block * (std::max(1U, unsigned_word(16)) - 1);
    const std::size_t end = std::min(std::max(stated, data), bytes_.size());
    std::map<int, std::string> groups;
    struct Place {
      int group;
      std::string name;
      std::size_t at;
    };
    std::vector<Place> places;
    // A group record may follow its parameters.
    for (std::size_t at = start + 4; at + 1 < end;) {
      const auto length = static_cast<std::size_t>(std::abs(signed_byte(at)));
      const int group = signed_byte(at + 1);
      if (length == 0) break;
      std::string name(bytes_.substr(at + 2, length));
      std::ranges::transform(name, name.begin(), [](char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; });
      const std::size_t pointer = at + 2 + length;
      if (pointer + 2 > end) {
        note(fmt::format("parameter '{}' begins at the end of the parameter section and was skipped", name));
        break;
      }
      if (group < 0) {
        groups[-group] = name;
      } else {
        places.push_back({group, name, pointer + 2});
      }
      at = next_parameter(name, pointer, end);
    }
    bool beyond = false;
    for (const Place& place : places) {
      if (!groups.contains(place.group)) continue;
      read_parameter(groups[place.group] + ":" + place.name, place.at, end);
      beyond |= place.at >= stated;
    }
    if (beyond) {
      note(fmt::format("the parameter section is longer than the {} blocks stated and extends to the data",
                       byte(start + 2)));
    }
  }

  /// Offset of the next record; `end` at the end of the list.
  [[nodiscard]] std::size_t next_parameter(const std::string& name, std::size_t pointer, std::size_t end) {
    const std::size_t offset = unsigned_word(pointer);
    if (offset == 0) return end;
    if (offset >= 2 && pointer + offset <= end) return pointer + offset;
    // Some programs that convert the byte order omit this word of the last parameter.
    const std::size_t swapped = (offset & 0xFFU) << 8U | offset >> 8U;
    if (swapped >= 2 && pointer + swapped <= end) {
      note(fmt::format("parameter '{}': the offset of the next parameter has the wrong byte order", name));
      return pointer + swapped;
    }
    note(fmt::format(
        "parameter '{}' points outside of the parameter section, which ends at byte {}; the parameters after "
        "it were skipped",
        name, end));
    return end;
  }

  void read_parameter(const std::string& name, std::size_t at, std::size_t end) {
    C3dParameter parameter;
    const int type = signed_byte(at);
    if (type != -1 && type != 1 && type != 2 && type != 4) {
      reject(fmt::format("parameter {}: expected a type of -1, 1, 2 or 4, found {}; the file is damaged", name, type));
    }
    const std::size_t width = static_cast<std::size_t>(std::abs(type)), n_dimensions = byte(at + 1);
    std::size_t n = 1;
    for (std::size_t i = 0; i < n_dimensions; ++i) {
      parameter.dimensions.push_back(byte(at + 2 + i));
      n *= parameter.dimensions.back();
      if (n > end) break;
    }
    at += 2 + n_dimensions;
    if (at > end || n > (end - at) / width) {
      reject(
          fmt::format("parameter {}: expected data inside the parameter section, which ends at byte {}, found {} "
                      "entries of {} bytes from byte {} on; the file is damaged",
                      name, end, n, width, at));
    }
    if (type == -1) {
      const std::size_t length = parameter.dimensions.empty() ? 1 : parameter.dimensions.front();
      for (std::size_t i = 0; length > 0 && i < n; i += length) {
        parameter.texts.push_back(without_blanks(bytes_.substr(at + i, length)));
      }
    }
    for (std::size_t i = 0; type != -1 && i < n; ++i) {
      parameter.numbers.push_back(type == 1 ? byte(at + i) : type == 2 ? word(at + 2 * i) : real(at + 4 * i));
    }
    trial_.parameters[name] = std::move(parameter);
  }

  [[nodiscard]] double optional(const std::string& name, double otherwise) const {
    const auto found = trial_.parameters.find(name);
    return found == trial_.parameters.end() || found->second.numbers.empty() ? otherwise
                                                                             : found->second.numbers.front();
  }

  /// 0 when the parameter is missing or not a count.
  [[nodiscard]] std::size_t counted(const std::string& name) const {
    const double value = as_count(optional(name, 0.0));
    return value >= 0.0 && value < max_frames ? static_cast<std::size_t>(value) : 0;
  }

  /// A nonzero parameter, or the corresponding header value.
  /// @param at  offset of the real number in the header
  [[nodiscard]] double or_of_header(const std::string& name, std::size_t at, const std::string& unit) {
    const double value = optional(name, missing);
    if (std::isfinite(value) && value != 0.0) return value;
    const double of_header = real(at);
    if (!std::isfinite(of_header) || of_header == 0.0) {
      reject(fmt::format("expected the parameter {}, found none, and {} in the header; re-export the trial", name,
                         of_header));
    }
    note(fmt::format("{} is {}; the header's {}{} is used", name, std::isfinite(value) ? "0" : "missing", of_header,
                     unit));
    return of_header;
  }

  void read_units() {
    const auto units = trial_.texts("POINT:UNITS");
    const std::string unit = units.empty() ? "" : units.front();
    const auto length = length_of_unit(unit);
    if (!unit.empty() && !length) {
      reject(fmt::format("POINT:UNITS: expected mm, cm or m, found '{}'; correct the parameter", unit));
    }
    trial_.length = length.value_or(1e-3);
    if (unit.empty()) note("POINT:UNITS is missing; lengths are assumed to be in mm");
    if (length && unit != "mm" && unit != "cm" && unit != "m") {
      note(fmt::format("POINT:UNITS is '{}', interpreted as {} m", unit, *length));
    }
  }

  /// Channels and samples per channel in a frame, from the parameters and from the header.
  [[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> channel_choices() const {
    std::vector<std::pair<std::size_t, std::size_t>> choices;
    const std::size_t used = counted("ANALOG:USED");
    const double ratio = optional("ANALOG:RATE", 0.0) / trial_.markers.rate;
    const bool has_count = trial_.parameters.contains("ANALOG:USED");
    if (used == 0 && has_count) choices.emplace_back(0, 0);
    // Rates are stored as floats.
    if (const double whole = std::round(ratio);
        used > 0 && ratio >= 1.0 && ratio < 65536.0 && std::abs(ratio - whole) <= 1e-4 * ratio)
      add_once(choices, {used, static_cast<std::size_t>(whole)});
    const std::size_t all = unsigned_word(4), each = unsigned_word(18);
    if (used > 0 && all > 0 && all % used == 0) add_once(choices, {used, all / used});
    if (each > 0 && all > 0 && all % each == 0) add_once(choices, {all / each, each});
    if (used > 0 && each > 0) add_once(choices, {used, each});
    if (!has_count) add_once(choices, {0, 0});
    return choices;
  }

  [[nodiscard]] std::vector<std::size_t> frame_choices() const {
    std::vector<std::size_t> choices;
    const std::size_t first = unsigned_word(6), last = unsigned_word(8);
    const double start = long_count(trial_.numbers("TRIAL:ACTUAL_START_FIELD"));
    const double end = long_count(trial_.numbers("TRIAL:ACTUAL_END_FIELD"));
    const std::size_t stated = counted("POINT:FRAMES");
    // 16-bit counts saturate; long trials store 32 bits in two words, or a float.
    if (stated == 65535 || last == 65535) {
      if (end > 0.0 && end >= start) choices.push_back(static_cast<std::size_t>(end - start) + 1);
      if (const std::size_t frames = counted("POINT:LONG_FRAMES"); frames > 0) add_once(choices, frames);
    }
    if (stated > 0) add_once(choices, stated);
    if (last >= first) add_once(choices, last - first + 1);
    return choices;
  }

  /// All candidate layouts of parameters and header, the parameters first.
  [[nodiscard]] std::vector<Layout> layouts() const {
    std::vector<std::size_t> points, blocks;
    if (trial_.parameters.contains("POINT:USED")) points.push_back(counted("POINT:USED"));
    add_once(points, std::size_t{unsigned_word(2)});
    if (unsigned_word(16) >= 2) blocks.push_back(unsigned_word(16));
    if (const std::size_t start = counted("POINT:DATA_START"); start >= 2) add_once(blocks, start);
    std::vector<Layout> layouts;
    for (const std::size_t n_points : points) {
      for (const auto& [n_channels, samples] : channel_choices()) {
        for (const std::size_t first_block : blocks) {
          for (const std::size_t n_frames : frame_choices()) {
            layouts.push_back({n_points, n_channels, samples, first_block, n_frames});
          }
        }
      }
    }
    std::erase_if(layouts, [&](const Layout& layout) { return layout.frame_bytes(is_float_) == 0; });
    return layouts;
  }

  void read_layout() {
    trial_.markers.rate = or_of_header("POINT:RATE", 20, " Hz");
    if (!(trial_.markers.rate > 0.0) || !std::isfinite(trial_.markers.rate)) {
      reject(fmt::format("POINT:RATE: expected a rate > 0 [Hz], found {}", trial_.markers.rate));
    }
    point_scale_ = or_of_header("POINT:SCALE", 12, "");
    is_float_ = point_scale_ < 0.0;
    if (is_float_) point_scale_ = 1.0;
    read_units();
    choose_layout();
    if (n_channels_ == 0) return;
    trial_.analog_rate = trial_.markers.rate * static_cast<double>(samples_per_frame_);
    const double stated = optional("ANALOG:RATE", 0.0);
    // Rates are stored as floats.
    if (std::abs(stated - trial_.analog_rate) <= 1e-4 * trial_.analog_rate) {
      trial_.analog_rate = stated;
    } else {
      note(fmt::format("ANALOG:RATE is {}; {} Hz are used: {} samples per frame at {} frames per second",
                       stated > 0.0 ? fmt::format("{} Hz", stated) : "missing", trial_.analog_rate, samples_per_frame_,
                       trial_.markers.rate));
    }
  }

  /// Where header and parameters differ, the file size decides: the frames fill the file to within one block.
  void choose_layout() {
    const std::vector<Layout> all = layouts();
    if (all.empty()) {
      reject(
          "expected points or analog channels, at least one frame and the first data block; at least one of these is "
          "missing (POINT:USED, ANALOG:USED, POINT:FRAMES, POINT:DATA_START and the header)");
    }
    const auto rest = [&](const Layout& layout) {
      const double used = static_cast<double>(layout.start()) +
                          static_cast<double>(layout.frame_bytes(is_float_)) * static_cast<double>(layout.n_frames);
      return static_cast<double>(bytes_.size()) - used;
    };
    auto chosen = std::ranges::find_if(all, [&](const Layout& l) { return rest(l) >= 0.0 && rest(l) < double{block}; });
    if (chosen == all.end()) chosen = std::ranges::find_if(all, [&](const Layout& l) { return rest(l) >= 0.0; });
    if (chosen == all.end()) {
      const Layout& first = all.front();
      const std::size_t room = bytes_.size() > first.start() ? bytes_.size() - first.start() : 0;
      reject(fmt::format(
          "expected {} frames of {} bytes from byte {} on, found {} bytes, which are {} frames; the file is truncated",
          first.n_frames, first.frame_bytes(is_float_), first.start(), room, room / first.frame_bytes(is_float_)));
    }
    n_points_ = chosen->n_points;
    n_channels_ = chosen->n_channels;
    samples_per_frame_ = chosen->samples;
    n_frames_ = chosen->n_frames;
    data_start_ = chosen->start();
    frame_bytes_ = chosen->frame_bytes(is_float_);
    if (all.size() > 1) {
      note(
          fmt::format("header and parameters disagree on the content, number or start of the frames; the file size "
                      "matches {} frames of {} points and {} analog channels of {} samples from block {} on",
                      n_frames_, n_points_, n_channels_, samples_per_frame_, chosen->first_block));
    }
  }

  void read_times() {
    trial_.first_frame = unsigned_word(6);
    const double start = long_count(trial_.numbers("TRIAL:ACTUAL_START_FIELD"));
    if (unsigned_word(8) == 65535 && start > 0.0) trial_.first_frame = static_cast<std::size_t>(start);
    if (trial_.first_frame == 0) trial_.first_frame = 1;
    for (std::size_t i = 0; i < n_frames_; ++i) {
      trial_.markers.times.push_back(static_cast<double>(trial_.first_frame - 1 + i) / trial_.markers.rate);
    }
  }

  void read_points() {
    const auto labels = names("POINT:LABELS", n_points_, "point");
    std::map<std::string, std::string> other;
    for (const char* kind : {"ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS"}) {
      for (const std::string& label : trial_.texts(fmt::format("POINT:{}", kind))) other[label] = kind;
    }
    for (std::size_t i = 0; i < n_points_; ++i) {
      if (other.contains(labels[i])) {
        note(fmt::format("point {}: not a marker but an entry of POINT:{}", labels[i], other[labels[i]]));
        continue;
      }
      std::vector<Vector3> positions;
      const std::size_t width = is_float_ ? 16 : 8;
      for (std::size_t k = 0; k < n_frames_; ++k) {
        positions.push_back(point(data_start_ + k * frame_bytes_ + i * width));
      }
      if (std::ranges::none_of(positions, is_seen)) note(fmt::format("marker {}: never seen", labels[i]));
      trial_.markers.names.push_back(labels[i]);
      trial_.markers.positions.push_back(std::move(positions));
    }
  }

  /// A negative residual marks a point that was not seen.
  [[nodiscard]] Vector3 point(std::size_t at) const {
    Vector3 p;
    for (int i = 0; i < 3; ++i) {
      const auto k = static_cast<std::size_t>(i);
      p[i] = is_float_ ? real(at + 4 * k) : point_scale_ * word(at + 2 * k);
    }
    const double residual = is_float_ ? real(at + 12) : word(at + 6);
    return residual < 0.0 || !p.allFinite() ? Vector3(Vector3::Constant(missing)) : Vector3(trial_.length * p);
  }

  void read_analog() {
    if (n_channels_ == 0) return;
    const auto labels = names("ANALOG:LABELS", n_channels_, "channel");
    auto units = trial_.texts("ANALOG:UNITS");
    units.resize(n_channels_);
    auto scales = trial_.numbers("ANALOG:SCALE"), offsets = trial_.numbers("ANALOG:OFFSET");
    if (scales.size() < n_channels_ || offsets.size() < n_channels_) {
      note(fmt::format(
          "ANALOG:SCALE and ANALOG:OFFSET have {} and {} numbers for {} channels; missing values default to 1 and 0",
          scales.size(), offsets.size(), n_channels_));
      scales.resize(std::max(scales.size(), n_channels_), 1.0);
      offsets.resize(std::max(offsets.size(), n_channels_), 0.0);
    }
    const auto format = trial_.texts("ANALOG:FORMAT");
    const bool is_unsigned = !format.empty() && format.front() == "UNSIGNED";
    const double general = optional("ANALOG:GEN_SCALE", 1.0);
    const std::size_t width = is_float_ ? 4 : 2;
    for (std::size_t i = 0; i < n_channels_; ++i) {
      AnalogChannel channel{.name = labels[i], .unit = units[i], .values = {}};
      const double offset = is_unsigned ? as_count(offsets[i]) : offsets[i];
      for (std::size_t k = 0; k < n_frames_ * samples_per_frame_; ++k) {
        const std::size_t frame = k / samples_per_frame_, sample = k % samples_per_frame_;
        const std::size_t at = data_start_ + frame * frame_bytes_ + width * (4 * n_points_ + sample * n_channels_ + i);
        const double raw = is_float_ ? real(at) : is_unsigned ? as_count(word(at)) : word(at);
        channel.values.push_back((raw - offset) * scales[i] * general);
      }
      trial_.analog.push_back(std::move(channel));
    }
  }

  void read_events() {
    const std::size_t used = counted("EVENT:USED");
    if (used == 0) return read_header_events();
    const auto times = trial_.numbers("EVENT:TIMES");
    auto labels = trial_.texts("EVENT:LABELS"), contexts = trial_.texts("EVENT:CONTEXTS");
    if (times.size() < 2 * used) {
      note(fmt::format(
          "EVENT:TIMES: expected minutes and seconds of {} events, found {} numbers; the events are skipped", used,
          times.size()));
      return;
    }
    labels.resize(used);
    contexts.resize(used);
    for (std::size_t i = 0; i < used; ++i) {
      trial_.events.push_back(
          {.time = 60.0 * times[2 * i] + times[2 * i + 1], .label = labels[i], .context = contexts[i]});
    }
  }

  /// Events of the header: words 150 (key of presence), 151 (count), 153 (times), 199 (labels).
  void read_header_events() {
    const auto place = [](std::size_t word) { return 2 * (word - 1); };
    if (unsigned_word(place(150)) != 12345) return;
    const std::size_t n = std::min<std::size_t>(unsigned_word(place(151)), 18);
    for (std::size_t i = 0; i < n; ++i) {
      trial_.events.push_back({.time = real(place(153) + 4 * i),
                               .label = without_blanks(bytes_.substr(place(199) + 4 * i, 4)),
                               .context = {}});
    }
  }

  /// Labels of the file; empty labels are replaced and duplicates numbered.
  [[nodiscard]] std::vector<std::string> names(const std::string& parameter, std::size_t n, const std::string& kind) {
    auto names = trial_.texts(parameter);
    names.resize(n);
    std::set<std::string> known;
    for (std::size_t i = 0; i < n; ++i) {
      const std::string original = names[i];
      // Both output files are tab-separated.
      std::ranges::replace(names[i], '\t', '_');
      if (names[i].empty()) names[i] = fmt::format("{}_{}", kind, i + 1);
      for (int k = 2; !known.insert(names[i]).second; ++k) names[i] = fmt::format("{}_{}", original, k);
      if (names[i] != original) {
        note(fmt::format("{} {} is named {}: its label in {} is {}", kind, i + 1, names[i], parameter,
                         original.empty() ? "empty" : fmt::format("'{}', a duplicate", original)));
      }
    }
    return names;
  }

  void note(std::string text) { trial_.notes.push_back(std::move(text)); }

  std::string_view bytes_;
  Processor processor_ = Processor::intel;
  C3dTrial trial_;
  bool is_float_ = false;
  double point_scale_ = 1.0;
  std::size_t n_points_ = 0, n_channels_ = 0, samples_per_frame_ = 0, n_frames_ = 0;
  std::size_t data_start_ = 0, frame_bytes_ = 0;
};

/// Joins NAME, NAME2, NAME3, ...: one parameter has at most 255 entries.
template <typename Value>
std::vector<Value> joined(const std::map<std::string, C3dParameter>& parameters, const std::string& name,
                          std::vector<Value> C3dParameter::*member) {
  std::vector<Value> all;
  for (int i = 1;; ++i) {
    const auto found = parameters.find(i == 1 ? name : fmt::format("{}{}", name, i));
    if (found == parameters.end()) return all;
    all.insert(all.end(), (found->second.*member).begin(), (found->second.*member).end());
  }
}

}  // namespace

std::vector<double> C3dTrial::numbers(const std::string& name) const {
  return joined(parameters, name, &C3dParameter::numbers);
}

std::vector<std::string> C3dTrial::texts(const std::string& name) const {
  return joined(parameters, name, &C3dParameter::texts);
}

std::vector<double> C3dTrial::analog_times() const {
  std::vector<double> times(analog.empty() ? 0 : analog.front().values.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    times[i] = markers.times.front() + static_cast<double>(i) / analog_rate;
  }
  return times;
}

bool is_c3d(std::string_view bytes) {
  return bytes.size() > 1 && bytes[1] == 0x50 && bytes[0] > 1 && bytes[0] < 0x20;
}

C3dTrial read_c3d(std::string_view bytes, const std::string& file_name) {
  return C3dReader(bytes, file_name).read();
}

}  // namespace heelstrike
