#include "rpc/wire/pair_spec_wire.hpp"

#include <fmt/format.h>

#include "rpc/wire/parameter_wire.hpp"
#include "scenario/schema/keys.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike::wire {

namespace {

/// The ranges are those of scenario files: products of larger values may overflow.
double in_range(double value, const FieldPath& path, const Range& range, std::string_view unit) {
  if (!range.contains(finite(value, path))) refuse(path, fmt::format("a number in {} [{}]", range.text(), unit), value);
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
  if (poisson < 0.0 || poisson >= 0.5) refuse(FieldPath(path, "poissons_ratio"), "a number in [0, 0.5) [-]", poisson);
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
