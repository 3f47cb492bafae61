#include "common/config/sections/sections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

#include "common/config/keys.hpp"

namespace heelstrike::config {

namespace {

KeySchema balance_keys() {
  KeySchema force = function_keys("force", "N", "vertical force of the ground on the bodies");
  force.required = true;
  force.keys.push_back(text("plate", "MOTION.FOOT: what the plate of this foot measured"));
  return {
      .name = "balance",
      .kind = KeyKind::named,
      .meaning =
          "for `hybrid`, by name: bodies that are moved along the vertical, all by the same distance, until the "
          "ground pushes them with a given force; `kinematic` and `inverse` leave them where they are prescribed",
      .keys = {required(text_list("bodies", "names of the bodies")), force,
               number("threshold", "N", {.min = 0.0, .max = loads.max, .min_excluded = true},
                      "with less force the bodies stay where they are prescribed, or above it, out of contact", "20")}};
}

KeySchema budget_key(const char* name, const char* meaning, const char* fallback) {
  // Beyond 2^53 the numbers of a file are no longer whole.
  return {.name = name,
          .kind = KeyKind::integer,
          .meaning = meaning,
          .fallback = fallback,
          .range = {.min = 1.0, .max = 9.0e15}};
}

KeySchema budget_keys() {
  return {.name = "budget",
          .kind = KeyKind::map,
          .meaning = "what the run may use; it ends with an error of type `limit` where that does not suffice",
          .keys = {budget_key("rows", "rows of the time series", "2000000"),
                   budget_key("steps", "accepted steps of the integrator", "10000000"),
                   budget_key("evaluations", "evaluations of the equations of motion or of balance", "1000000000"),
                   budget_key("stalled_steps",
                              "steps tried in a row that together advance the time by less than a billionth of "
                              "end_time",
                              "20000")}};
}

/// Which keys and orders an integrator knows; the schema cannot say what depends on another key.
struct IntegratorTraits {
  std::string_view name;
  bool fixed_step = false;
  std::vector<int> orders;
};

const IntegratorTraits& traits_of(const std::string& integrator) {
  static const std::vector<IntegratorTraits> table = {
      {.name = "cvode_index1", .orders = {1, 2, 3, 4, 5}},  {.name = "ida_ggl", .orders = {1, 2, 3, 4, 5}},
      {.name = "arkode_erk", .orders = {2, 3, 4, 5, 6, 8}}, {.name = "arkode_dirk", .orders = {3, 4, 5}},
      {.name = "rk4", .fixed_step = true, .orders = {4}},   {.name = "ab4am4", .fixed_step = true, .orders = {4}},
  };
  return *std::ranges::find(table, integrator, &IntegratorTraits::name);
}

void check_integrator(const Field& field, const IntegratorSpec& spec) {
  const IntegratorTraits& traits = traits_of(spec.name);
  if (spec.order && std::ranges::find(traits.orders, *spec.order) == traits.orders.end()) {
    field["order"].refuse(fmt::format("one of {} for {}", fmt::join(traits.orders, ", "), spec.name),
                          fmt::format("{}", *spec.order), "choose one of these or leave the key away");
  }
  if (traits.fixed_step) {
    if (!spec.step) {
      field["name"].refuse("a method that finds its own step, or the key `step` [s] beside it",
                           fmt::format("'{}' without step", spec.name), "add step, e.g. step: 1e-4");
    }
    return;
  }
  for (const char* key : {"step", "baumgarte_alpha", "baumgarte_beta"}) {
    if (!field.optional_number(key)) continue;
    field[key].refuse(fmt::format("no such key with {}", spec.name), fmt::format("{}", *field.optional_number(key)),
                      "it belongs to rk4 and ab4am4: take it away or choose one of them");
  }
}

IntegratorSpec read_integrator(const Field& field, const std::string& default_name) {
  IntegratorSpec spec{.name = field.has("name") ? field["name"].text() : default_name,
                      .rtol = field["rtol"].number(),
                      .atol = field["atol"].number(),
                      .max_step = field.optional_number("max_step"),
                      .max_rejections = static_cast<int>(field["max_rejections"].number()),
                      .order = {},
                      .step = field.optional_number("step"),
                      .baumgarte_alpha = field.optional_number("baumgarte_alpha"),
                      .baumgarte_beta = field.optional_number("baumgarte_beta")};
  if (const auto order = field.optional_number("order")) spec.order = static_cast<int>(*order);
  check_integrator(field, spec);
  return spec;
}

RunBudget read_budget(const Field& field) {
  const auto whole = [&](const char* key) { return static_cast<std::int64_t>(field[key].number()); };
  return {.rows = whole("rows"),
          .steps = whole("steps"),
          .evaluations = whole("evaluations"),
          .stalled_steps = whole("stalled_steps")};
}

void check_plate_name(const Field& field, const Scenario& scenario) {
  std::vector<std::string> names;
  for (const auto& motion : scenario.motions) {
    for (const auto& foot : motion.feet) {
      if (!foot.plate.empty()) names.push_back(motion.name + "." + foot.name);
    }
  }
  if (std::ranges::find(names, field.text()) != names.end()) return;
  const auto near = nearest_name(field.text(), names);
  field.refuse(names.empty() ? "a foot with the key `plate` in the section `motion`"
                             : fmt::format("one of {}", fmt::join(names, ", ")),
               fmt::format("'{}'", excerpt(field.text())),
               near ? fmt::format("did you mean '{}'?", *near) : "name one of these");
}

BalanceSpec read_balance(const Field& field, Scenario& scenario) {
  BalanceSpec balance{.name = field.name(),
                      .bodies = {},
                      .plate = {},
                      .force = {},
                      .threshold = field["threshold"].number(),
                      .where = place_of(field)};
  for (const auto& item : field["bodies"].node().items) {
    balance.bodies.push_back(
        read_body_name(Field(field.document(), *item, field["bodies"].path()), scenario.bodies, false));
  }
  if (balance.bodies.empty()) field["bodies"].refuse("at least one body", "none", "name the segments of a foot");
  const Field force = field["force"].entries().front();
  if (force.name() == "plate") {
    check_plate_name(force, scenario);
    balance.plate = force.text();
  } else {
    balance.force = read_function(field["force"], scenario.analysis.end_time, scenario.files);
  }
  return balance;
}

}  // namespace

KeySchema analysis_keys() {
  return {.name = "analysis",
          .kind = KeyKind::map,
          .meaning = "what is computed",
          .required = true,
          .keys = {
              {.name = "type",
               .kind = KeyKind::text,
               .meaning =
                   "forward: motion from loads; kinematic: contact of a motion that drivers prescribe; "
                   "inverse: the loads of joints and drivers besides; static: balance of all that drivers leave free; "
                   "hybrid: as kinematic, but some bodies find their height from the force that carries them",
               .fallback = "forward",
               .choices = {"forward", "kinematic", "inverse", "static", "hybrid"}},
              required(number("end_time", "s", times, "end of the run; it starts at 0")),
              balance_keys(),
              budget_keys(),
              {.name = "integrator",
               .kind = KeyKind::map,
               .meaning = "time integration",
               .keys = {{.name = "name",
                         .kind = KeyKind::text,
                         .meaning = "cvode_index1: BDF, projection onto the constraints; ida_ggl: BDF, stabilised "
                                    "index 2; arkode_erk, arkode_dirk: explicit, implicit Runge-Kutta, projection; "
                                    "rk4, ab4am4: fixed step, Baumgarte stabilisation. When not given: cvode_index1 "
                                    "with contact, arkode_dirk with `forces` but no contact, else arkode_erk",
                         .choices = {"cvode_index1", "ida_ggl", "arkode_erk", "arkode_dirk", "rk4", "ab4am4"}},
                        number("rtol", "-", {.min = 1e-14, .max = 1e-2},
                               "relative tolerance per step; fixed-step methods do not control their error", "1e-8"),
                        number("atol", "m, m/s, -, 1/s", {.min = 1e-18, .max = 1e3},
                               "absolute tolerance per step of every coordinate; not for fixed-step methods", "1e-10"),
                        {.name = "order",
                         .kind = KeyKind::integer,
                         .meaning = "largest order of cvode_index1 and ida_ggl (1 to 5, default 5); order of "
                                    "arkode_erk (2 to 6 or 8, default 5) and arkode_dirk (3 to 5, default 5)",
                         .range = {.min = 1.0, .max = 8.0}},
                        number("step", "s", times, "step of rk4 and ab4am4, which require it"),
                        number("baumgarte_alpha", "1/s", rates,
                               "damping of constraint violations, rk4 and ab4am4 only; 5 when not given"),
                        number("baumgarte_beta", "1/s", rates,
                               "stiffness of constraint violations, rk4 and ab4am4 only; 5 when not given"),
                        number("max_step", "s", times, "largest step; not limited when not given"),
                        {.name = "max_rejections",
                         .kind = KeyKind::integer,
                         .meaning = "consecutive rejected steps after which the run gives up",
                         .fallback = "50",
                         .range = {.min = 1.0, .max = 1e6}}}},
          }};
}

std::string default_integrator(const Field& root) {
  if (!root.entries_of("contact").empty()) return "cvode_index1";
  return root.entries_of("forces").empty() ? "arkode_erk" : "arkode_dirk";
}

void check_grid(const Field& field, double end_time, double distance, std::int64_t budget, const char* what,
                const char* key) {
  if (end_time / distance <= static_cast<double>(budget)) return;
  field.refuse(fmt::format("at least {} s, for at most {} {} until end_time ({} s)",
                           end_time / static_cast<double>(budget), budget, what, end_time),
               fmt::format("{} s", distance), fmt::format("make it larger, or raise {}", key));
}

AnalysisSpec read_analysis(const Field& field, const std::string& default_name) {
  AnalysisSpec analysis{.type = field["type"].text(),
                        .end_time = field["end_time"].number(),
                        .integrator = read_integrator(field["integrator"], default_name),
                        .budget = read_budget(field["budget"])};
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
  const bool hybrid = scenario.analysis.type == "hybrid";
  const bool prescribed = hybrid || scenario.analysis.type == "kinematic" || scenario.analysis.type == "inverse";
  for (const Field& entry : field.entries_of("balance")) {
    if (!prescribed) {
      entry.refuse("`type: hybrid` in this section", fmt::format("`type: {}`", scenario.analysis.type),
                   "change the type or leave `balance` out");
    }
    scenario.analysis.balance.push_back(read_balance(entry, scenario));
    for (std::size_t i = 0; i + 1 < scenario.analysis.balance.size(); ++i) {
      for (const auto& body : scenario.analysis.balance.back().bodies) {
        if (std::ranges::find(scenario.analysis.balance[i].bodies, body) == scenario.analysis.balance[i].bodies.end())
          continue;
        entry["bodies"].refuse("bodies that no other balance moves", fmt::format("'{}' twice", body), "name it once");
      }
    }
  }
  if (hybrid && scenario.analysis.balance.empty()) {
    field["type"].refuse("the key `balance` beside it", "nothing", "say which bodies are carried by which force");
  }
  const double g = scenario.gravity.norm();
  if (hybrid && !(g > 0.0)) {
    field["type"].refuse("gravity, which says what is vertical", "[0, 0, 0]", "give e.g. gravity: [0, 0, -9.81]");
  }
}

}  // namespace heelstrike::config
