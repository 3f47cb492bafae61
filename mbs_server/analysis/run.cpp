#include "mbs_server/analysis/run.hpp"

#include <vector>

#include "mbs_server/analysis/forward.hpp"
#include "mbs_server/analysis/prescribed.hpp"
#include "mbs_server/analysis/static_run.hpp"
#include "mbs_server/elements/build_model.hpp"
#include "mbs_server/simulation/coupled_model.hpp"
#include "scenario/schema/keys.hpp"
#include "scenario/sections.hpp"

namespace heelstrike::mbs {
namespace {

void check_balances(const config::Field& field, const Scenario& scenario) {
  if (scenario.analysis.balance.empty()) {
    field["balance"].refuse("at least one entry", "none", "specify which bodies are supported by which force");
  }
  if (!(scenario.gravity.norm() > 0.0)) {
    field["type"].refuse("gravity, which defines the vertical", "[0, 0, 0]", "give e.g. gravity: [0, 0, -9.81]");
  }
}

}  // namespace

std::span<const AnalysisType> analysis_types() {
  using config::balance_keys;
  static const std::vector<AnalysisType> types = {
      {{{.name = "forward", .meaning = "motion from loads"}, {.finds_events = true}},
       run_forward,
       check_fixed_supports},
      {{{.name = "kinematic", .meaning = "contact in a motion prescribed by drivers", .keys = {balance_keys()}},
        {.prescribed = true}},
       run_kinematic},
      {{{.name = "inverse", .meaning = "as kinematic, with the loads of joints and drivers", .keys = {balance_keys()}},
        {.prescribed = true, .loads = true}},
       run_inverse},
      {{{.name = "static",
         .meaning = "equilibrium of the coordinates without drivers",
         .keys = {config::max_residual_key()}},
        {}},
       run_static,
       [](const Scenario&, std::span<const PairDescription> pairs) { check_no_vibrating_pairs(pairs); }},
      {{{.name = "hybrid",
         .meaning = "as kinematic, with the height of some bodies determined by the supporting force",
         .keys = {config::required(balance_keys())},
         .check = check_balances},
        {.prescribed = true, .balances = true}},
       run_hybrid},
  };
  return types;
}

RunSummary run_scenario(const RunInput& input, const ContactFactory& open_contact, RunSink& sink,
                        std::stop_token stop) {
  const AnalysisType& type = config::type_named(analysis_types(), input.scenario.analysis.type);
  return type.run(input, open_contact, sink, std::move(stop));
}

ModelDescription describe_scenario(const Scenario& scenario, const std::stop_token& stop) {
  ModelDescription description = describe_model(scenario, stop);
  const AnalysisType& type = config::type_named(analysis_types(), scenario.analysis.type);
  if (type.traits.prescribed) require_prescribed_motion(description.degrees_of_freedom);
  return description;
}

void check_pairs(const Scenario& scenario, std::span<const PairDescription> pairs) {
  const AnalysisType& type = config::type_named(analysis_types(), scenario.analysis.type);
  if (type.check_pairs != nullptr) type.check_pairs(scenario, pairs);
}

void check_rigid_start(const RunInput& input, const ContactFactory& open_contact, const std::stop_token& stop) {
  CoupledModel model(input.scenario, build_model(input.scenario), stop);
  model.assemble([](std::string_view, const std::string&) {});
  model.open(open_contact, input.assets, {.run_id = input.run_id, .on_progress = {}, .stop = stop}, true);
  (void)model.overlaps(model.exchange().responses(0.0, model.start().q, model.start().qd));
}

}  // namespace heelstrike::mbs
