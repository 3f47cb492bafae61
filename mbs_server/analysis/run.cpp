#include "mbs_server/analysis/run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/errors/error.hpp"
#include "mbs_server/elements/build_model.hpp"
#include "mbs_server/elements/forces/force_type.hpp"
#include "mbs_server/simulation/coupled_model.hpp"
#include "mbs_server/simulation/simulation.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::mbs {

// Each is defined in the file of its analysis.
AnalysisType forward_analysis(), kinematic_analysis(), inverse_analysis(), static_analysis(), hybrid_analysis(),
    muscle_optimization_analysis();

std::span<const AnalysisType> analysis_types() {
  static const std::vector<AnalysisType> types = {forward_analysis(), kinematic_analysis(),
                                                  inverse_analysis(), static_analysis(),
                                                  hybrid_analysis(),  muscle_optimization_analysis()};
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
  if (type.check_model != nullptr) type.check_model(description.degrees_of_freedom);
  return description;
}

void check_pairs(const Scenario& scenario, std::span<const PairDescription> pairs) {
  const AnalysisType& type = config::type_named(analysis_types(), scenario.analysis.type);
  if (type.check_pairs != nullptr) type.check_pairs(scenario, pairs);
}

void check_steppable(const Scenario& scenario, const std::stop_token& stop) {
  const AnalysisType& type = config::type_named(analysis_types(), scenario.analysis.type);
  if (!type.traits.steppable) {
    std::vector<std::string> others;
    for (const AnalysisType& other : analysis_types()) {
      if (other.traits.steppable) others.push_back(other.name);
    }
    throw input_error("analysis.type",
                      fmt::format("analysis.type: expected an analysis that a host can advance in time ({}), found "
                                  "'{}'; it is computed as a whole: use heelstrike.run in a program, or the command "
                                  "`heelstrike run`",
                                  fmt::join(others, ", "), type.name));
  }
  // A simulation would integrate the coordinates that a run rejects because no driver prescribes them.
  if (type.check_model != nullptr) (void)describe_scenario(scenario, stop);
}

void check_fmu_files(const RunInput& input, const std::stop_token& stop) {
  // The model is built only where it is needed.
  if (std::ranges::any_of(input.scenario.forces, steps_fmu)) Simulation(input, stop).check_fmu_files();
}

void check_rigid_start(const RunInput& input, const ContactFactory& open_contact, const std::stop_token& stop) {
  CoupledModel model(input.scenario, build_model(input.scenario), stop);
  model.assemble([](std::string_view, const std::string&) {});
  model.open(open_contact, input.assets, {.run_id = input.run_id, .on_progress = {}, .stop = stop}, true);
  (void)model.overlaps(model.exchange().responses(0.0, model.start().q, model.start().qd));
}

}  // namespace heelstrike::mbs
