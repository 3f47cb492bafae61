#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include "common/errors/error.hpp"
#include "library/fmu/fmu_model.hpp"

namespace heelstrike::fmu {
namespace {

struct Named {
  const char* name;
  const char* unit;
  const char* meaning;
};

// In the order of the numbers in PairState: position, orientation, twist (angular first).
constexpr std::array<Named, 13> inputs = {{{"x_m", "m", "position of the partner's origin in the main body"},
                                           {"y_m", "m", "position of the partner's origin in the main body"},
                                           {"z_m", "m", "position of the partner's origin in the main body"},
                                           {"q0", "1", "quaternion of the partner in the main body, real part"},
                                           {"q1", "1", "quaternion of the partner in the main body"},
                                           {"q2", "1", "quaternion of the partner in the main body"},
                                           {"q3", "1", "quaternion of the partner in the main body"},
                                           {"wx_rad_s", "rad/s", "angular velocity of the partner, in the main body"},
                                           {"wy_rad_s", "rad/s", "angular velocity of the partner, in the main body"},
                                           {"wz_rad_s", "rad/s", "angular velocity of the partner, in the main body"},
                                           {"vx_m_s", "m/s", "velocity of the partner's origin, in the main body"},
                                           {"vy_m_s", "m/s", "velocity of the partner's origin, in the main body"},
                                           {"vz_m_s", "m/s", "velocity of the partner's origin, in the main body"}}};

constexpr std::array<Named, 6> wrench = {{{"tx_Nm", "N m", "torque on the main body about its origin"},
                                          {"ty_Nm", "N m", "torque on the main body about its origin"},
                                          {"tz_Nm", "N m", "torque on the main body about its origin"},
                                          {"fx_N", "N", "force on the main body"},
                                          {"fy_N", "N", "force on the main body"},
                                          {"fz_N", "N", "force on the main body"}}};

constexpr std::size_t rotation = 3, twist = 7;

const PairModel& pair_of(const Scenario& scenario, const std::string& name) {
  const auto found = std::ranges::find(scenario.pairs, name,
                                       [](const PairModel& pair) -> const std::string& { return pair.spec.name; });
  if (found != scenario.pairs.end()) return *found;
  std::vector<std::string> names;
  for (const PairModel& pair : scenario.pairs) names.push_back(pair.spec.name);
  throw input_error("contact", fmt::format("--contact: expected one of the scenario's contact pairs ({}), found '{}'",
                                           fmt::join(names, ", "), name));
}

/// Relative motion of the bodies of a pair at the start of the scenario.
PairState initial_state(const Scenario& scenario, const PairModel& pair) {
  const auto body = [&](const std::string& name) -> BodySpec {
    const auto found = std::ranges::find(scenario.bodies, name, &BodySpec::name);
    return found == scenario.bodies.end() ? BodySpec{} : *found;  // the ground
  };
  const BodySpec a = body(pair.main_body), b = body(pair.partner_body);
  PairState state;
  state.X_AB = {.R = a.X_WB.R.transpose() * b.X_WB.R, .p = a.X_WB.R.transpose() * (b.X_WB.p - a.X_WB.p)};
  return state;
}

class ContactModel : public FmuModel, public Equation {
 public:
  ContactModel(const mbs::RunInput& input, const std::string& name, const ContactFactory& open) {
    const PairModel& pair = pair_of(input.scenario, name);
    digest_ = input.scenario_digest;
    now_ = input.start_time;
    contact_ = open({&pair.spec, 1}, input.assets, {.run_id = input.run_id, .on_progress = {}, .stop = {}});
    const auto variables = contact_variables(input.scenario, name);
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = variables[1 + i].start;
  }

  [[nodiscard]] double time() const override { return now_; }
  void set_input(std::size_t index, const Jet& jet) override {
    if (jet.d != 0.0 || jet.dd != 0.0) {
      throw Error(
          ErrorCode::unimplemented,
          fmt::format("{}: inputs of a contact FMU are values at a communication point; their derivatives cannot be "
                      "set",
                      inputs[index].name));
    }
    values_[index] = jet.f;
    known_ = false;
  }
  [[nodiscard]] std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& list : {std::span<const Named>(inputs), std::span<const Named>(wrench)})
      for (const Named& named : list) names.emplace_back(named.name);
    for (const OutputName& local : output_names(hs::ResponseOutput::fmu)) names.push_back(local.name);
    return names;
  }
  [[nodiscard]] std::span<const double> outputs() override {
    const Response& current = response();
    const Vector6 F_A = current.F_A.vector();
    outputs_.assign(F_A.begin(), F_A.end());
    // Local variables: computed with the wrench, but without derivatives, which the standard requires of outputs only.
    hs::for_each_response_member<Response>([&](const hs::ResponseMember& row, auto member) {
      if (row.is_in(hs::ResponseOutput::fmu)) append(std::invoke(member, current));
    });
    return outputs_;
  }
  bool advance_to(double t, bool /*stop_at_events*/, const InternalStep& /*on_step*/) override {
    accept();
    now_ = t;
    return false;
  }
  [[nodiscard]] std::string save() override {
    std::string bytes(sizeof step_ + sizeof now_ + sizeof values_, '\0');
    std::memcpy(bytes.data(), &step_, sizeof step_);
    std::memcpy(bytes.data() + sizeof step_, &now_, sizeof now_);
    std::memcpy(bytes.data() + sizeof step_ + sizeof now_, values_.data(), sizeof values_);
    return digest_ + bytes + contact_->save_state().front();
  }
  void restore(std::string_view bytes) override {
    constexpr std::size_t before = sizeof step_ + sizeof now_ + sizeof values_;
    if (bytes.starts_with(digest_)) {
      bytes.remove_prefix(digest_.size());
    } else {
      throw input_error("state", "state: the bytes are not a state of this FMU with these fixed parameters");
    }
    if (bytes.size() < before)
      throw input_error("state", "state: the bytes are not a state of an FMU, or are truncated");
    const std::string history(bytes.substr(before));
    contact_->restore_state({&history, 1});
    std::memcpy(&step_, bytes.data(), sizeof step_);
    std::memcpy(&now_, bytes.data() + sizeof step_, sizeof now_);
    std::memcpy(values_.data(), bytes.data() + sizeof step_ + sizeof now_, sizeof values_);
    known_ = false;
  }
  [[nodiscard]] Eigen::MatrixXd tangent(std::span<const std::size_t> unknowns,
                                        std::span<const std::size_t> knowns) override {
    const Response& current = response();
    // A change dq of the quaternion is the rotation 2 Im(dq q^-1), in the axes of the main body; a change along q has
    // no effect.
    const Quaternion inverse = quaternion().inverse();
    Eigen::Matrix<double, 3, 4> rotation_map;
    for (int i = 0; i < 4; ++i) {
      Quaternion dq(i == 0 ? 1.0 : 0.0, i == 1 ? 1.0 : 0.0, i == 2 ? 1.0 : 0.0, i == 3 ? 1.0 : 0.0);
      rotation_map.col(i) = 2.0 * (dq * inverse).vec();
    }
    Eigen::MatrixXd derivative(wrench.size(), inputs.size());
    derivative << current.dF_A_dX.rightCols<3>(), current.dF_A_dX.leftCols<3>() * rotation_map, current.dF_A_dV;
    return derivative(unknowns, knowns);
  }

