#include "rpc/wire/field_path.hpp"

#include <fmt/format.h>

#include <cmath>

#include "common/errors/error.hpp"

namespace heelstrike::wire {

std::string FieldPath::text() const {
  std::string path = parent_ == nullptr ? std::string() : parent_->text();
  if (!path.empty() && !name_.empty()) path += '.';
  path += name_;
  if (index_ >= 0) path += fmt::format("[{}]", index_);
  return path;
}

double finite(double value, const FieldPath& path) {
  if (!std::isfinite(value)) reject(path, "a finite number", value);
  return value;
}

void throw_missing(const FieldPath& path) {
  const std::string field = path.text();
  throw input_error(field, fmt::format("{}: missing from the message; set it", field));
}

void reject(const FieldPath& path, std::string_view expected, std::string_view found) {
  const std::string field = path.text();
  throw input_error(field, fmt::format("{}: expected {}, found {}", field, expected, found));
}

void reject(const FieldPath& path, std::string_view expected, double found) {
  reject(path, expected, fmt::format("{}", found));
}

}  // namespace heelstrike::wire
