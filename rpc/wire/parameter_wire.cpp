#include "rpc/wire/parameter_wire.hpp"

#include <fmt/format.h>

#include <cmath>

namespace heelstrike::wire {

namespace {

struct ValueWriter {
  v1::ParameterValue& to;
  void operator()(bool value) const { to.set_flag(value); }
  void operator()(double value) const { to.set_number(value); }
  void operator()(const std::string& value) const { to.set_text(value); }
  void operator()(const std::vector<double>& values) const {
    to.mutable_numbers()->mutable_values()->Assign(values.begin(), values.end());
  }
};

v1::ParameterSchema::Kind to_proto(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::number:
      return v1::ParameterSchema::KIND_NUMBER;
    case ParameterKind::text:
      return v1::ParameterSchema::KIND_TEXT;
    case ParameterKind::flag:
      return v1::ParameterSchema::KIND_FLAG;
    case ParameterKind::numbers:
      return v1::ParameterSchema::KIND_NUMBERS;
    default:  // parameters have no other kinds
      break;
  }
  return v1::ParameterSchema::KIND_UNSPECIFIED;
}

ParameterKind from_proto(v1::ParameterSchema::Kind kind, const FieldPath& path) {
  switch (kind) {
    case v1::ParameterSchema::KIND_NUMBER:
      return ParameterKind::number;
    case v1::ParameterSchema::KIND_TEXT:
      return ParameterKind::text;
    case v1::ParameterSchema::KIND_FLAG:
      return ParameterKind::flag;
    case v1::ParameterSchema::KIND_NUMBERS:
      return ParameterKind::numbers;
    default:
      refuse(path, "a known kind of parameter (1 to 4)", fmt::format("{}", static_cast<int>(kind)));
  }
}

}  // namespace

void to_proto(const ParameterValue& from, v1::ParameterValue& to) {
  std::visit(ValueWriter{to}, from);
}

void to_proto(const ParameterMap& from, ParameterMessages& to) {
  to.clear();
  for (const auto& [name, value] : from) to_proto(value, to[name]);
}

void to_proto(const ParameterSchema& from, v1::ParameterSchema& to) {
  to.Clear();
  to.set_name(from.name);
  to.set_kind(to_proto(from.kind));
  to.set_unit(from.unit);
  to.set_meaning(from.meaning);
  to.set_required(from.required);
  if (from.fallback) to_proto(*from.fallback, *to.mutable_fallback());
  if (std::isfinite(from.range.min)) to.set_minimum(from.range.min);
  if (std::isfinite(from.range.max)) to.set_maximum(from.range.max);
  to.set_minimum_excluded(from.range.min_excluded);
  to.set_maximum_excluded(from.range.max_excluded);
  to.mutable_choices()->Assign(from.choices.begin(), from.choices.end());
  to.set_is_file(from.role == config::KeyRole::file);
}

ParameterValue from_proto(const v1::ParameterValue& from, const FieldPath& path) {
  switch (from.value_case()) {
    case v1::ParameterValue::kNumber:
      return finite(from.number(), path);
    case v1::ParameterValue::kText:
      return from.text();
    case v1::ParameterValue::kFlag:
      return from.flag();
    case v1::ParameterValue::kNumbers: {
      std::vector<double> values(from.numbers().values().begin(), from.numbers().values().end());
      for (std::size_t i = 0; i < values.size(); ++i) finite(values[i], FieldPath(path, "values", i));
      return values;
    }
    case v1::ParameterValue::VALUE_NOT_SET:
      break;
  }
  throw_missing(path);
}

ParameterMap from_proto(const ParameterMessages& from, const FieldPath& path) {
  ParameterMap parameters;
  for (const auto& [name, value] : from) parameters.emplace(name, from_proto(value, FieldPath(path, name)));
  return parameters;
}

ParameterSchema from_proto(const v1::ParameterSchema& from, const FieldPath& path) {
  ParameterSchema to;
  to.name = from.name();
  to.kind = from_proto(from.kind(), FieldPath(path, "kind"));
  to.unit = from.unit();
  to.meaning = from.meaning();
  to.required = from.required();
  if (from.has_fallback()) to.fallback = from_proto(from.fallback(), FieldPath(path, "fallback"));
  if (from.has_minimum()) to.range.min = finite(from.minimum(), FieldPath(path, "minimum"));
  if (from.has_maximum()) to.range.max = finite(from.maximum(), FieldPath(path, "maximum"));
  to.range.min_excluded = from.minimum_excluded();
  to.range.max_excluded = from.maximum_excluded();
  to.choices.assign(from.choices().begin(), from.choices().end());
  if (from.is_file()) to.role = config::KeyRole::file;
  return to;
}

}  // namespace heelstrike::wire
