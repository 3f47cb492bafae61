#include "fem_server/backends/fem_modal/entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/errors/error.hpp"
#include "common/parameters/parameter.hpp"
#include "fem_server/backends/fem_modal/modal_contact.hpp"
#include "fem_server/bodies/body_fields.hpp"
#include "fem_server/bodies/body_preparation.hpp"
#include "fem_server/bodies/pair_check.hpp"
#include "fem_server/contact_solver/kernels/compliance_product.hpp"
#include "fem_server/fem/compliance_cache.hpp"

namespace heelstrike::fem {

namespace {

/// Relative time discretisation error of a linear force, (omega h)^2 / 12, for which the step is reported.
constexpr double max_time_error = 0.01;

std::vector<ParameterSchema> schema() {
  std::vector<ParameterSchema> parameters = body_parameters("all");
  std::erase_if(parameters, [](const ParameterSchema& s) { return s.name == "friction"; });
  parameters.push_back(number_parameter(
      "modes", "-",
      "number of the body's lowest vibration modes integrated in time; the others respond quasi-statically; "
      "with 0, all modes do",
      20.0, {.min = 0.0, .max = 10'000.0}));
  parameters.push_back(number_parameter("modal_damping", "-", "damping ratio of each of these modes, below 1", 0.0,
                                        {.min = 0.0, .max = 0.999}));
  return parameters;
}

/// Adds friction = 0, which the preparation of bodies requires.
PairSpec frictionless(PairSpec pair) {
  pair.parameters["friction"] = 0.0;
  return pair;
}

void check_modal_pair(const PairSpec& pair) {
  check_rigid_pair(frictionless(pair));
  check_material_laws(pair);
  const double modes = number(pair.parameters, "modes");
  if (modes != std::floor(modes)) {
    throw pair_error(pair, "parameters.modes", fmt::format("expected a whole number, found {}", modes));
  }
  for (const Material& material : pair.main.materials) {
    if (modes == 0.0 || material.density > 0.0) continue;
    throw pair_error(
        pair, "main.material.density",
        fmt::format("expected the density [kg/m^3] of a body that vibrates, found {}{}; give it, or set `modes: 0`",
                    material.density, material.set.empty() ? "" : " for set '" + material.set + "'"));
  }
}

void predict_modal_vibrations(const PairSpec& pair, PairDescription& description) {
  description.vibrates = number(pair.parameters, "modes") > 0.0;
  description.vibrates_on_support = description.vibrates && text(pair.parameters, "support") != "inertia_relief";
}

/// The number of modes of a body is known only after meshing.
VibrationModes modes_of(const PairSpec& pair, const PreparedBody& prepared, std::size_t n_modes,
                        const PrepareContext& context) {
  try {
    return cached_modes(context.cache_directory, prepared.body, prepared.support, n_modes, context.on_progress,
                        context.stop, prepared.max_memory);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_input) throw;
    const std::string key = "contact." + pair.name + ".parameters." + error.field();
    throw input_error(key, fmt::format("contact.{}: {}", pair.name, error.what()));
  }
}

/// [-] Effective number of modes under a uniform load: a bar with n modes along it neglects the fraction
/// sum 1 / k^2 over k > n, over pi^2 / 6, of its compliance, about 6 / (pi^2 n).
double find_resolved_wavelength(const ModalModel& model, const ContactNodes& contact) {
  NodeFields<1> f(3 * std::ssize(model.points));
  std::vector<std::uint32_t> numbers(model.points.size());
  for (std::uint32_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = i;
    f.segment<3>(3 * static_cast<Eigen::Index>(i)) = -contact.areas[i] * contact.normals[i];
  }
  const double all = f.dot(displacement<1>(model.compliance, numbers, f));
  const double kept = ((model.Phi.transpose() * f).array() / model.modes.frequencies.array()).square().sum();
  return 6.0 / (std::numbers::pi * std::numbers::pi) / std::max(1.0 - kept / all, max_time_error);
}

/// Resolution of an impact with the duration of a wave's passage through the body and back by the kept modes: theory,
/// section 3.
void warn_about_time_resolution(const ModalModel& model, const ContactNodes& contact, const PrepareContext& context) {
  const double waves = find_resolved_wavelength(model, contact);
  context.on_progress(
      fmt::format(
          "under a uniform load, {:.3g} % of the compliance is that of the {} vibration modes, equivalent to {:.2g} "
          "modes along the load; the rest responds at once. The error of an impact that lasts as long as a wave there "
          "and back is about {:.2g} % in duration and velocity; an impact much longer than the first mode's period "
          "needs no modes",
          100.0 - 600.0 / (std::numbers::pi * std::numbers::pi * waves), model.Phi.cols(), waves, 50.0 / waves),
      0.97);
}

std::unique_ptr<ContactBackend> make_modal(const PairSpec& pair, const PrepareContext& context) {
  ParameterMap parameters;
  PreparedBody prepared = prepare_body(frictionless(linearised(pair, context)), context, parameters);
  parameters.erase("friction");
  ModalModel model;
  for (const std::uint32_t node : prepared.contact.nodes) model.points.push_back(prepared.body.mesh().nodes[node]);
  model.areas = prepared.contact.areas;
  model.pressure = prepared.pressure;
  model.regions = prepared.regions;
  model.compliance =
      prepared_compliance(prepared.body, prepared.support, prepared.contact, context, prepared.max_memory);
  model.damping = number(pair.parameters, "modal_damping");
  model.clamped = !prepared.support.inertia_relief;
  if (const auto n_modes = static_cast<std::size_t>(number(pair.parameters, "modes")); n_modes > 0) {
    context.on_progress("vibration modes", 0.9);
    model.modes = modes_of(pair, prepared, n_modes, context);
    const double highest = model.modes.frequencies.tail<1>()[0];
    context.on_progress(
        fmt::format("vibration modes from {:.4g} to {:.4g} Hz; the contact force is linear within each step, "
                    "and with steps of {:.2g} s (analysis.integrator.max_step) has an error of {} % for "
                    "the last mode",
                    model.modes.frequencies[0] / (2.0 * std::numbers::pi), highest / (2.0 * std::numbers::pi),
                    std::sqrt(12.0 * max_time_error) / highest, 100.0 * max_time_error),
        0.95);
  }
  model.Phi.resize(3 * std::ssize(model.points), model.modes.frequencies.size());
  for (std::size_t i = 0; model.Phi.cols() > 0 && i < model.points.size(); ++i) {
    model.Phi.middleRows<3>(3 * static_cast<Eigen::Index>(i)) =
        model.modes.shapes.middleRows<3>(3 * static_cast<Eigen::Index>(prepared.contact.nodes[i]));
  }
  if (model.Phi.cols() > 0) warn_about_time_resolution(model, prepared.contact, context);
  model.partner = prepared.partner;
  model.options = prepared.options;
  model.fields =
      std::make_shared<const BodyFields>(std::move(prepared.body), prepared.support, std::move(prepared.contact),
                                         std::move(prepared.shape), std::move(prepared.pressure));
  return std::make_unique<ModalContact>(pair.backend, std::move(model), std::move(parameters));
}

}  // namespace

BackendEntry fem_modal_entry() {
  return {.name = "fem_modal",
          .summary =
              "as fem_condensed without friction, with the lowest vibration modes of the body over time: impacts "
              "excite waves",
          .reference = "rubin1975",
          .parameters = schema(),
          .surface_pairs = body_surface_pairs(),
          .make = make_modal,
          .check = check_modal_pair,
          .warnings = find_body_pair_warnings,
          .predict_vibrations = predict_modal_vibrations,
          .tunable = {"restitution", "min_approach_velocity"}};
}

}  // namespace heelstrike::fem
