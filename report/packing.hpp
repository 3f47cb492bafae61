/// Numbers and texts as they are put into a page. report/web/src/decode.js reads them.
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

/// {n, constant} when all values are the same bits, else {n, f64}: the bytes of all values, transposed (all first
/// bytes, then all second bytes, ...), compressed with zlib, in base64. Every bit is kept.
[[nodiscard]] Json packed(std::span<const double> values);
/// {n, u16}, packed in the same way.
[[nodiscard]] Json packed(std::span<const std::uint16_t> values);
/// {n, u32}
[[nodiscard]] Json packed(std::span<const std::uint32_t> values);

/// A part in 65535 of the way from low to high; 0 where there is no way.
[[nodiscard]] std::uint16_t quantised(double value, double low, double high);
/// {low, high, values}: points of all frames, quantised along each axis.
[[nodiscard]] Json packed_vectors(const std::vector<Eigen::Matrix3Xd>& frames);

/// JSON for the inside of a `<script>` element: no '<', so that no text can end the element or open a comment.
[[nodiscard]] std::string script_json(const Json& json);

}  // namespace heelstrike::report
