#include "client/sweeps/sweep_grid.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "client/studies/quantity.hpp"
#include "common/errors/error.hpp"

namespace heelstrike::client {
namespace {

constexpr std::size_t max_points = 100'000;  // bounds the consequences of a mistyped step

std::optional<double> number_of(const std::string& text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::vector<std::string> range_values(const std::string& text, const std::vector<std::string>& parts) {
  const auto from = number_of(parts[0]);
  const auto to = number_of(parts[1]);
  const auto step = number_of(parts[2]);
  if (!from || !to || !step || *step == 0.0 || (*to - *from) / *step < 0.0) {
    throw input_error("vary", fmt::format("--vary {}: expected FROM:TO:STEP with a step that leads from FROM to TO, "
                                          "e.g. contact.restitution=0.2:1:0.2",
                                          text));
  }
  const double count = std::floor((*to - *from) / *step * (1.0 + 1e-12) + 1e-9) + 1.0;
  if (count > static_cast<double>(max_points)) {
    throw input_error("vary",
                      fmt::format("--vary {}: expected at most {} values, found {:.0f}", text, max_points, count));
  }
  std::vector<std::string> values;
  // Twelve digits: 0.2 + 2 * 0.2 is written as 0.6, not as 0.6000000000000001.
  for (int i = 0; i < static_cast<int>(count); ++i) values.push_back(fmt::format("{:.12g}", *from + i * *step));
  return values;
}

/// "0.2:0.9", "0:1:0.1:2": numbers with colons are a range, and are the value of no key.
void reject_other_ranges(const std::string& text, const std::vector<std::string>& parts) {
  const auto from = number_of(parts.front());
  if (parts.size() < 2 || parts.size() == 3 || !from) return;
  const auto to = number_of(parts[1]);
  const std::string found = parts.size() == 2 ? "no step" : fmt::format("{} numbers", parts.size());
  const std::string advice = parts.size() == 2 && to && *to != *from
                                 ? fmt::format("; write e.g. {}:{:.3g}", text, (*to - *from) / 10.0)
                                 : std::string("; write e.g. contact.restitution=0.2:1:0.2");
  throw input_error("vary", fmt::format("--vary {}: expected FROM:TO:STEP, found {}{}", text, found, advice));
}

std::string file_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string("-+._=").find(c) != std::string::npos;
    name += plain ? c : '_';
  }
  return name;
}

}  // namespace

Variation parse_variation(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw input_error("vary",
                      fmt::format("--vary: expected KEY=FROM:TO:STEP or KEY=VALUE,VALUE,..., found '{}'", text));
  }
  Variation variation{.key = text.substr(0, equals), .values = {}};
  const std::string rest = text.substr(equals + 1);
  const auto parts = split(rest, ':');
  reject_other_ranges(text, parts);
  variation.values = parts.size() == 3 ? range_values(text, parts) : split(rest, ',');
  std::set<std::string> given;
  for (const std::string& value : variation.values) {
    if (value.empty()) throw input_error("vary", fmt::format("--vary {}: a value is empty", text));
    if (!given.insert(value).second)
      throw input_error("vary", fmt::format("--vary {}: the value {} is given twice", text, value));
  }
  return variation;
}

std::vector<std::pair<std::string, std::string>> parameters_of(const SweepPoint& point) {
  std::vector<std::pair<std::string, std::string>> parameters;
  for (const std::string& assignment : point.assignments) {
    const auto equals = assignment.find('=');
    parameters.emplace_back(assignment.substr(0, equals), assignment.substr(equals + 1));
  }
  return parameters;
}

std::string sweep_folder(std::size_t number, const std::string& label) {
  // File systems limit a name to 255 bytes; the number alone makes it unique.
  return fmt::format("{:04}_{}", number, file_name(label).substr(0, 150));
}

std::vector<SweepPoint> sweep_points(const std::vector<Variation>& variations) {
  std::vector<SweepPoint> points(1);
  for (std::size_t v = 0; v < variations.size(); ++v) {
    const Variation& variation = variations[v];
    for (std::size_t other = 0; other < v; ++other) {
      if (variations[other].key == variation.key) {
        throw input_error("vary", fmt::format("--vary: '{}' is varied twice", variation.key));
      }
    }
    if (points.size() * variation.values.size() > max_points) {
      throw input_error("vary", fmt::format("--vary: expected at most {} runs, found {}", max_points,
                                            points.size() * variation.values.size()));
    }
    std::vector<SweepPoint> next;
    const std::string short_key = variation.key.substr(variation.key.rfind('.') + 1);
    for (const SweepPoint& point : points) {
      for (const std::string& value : variation.values) {
        SweepPoint made = point;
        made.assignments.push_back(fmt::format("{}={}", variation.key, value));
        made.label += fmt::format("{}{}={}", made.label.empty() ? "" : " ", short_key, value);
        next.push_back(std::move(made));
      }
    }
    points = std::move(next);
  }
  for (std::size_t p = 0; p < points.size(); ++p) points[p].folder = sweep_folder(p + 1, points[p].label);
  return points;
}

}  // namespace heelstrike::client
