// Coupling schemes that are unknown to the Simulation that steps them. Two with macro steps exist only here: one keeps
// the contact force constant, one finds it by fixed-point iteration over trial motions. On a ball that remains on a
// linear spring both give motions that are known in closed form from one exchange to the next.
#include "mbs_server/coupling/coupling_scheme.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>

#include "fem_server/sessions/local_contact.hpp"
#include "mbs_server/simulation/simulation.hpp"
#include "tests/support/forwarding_contact.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

using mbs::ConstVector;
using mbs::VectorX;

constexpr double macro_step = 1.0 / 512.0;  ///< [s] times of exchanges are exact in binary
constexpr double stiffness = 1000.0;        ///< [N/m]
constexpr double gravity = 9.81;            ///< [m/s^2]
constexpr double radius = 0.1;              ///< [m]

/// Common to both schemes: equal macro steps, and a force on A that is linear in time from one exchange to the next.
class MacroSteps : public mbs::CouplingScheme {
 public:
  explicit MacroSteps(mbs::ContactExchange& exchange) : exchange_(exchange) {}

  [[nodiscard]] bool acts(std::size_t /*pair*/) const override { return true; }
  [[nodiscard]] bool has_macro_steps() const override { return true; }
  [[nodiscard]] std::span<const Response> responses(double t, const ConstVector& q, const ConstVector& qd) override {
    (void)exchange_.kinematics_at(t, q, qd);
    const double part = t > begin_ ? (t - begin_) / (end_ - begin_) : 0.0;
    now_[0].F_A.force = first_ + part * (last_ - first_);
    return now_;
  }
  std::span<const Response> accept(double t, const ConstVector& q, const ConstVector& qd) override {
    if (t < end_) return responses(t, q, qd);
    const Response response = exchange_.commit(t, q, qd)[0];
    begin_ = end_ = t;
    first_ = last_ = response.F_A.force;
    set_gap(response.gap, response.gap_rate);
    now_[0].F_A.force = first_;
    return now_;
  }
  [[nodiscard]] double plan(double t, double t_end, mbs::TrialMotion& trial) override {
    if (t < end_) return end_;
    end_ = std::min(t_end, macro_step * std::floor(t / macro_step + 1.0));
    find_force(trial);
    return end_;
  }
  [[nodiscard]] std::string save() const override {
    const double all[] = {begin_,    end_,      first_.x(), first_.y(),  first_.z(),
                          last_.x(), last_.y(), last_.z(),  now_[0].gap, now_[0].gap_rate};
    std::string bytes(sizeof(all), '\0');
    std::memcpy(bytes.data(), all, sizeof(all));
    return bytes;
  }
  void restore(const std::string& bytes) override {
    double all[10];
    ASSERT_EQ(bytes.size(), sizeof(all));
    std::memcpy(all, bytes.data(), sizeof(all));
    begin_ = all[0];
    end_ = all[1];
    first_ = {all[2], all[3], all[4]};
    last_ = {all[5], all[6], all[7]};
    set_gap(all[8], all[9]);
  }

 protected:
  /// Sets last_ to the force at the end of the macro step.
  virtual void find_force(mbs::TrialMotion& trial) = 0;

  void set_gap(double gap, double gap_rate) {
    now_[0].gap = gap;
    now_[0].gap_rate = gap_rate;
  }

  mbs::ContactExchange& exchange_;
  double begin_ = 0.0, end_ = 0.0;  ///< [s] of the macro step
  Vector3 first_ = Vector3::Zero(), last_ = Vector3::Zero();
  std::vector<Response> now_{1};
};

class ConstantForce final : public MacroSteps {
  using MacroSteps::MacroSteps;
  void find_force(mbs::TrialMotion& /*trial*/) override {}
};

class Iterated final : public MacroSteps {
  using MacroSteps::MacroSteps;
  void find_force(mbs::TrialMotion& trial) override {
    for (int i = 0; i < 20; ++i) {
      trial.restart(end_);
      const VectorX y = trial.state_at(end_);
      const auto n = exchange_.n_q();
      const Vector3 force = exchange_.responses(end_, y.head(n), y.segment(n, n))[0].F_A.force;
      const double change = (force - last_).norm();
      last_ = force;
      // [N] rounding of a force of about ten newtons over a few dozen operations
      if (change < 1e-12) return;
    }
    throw Error(ErrorCode::solver_failed, "the iteration does not converge");
  }
};

