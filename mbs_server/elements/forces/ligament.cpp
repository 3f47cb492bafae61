#include <fmt/format.h>
#include <algorithm>

#include "mbs_server/elements/forces/line_force.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::mbs {
namespace {

config::KeySchema lines_key() {
  return {
      .name = "lines",
      .kind = config::KeyKind::named,
      .meaning = "lines of the ligament by name",
      .required = true,
      .keys = {config::required(config::path_key()),
               config::number("slack_length", "m", config::lengths,
                              "length at which tension begins; default from `reference_strain`"),
               config::number("reference_strain", "-", {.min = -1.0, .max = 10.0, .min_excluded = true},
                              "without `slack_length`: strain at the initial poses", 0),
               config::number("stiffness", "N", config::stiffnesses, "of this line; overrides that of the ligament")}};
}

void check_lines(const config::Field& field, const Scenario& scenario) {
  const auto lines = config::read_lines(field, scenario.bodies);
  if (lines.empty()) field["lines"].reject("at least one line", "none", "give each line a name and a `path`");
  for (const auto& line : lines) {
    check_path_coordinates(line, scenario);
    if (!config::placed_at_start(line, scenario.bodies)) continue;
    config::check_insertions(line, scenario.bodies);
    check_ligament_length(line.keys, "slack_length", "path", config::straight_length(line, scenario.bodies));
  }
}

Tension toe_linear(double k, double transition, double l0, double length) {
  // With strains instead of elongations: the toe ends at 2 eps1 = transition, and the slope is k / l0.
  return toe_ligament_tension(k / l0, 0.5 * transition, l0, length);
}

Force build(const ElementSpec& spec, const Model& model, const std::vector<BodySpec>& bodies) {
  std::vector<LineElement> elements;
  const bool quadratic = spec.keys["law"].text() == "quadratic";
  for (const auto& line : config::read_lines(spec.keys, bodies)) {
    const double strain = line.keys["reference_strain"].number();
    const auto slack = line.keys.optional_number("slack_length");
    LineElement element{.name = spec.name + "." + line.name,
                        .points = path_points(line, model),
                        .surfaces = path_surfaces(line, model),
                        .unstrained = slack ? *slack : initial_length(line, model) / (1.0 + strain),
                        .tension_only = true};
    // Per strain rate in the file, per rate of length here.
    element.damping = spec.keys["damping"].number() / element.unstrained;
    const double k = line.keys.optional_number("stiffness").value_or(spec.keys["stiffness"].number());
    const double transition = spec.keys["transition_strain"].number();
    element.tension = [k, transition, quadratic, l0 = element.unstrained](const LineMotion& at,
                                                                          const ConstVector& /*s*/) {
      return quadratic ? quadratic_ligament_tension(k, l0, at.length) : toe_linear(k, transition, l0, at.length);
    };
    elements.push_back(std::move(element));
  }
  return line_bundle(spec.name, std::move(elements));
}

}  // namespace

ForceType ligament() {
  ForceType type;
  type.name = "ligament";
  type.meaning = "ligament of one or several lines, over points and surfaces of bodies";
  config::KeySchema law =
      config::text("law",
                   "toe_linear: k / (2 eps_t) strain^2 up to the strain eps_t, then k (strain - eps_t / 2) "
                   "[blankevoort1991]; quadratic: k strain^2 [piazza2001]");
  law.choices = {"toe_linear", "quadratic"};
  law.fallback = "toe_linear";
  type.keys = {std::move(law),
               config::required(config::number("stiffness", "N", config::stiffnesses,
                                               "k: force per strain of the linear part, or force at strain 1")),
               config::number("transition_strain", "-", config::strains, "eps_t: start of the linear part", 0.06),
               config::number("damping", "N s", config::stiffnesses, "force per strain rate", 0),
               lines_key(),
               config::wrap_surfaces_key()};
  type.check = check_lines;
  type.build = [](const ElementSpec& spec, const Model& model) { return build(spec, model, body_specs(model)); };
  return type;
}

}  // namespace heelstrike::mbs
