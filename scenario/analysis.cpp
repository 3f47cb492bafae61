#include "scenario/sections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

#include "common/contact/contact_point.hpp"
#include "common/text/suggestion.hpp"
#include "scenario/schema/members.hpp"

namespace heelstrike::config {

namespace {

const MemberKeys<RunBudget>& budget_members() {
  const Range counts{.min = 1.0, .max = 9.0e15};  // whole numbers above 2^53 are not exact in a file
  static const MemberKeys<RunBudget> rows = {
      member(&RunBudget::rows, integer("rows", counts, "rows of the time series")),
      member(&RunBudget::steps, integer("steps", counts, "accepted steps of the integrator")),
      member(&RunBudget::evaluations,
             integer("evaluations", counts, "evaluations of the equations of motion or of balance")),
      member(
          &RunBudget::stalled_steps,
          integer("stalled_steps", counts,
                  "consecutive trial steps that together advance the time by less than a billionth of end_time, or a "
                  "millionth with steps below 1e-13 s"))};
  return rows;
}

KeySchema budget_keys() {
  return {.name = "budget",
          .kind = KeyKind::map,
          .meaning = "limits of the run; exceeding one ends the run with an error of type `limit`",
          .keys = keys_of(budget_members())};
}

/// Keys of all integrators.
const MemberKeys<IntegratorSpec>& integrator_members() {
  static const MemberKeys<IntegratorSpec> rows = {
      member(&IntegratorSpec::rtol,
             number("rtol", "-", {.min = 1e-14, .max = 1e-2},
                    "relative tolerance per step; fixed-step methods do not control their error")),
      member(&IntegratorSpec::atol,
             number("atol", "m, m/s, -, 1/s", {.min = 1e-18, .max = 1e3},
                    "absolute tolerance per step of every coordinate; not for fixed-step methods")),
      member(&IntegratorSpec::max_step, number("max_step", "s", times, "largest step; unlimited by default")),
      member(&IntegratorSpec::max_rejections, integer("max_rejections", {.min = 1.0, .max = 1e6},
                                                      "consecutive rejected steps after which the run fails"))};
  return rows;
}

/// Members of single integrators, whose descriptors define the keys.
const MemberKeys<IntegratorSpec>& integrator_type_members() {
  static const MemberKeys<IntegratorSpec> rows = {
      member_without_default(&IntegratorSpec::order, {.name = "order"}),
      member_without_default(&IntegratorSpec::step, {.name = "step"}),
      member_without_default(&IntegratorSpec::baumgarte_alpha, {.name = "baumgarte_alpha"}),
      member_without_default(&IntegratorSpec::baumgarte_beta, {.name = "baumgarte_beta"})};
  return rows;
}

/// Keys of single types of analysis, which their descriptors list.
const MemberKeys<AnalysisSpec>& analysis_members() {
  static const MemberKeys<AnalysisSpec> rows = {member(
      &AnalysisSpec::max_residual,
      number("max_residual", "-", {.min = 1e-10, .max = 0.01},
             "accepted relative residual of equilibrium, with a warning, if contact forces that are discontinuous "
             "between facets of a mesh prevent a smaller one"))};
  return rows;
}

bool is_rigid(const Catalog& catalog, const std::string& backend) {
  const auto found = catalog.backends.find(backend);
  return found != catalog.backends.end() && has_rigid_bodies(found->second);
}

KeySchema integrator_key(const Catalog& catalog, const std::string& default_integrator) {
  const DefaultIntegrators& defaults = catalog.default_integrators;
  KeySchema name = text("name", fmt::format("method; default: {} with contact ({} with a rigid pair), {} "
                                            "with `forces` but no contact, else {}",
                                            defaults.with_contact, defaults.with_rigid_contact, defaults.with_forces,
                                            defaults.otherwise));
  if (!default_integrator.empty()) name.fallback = default_integrator;
  KeySchema variant = variant_of(std::move(name), catalog.integrators, keys_of(integrator_members()));
  variant.name = "integrator";
  variant.meaning = "time integration";
  return variant;
}

IntegratorSpec read_integrator(const Field& field) {
  IntegratorSpec spec;
  spec.name = field["name"].text();
  read_members(field, integrator_members(), spec);
  read_members(field, integrator_type_members(), spec);
  return spec;
}

void check_plate_name(const Field& field, const Scenario& scenario) {
  std::vector<std::string> names;
  for (const auto& motion : scenario.motions) {
    for (const auto& foot : motion.feet) {
      if (!foot.plate.empty()) names.push_back(motion.name + "." + foot.name);
    }
  }
  if (std::ranges::find(names, field.text()) != names.end()) return;
  field.reject(names.empty() ? "a foot with the key `plate` in the section `motion`"
                             : fmt::format("one of {}", fmt::join(names, ", ")),
               fmt::format("'{}'", excerpt(field.text())), suggestion(field.text(), names, "choose one of these"));
}

BalanceSpec read_balance(const Field& field, Scenario& scenario) {
  BalanceSpec balance{.name = field.name(),
                      .bodies = {},
                      .plate = {},
                      .force = {},
                      .threshold = field["threshold"].number(),
                      .where = location_of(field)};
  if (field.has("sliding_stiffness")) balance.sliding_stiffness = field["sliding_stiffness"].numbers();
  if (field.has("shear")) {
    check_plate_name(field["shear"], scenario);
    balance.shear = field["shear"].text();
  }
  for (const auto& item : field["bodies"].node().items) {
    balance.bodies.push_back(
        read_body_name(Field(field.document(), *item, field["bodies"].path()), scenario.bodies, false));
  }
  if (balance.bodies.empty()) field["bodies"].reject("at least one body", "none", "name the segments of a foot");
  const Field force = field["force"].entries().front();
  if (force.name() == "plate" || force.name() == "motion") {
    balance.from_motion = force.name() == "motion";
    check_plate_name(force, scenario);
    balance.plate = force.text();
  } else {
    balance.force = read_function(field["force"], scenario.analysis.end_time, scenario.files);
  }
  return balance;
}

}  // namespace

KeySchema balance_keys() {
  KeySchema force = function_keys("force", "N", "vertical force of the ground on the bodies");
  force.required = true;
  force.keys.push_back(text("plate", "MOTION.FOOT: measured force of the plate of this foot"));
  force.keys.push_back(text("motion",
                            "MOTION.FOOT: force on this foot that the motion of the whole body requires, without "
                            "plates; the recording has `segments`"));
  return {
      .name = "balance",
      .kind = KeyKind::named,
      .meaning =
          "for `hybrid`, by name: bodies that are moved along the vertical, all by the same distance, until the "
          "ground exerts a prescribed force; `kinematic` and `inverse` keep their prescribed positions",
      .keys = {required(text_list("bodies", "names of the bodies")), force,
               number("threshold", "N", {.min = 0.0, .max = loads.max, .min_excluded = true},
                      "with less force the bodies keep their prescribed position, or are raised out of contact", 20),
               number_list("sliding_stiffness", "N/m", {.min = 0.0, .max = 1e12, .min_excluded = true},
                           "horizontal stiffness, forward and lateral, of a bushing between the prescribed motion and "
                           "the bodies: a shoe whose upper slides on its sole; rigid by default",
                           {2}),
               text("shear",
                    "MOTION.FOOT: the bodies slide until the contact exerts the horizontal force on this foot that the "
                    "motion of the whole body requires; without friction it is added at the centre of pressure. The "
                    "recording has `segments`. By default the shear is a result of the prescribed motion")}};
}

KeySchema max_residual_key() {
  return analysis_members().front().key;
}

KeySchema analysis_keys(const Catalog& catalog, const std::string& default_integrator) {
  KeySchema type = text("type", "type of analysis");
  type.fallback = catalog.analyses.front().name;
  KeySchema variant = variant_of(std::move(type), catalog.analyses,
                                 {required(number("end_time", "s", times, "end of the run; it starts at 0")),
                                  budget_keys(), integrator_key(catalog, default_integrator)});
  variant.name = "analysis";
  variant.meaning = "type of analysis";
  variant.required = true;
  return variant;
}

std::string default_integrator(const Node& root, const Catalog& catalog) {
  const DefaultIntegrators& defaults = catalog.default_integrators;
  const auto has_entries = [&](const char* section) {
    const Node* node = root.find(section);
    return node != nullptr && !node->entries.empty();
  };
  if (has_entries("contact")) {
    const bool rigid = std::ranges::any_of(root.find("contact")->entries, [&](const auto& pair) {
      const Node* backend = pair.value->find("backend");
      return backend != nullptr && is_rigid(catalog, backend->scalar);
    });
    return rigid ? defaults.with_rigid_contact : defaults.with_contact;
  }
  return has_entries("forces") ? defaults.with_forces : defaults.otherwise;
}

void check_grid(const Field& field, double end_time, double distance, std::int64_t budget, const char* what,
                const char* key) {
  if (end_time / distance <= static_cast<double>(budget)) return;
  field.reject(fmt::format("at least {} s, for at most {} {} until end_time ({} s)",
                           end_time / static_cast<double>(budget), budget, what, end_time),
               fmt::format("{} s", distance), fmt::format("make it larger, or raise {}", key));
}

AnalysisSpec read_analysis(const Field& field, std::shared_ptr<const Document> document, const Catalog& catalog) {
  AnalysisSpec analysis;
  analysis.document = std::move(document);
  analysis.keys = field;
  analysis.type = field["type"].text();
  analysis.traits = type_named(catalog.analyses, analysis.type).traits;
  analysis.end_time = field["end_time"].number();
  analysis.integrator = read_integrator(field["integrator"]);
  read_members(field["budget"], budget_members(), analysis.budget);
  read_members(field, analysis_members(), analysis);
  const auto check_steps = [&](const std::optional<double>& longest, const char* key) {
    if (!longest) return;
    check_grid(field["integrator"][key], analysis.end_time, *longest, analysis.budget.steps, "steps",
               "analysis.budget.steps");
  };
  check_steps(analysis.integrator.step, "step");
  check_steps(analysis.integrator.max_step, "max_step");
  return analysis;
}

void read_balances(const Field& field, Scenario& scenario) {
  std::vector<BalanceSpec>& balances = scenario.analysis.balance;
  for (const Field& entry : field.entries_of("balance")) {
    balances.push_back(read_balance(entry, scenario));
    for (std::size_t i = 0; i + 1 < balances.size(); ++i) {
      for (const auto& body : balances.back().bodies) {
        if (std::ranges::find(balances[i].bodies, body) == balances[i].bodies.end()) continue;
        entry["bodies"].reject("bodies that are in no other balance", fmt::format("'{}' twice", body), "name it once");
      }
    }
  }
}

/// Only one integrator supports impulses of rigid bodies.
void check_rigid_pairs(const Field& field, const Scenario& scenario, const Catalog& catalog) {
  const std::string& needed = catalog.default_integrators.with_rigid_contact;
  if (scenario.analysis.integrator.name == needed) return;
  for (const PairModel& pair : scenario.pairs) {
    if (!is_rigid(catalog, pair.spec.backend)) continue;
    field["integrator"]["name"].reject(
        fmt::format("'{}', for the rigid bodies of contact.{}", needed, pair.spec.name),
        fmt::format("'{}'", scenario.analysis.integrator.name),
        "leave it out; other integrators support joints with `unilateral: true` for known contacts");
  }
}

void check_analysis(const Field& field, const Scenario& scenario, const Catalog& catalog) {
  check_rigid_pairs(field, scenario, catalog);
  const AnalysisSchema& type = type_named(catalog.analyses, scenario.analysis.type);
  if (type.check) type.check(field, scenario);
}

KeySchema coupling_keys(const Catalog& catalog) {
  KeySchema scheme = text("scheme", "times of contact evaluation, and the forces between them");
  if (!catalog.couplings.empty()) scheme.fallback = catalog.couplings.front().name;
  KeySchema variant = variant_of(std::move(scheme), catalog.couplings);
  variant.name = "coupling";
  variant.meaning = "coupling of the multibody side and its contact partner";
  return variant;
}

CouplingSpec read_coupling(const Field& field, std::shared_ptr<const Document> document, const Scenario& scenario,
                           const Catalog& catalog) {
  const ElementType& scheme = type_named(catalog.couplings, field["scheme"].text());
  if (scheme.check) scheme.check(field, scenario);
  return {.scheme = scheme.name, .document = std::move(document), .keys = field};
}

}  // namespace heelstrike::config