template <typename Scheme>
mbs::CouplingSchemeEntry entry_of() {
  mbs::CouplingSchemeEntry entry;
  entry.make = [](const Scenario&, mbs::ContactExchange& exchange, const mbs::ContactStates&) {
    return std::make_unique<Scheme>(exchange);
  };
  return entry;
}

struct Counts {
  int evaluations = 0, commits = 0;
};

class CountingContact final : public ForwardingContact {
 public:
  CountingContact(std::unique_ptr<Contact> inner, Counts& counts)
      : ForwardingContact(std::move(inner)), counts_(counts) {}
  void evaluate(std::int64_t step, std::int32_t iteration, std::span<const PairState> states,
                std::span<Response> responses) override {
    ++counts_.evaluations;
    ForwardingContact::evaluate(step, iteration, states, responses);
  }
  void commit(std::int64_t step, std::span<const PairState> states, std::span<Response> responses) override {
    ++counts_.commits;
    ForwardingContact::commit(step, states, responses);
  }

 private:
  Counts& counts_;
};

ContactFactory counting(Counts& counts) {
  return [&counts](auto pairs, auto assets, const OpenContext& context) {
    return std::make_unique<CountingContact>(fem::open_local_contact(pairs, assets, context), counts);
  };
}

/// A ball of 1 kg over a plane with a linear spring.
mbs::RunInput ball(double height, const std::string& integrator, double end_time) {
  const std::string step = integrator == "rk4" ? fmt::format(", step: {}", macro_step / 8.0) : ", rtol: 1e-10";
  return {.scenario = scenario_from(fmt::format(R"yaml(
heelstrike: 1
gravity: [0, 0, -{}]
bodies:
  ball: {{mass: 1, inertia: [0.1, 0.1, 0.1], position: [0, 0, {}]}}
contact:
  ground:
    main: {{body: ball, surface: {{sphere: {{radius: {}}}}}}}
    partner: {{body: ground, surface: {{plane: {{normal: [0, 0, 1]}}}}}}
    backend: hooke
    parameters: {{stiffness: {}}}
analysis: {{end_time: {}, integrator: {{name: {}{}}}}}
output: {{interval: 0.01}}
)yaml",
                                                gravity, height, radius, stiffness, end_time, integrator, step)),
          .assets = {},
          .run_id = "test",
          .scenario_digest = "test",
          .resume_from = {}};
}

/// One and a half times the depth at rest, so that the ball never leaves the ground.
constexpr double start_height = radius - 1.5 * gravity / stiffness;
constexpr int n_macro_steps = 50;
constexpr double end_time = n_macro_steps * macro_step;

double acceleration(double z) {
  return stiffness * (radius - z) - gravity;
}

/// [m] Height after `n_macro_steps` steps of the closed form.
/// @param last_acceleration  at the end of a macro step, from its z, v, a at the start
double height_by(const std::function<double(double z, double v, double a)>& last_acceleration) {
  constexpr double H = macro_step;
  double z = start_height, v = 0.0;
  for (int i = 0; i < n_macro_steps; ++i) {
    const double a = acceleration(z);
    const double last = last_acceleration(z, v, a);
    z += H * v + H * H * (2.0 * a + last) / 6.0;
    v += 0.5 * H * (a + last);
  }
  return z;
}

double height_under_constant_force() {
  return height_by([](double, double, double a) { return a; });
}

/// a_1 = (k (r - z_0 - H v_0 - H^2 a_0 / 3) - g) / (1 + k H^2 / 6)
double height_when_iterated() {
  return height_by([](double z, double v, double a) {
    constexpr double H = macro_step;
    return acceleration(z + H * v + H * H * a / 3.0) / (1.0 + stiffness * H * H / 6.0);
  });
}

/// [m] Accuracy of the heights. A Runge-Kutta step of order 4 is exact for a force that is linear in time: rounding of
/// 400 steps. The others make less than 20 steps per macro step, from a restart at each, with a local error of rtol * 1
/// + atol = 2e-10 in each coordinate at most.
double accuracy(const std::string& integrator) {
  return integrator == "rk4" ? 400.0 * std::numeric_limits<double>::epsilon() : 20.0 * n_macro_steps * 2e-10;
}

