#include <algorithm>
#include <cstring>

#include "common/errors/error.hpp"
#include "common/results/checkpoint_bytes.hpp"
#include "library/fmu/fmu_model.hpp"
#include "mbs_server/simulation/free_motion.hpp"

namespace heelstrike::fmu {
namespace {

class EquationModel : public FmuModel, public Equation {
 public:
  EquationModel(mbs::RunInput input, const ContactFactory& open) : input_(std::move(input)), motion_(input_) {
    motion_.initialise(open);
  }

  [[nodiscard]] double time() const override { return motion_.time(); }
  void set_input(std::size_t index, const Jet& jet) override { motion_.set_input(index, jet); }
  [[nodiscard]] std::vector<std::string> names() const override {
    return names_of(motion_.inputs(), motion_.outputs());
  }
  [[nodiscard]] std::span<const double> outputs() override { return motion_.output_values().subspan(1); }
  bool advance_to(double /*t*/, bool /*stop_at_events*/, const InternalStep& /*on_step*/) override {
    throw Error(ErrorCode::internal, "doStep was called for an FMU for model exchange");
  }
  [[nodiscard]] Eigen::MatrixXd tangent(std::span<const std::size_t> unknowns,
                                        std::span<const std::size_t> knowns) override {
    const std::size_t n_inputs = motion_.inputs().size();
    std::vector<std::size_t> columns, quantities;
    for (const std::size_t unknown : unknowns) columns.push_back(unknown + 1);  // after time
    for (const std::size_t known : knowns) {
      if (known < n_inputs) {
        quantities.push_back(known);
        continue;
      }
      const std::size_t column = known - n_inputs + 1;
      const auto states = motion_.state_columns();
      const auto found = std::ranges::find(states, column);
      if (found == states.end()) {
        const std::string& name = motion_.outputs()[column].name;
        throw input_error(name, name +
                                    ": derivatives are those with respect to inputs and continuous states, and it is "
                                    "neither");
      }
      quantities.push_back(n_inputs + static_cast<std::size_t>(found - states.begin()));
    }
    return motion_.tangent(columns, quantities);
  }
  [[nodiscard]] std::string save() override {
    const mbs::FreeMotion::Saved saved = motion_.save();
    std::string bytes(sizeof saved.t + static_cast<std::size_t>(saved.x.size()) * sizeof(double), '\0');
    std::memcpy(bytes.data(), &saved.t, sizeof saved.t);
    std::memcpy(bytes.data() + sizeof saved.t, saved.x.data(), bytes.size() - sizeof saved.t);
    return bytes + checkpoint_bytes(saved.committed);
  }
  void restore(std::string_view bytes) override {
    mbs::FreeMotion::Saved saved{.t = 0.0, .x = motion_.state(), .committed = {}};
    const std::size_t size = static_cast<std::size_t>(saved.x.size()) * sizeof(double);
    if (bytes.size() < sizeof saved.t + size) {
      throw input_error("state", "state: the bytes are not a state of an FMU, or are truncated");
    }
    std::memcpy(&saved.t, bytes.data(), sizeof saved.t);
    std::memcpy(saved.x.data(), bytes.data() + sizeof saved.t, size);
    saved.committed = checkpoint_from(bytes.substr(sizeof saved.t + size), "state");
    motion_.restore(saved);
  }

  [[nodiscard]] Equation* equation() override { return this; }
  void set_time(double t) override { motion_.set_time(t); }
  void set_state(std::span<const double> x) override { motion_.set_state(x); }
  [[nodiscard]] std::span<const double> state() const override {
    return {motion_.state().data(), static_cast<std::size_t>(motion_.state().size())};
  }
  [[nodiscard]] std::vector<double> rates() override {
    const auto rates = motion_.rates();
    return {rates.begin(), rates.end()};
  }
  [[nodiscard]] std::vector<double> indicators() override {
    std::vector<double> values(motion_.n_pairs());
    motion_.indicators(values);
    return values;
  }
  void accept() override { motion_.accept(); }
  [[nodiscard]] bool has_pending_switches() override { return motion_.has_pending_switches(); }
  [[nodiscard]] bool switch_pairs() override { return motion_.switch_pairs(); }

 private:
  mbs::RunInput input_;
  mbs::FreeMotion motion_;
};

}  // namespace

std::unique_ptr<FmuModel> open_equation(mbs::RunInput input, const ContactFactory& open) {
  return std::make_unique<EquationModel>(std::move(input), open);
}

}  // namespace heelstrike::fmu
