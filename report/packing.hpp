/// Encoding of numbers and texts in a page; report/web/src/decode.js decodes them.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heelstrike::report {

using Json = nlohmann::ordered_json;

/// {n, constant} when all values are bitwise equal, else {n, f64}: the bytes of all values, transposed (all first
/// bytes, then all second bytes, ...), compressed with zlib, in base64. Lossless.
[[nodiscard]] Json packed(std::span<const double> values);
/// {n, u16}, packed in the same way.
[[nodiscard]] Json packed(std::span<const std::uint16_t> values);
/// {n, u32}
[[nodiscard]] Json packed(std::span<const std::uint32_t> values);

/// Position between low and high in 1/65535 of the range; 0 for an empty range.
[[nodiscard]] std::uint16_t quantised(double value, double low, double high);
/// {low, high, values}: points of all frames, quantised along each axis.
[[nodiscard]] Json packed_vectors(const std::vector<Eigen::Matrix3Xd>& frames);

/// JSON for a `<script>` element: without '<', so that no text can end the element or open a comment.
[[nodiscard]] std::string script_json(const Json& json);

}  // namespace heelstrike::report
