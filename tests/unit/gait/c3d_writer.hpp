/// Writes C3D files for tests, from the format's description and independent of the reader.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace heelstrike::test {

enum class C3dBytes : int { intel = 84, dec = 85, mips = 86 };

struct C3dWriter {
  C3dBytes bytes = C3dBytes::intel;
  bool is_float = true;
  double point_scale = 0.05;  ///< of integers
  unsigned first_frame = 11;
  double rate = 100.0;
  unsigned samples = 2;  ///< of a channel in each frame
  std::string unit = "mm";
  std::vector<std::string> point_names;
  std::vector<std::string> channel_names, channel_units;
  std::vector<double> scales, offsets;
  std::string analog_format = "SIGNED";
  /// x, y, z and residual of every point in every frame, in the file's unit.
  std::vector<std::vector<std::array<double, 4>>> frames;
  /// Raw samples: [frame][sample][channel].
  std::vector<std::vector<std::vector<double>>> analog;
  struct Plate {
    int type = 2;
    std::array<double, 12> corners{};
    std::array<double, 3> origin{};
    std::vector<double> channel;
    std::vector<double> matrix;  ///< 36 numbers, columns first
  };
  std::vector<Plate> plates;
  std::vector<std::string> without;  ///< omitted parameters, "POINT:RATE"
  std::vector<std::string> angles;   ///< POINT:ANGLES

  [[nodiscard]] std::string text();

 private:
  void word(std::string& out, int value) const {
    const auto low = static_cast<char>(value & 0xFF), high = static_cast<char>((value >> 8) & 0xFF);
    out += bytes == C3dBytes::mips ? high : low;
    out += bytes == C3dBytes::mips ? low : high;
  }
  void real(std::string& out, double value) const {
    // Sign, exponent and 23 bits after the leading one; DEC's mantissa starts at one half and its exponent at 128.
    int exponent = 0;
    const double mantissa = std::frexp(std::abs(value), &exponent);
    std::uint32_t bits = 0;
    if (value != 0.0) {
      const int biased = exponent + (bytes == C3dBytes::dec ? 128 : 126);
      const auto fraction = static_cast<std::uint32_t>(std::lround(std::ldexp(mantissa, 24))) & 0x7FFFFFU;
      bits = (value < 0.0 ? 1U << 31U : 0U) | static_cast<std::uint32_t>(biased) << 23U | fraction;
    }
    const int high = static_cast<int>(bits >> 16U), low = static_cast<int>(bits & 0xFFFFU);
    word(out, bytes == C3dBytes::intel ? low : high);
    word(out, bytes == C3dBytes::intel ? high : low);
  }
  void datum(std::string& out, double value) const {
    if (is_float) {
      real(out, value);
    } else {
      word(out, static_cast<int>(std::lround(value)));
    }
  }
  void record(std::string& out, int group, const std::string& name, const std::string& content) const {
    out += static_cast<char>(name.size());
    out += static_cast<char>(group);
    out += name;
    word(out, static_cast<int>(2 + content.size()));
    out += content;
  }
  void parameter(int group, const std::string& name, int type, const std::vector<std::size_t>& dimensions,
                 const std::string& data) {
    static const std::array<std::string, 5> groups = {"", "POINT", "ANALOG", "FORCE_PLATFORM", "EVENT"};
    for (const std::string& n_skipped_rows : without) {
      if (n_skipped_rows == groups[static_cast<std::size_t>(group)] + ":" + name) return;
    }
    std::string content = {static_cast<char>(type), static_cast<char>(dimensions.size())};
    for (const std::size_t n : dimensions) content += static_cast<char>(n);
    record(parameters_, group, name, content + data + '\0');
  }
  void reals(int group, const std::string& name, const std::vector<std::size_t>& dimensions,
             const std::vector<double>& values) {
    std::string data;
    for (const double value : values) real(data, value);
    parameter(group, name, 4, dimensions, data);
  }
  void words(int group, const std::string& name, const std::vector<std::size_t>& dimensions,
             const std::vector<double>& values) {
    std::string data;
    for (const double value : values) word(data, static_cast<int>(value));
    parameter(group, name, 2, dimensions, data);
  }
  void texts(int group, const std::string& name, const std::vector<std::string>& values) {
    std::string data;
    for (std::string value : values) data += (value.resize(12, ' '), value);
    parameter(group, name, -1, {12, values.size()}, data);
  }
  void write_parameters(int data_block);

