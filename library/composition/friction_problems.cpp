#include "library/composition/friction_problems.hpp"

#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "library/composition/embedded.hpp"
#include "common/errors/error.hpp"
#include "benchmarks/friction_problems/fclib_file.hpp"
#include "benchmarks/friction_problems/siconos_text.hpp"
#include "mbs_server/analysis/run.hpp"
#include "mbs_server/service/run_input.hpp"

namespace heelstrike {
namespace {

/// Passes everything on; before each commit it writes the problem of the step that is being accepted. Not a
/// BatchContact, so that also prescribed motion is committed state by state.
class ExportingContact final : public Contact {
 public:
  ExportingContact(std::unique_ptr<Contact> contact, std::size_t pair, const FrictionExport& wanted,
                   std::vector<std::filesystem::path>& files, std::stop_source& enough)
      : contact_(std::move(contact)), pair_(pair), wanted_(wanted), files_(files), stop_(enough) {}

  [[nodiscard]] std::span<const PairDescription> pairs() const override { return contact_->pairs(); }
  void evaluate(std::int64_t step, std::int32_t iteration, std::span<const PairState> states,
                std::span<Response> responses) override {
    contact_->evaluate(step, iteration, states, responses);
  }
  void commit(std::int64_t step, std::span<const PairState> states, std::span<Response> responses) override {
    const PairState& state = states[pair_];
    if (state.t > wanted_.to) {
      stop_.request_stop();
    } else if (state.t >= wanted_.from) {
      write(step, state);
    }
    contact_->commit(step, states, responses);
  }
  [[nodiscard]] std::vector<std::string> save_state() override { return contact_->save_state(); }
  void restore_state(std::span<const std::string> states) override { contact_->restore_state(states); }
  [[nodiscard]] std::string fields(std::size_t pair, const PairState& state, const FieldRequest& request) override {
    return contact_->fields(pair, state, request);
  }

 private:
  void write(std::int64_t step, const PairState& state) {
    const friction::LocalProblem problem = contact_->local_problem(pair_, state);
    if (problem.n_contacts() == 0) return;
    const std::string& name = contact_->pairs()[pair_].name;
    files_.push_back(wanted_.folder / fmt::format("{}-{:06}.{}", name, step, wanted_.siconos_text ? "dat" : "hdf5"));
    if (wanted_.siconos_text) {
      std::ofstream out(files_.back());
      friction::write_siconos_text(problem, out);
      out.close();
      if (!out) throw file_error(files_.back().string(), fmt::format("{}: cannot be written", files_.back().string()));
      return;
    }
    friction::write_fclib(problem,
                          {.title = fmt::format("{} at t = {} s, step {}", name, state.t, step),
                           .description = "Heelstrike, condensed finite elements: all points near the partner; u [m] "
                                          "gap and slip since the last step, r [N]",
                           .math_info = "W dense, symmetric positive definite"},
                          files_.back());
  }

  std::unique_ptr<Contact> contact_;
  std::size_t pair_;
  const FrictionExport& wanted_;
  std::vector<std::filesystem::path>& files_;
  std::stop_source& stop_;
};

/// Nobody reads the rows of this run.
class NoSink final : public RunSink {
 public:
  void on_schema(std::span<const Column> /*columns*/) override {}
  void on_row(std::span<const double> /*values*/) override {}
  void on_progress(const Progress& /*progress*/) override {}
  void on_log(std::string_view /*level*/, std::string_view /*text*/) override {}
  void on_episode(const ContactEpisode& /*episode*/) override {}
  void on_checkpoint(const Checkpoint& /*checkpoint*/) override {}
};

std::size_t number_of(const std::string& pair, const Scenario& scenario) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < scenario.pairs.size(); ++i) {
    if (scenario.pairs[i].spec.name == pair || (pair.empty() && scenario.pairs.size() == 1)) return i;
    names.push_back(scenario.pairs[i].spec.name);
  }
  throw input_error(
      "pair", fmt::format("expected one of the pairs of the scenario ({}), found '{}'", fmt::join(names, ", "), pair));
}

}  // namespace

std::vector<std::filesystem::path> export_friction_problems(const RunRequest& request, const FrictionExport& wanted,
                                                            const std::stop_token& stop) {
  const std::size_t pair = number_of(wanted.pair, request.scenario);
  mbs::RunInput input =
      mbs::make_run_input(request.yaml, request.file_name, request.files, schemas_of(embedded_backends()));
  input.run_id = "friction-problem";
  std::vector<std::filesystem::path> files;
  std::stop_source enough;
  const std::stop_callback stopped(stop, [&enough] { enough.request_stop(); });
  const ContactFactory open = [&](std::span<const PairSpec> pairs, std::span<const AssetContent> assets,
                                  const OpenContext& context) -> std::unique_ptr<Contact> {
    return std::make_unique<ExportingContact>(embedded_contact()(pairs, assets, context), pair, wanted, files, enough);
  };
  NoSink sink;
  const RunSummary summary = mbs::run_scenario(input, open, sink, enough.get_token());
  if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "stopped on request");
  if (summary.error) throw *summary.error;
  return files;
}

}  // namespace heelstrike
