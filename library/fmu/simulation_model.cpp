#include <algorithm>
#include <cmath>

#include "common/results/checkpoint_bytes.hpp"
#include "library/fmu/fmu_model.hpp"
#include "mbs_server/simulation/simulation.hpp"

namespace heelstrike::fmu {
namespace {

class SimulationModel : public FmuModel, private mbs::SimulationListener {
 public:
  SimulationModel(mbs::RunInput input, const ContactFactory& open) : input_(std::move(input)), simulation_(input_) {
    simulation_.initialise(open);
    simulation_.listen(*this);
  }

  [[nodiscard]] double time() const override { return simulation_.time(); }
  void set_input(std::size_t index, const Jet& jet) override {
    simulation_.set_input(simulation_.inputs()[index].name, jet.f, jet.d, jet.dd);
  }
  [[nodiscard]] std::optional<double> unset_input(std::size_t index) const override {
    return simulation_.input_value(index);
  }
  [[nodiscard]] std::vector<std::string> names() const override {
    return names_of(simulation_.inputs(), simulation_.outputs());
  }
  [[nodiscard]] std::span<const double> outputs() override {
    return simulation_.output_values().subspan(1);  // the first one is time
  }
  bool advance_to(double t, bool stop_at_events, const InternalStep& on_step) override {
    // A communication point accumulated by the master may exceed the end of the scenario by rounding.
    const double end = simulation_.end_time();
    double target = t > end && t - end <= 1e-9 * (1.0 + std::abs(end)) ? end : t;
    last_event_.reset();
    on_step_ = on_step ? &on_step : nullptr;
    do {
      early_return_time_.reset();
      if (simulation_.advance_to(target, stop_at_events)) break;
      if (early_return_time_) target = std::clamp(*early_return_time_, time(), target);
    } while (early_return_time_ && time() < target && !(stop_at_events && last_event_ == time()));
    on_step_ = nullptr;
    return last_event_ == time();
  }
  [[nodiscard]] std::string save() override { return checkpoint_bytes(simulation_.save()); }
  void restore(std::string_view bytes) override { simulation_.restore(checkpoint_from(bytes, "state")); }
  [[nodiscard]] Eigen::MatrixXd tangent(std::span<const std::size_t> unknowns,
                                        std::span<const std::size_t> inputs) override {
    const auto n = static_cast<Eigen::Index>(simulation_.outputs().size()) - 1;
    Eigen::MatrixXd columns(n, static_cast<Eigen::Index>(inputs.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::vector<double> column = simulation_.output_derivative(inputs[i]);
      columns.col(static_cast<Eigen::Index>(i)) = Eigen::Map<const Eigen::VectorXd>(column.data() + 1, n);
    }
    return columns(unknowns, Eigen::all);
  }

 private:
  void on_event(const mbs::SimulationEvent& event) override {
    using Kind = mbs::SimulationEvent::Kind;
    if (event.kind == Kind::onset || event.kind == Kind::separation) last_event_ = event.t;
  }
  /// An early end requested by the importer leaves the following step unfinished: the next advance continues it.
  bool on_step(mbs::SimulationStep& /*step*/) override { return !early_return_time_; }
  void on_commit() override {
    if (on_step_ == nullptr) return;
    // An event state that the partner rejects is rolled back before any output is read.
    (void)simulation_.output_values();
    early_return_time_ = (*on_step_)(simulation_.time());
  }

  mbs::RunInput input_;
  mbs::Simulation simulation_;
  std::optional<double> last_event_;         ///< [s] of this advance
  const InternalStep* on_step_ = nullptr;    ///< set during an advance
  std::optional<double> early_return_time_;  ///< [s] set when the importer requests an early end
};

}  // namespace

std::vector<std::string> names_of(std::span<const Column> inputs, std::span<const Column> columns) {
  std::vector<std::string> names;
  for (const Column& input : inputs) names.push_back(input.name);
  for (const Column& column : columns.subspan(1)) names.push_back(column.name);
  return names;
}

std::unique_ptr<FmuModel> open_simulation(mbs::RunInput input, const ContactFactory& open) {
  return std::make_unique<SimulationModel>(std::move(input), open);
}

}  // namespace heelstrike::fmu