  std::string parameters_;
};

inline void C3dWriter::write_parameters(int data_block) {
  const double n_frames = static_cast<double>(frames.size()), n_channels = static_cast<double>(channel_names.size());
  parameters_ = {1, 0x50, static_cast<char>(data_block - 2), static_cast<char>(bytes)};
  words(1, "USED", {}, {static_cast<double>(point_names.size())});
  words(1, "FRAMES", {}, {n_frames});
  words(1, "DATA_START", {}, {static_cast<double>(data_block)});
  reals(1, "SCALE", {}, {is_float ? -1.0 : point_scale});
  reals(1, "RATE", {}, {rate});
  texts(1, "UNITS", {unit});
  texts(1, "LABELS", point_names);
  if (!angles.empty()) texts(1, "ANGLES", angles);
  words(2, "USED", {}, {n_channels});
  reals(2, "RATE", {}, {rate * samples});
  reals(2, "GEN_SCALE", {}, {1.0});
  reals(2, "SCALE", {scales.size()}, scales);
  words(2, "OFFSET", {offsets.size()}, offsets);
  texts(2, "LABELS", channel_names);
  texts(2, "UNITS", channel_units);
  texts(2, "FORMAT", {analog_format});
  std::vector<double> types, corners, origins, channels, matrices;
  for (const Plate& plate : plates) {
    types.push_back(plate.type);
    corners.insert(corners.end(), plate.corners.begin(), plate.corners.end());
    origins.insert(origins.end(), plate.origin.begin(), plate.origin.end());
    channels.insert(channels.end(), plate.channel.begin(), plate.channel.end());
    matrices.insert(matrices.end(), plate.matrix.begin(), plate.matrix.end());
  }
  words(3, "USED", {}, {static_cast<double>(plates.size())});
  if (!plates.empty()) {
    words(3, "TYPE", {plates.size()}, types);
    reals(3, "CORNERS", {3, 4, plates.size()}, corners);
    reals(3, "ORIGIN", {3, plates.size()}, origins);
    words(3, "CHANNEL", {plates[0].channel.size(), plates.size()}, channels);
    if (!matrices.empty()) reals(3, "CAL_MATRIX", {6, 6, plates.size()}, matrices);
  }
  words(4, "USED", {}, {1});
  texts(4, "LABELS", {"Foot Strike"});
  texts(4, "CONTEXTS", {"Right"});
  reals(4, "TIMES", {2, 1}, {0.0, 0.125});
  // Groups may follow their parameters.
  int group = 0;
  for (const char* name : {"POINT", "ANALOG", "FORCE_PLATFORM", "EVENT"}) record(parameters_, --group, name, {'\0'});
  parameters_ += std::string(2, '\0');
}

inline std::string C3dWriter::text() {
  const int data_block = 7;
  write_parameters(data_block);
  parameters_.resize(512 * (data_block - 2), '\0');
  std::string header = {2, 0x50};
  word(header, static_cast<int>(point_names.size()));
  word(header, static_cast<int>(samples * channel_names.size()));
  word(header, static_cast<int>(first_frame));
  word(header, static_cast<int>(first_frame + frames.size() - 1));
  word(header, 10);
  real(header, is_float ? -1.0 : point_scale);
  word(header, data_block);
  word(header, static_cast<int>(samples));
  real(header, rate);
  header.resize(512, '\0');
  std::string data;
  for (std::size_t k = 0; k < frames.size(); ++k) {
    for (const auto& point : frames[k]) {
      for (std::size_t i = 0; i < 4; ++i) datum(data, is_float || i == 3 ? point[i] : point[i] / point_scale);
    }
    if (channel_names.empty()) continue;
    for (const auto& sample : analog[k]) {
      for (const double value : sample) datum(data, value);
    }
  }
  data.resize((data.size() + 511) / 512 * 512, '\0');
  return header + parameters_ + data;
}

}  // namespace heelstrike::test
