#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <iterator>

#include "common/contact/material_laws.hpp"
#include "common/errors/error.hpp"
#include "common/text/suggestion.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/backend_interface/material_warnings.hpp"
#include "fem_server/backends/elastic_foundation/entry.hpp"
#include "fem_server/backends/point_laws/entry.hpp"
#include "fem_server/backends/rigid/entry.hpp"
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

void refuse_laws(const PairSpec& pair, const BackendEntry& entry) {
  const ParameterMap laws = laws_in_force(pair);
  if (laws.empty() || has_elastic_bodies(entry.parameters)) return;
  const std::string key = fmt::format("contact.{}.{}", pair.name, laws.begin()->first);
  throw input_error(key, fmt::format("{}: back-end '{}' supports no material laws; expected a finite-element back-end "
                                     "(fem_full, fem_layered; fem_condensed and fem_modal linearise them), or no `law`",
                                     key, entry.name));
}

}  // namespace

std::string ContactBackend::fields(const History& /*history*/, const PairState& /*state*/,
                                   const FieldRequest& /*request*/) const {
  throw Error(ErrorCode::unimplemented, "this back-end has no fields: point laws give a force, not its distribution");
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
  const auto near = nearest_name(name, names);
  const std::string hint = near ? fmt::format("did you mean '{}'? ", *near) : std::string();
  throw input_error("backend", fmt::format("unknown back-end '{}'; {}known: {}", name, hint, fmt::join(names, ", ")));
}

PairSpec checked_pair(const PairSpec& pair) {
  const BackendEntry& entry = find_backend(pair.backend);
  check_surfaces(pair, entry);
  refuse_laws(pair, entry);
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
