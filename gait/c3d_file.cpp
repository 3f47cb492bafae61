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

namespace heelstrike {
namespace {

constexpr std::size_t block = 512;
constexpr double missing = std::numeric_limits<double>::quiet_NaN();

enum class Processor { intel = 84, dec = 85, mips = 86 };

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

/// Two words with the halves exchanged, exponents that are 128 above, and a mantissa from 0.5 to 1.
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

  C3dTrial read();

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw input_error("file", fmt::format("{}: {}", trial_.markers.file_name, what));
  }

  // Numbers at places of the file.
  [[nodiscard]] std::uint32_t byte(std::size_t at) const {
    if (at >= bytes_.size()) {
      refuse(fmt::format("expected more than {} bytes, found the end of the file; it is cut off", at));
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

  void read_parameters(std::size_t start);
  void read_parameter(const std::string& name, std::size_t at, std::size_t end);
  [[nodiscard]] double required(const std::string& name) const;
  [[nodiscard]] double optional(const std::string& name, double otherwise) const;
  void read_layout();
  void read_frame_range();
  void read_points();
  [[nodiscard]] Vector3 point(std::size_t at) const;
  void read_analog();
  void read_events();
  void read_header_events();
  [[nodiscard]] std::vector<std::string> names(const std::string& parameter, std::size_t n, const std::string& kind);
  void note(std::string text) { trial_.notes.push_back(std::move(text)); }

  std::string_view bytes_;
  Processor processor_ = Processor::intel;
  C3dTrial trial_;
  bool is_float_ = false;
  double point_scale_ = 1.0;
  std::size_t n_points_ = 0, n_channels_ = 0, samples_per_frame_ = 0, n_frames_ = 0;
  std::size_t data_start_ = 0, frame_bytes_ = 0;
};

void C3dReader::read_parameter(const std::string& name, std::size_t at, std::size_t end) {
  C3dParameter parameter;
  const int type = signed_byte(at);
  if (type != -1 && type != 1 && type != 2 && type != 4) {
    refuse(fmt::format("parameter {}: expected a type of -1, 1, 2 or 4, found {}; the file is damaged", name, type));
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
    refuse(
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

void C3dReader::read_parameters(std::size_t start) {
  const std::size_t end = std::min(start + block * byte(start + 2), bytes_.size());
  std::map<int, std::string> groups;
  struct Place {
    int group;
    std::string name;
    std::size_t at;
  };
  std::vector<Place> places;
  // Groups may follow their parameters.
  for (std::size_t at = start + 4; at + 1 < end;) {
    const auto length = static_cast<std::size_t>(std::abs(signed_byte(at)));
    const int group = signed_byte(at + 1);
    if (length == 0) break;
    std::string name(bytes_.substr(at + 2, length));
    std::ranges::transform(name, name.begin(), [](char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; });
    const std::size_t pointer = at + 2 + length;
    if (pointer + 2 > end) refuse(fmt::format("expected '{}' inside the parameter section, found its end", name));
    const std::size_t next = unsigned_word(pointer);
    if (group < 0) {
      groups[-group] = name;
    } else {
      places.push_back({group, name, pointer + 2});
    }
    if (next == 0) break;
    at = pointer + next;
    if (next < 2 || at > end) {
      refuse(
          fmt::format("'{}' of the parameters: expected the next one inside their section, which ends at byte {}, "
                      "found it at byte {}; the file is damaged or cut off",
                      name, end, at));
    }
  }
  for (const Place& place : places) {
    if (groups.contains(place.group)) read_parameter(groups[place.group] + ":" + place.name, place.at, end);
  }
}

double C3dReader::optional(const std::string& name, double otherwise) const {
  const auto found = trial_.parameters.find(name);
  return found == trial_.parameters.end() || found->second.numbers.empty() ? otherwise : found->second.numbers.front();
}

double C3dReader::required(const std::string& name) const {
  const double value = optional(name, missing);
  if (!std::isfinite(value)) refuse(fmt::format("expected the parameter {}, found none; export the trial again", name));
  return value;
}

/// Where frames are and how long one is.
void C3dReader::read_layout() {
  n_points_ = static_cast<std::size_t>(as_count(required("POINT:USED")));
  trial_.markers.rate = required("POINT:RATE");
  if (!(trial_.markers.rate > 0.0) || !std::isfinite(trial_.markers.rate)) {
    refuse(fmt::format("POINT:RATE: expected a rate > 0 [Hz], found {}", trial_.markers.rate));
  }
  point_scale_ = required("POINT:SCALE");
  if (point_scale_ == 0.0) refuse("POINT:SCALE: expected a factor other than zero, found 0; the file is damaged");
  is_float_ = point_scale_ < 0.0;
  if (is_float_) point_scale_ = 1.0;
  const auto units = trial_.texts("POINT:UNITS");
  const std::string unit = units.empty() ? "" : units.front();
  trial_.length = unit == "mm" ? 1e-3 : unit == "cm" ? 1e-2 : unit == "m" ? 1.0 : 0.0;
  if (trial_.length == 0.0) {
    refuse(fmt::format("POINT:UNITS: expected mm, cm or m, found '{}'; correct the parameter", unit));
  }
  n_channels_ = static_cast<std::size_t>(as_count(optional("ANALOG:USED", 0.0)));
  if (n_channels_ > 0) {
    trial_.analog_rate = required("ANALOG:RATE");
    const double ratio = trial_.analog_rate / trial_.markers.rate;
    samples_per_frame_ = ratio >= 1.0 && ratio < 65536.0 ? static_cast<std::size_t>(std::lround(ratio)) : 0;
    // Rates are stored as floats.
    if (samples_per_frame_ == 0 || std::abs(ratio - static_cast<double>(samples_per_frame_)) > 1e-4 * ratio) {
      refuse(fmt::format("ANALOG:RATE: expected a whole multiple of POINT:RATE, {} Hz, found {} Hz",
                         trial_.markers.rate, trial_.analog_rate));
    }
  }
  const std::size_t samples = unsigned_word(4);
  if (samples != n_channels_ * samples_per_frame_ || unsigned_word(2) != n_points_) {
    refuse(
        fmt::format("expected a header with {} points and {} analog samples a frame as POINT:USED, ANALOG:USED and the "
                    "rates say, found {} and {}; where the data are is not certain: export the trial again",
                    n_points_, n_channels_ * samples_per_frame_, unsigned_word(2), samples));
  }
  frame_bytes_ = (is_float_ ? 4 : 2) * (4 * n_points_ + samples);
  if (frame_bytes_ == 0) refuse("expected points or analog channels, found none (POINT:USED and ANALOG:USED are 0)");
  const double start = as_count(optional("POINT:DATA_START", unsigned_word(16)));
  if (start < 2.0) refuse(fmt::format("POINT:DATA_START: expected a block from 2 on, found {}", start));
  data_start_ = (static_cast<std::size_t>(start) - 1) * block;
}

void C3dReader::read_frame_range() {
  const std::size_t header_first = unsigned_word(6), header_last = unsigned_word(8);
  trial_.first_frame = header_first;
  const std::size_t header_frames = header_last >= header_first ? header_last - header_first + 1 : 0;
  n_frames_ = static_cast<std::size_t>(as_count(optional("POINT:FRAMES", static_cast<double>(header_frames))));
  const auto start = trial_.numbers("TRIAL:ACTUAL_START_FIELD"), end = trial_.numbers("TRIAL:ACTUAL_END_FIELD");
  // Words that cannot count so far are full; long trials have 32 bits in two words.
  if ((n_frames_ == 65535 || header_last == 65535) && start.size() == 2 && end.size() == 2) {
    const double first = as_count(start[0]) + 65536.0 * as_count(start[1]);
    const double last = as_count(end[0]) + 65536.0 * as_count(end[1]);
    trial_.first_frame = static_cast<std::size_t>(first);
    n_frames_ = last >= first ? static_cast<std::size_t>(last - first) + 1 : 0;
  } else if (n_frames_ != header_frames) {
    note(fmt::format("{} frames are taken, as POINT:FRAMES says; the header says {}", n_frames_, header_frames));
  }
  if (n_frames_ == 0) refuse("expected at least one frame, found none");
  const std::size_t room = bytes_.size() > data_start_ ? bytes_.size() - data_start_ : 0;
  if (room / frame_bytes_ < n_frames_) {
    refuse(
        fmt::format("expected {} frames of {} bytes from byte {} on, found {} bytes, which are {} frames; the file is "
                    "cut off",
                    n_frames_, frame_bytes_, data_start_, room, room / frame_bytes_));
  }
  if (trial_.first_frame == 0) trial_.first_frame = 1;
  for (std::size_t i = 0; i < n_frames_; ++i) {
    trial_.markers.times.push_back(static_cast<double>(trial_.first_frame - 1 + i) / trial_.markers.rate);
  }
}

/// As in the file, with names for those without and numbers behind those that come again.
std::vector<std::string> C3dReader::names(const std::string& parameter, std::size_t n, const std::string& kind) {
  auto names = trial_.texts(parameter);
  names.resize(n);
  std::set<std::string> known;
  for (std::size_t i = 0; i < n; ++i) {
    const std::string original = names[i];
    // Both files that are written separate their columns by tabs.
    std::ranges::replace(names[i], '\t', '_');
    if (names[i].empty()) names[i] = fmt::format("{}_{}", kind, i + 1);
    for (int k = 2; !known.insert(names[i]).second; ++k) names[i] = fmt::format("{}_{}", original, k);
    if (names[i] != original) {
      note(fmt::format("{} {} is called {}: its label in {} is {}", kind, i + 1, names[i], parameter,
                       original.empty() ? "empty" : fmt::format("'{}', which came before", original)));
    }
  }
  return names;
}

/// A point without a residual, which says so by a negative one, was not seen.
Vector3 C3dReader::point(std::size_t at) const {
  Vector3 p;
  for (int i = 0; i < 3; ++i) {
    const auto k = static_cast<std::size_t>(i);
    p[i] = is_float_ ? real(at + 4 * k) : point_scale_ * word(at + 2 * k);
  }
  const double residual = is_float_ ? real(at + 12) : word(at + 6);
  return residual < 0.0 || !p.allFinite() ? Vector3(Vector3::Constant(missing)) : Vector3(trial_.length * p);
}

void C3dReader::read_points() {
  const auto labels = names("POINT:LABELS", n_points_, "point");
  std::map<std::string, std::string> other;
  for (const char* kind : {"ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS"}) {
    for (const std::string& label : trial_.texts(fmt::format("POINT:{}", kind))) other[label] = kind;
  }
  for (std::size_t i = 0; i < n_points_; ++i) {
    if (other.contains(labels[i])) {
      note(fmt::format("point {}: it is no marker but one of POINT:{}", labels[i], other[labels[i]]));
      continue;
    }
    std::vector<Vector3> positions;
    const std::size_t width = is_float_ ? 16 : 8;
    for (std::size_t k = 0; k < n_frames_; ++k) {
      positions.push_back(point(data_start_ + k * frame_bytes_ + i * width));
    }
    if (std::ranges::none_of(positions, is_seen)) note(fmt::format("marker {}: it is never seen", labels[i]));
    trial_.markers.names.push_back(labels[i]);
    trial_.markers.positions.push_back(std::move(positions));
  }
}

void C3dReader::read_analog() {
  if (n_channels_ == 0) return;
  const auto labels = names("ANALOG:LABELS", n_channels_, "channel");
  auto units = trial_.texts("ANALOG:UNITS");
  units.resize(n_channels_);
  const auto scales = trial_.numbers("ANALOG:SCALE"), offsets = trial_.numbers("ANALOG:OFFSET");
  if (scales.size() < n_channels_ || offsets.size() < n_channels_) {
    refuse(fmt::format("expected {} factors in ANALOG:SCALE and as many in ANALOG:OFFSET, found {} and {}", n_channels_,
                       scales.size(), offsets.size()));
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

/// Events of the header: words 150 (a key that says whether they are there), 151 (how many), 153 (times), 199 (labels).
void C3dReader::read_header_events() {
  const auto place = [](std::size_t word) { return 2 * (word - 1); };
  if (unsigned_word(place(150)) != 12345) return;
  const std::size_t n = std::min<std::size_t>(unsigned_word(place(151)), 18);
  for (std::size_t i = 0; i < n; ++i) {
    trial_.events.push_back({.time = real(place(153) + 4 * i),
                             .label = without_blanks(bytes_.substr(place(199) + 4 * i, 4)),
                             .context = {}});
  }
}

void C3dReader::read_events() {
  const auto used = static_cast<std::size_t>(as_count(optional("EVENT:USED", 0.0)));
  if (used == 0) return read_header_events();
  const auto times = trial_.numbers("EVENT:TIMES");
  auto labels = trial_.texts("EVENT:LABELS"), contexts = trial_.texts("EVENT:CONTEXTS");
  if (times.size() < 2 * used) {
    refuse(fmt::format("EVENT:TIMES: expected minutes and seconds of {} events, found {} numbers", used, times.size()));
  }
  labels.resize(used);
  contexts.resize(used);
  for (std::size_t i = 0; i < used; ++i) {
    trial_.events.push_back(
        {.time = 60.0 * times[2 * i] + times[2 * i + 1], .label = labels[i], .context = contexts[i]});
  }
}

C3dTrial C3dReader::read() {
  if (!is_c3d(bytes_)) {
    refuse("expected a C3D file, whose second byte is 0x50, found something else");
  }
  const std::size_t parameters = block * (std::max<std::size_t>(byte(0), 1) - 1);
  const std::uint32_t processor = byte(parameters + 3);
  if (processor < 84 || processor > 86) {
    refuse(
        fmt::format("expected processor type 84 (Intel), 85 (DEC) or 86 (MIPS) in byte 4 of the parameter section, "
                    "found {}; the file is damaged",
                    processor));
  }
  processor_ = static_cast<Processor>(processor);
  // The header is read later on, in full.
  (void)byte(block - 1);
  read_parameters(parameters);
  read_layout();
  read_frame_range();
  read_points();
  read_analog();
  read_events();
  return std::move(trial_);
}

/// Of NAME, NAME2, NAME3, ...: one parameter has no more than 255 entries.
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
