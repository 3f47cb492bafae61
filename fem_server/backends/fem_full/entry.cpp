#include "fem_server/backends/fem_full/entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "common/contact/material_laws.hpp"
#include "common/errors/error.hpp"
#include "common/parameters/parameter.hpp"
#include "fem_server/backends/fem_full/condensed_interior.hpp"
#include "fem_server/backends/fem_full/full_bodies.hpp"
#include "fem_server/backends/fem_full/full_contact.hpp"
#include "fem_server/bodies/body_preparation.hpp"
#include "fem_server/bodies/pair_check.hpp"
#include "fem_server/fem/element_kind.hpp"
#include "fem_server/fem/materials/material_kind.hpp"

namespace heelstrike::fem {

namespace {

/// A body solved in all degrees of freedom, and a rigid partner.
struct FullPreparation {
  PreparedBody body;
  MaterialLaws laws = MaterialLaw::neo_hookean;  ///< of its materials
  ParameterMap parameters;                       ///< as used
};

/// @throws as prepare_body
FullPreparation prepare_full(const PairSpec& pair, const PrepareContext& context) {
  const PairSpec with_own = with_laws(pair);
  ParameterMap parameters;
  PreparedBody body = prepare_body(with_own, context, parameters);
  return {.body = std::move(body), .laws = laws_of_main(with_own), .parameters = std::move(parameters)};
}

/// Compliance of the linear body at its contact nodes, the start of the friction solver; empty without friction.
SurfaceCompliance initial_compliance(const PreparedBody& body, const PrepareContext& context) {
  if (!(body.options.friction > 0.0)) return {};
  return prepared_compliance(body.body, body.support, body.contact, context, body.max_memory);
}

std::vector<ParameterSchema> full_parameters() {
  std::vector<ParameterSchema> parameters = body_parameters("all");
  for (ParameterSchema& own : material_parameters("")) parameters.push_back(std::move(own));
  for (ParameterSchema& own : partner_parameters()) parameters.push_back(std::move(own));
  return parameters;
}

std::unique_ptr<ContactBackend> make_bodies(const PairSpec& pair, const PrepareContext& context) {
  FullPreparation prepared = prepare_full(pair, context);
  PreparedBody& main = prepared.body;
  std::optional<PreparedPartner> partner = prepare_partner(pair, context);
  const auto compliance = [&](const auto& body) {
    return prepared_compliance(body.body, body.support, body.contact, context, main.max_memory);
  };
  SurfaceCompliance of_main = compliance(main);
  SurfaceCompliance of_partner = compliance(*partner);
  context.on_progress("factorize", 0.7);
  Support partner_support = partner->support;
  PartnerSurface surface = partner_surface(std::move(*partner));
  FullBodiesModel model{.main = {.fields = nullptr,
                                 .support = main.support,
                                 .laws = prepared.laws,
                                 .compliance = std::move(of_main),
                                 .max_memory = main.max_memory},
                        .partner = {.fields = std::move(surface.fields),
                                    .support = std::move(partner_support),
                                    .laws = laws_of_partner(with_laws(pair)),
                                    .compliance = std::move(of_partner),
                                    .max_memory = main.max_memory},
                        .main_surface = contact_surface(main.body.mesh(), main.contact.faces, main.contact.nodes,
                                                        main.support.clamped_nodes),
                        .partner_surface = std::move(surface.surface),
                        .partner_distance = std::move(surface.distance),
                        .regions = std::move(main.regions),
                        .options = main.options};
  model.main.fields = std::make_shared<const BodyFields>(std::move(main.body), main.support, std::move(main.contact),
                                                         std::move(main.shape), std::move(main.pressure));
  return std::make_unique<FullBodies>(pair.backend, std::move(model), std::move(prepared.parameters), context.stop);
}

std::unique_ptr<ContactBackend> make_full(const PairSpec& pair, const PrepareContext& context) {
  if (!pair.partner.materials.empty()) return make_bodies(pair, context);
  FullPreparation prepared = prepare_full(pair, context);
  SurfaceCompliance compliance = initial_compliance(prepared.body, context);
  context.on_progress("factorize", 0.5);
  return std::make_unique<FullContact>(pair.backend, std::move(prepared.body), prepared.laws,
                                       std::move(prepared.parameters), std::move(compliance), context.stop);
}

void check_full_pair(const PairSpec& pair) {
  check_body_pair(pair);
  (void)with_laws(pair);
}

/// Pressures around corners are cut off at the border of the layer. With linear displacements, a layer one element
/// thick then has as many pressures as deformation modes, and locks: ten times the force at a Poisson's ratio of
/// 0.4999.
void remove_split_pressures(std::vector<ParameterSchema>& parameters) {
  ParameterSchema& element = *std::ranges::find(parameters, element_key, &ParameterSchema::name);
  for (const ElementKind& kind : element_kinds()) {
    if (kind.pressure != PressureKind::nodal || element_topology(kind.n_nodes).quadratic()) continue;
    std::erase(element.choices, kind.name);
    element.removed_choices.emplace_back(
        kind.name,
        "it has pressures around its corners, which the border of the layer would cut until it locks; expected "
        "tet10_mixed, hex8, hex27, an element without pressures, or fem_full");
  }
}

std::vector<ParameterSchema> layered_parameters() {
  std::vector<ParameterSchema> parameters = body_parameters("all");
  remove_split_pressures(parameters);
  for (ParameterSchema& own : material_parameters("of the layer, over an interior of Hooke's law: ")) {
    parameters.push_back(std::move(own));
  }
  parameters.push_back(number_parameter(
      "layer_depth", "m",
      "elements with their centre within this distance of a contact node belong to the layer; default: "
      "max_penetration, so that the region that the partner can reach is nonlinear",
      std::nullopt, not_negative));
  parameters.push_back(text_parameter("layer_set", "element set of the layer, instead of layer_depth", ""));
  parameters.push_back(number_parameter(
      "max_interface_nodes", "-",
      "maximum number of nodes between layer and interior; memory grows with its square, 3000 take 3 GB", 3000.0,
      {.min = 1.0}));
  return parameters;
}

std::vector<std::uint32_t> chosen_layer(const PairSpec& pair, const PreparedBody& body, ParameterMap& parameters) {
  const std::string where = "contact." + pair.name + ".parameters.";
  const std::string& set = text(pair.parameters, "layer_set");
  std::vector<std::uint32_t> layer;
  std::string source;
  if (set.empty()) {
    const double depth = optional_number(pair.parameters, "layer_depth").value_or(body.options.max_penetration);
    parameters["layer_depth"] = depth;
    layer = layer_of_depth(body.body, body.contact, depth);
    source = fmt::format("{}layer_depth: {} m includes", where, depth);
  } else {
    layer = layer_of_set(body.body, body.contact, set, where + "layer_set");
    source = fmt::format("{}layer_set: '{}' includes", where, set);
  }
  if (layer.size() < body.body.mesh().n_elements()) return layer;
  throw input_error(where + (set.empty() ? "layer_depth" : "layer_set"),
                    fmt::format("{} all {} elements in the layer and leaves no interior to condense; use a thinner "
                                "layer, or fem_full",
                                source, layer.size()));
}

void check_layered_pair(const PairSpec& pair) {
  check_rigid_pair(pair);
  (void)with_laws(pair);
  const std::string& set = text(pair.parameters, "layer_set");
  if (set.empty() || !optional_number(pair.parameters, "layer_depth")) return;
  throw pair_error(pair, "parameters.layer_depth",
                   fmt::format("the layer is already defined by layer_set '{}'; remove one of them", set));
}

/// Reports laws of large strain that no element of the layer uses.
void warn_about_unused_laws(const PairSpec& pair, const BodyModel& body, std::span<const std::uint32_t> layer,
                            const PrepareContext& context) {
  std::vector<bool> in_layer(body.n_materials(), false);
  for (const std::uint32_t e : layer) in_layer[body.material_index(e)] = true;
  for (std::size_t i = 0; i < in_layer.size(); ++i) {
    const Material& material = pair.main.materials[i];
    if (in_layer[i] || material.law.empty()) continue;
    context.on_progress(fmt::format("contact.{}.main.{}: no element of the layer has this material; the interior is "
                                    "linear and uses its moduli only, the response to small strain",
                                    pair.name, law_key(material)),
                        0.2);
  }
}

std::unique_ptr<ContactBackend> make_layered(const PairSpec& pair, const PrepareContext& context) {
  FullPreparation prepared = prepare_full(pair, context);
  PreparedBody& whole = prepared.body;
  const std::vector<std::uint32_t> layer = chosen_layer(pair, whole, prepared.parameters);
  warn_about_unused_laws(pair, whole.body, layer, context);
  SurfaceCompliance compliance = initial_compliance(whole, context);
  context.on_progress(fmt::format("the layer has {} of {} elements", layer.size(), whole.body.mesh().n_elements()),
                      0.3);
  auto interior = std::make_shared<const CondensedInterior>(std::move(whole), layer,
                                                            number(pair.parameters, "max_interface_nodes"), context);
  context.on_progress("factorize", 0.7);
  PreparedBody outer = interior->layer();
  return std::make_unique<FullContact>(pair.backend, std::move(outer), prepared.laws, std::move(prepared.parameters),
                                       std::move(compliance), context.stop, std::move(interior));
}

}  // namespace

BackendEntry fem_full_entry() {
  return {.name = "fem_full",
          .summary =
              "all degrees of freedom, finite strain or linear, with Coulomb friction: the reference for the other "
              "back-ends",
          .reference = "melo2023",
          .parameters = full_parameters(),
          .surface_pairs = body_surface_pairs(),
          .make = make_full,
          .check = check_full_pair,
          .warnings = find_body_pair_warnings,
          .tunable = {"restitution", "min_approach_velocity"}};
}

BackendEntry fem_layered_entry() {
  return {.name = "fem_layered",
          .summary =
              "an outer layer of finite strain over a linear interior condensed once; between fem_condensed and "
              "fem_full",
          .reference = "melo2023",
          .parameters = layered_parameters(),
          .surface_pairs = body_surface_pairs(),
          .make = make_layered,
          .check = check_layered_pair,
          .warnings = find_body_pair_warnings,
          .tunable = {"restitution", "min_approach_velocity"}};
}

}  // namespace heelstrike::fem