class MacroStepScheme : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Integrators, MacroStepScheme, testing::Values("rk4", "cvode_index1", "ida_ggl"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(MacroStepScheme, ConstantForceFollowsTheClosedFormWithOneExchangePerMacroStep) {
  const mbs::RunInput input = ball(start_height, GetParam(), end_time);
  Counts counts;
  mbs::Simulation simulation(input, entry_of<ConstantForce>());
  simulation.initialise(counting(counts));
  ASSERT_TRUE(simulation.advance_to(end_time));
  EXPECT_NEAR(simulation.output("ball.z_m"), height_under_constant_force(), accuracy(GetParam()));
  EXPECT_EQ(counts.commits, 1 + n_macro_steps);
  EXPECT_EQ(counts.evaluations, 0);
}

TEST_P(MacroStepScheme, IteratedForceFollowsTheClosedForm) {
  const mbs::RunInput input = ball(start_height, GetParam(), end_time);
  Counts counts;
  mbs::Simulation simulation(input, entry_of<Iterated>());
  simulation.initialise(counting(counts));
  ASSERT_TRUE(simulation.advance_to(end_time));
  EXPECT_NEAR(simulation.output("ball.z_m"), height_when_iterated(), accuracy(GetParam()));
  EXPECT_EQ(counts.commits, 1 + n_macro_steps);
}

TEST(CouplingScheme, ClosedFormsDifferFromTheMonolithicRun) {
  // Otherwise the tests above would be insignificant. The spring alone, in closed form: rest + amplitude * cos(w t).
  const double rest = radius - gravity / stiffness;
  const double exact = rest + (start_height - rest) * std::cos(std::sqrt(stiffness) * end_time);
  EXPECT_GT(std::abs(height_under_constant_force() - exact), 1e-4);
  EXPECT_GT(std::abs(height_when_iterated() - height_under_constant_force()), 1e-4);
  const mbs::RunInput input = ball(start_height, "cvode_index1", end_time);
  mbs::Simulation simulation(input);
  simulation.initialise(fem::open_local_contact);
  ASSERT_TRUE(simulation.advance_to(end_time));
  EXPECT_NEAR(simulation.output("ball.z_m"), exact, accuracy("cvode_index1"));
}

std::uint64_t bits(double x) {
  return std::bit_cast<std::uint64_t>(x);
}

TEST(CouplingScheme, RunRestoredWithinAMacroStepContinuesWithTheSameBits) {
  const mbs::RunInput input = ball(start_height, "cvode_index1", end_time);
  Counts counts, restored_counts;
  mbs::Simulation simulation(input, entry_of<Iterated>());
  simulation.initialise(counting(counts));
  ASSERT_TRUE(simulation.advance_to(10.4 * macro_step));
  const Checkpoint checkpoint = simulation.save();
  EXPECT_EQ(counts.commits, 11) << "saving is no exchange";
  mbs::RunInput resumed = input;
  resumed.resume_from = checkpoint;
  mbs::Simulation other(resumed, entry_of<Iterated>());
  other.initialise(counting(restored_counts));
  EXPECT_EQ(restored_counts.commits, 0);
  ASSERT_TRUE(simulation.advance_to(end_time));
  ASSERT_TRUE(other.advance_to(end_time));
  const auto a = simulation.output_values();
  const auto b = other.output_values();
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(bits(a[i]), bits(b[i])) << simulation.outputs()[i].name;
  }
}

class EventTimes final : public mbs::SimulationListener {
 public:
  void on_event(const mbs::SimulationEvent& event) override { times[event.kind].push_back(event.t); }
  std::map<mbs::SimulationEvent::Kind, std::vector<double>> times;
};

TEST(CouplingScheme, ContactBeginsAndEndsAtExchanges) {
  // Falls 5 mm: onset after 32 ms, with 0.31 m/s, and separation after about half a period of 0.2 s.
  const mbs::RunInput input = ball(radius + 0.005, "cvode_index1", 0.25);
  EventTimes events;
  mbs::Simulation simulation(input, entry_of<ConstantForce>());
  simulation.listen(events);
  simulation.initialise(fem::open_local_contact);
  ASSERT_TRUE(simulation.advance_to(simulation.end_time()));
  using Kind = mbs::SimulationEvent::Kind;
  ASSERT_EQ(events.times[Kind::onset].size(), 1U);
  ASSERT_EQ(events.times[Kind::separation].size(), 1U);
  const double touch = std::sqrt(2.0 * 0.005 / gravity);
  EXPECT_EQ(events.times[Kind::onset][0], macro_step * std::ceil(touch / macro_step));
  const double exchanges = events.times[Kind::separation][0] / macro_step;
  EXPECT_EQ(exchanges, std::round(exchanges));
  EXPECT_TRUE(events.times[Kind::rejected_step].empty());
}

}  // namespace
}  // namespace heelstrike::test
