#include "report/packing.hpp"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "common/errors/error.hpp"
#include "common/text/markup.hpp"

namespace heelstrike::report {
namespace {

static_assert(std::endian::native == std::endian::little, "pages contain little-endian numbers");

std::string compressed(const std::string& bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string result(size, '\0');
  const int code = compress2(reinterpret_cast<Bytef*>(result.data()), &size,
                             reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()), 6);
  if (code != Z_OK) throw Error(ErrorCode::internal, "compression of the numbers of a report failed");
  result.resize(size);
  return result;
}

template <class Value>
std::string transposed_text(std::span<const Value> values) {
  constexpr std::size_t width = sizeof(Value);
  std::string planes(values.size() * width, '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    char bytes[width];
    std::memcpy(bytes, &values[i], width);
    for (std::size_t k = 0; k < width; ++k) planes[k * values.size() + i] = bytes[k];
  }
  return encode_base64(compressed(planes));
}

}  // namespace

Json packed(std::span<const double> values) {
  const auto same = [&](double value) {
    return std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(values[0]);
  };
  if (!values.empty() && std::isfinite(values[0]) && std::all_of(values.begin(), values.end(), same)) {
    return {{"n", values.size()}, {"constant", values[0]}};
  }
  return {{"n", values.size()}, {"f64", transposed_text(values)}};
}

Json packed(std::span<const std::uint16_t> values) {
  return {{"n", values.size()}, {"u16", transposed_text(values)}};
}

Json packed(std::span<const std::uint32_t> values) {
  return {{"n", values.size()}, {"u32", transposed_text(values)}};
}

std::uint16_t quantised(double value, double low, double high) {
  if (!(high > low)) return 0;
  return static_cast<std::uint16_t>(std::lround(std::clamp((value - low) / (high - low), 0.0, 1.0) * 65535.0));
}

Json packed_vectors(const std::vector<Eigen::Matrix3Xd>& frames) {
  Eigen::Vector3d low = Eigen::Vector3d::Constant(std::numeric_limits<double>::max());
  Eigen::Vector3d high = -low;
  for (const auto& frame : frames) {
    if (frame.cols() == 0) continue;
    low = low.cwiseMin(frame.rowwise().minCoeff());
    high = high.cwiseMax(frame.rowwise().maxCoeff());
  }
  std::vector<std::uint16_t> values;
  for (const auto& frame : frames) {
    for (Eigen::Index i = 0; i < frame.cols(); ++i) {
      for (Eigen::Index k = 0; k < 3; ++k) values.push_back(quantised(frame(k, i), low[k], high[k]));
    }
  }
  return {{"low", {low.x(), low.y(), low.z()}}, {"high", {high.x(), high.y(), high.z()}}, {"values", packed(values)}};
}

std::string script_json(const Json& json) {
  const std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace heelstrike::report