  [[nodiscard]] Equation* equation() override { return this; }
  void set_time(double t) override {
    now_ = t;
    known_ = false;
  }
  void set_state(std::span<const double> x) override {
    if (!x.empty()) throw input_error("x", "a contact FMU has no continuous states");
  }
  [[nodiscard]] std::span<const double> state() const override { return {}; }
  [[nodiscard]] std::vector<double> rates() override { return {}; }
  [[nodiscard]] std::vector<double> indicators() override { return {response().gap}; }
  void accept() override {
    const PairState accepted = motion();
    contact_->commit(step_, {&accepted, 1}, {&response_, 1});
    ++step_;
    known_ = false;
  }
  [[nodiscard]] bool has_pending_switches() override { return (response().gap < 0.0) != touches_; }
  /// A separated contact exerts no wrench; the integrator of the importer has to be restarted at the jump.
  [[nodiscard]] bool switch_pairs() override {
    const bool touches = response().gap < 0.0;
    return std::exchange(touches_, touches) != touches;
  }

 private:
  void append(double number) { outputs_.push_back(number); }
  void append(const Vector3& vector) { outputs_.insert(outputs_.end(), vector.begin(), vector.end()); }
  [[nodiscard]] Quaternion quaternion() const {
    const Quaternion q(values_[rotation], values_[rotation + 1], values_[rotation + 2], values_[rotation + 3]);
    if (!(q.norm() > 0.0)) {
      throw input_error("q0", "q0, q1, q2, q3: expected a quaternion other than zero, found 0, 0, 0, 0");
    }
    return q;
  }
  [[nodiscard]] PairState motion() const {
    return {
        .t = now_,
        .X_AB = {.R = quaternion().normalized().toRotationMatrix(), .p = Eigen::Map<const Vector3>(values_.data())},
        .V_AB = {.w = Eigen::Map<const Vector3>(&values_[twist]), .v = Eigen::Map<const Vector3>(&values_[twist + 3])}};
  }
  const Response& response() {
    if (!known_) {
      const PairState queried_state = motion();
      contact_->evaluate(step_, 0, {&queried_state, 1}, {&response_, 1});
      known_ = true;
    }
    return response_;
  }

  std::string digest_;  ///< of all fixed data
  std::unique_ptr<Contact> contact_;
  std::array<double, inputs.size()> values_{};
  std::vector<double> outputs_;
  std::int64_t step_ = 0;  ///< number of the next commit
  double now_ = 0.0;       ///< [s]
  Response response_;
  bool known_ = false;    ///< response_ belongs to the inputs
  bool touches_ = false;  ///< at the last event
};

}  // namespace

std::unique_ptr<FmuModel> open_contact(const mbs::RunInput& input, const std::string& pair,
                                       const ContactFactory& open) {
  return std::make_unique<ContactModel>(input, pair, open);
}

std::vector<FmuVariable> contact_variables(const Scenario& scenario, const std::string& name) {
  const PairState start = initial_state(scenario, pair_of(scenario, name));
  const Quaternion q(start.X_AB.R);
  std::vector<FmuVariable> variables;
  const auto add = [&](const auto& named, Causality causality, double value) {
    variables.push_back({.reference = static_cast<std::uint32_t>(variables.size()),
                         .causality = causality,
                         .name = named.name,
                         .unit = named.unit,
                         .meaning = named.meaning,
                         .start = value});
  };
  add(Named{"time", "s", "time"}, Causality::independent, 0.0);
  const Vector3& p = start.X_AB.p;
  const std::array<double, inputs.size()> values = {p.x(), p.y(), p.z(), q.w(), q.x(), q.y(), q.z()};
  for (std::size_t i = 0; i < inputs.size(); ++i) add(inputs[i], Causality::input, values[i]);
  for (const Named& named : wrench) add(named, Causality::output, 0.0);
  for (const OutputName& local : output_names(hs::ResponseOutput::fmu)) add(local, Causality::local, 0.0);
  return variables;
}

}  // namespace heelstrike::fmu
