#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <iterator>

#include "common/contact/material_laws.hpp"
#include "common/errors/error.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/backends/elastic_foundation/entry.hpp"
#include "fem_server/backends/point_laws/entry.hpp"
#include "fem_server/backends/rigid/entry.hpp"
#include "scenario/backend_info.hpp"
#include "scenario/shared_bodies.hpp"
#ifdef HEELSTRIKE_FEM
#include "fem_server/backends/fem_condensed/entry.hpp"
#include "fem_server/backends/fem_full/entry.hpp"
#include "fem_server/backends/fem_modal/entry.hpp"
#endif

namespace heelstrike::fem {

namespace {

/// One line for each folder with an entry.
std::vector<BackendEntry> collect() {
  std::vector<BackendEntry> entries;
  std::ranges::move(point_law_entries(), std::back_inserter(entries));
  entries.push_back(elastic_foundation_entry());
  std::ranges::move(rigid_entries(), std::back_inserter(entries));
#ifdef HEELSTRIKE_FEM
  entries.push_back(fem_condensed_entry());
  entries.push_back(fem_full_entry());
  entries.push_back(fem_layered_entry());
  entries.push_back(fem_modal_entry());
#endif
  std::ranges::sort(entries, {}, &BackendEntry::name);
  return entries;
}

void check_surfaces(const PairSpec& pair, const BackendEntry& entry) {
  const std::string shapes = pair.main.surface.kind + "-" + pair.partner.surface.kind;
  if (std::ranges::find(entry.surface_pairs, shapes) != entry.surface_pairs.end()) return;
  const std::string key = "contact." + pair.name;
  throw input_error(
      key, fmt::format("{}: back-end '{}' accepts {} (main-partner), found {}; change a surface or the back-end", key,
                       entry.name, fmt::join(entry.surface_pairs, ", "), shapes));
}

void reject_laws(const PairSpec& pair, const BackendEntry& entry) {
  const ParameterMap laws = laws_in_force(pair);
  if (laws.empty() || has_elastic_bodies(entry.parameters)) return;
  const std::string key = fmt::format("contact.{}.{}", pair.name, laws.begin()->first);
  throw input_error(key, fmt::format("{}: back-end '{}' supports no material laws; expected a finite-element back-end "
                                     "(fem_full, fem_layered; fem_condensed and fem_modal linearise them), or no `law`",
                                     key, entry.name));
}

constexpr double min_youngs_modulus = 1e3;     // [Pa] brain and fat; softer gels flow
constexpr double max_youngs_modulus = 1.3e12;  // [Pa] diamond
constexpr double min_density = 20.0;           // [kg/m^3] foams
constexpr double max_density = 2.3e4;          // [kg/m^3] osmium

std::string find_modulus_warning(double modulus) {
  if (modulus < min_youngs_modulus) {
    return fmt::format(
        "youngs_modulus: {0:g} Pa is softer than brain or fat (1e3 Pa); did you mean {0:g} MPa, which is "
        "{1:g} (soft tissue 1e4 to 1e7, plastics 1e9), or {0:g} GPa, {2:g} (metals 7e10 to 2.1e11)?",
        modulus, modulus * 1e6, modulus * 1e9);
  }
  if (modulus <= max_youngs_modulus) return {};
  return fmt::format("youngs_modulus: {:g} Pa is stiffer than diamond (1.2e12 Pa; steel has 2.1e11); check its unit",
                     modulus);
}

std::string find_density_warning(double density) {
  if (density > 0.0 && density < min_density) {
    return fmt::format("density: {0:g} kg/m^3 is lighter than foam; did you mean {0:g} g/cm^3, which is {1:g}?",
                       density, density * 1e3);
  }
  if (density <= max_density) return {};
  return fmt::format("density: {:g} kg/m^3 is heavier than any metal (osmium has 22600); check its unit", density);
}

/// Warnings about implausible moduli and densities: "KEY: sentence" for each value outside the range of tissues,
/// plastics, metals and ceramics, with the unit that was probably intended. @param key  of the material, e.g.
/// "contact.NAME.main.material"
std::vector<std::string> find_material_warnings(std::span<const Material> materials, const std::string& key) {
  std::vector<std::string> warnings;
  for (const Material& material : materials) {
    const std::string where = material.set.empty() ? key : fmt::format("{}s.{}", key, material.set);
    for (const std::string& warning :
         {find_modulus_warning(material.youngs_modulus), find_density_warning(material.density)}) {
      if (!warning.empty()) warnings.push_back(fmt::format("{}.{}", where, warning));
    }
  }
  return warnings;
}

}  // namespace

std::string ContactBackend::fields(const History& /*history*/, const PairState& /*state*/,
                                   const FieldRequest& /*request*/) const {
  throw Error(ErrorCode::unimplemented,
              "this back-end computes a force, not its distribution: it has no pressure field");
}

std::span<const BackendEntry> backend_registry() {
  static const std::vector<BackendEntry> registry = collect();
  return registry;
}

const BackendEntry& find_backend(const std::string& name) {
  std::vector<std::string> names;
  for (const BackendEntry& entry : backend_registry()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw input_error("backend", unknown_backend_message(name, names));
}

PairSpec checked_pair(const PairSpec& pair) {
  const BackendEntry& entry = find_backend(pair.backend);
  check_surfaces(pair, entry);
  reject_laws(pair, entry);
  PairSpec complete = pair;
  complete.parameters = checked_parameters(pair.parameters, entry.parameters, "contact." + pair.name + ".parameters");
  if (entry.check) entry.check(complete);
  return complete;
}

PairDescription predict_description(const PairSpec& pair) {
  PairDescription description;
  description.name = pair.name;
  description.backend = pair.backend;
  const BackendEntry& entry = find_backend(pair.backend);
  if (entry.predict_vibrations) entry.predict_vibrations(pair, description);
  return description;
}

std::vector<std::string> find_pair_warnings(const PairSpec& pair, const PrepareContext& context) {
  const std::string where = "contact." + pair.name;
  std::vector<std::string> warnings = find_material_warnings(pair.main.materials, where + ".main.material");
  std::ranges::move(find_material_warnings(pair.partner.materials, where + ".partner.material"),
                    std::back_inserter(warnings));
  const BackendEntry& entry = find_backend(pair.backend);
  if (entry.warnings) std::ranges::move(entry.warnings(pair, context), std::back_inserter(warnings));
  return warnings;
}

std::unique_ptr<ContactBackend> make_backend(const PairSpec& pair, const PrepareContext& context) {
  const PairSpec complete = checked_pair(pair);
  for (const std::string& warning : find_pair_warnings(complete, context)) {
    context.on_progress(fmt::format("{}{}", warning_mark, warning), 0.0);
  }
  return find_backend(pair.backend).make(complete, context);
}

}  // namespace heelstrike::fem
