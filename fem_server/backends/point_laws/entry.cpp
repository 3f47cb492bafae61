#include "fem_server/backends/point_laws/entry.hpp"

#include <fmt/format.h>
#include <cmath>
#include <utility>

#include "common/errors/error.hpp"
#include "common/parameters/parameter.hpp"
#include "fem_server/backend_interface/hysteresis.hpp"
#include "fem_server/backends/point_laws/compartment_contact.hpp"
#include "fem_server/backends/point_laws/point_contact.hpp"
#include "fem_server/backends/point_laws/stiffness.hpp"
#include "scenario/surfaces/surface_kind.hpp"

namespace heelstrike::fem {

namespace {

/// Speed below which an impact is negligible: a fall from 51 nm gives 1 mm/s, below the roughness of any
/// machined surface and 1/300 of the slowest impacts in the sources (docs/theory/contact_laws.md, section 5).
constexpr double default_min_velocity = 1e-3;

std::vector<ParameterSchema> friction_schema() {
  return {
      number_parameter("friction", "-", "Coulomb coefficient; 0 = no friction", 0.0, {.min = 0.0}),
      text_parameter(
          "friction_model",
          "stick = a tangential spring sticks up to the Coulomb limit and slips there, its stretch "
          "is a history variable; regularised = the force is a function of the slip velocity, so that resting "
          "bodies creep",
          "stick", {"stick", "regularised"}),
      number_parameter("stick_stiffness", "N/m",
                       "spring of friction_model stick; default: tangent stiffness of the law at a depth of a "
                       "thousandth of the effective radius",
                       std::nullopt, positive),
      number_parameter("stick_damping", "N s/m",
                       "dashpot parallel to that spring, damps vibrations of sticking bodies; default: decays within "
                       "0.1 ms without inertia",
                       std::nullopt, {.min = 0.0}),
      number_parameter("regularisation_velocity", "m/s",
                       "friction_model regularised: speed at which 0.71 of the Coulomb limit is reached",
                       default_min_velocity, positive)};
}

/// Depth over effective radius at which the tangent stiffness of the normal contact is used for the stick spring: metal
/// or polymer solids begin to yield at this depth.
constexpr double stick_depth = 1e-3;
/// [s] in which the spring with its dashpot alone relaxes by 1 / e: below the sampling period of motions, so that it is
/// invisible, while contacts of small bodies (10^4 rad/s and more) are well damped.
constexpr double stick_relaxation = 1e-4;

PointFriction friction_of(const PointLaw& law, double effective_radius, ParameterMap& parameters) {
  PointFriction friction;
  friction.coefficient = number(parameters, "friction");
  friction.sticks = text(parameters, "friction_model") == "stick";
  friction.slip_speed = number(parameters, "regularisation_velocity");
  const double depth = stick_depth * effective_radius;
  friction.stiffness = optional_number(parameters, "stick_stiffness")
                           .value_or(law.exponent * law.stiffness * std::pow(depth, law.exponent - 1.0));
  friction.damping = optional_number(parameters, "stick_damping").value_or(stick_relaxation * friction.stiffness);
  if (friction.coefficient > 0.0 && friction.sticks) {
    parameters["stick_stiffness"] = friction.stiffness;
    parameters["stick_damping"] = friction.damping;
  }
  return friction;
}

std::vector<ParameterSchema> schema_of(const LawKind& kind) {
  std::vector<ParameterSchema> schema;
  if (kind.linear) {
    schema.push_back(number_parameter("stiffness", "N/m", "spring stiffness", std::nullopt, positive));
    schema.back().required = true;
  } else {
    schema.push_back(number_parameter("stiffness", "N/m^n",
                                      "generalised stiffness K; derived from radii and materials if absent (exponent "
                                      "1.5 only)",
                                      std::nullopt, positive));
    schema.push_back(number_parameter("exponent", "-", "exponent n of the indentation; 1.5 is Hertz' parabolic contact",
                                      1.5, {.min = 1.0, .max = 5.0}));
  }
  if (kind.form == LawForm::viscous) {
    schema.push_back(number_parameter("damping", "N s/m", "dashpot constant D", 0.0, {.min = 0.0}));
    schema.push_back(text_parameter("tensile_phase",
                                    "where the formula gives tension, at the end of restitution: cut = no force, keep "
                                    "= tension until the indentation is zero, as in textbooks",
                                    "cut", {"cut", "keep"}));
  }
  if (kind.form == LawForm::hysteresis) {
    schema.push_back(number_parameter("restitution", "-", "nominal coefficient of restitution c_r; 1 is elastic", 1.0,
                                      {.min = 0.0, .max = 1.0, .min_excluded = true}));
    schema.push_back(number_parameter("min_approach_velocity", "m/s",
                                      "lower bound of the approach velocity in the damping, so that resting contact is "
                                      "not singular",
                                      default_min_velocity, positive));
  }
  for (ParameterSchema& parameter : friction_schema()) schema.push_back(std::move(parameter));
  if (kind.approximate_factor != nullptr) {
    schema.push_back(text_parameter("hysteresis_factor_form",
                                    "exact = root of the implicit equation, approximate = (1 - c_r^2) / c_r", "exact",
                                    {"exact", "approximate"}));
  }
  return schema;
}

/// The history of a point law contains only the approach velocity and the stretch of the stick spring.
std::vector<std::string> numbers_of(const std::vector<ParameterSchema>& schema) {
  std::vector<std::string> names;
  for (const ParameterSchema& parameter : schema) {
    if (parameter.kind == ParameterKind::number) names.push_back(parameter.name);
  }
  return names;
}

double derived_stiffness(const PairSpec& pair, double exponent, double effective_radius, const std::string& where) {
  const std::string key = where + ".parameters.stiffness";
  if (exponent != 1.5) {
    throw input_error(
        key, fmt::format("{}: missing; radii and materials give a stiffness for exponent 1.5 only, found exponent "
                         "{}; give stiffness [N/m^{}]",
                         key, exponent, exponent));
  }
  const double compliances = material_compliance(pair.main.materials, where + ".main.material") +
                             material_compliance(pair.partner.materials, where + ".partner.material");
  if (!(compliances > 0.0)) {
    throw input_error(
        key, fmt::format("{}: missing, and neither body has a material; give stiffness [N/m^1.5], or a material "
                         "(youngs_modulus [Pa], poissons_ratio) for at least one of the two bodies",
                         key));
  }
  return hertz_stiffness(compliances, effective_radius);
}

/// The radius of profiles varies along them, and with it all values derived from a radius.
void check_profiles(bool has_stiffness, double friction, const std::string& where) {
  if (!has_stiffness) {
    const std::string key = where + ".stiffness";
    throw input_error(
        key, fmt::format("{}: missing; profiles have no single radius to derive it from; give stiffness [N/m^n], for "
                         "exponent 1.5 that of the radii of the usual contact region",
                         key));
  }
  if (friction > 0.0) {
    const std::string key = where + ".friction";
    throw input_error(
        key, fmt::format("{}: expected 0 for a pair of profiles, found {}; friction supports slip paths on spheres and "
                         "planes only: omit it",
                         key, friction));
  }
}

double factor_of(const LawKind& kind, const ParameterMap& parameters) {
  const double c_r = number(parameters, "restitution");
  const bool approximate =
      kind.approximate_factor != nullptr && text(parameters, "hysteresis_factor_form") == "approximate";
  return approximate ? kind.approximate_factor(c_r) : kind.factor(c_r);
}

std::unique_ptr<ContactBackend> make_point_contact(const LawKind& kind, const PairSpec& pair) {
  const std::string where = "contact." + pair.name;
  PointPair geometry(pair.main.surface, pair.partner.surface, where);
  ParameterMap parameters = pair.parameters;

  PointLaw law;
  law.form = kind.form;
  law.exponent = kind.linear ? 1.0 : number(parameters, "exponent");
  const auto given = optional_number(parameters, "stiffness");
  if (geometry.has_profiles()) check_profiles(given.has_value(), number(parameters, "friction"), where + ".parameters");
  law.stiffness = given ? *given : derived_stiffness(pair, law.exponent, geometry.effective_radius(), where);
  parameters["stiffness"] = law.stiffness;
  if (kind.form == LawForm::viscous) {
    law.damping = number(parameters, "damping");
    law.tensile = text(parameters, "tensile_phase") == "keep";
  }
  if (kind.form == LawForm::hysteresis) {
    law.hysteresis_factor = factor_of(kind, parameters);
    law.min_approach_velocity = number(parameters, "min_approach_velocity");
    parameters["hysteresis_factor"] = law.hysteresis_factor;
    parameters["effective_restitution"] = effective_restitution(law.hysteresis_factor);
  }
  const PointFriction friction = friction_of(law, geometry.effective_radius(), parameters);
  return std::make_unique<PointContact>(std::string(kind.name), law, friction, std::move(geometry),
                                        std::move(parameters));
}

/// The law in each compartment, between its ball and its socket. Each derives its stiffness from its own radii.
std::unique_ptr<ContactBackend> make_compartments(const LawKind& kind, const PairSpec& pair) {
  const std::vector<Compartment> main = kind_of(pair.main.surface).compartments(pair.main.surface);
  const std::vector<Compartment> partner = kind_of(pair.partner.surface).compartments(pair.partner.surface);
  std::vector<CompartmentContact::Part> parts;
  ParameterMap parameters = pair.parameters;
  for (std::size_t i = 0; i < main.size(); ++i) {
    PairSpec one = pair;
    one.main.surface = main[i].ball;
    one.partner.surface = partner.at(i).ball;
    parts.push_back({.name = main[i].name, .law = make_point_contact(kind, one)});
    parameters["stiffness_" + main[i].name] = parts.back().law->traits().parameters.at("stiffness");
  }
  return std::make_unique<CompartmentContact>(std::string(kind.name), std::move(parts), std::move(parameters));
}

std::unique_ptr<ContactBackend> make_law(const LawKind& kind, const PairSpec& pair) {
  const bool several = kind_of(pair.main.surface).compartments != nullptr;
  return several ? make_compartments(kind, pair) : make_point_contact(kind, pair);
}

std::vector<std::string> law_pairs() {
  std::vector<std::string> pairs{"sphere-plane", "plane-sphere", "sphere-sphere", "profile-profile"};
  for (const SurfaceKind& kind : surface_kinds()) {
    if (kind.compartments != nullptr) pairs.push_back(kind.name() + "-" + kind.name());
  }
  return pairs;
}

/// Reports the equivalent spheres used in place of general surfaces.
void report_equivalent_spheres(const PairSpec& pair, const PrepareContext& context) {
  if (kind_of(pair.main.surface).compartments == nullptr) return;
  context.on_progress(
      fmt::format("contact.{}: {} acts at one point of each compartment, between a ball and a socket of "
                  "the mean curvature at the contact of the bodies in their initial pose",
                  pair.name, pair.backend),
      0.0);
}

}  // namespace

std::vector<BackendEntry> point_law_entries() {
  std::vector<BackendEntry> entries;
  for (const LawKind& kind : law_table()) {
    entries.push_back({.name = std::string(kind.name),
                       .summary = std::string(kind.summary),
                       .reference = std::string(kind.reference),
                       .parameters = schema_of(kind),
                       .surface_pairs = law_pairs(),
                       .make =
                           [&kind](const PairSpec& pair, const PrepareContext& context) {
                             report_equivalent_spheres(pair, context);
                             return make_law(kind, pair);
                           },
                       // Construction takes no time.
                       .check = [&kind](const PairSpec& pair) { (void)make_law(kind, pair); },
                       .tunable = numbers_of(schema_of(kind))});
  }
  return entries;
}

}  // namespace heelstrike::fem
