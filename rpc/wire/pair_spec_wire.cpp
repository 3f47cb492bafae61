#include "rpc/wire/pair_spec_wire.hpp"

#include <fmt/format.h>

#include <cmath>

#include "scenario/schema/keys.hpp"
#include "scenario/surfaces/surface_kind.hpp"

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
      reject(path, "a known kind of parameter (1 to 4)", fmt::format("{}", static_cast<int>(kind)));
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

namespace {

/// The ranges are those of scenario files: products of larger values may overflow.
double in_range(double value, const FieldPath& path, const Range& range, std::string_view unit) {
  if (!range.contains(finite(value, path))) reject(path, fmt::format("a number {} [{}]", range.text(), unit), value);
  return value;
}

void to_proto(const Surface& from, v1::Surface& to) {
  to.set_kind(from.kind);
  wire::to_proto(from.values, *to.mutable_values());
  to.set_sha256(from.sha256);
}

Surface surface_from_proto(const v1::ContactBody& from, const FieldPath& path) {
  const FieldPath place(path, "surface");
  if (!from.has_surface()) throw_missing(place);
  Surface surface{.kind = from.surface().kind(),
                  .values = wire::from_proto(from.surface().values(), place),
                  .sha256 = from.surface().sha256()};
  return checked_surface(std::move(surface), from.materials().empty(), place.text());
}

Material from_proto(const v1::Material& from, const FieldPath& path) {
  const double poisson = finite(from.poissons_ratio(), FieldPath(path, "poissons_ratio"));
  if (poisson < 0.0 || poisson >= 0.5) reject(FieldPath(path, "poissons_ratio"), "a number in [0, 0.5) [-]", poisson);
  return {.youngs_modulus = in_range(from.youngs_modulus(), FieldPath(path, "youngs_modulus"), config::moduli, "Pa"),
          .poissons_ratio = poisson,
          .density = in_range(from.density(), FieldPath(path, "density"), config::densities, "kg/m^3"),
          .set = from.name(),
          .law = wire::from_proto(from.law(), FieldPath(path, "law"))};
}

ContactBody from_proto(const v1::ContactBody& from, const FieldPath& path) {
  ContactBody to{.name = from.name(), .surface = surface_from_proto(from, path), .materials = {}};
  for (int i = 0; i < from.materials_size(); ++i) {
    to.materials.push_back(from_proto(from.materials(i), FieldPath(path, "materials", static_cast<std::size_t>(i))));
  }
  return to;
}

void to_proto(const ContactBody& from, v1::ContactBody& to) {
  to.Clear();
  to.set_name(from.name);
  to_proto(from.surface, *to.mutable_surface());
  for (const auto& material : from.materials) {
    auto& message = *to.add_materials();
    message.set_youngs_modulus(material.youngs_modulus);
    message.set_poissons_ratio(material.poissons_ratio);
    message.set_density(material.density);
    message.set_name(material.set);
    wire::to_proto(material.law, *message.mutable_law());
  }
}

}  // namespace

void to_proto(const PairSpec& from, v1::PairSpec& to) {
  to.set_name(from.name);
  to.set_backend(from.backend);
  to_proto(from.parameters, *to.mutable_parameters());
  to_proto(from.main, *to.mutable_main());
  to_proto(from.partner, *to.mutable_partner());
}

PairSpec from_proto(const v1::PairSpec& from, const FieldPath& path) {
  if (!from.has_main()) throw_missing(FieldPath(path, "main"));
  if (!from.has_partner()) throw_missing(FieldPath(path, "partner"));
  return {.name = from.name(),
          .backend = from.backend(),
          .parameters = from_proto(from.parameters(), FieldPath(path, "parameters")),
          .main = from_proto(from.main(), FieldPath(path, "main")),
          .partner = from_proto(from.partner(), FieldPath(path, "partner"))};
}

void to_proto(const PairDescription& from, v1::SessionDescription& to) {
  to.set_pair(from.name);
  to.set_backend(from.backend);
  to_proto(from.parameters, *to.mutable_parameters());
  to.set_digest(from.digest);
  to.set_vibrates(from.vibrates);
  to.set_vibrates_on_support(from.vibrates_on_support);
  to.mutable_regions()->Assign(from.regions.begin(), from.regions.end());
}

PairDescription from_proto(const v1::SessionDescription& from, const FieldPath& path) {
  return {.name = from.pair(),
          .backend = from.backend(),
          .parameters = from_proto(from.parameters(), FieldPath(path, "parameters")),
          .digest = from.digest(),
          .vibrates = from.vibrates(),
          .vibrates_on_support = from.vibrates_on_support(),
          .regions = {from.regions().begin(), from.regions().end()}};
}

}  // namespace heelstrike::wire
