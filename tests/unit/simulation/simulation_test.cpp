// A simulation stepped by its caller: intervals, saved states, inputs, outputs and events.
#include "mbs_server/simulation/simulation.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "fem_server/sessions/local_contact.hpp"
#include "tests/support/forwarding_contact.hpp"
#include "tests/support/local_run.hpp"

namespace heelstrike::test {
namespace {

using testing::HasSubstr;

mbs::RunInput input_of(Scenario scenario) {
  return {
      .scenario = std::move(scenario), .assets = {}, .run_id = "test", .scenario_digest = "test", .resume_from = {}};
}

/// Falls, has its onset at 0.4284 s and bounces twice.
mbs::RunInput bouncing_ball(const std::string& integrator = "cvode_index1") {
  std::vector<std::string> changes = {"analysis.end_time=1.2", "output.interval=0.01",
                                      "analysis.integrator.name=" + integrator};
  if (integrator == "rk4" || integrator == "ab4am4") changes.emplace_back("analysis.integrator.step=2e-4");
  return input_of(scenario_from(read_text(HEELSTRIKE_SOURCE_DIR "/examples/bouncing_ball.yaml"), changes));
}

std::vector<double> copy(std::span<const double> values) {
  return {values.begin(), values.end()};
}

void expect_same_bits(std::span<const double> a, std::span<const double> b, std::span<const Column> columns,
                      const std::string& where) {
  ASSERT_EQ(a.size(), b.size());
  ASSERT_EQ(a.size(), columns.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint64_t>(a[i]), std::bit_cast<std::uint64_t>(b[i]))
        << where << ": " << columns[i].name << fmt::format(" is {} and {}", a[i], b[i]);
  }
}

class AnyIntegrator : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Integrators, AnyIntegrator,
                         testing::Values("cvode_index1", "ida_ggl", "arkode_erk", "arkode_dirk", "rk4", "ab4am4"));

TEST_P(AnyIntegrator, UnevenIntervalsGiveTheRowsOfTheRun) {
  const mbs::RunInput input = bouncing_ball(GetParam());
  const RecordedRun run = run_local(input.scenario);
  ASSERT_EQ(run.summary.status, "completed");
  mbs::Simulation simulation(input);
  simulation.initialise(fem::open_local_contact);
  ASSERT_EQ(simulation.outputs().size(), run.columns.size());
  for (std::size_t i = 0; i < run.columns.size(); ++i) EXPECT_EQ(simulation.outputs()[i].name, run.columns[i].name);
  expect_same_bits(simulation.output_values(), run.rows.front(), run.columns, "at the start");
  // To every row of the grid, and to an intermediate time that is no row. Rows of single steps lie between.
  std::size_t row = 0;
  for (int k = 1; k < 120; ++k) {
    const double t = 0.01 * k;
    ASSERT_TRUE(simulation.advance_to(t - 0.01 * (0.1 + 0.8 * std::abs(std::sin(k)))));
    (void)simulation.output_values();
    ASSERT_TRUE(simulation.advance_to(t));
    while (run.rows[row][0] < t) ++row;
    ASSERT_EQ(run.rows[row][0], t);
    expect_same_bits(simulation.output_values(), run.rows[row], run.columns, fmt::format("at {} s", t));
  }
  ASSERT_TRUE(simulation.advance_to(1.2));
  EXPECT_EQ(simulation.time(), 1.2);
  EXPECT_EQ(simulation.statistics().steps, run.summary.integrator.steps);
  EXPECT_EQ(simulation.output("ball.z_m"), run.column("ball.z_m").back());
}

/// Counts its calls.
class CountedContact : public ForwardingContact {
 public:
  CountedContact(std::unique_ptr<Contact> inner, int& n_evaluations_requested)
      : ForwardingContact(std::move(inner)), n_evaluations_requested_(n_evaluations_requested) {}
  void evaluate(std::int64_t step, std::int32_t iteration, std::span<const PairState> states,
                std::span<Response> responses) override {
    ++n_evaluations_requested_;
    inner().evaluate(step, iteration, states, responses);
  }
  std::shared_ptr<const PendingRequest> post(RequestKind kind, std::int64_t step,
                                             std::span<const PairState> states) override {
    return inner().post(kind, step, states);
  }

 private:
  int& n_evaluations_requested_;
};

/// Omits the bounds of the gap.
class SilentContact final : public CountedContact {
 public:
  using CountedContact::CountedContact;
  void evaluate(std::int64_t step, std::int32_t iteration, std::span<const PairState> states,
                std::span<Response> responses) override {
    CountedContact::evaluate(step, iteration, states, responses);
    for (Response& response : responses) response.bound = {};
  }
  void commit(std::int64_t step, std::span<const PairState> states, std::span<Response> responses) override {
    CountedContact::commit(step, states, responses);
    for (Response& response : responses) response.bound = {};
  }
  std::shared_ptr<const PendingRequest> post(RequestKind kind, std::int64_t step,
                                             std::span<const PairState> states) override {
    auto posted = std::make_shared<PendingRequest>(*CountedContact::post(kind, step, states));
    for (Response& response : posted->responses) response.bound = {};
    return posted;
  }
};

template <typename Outer>
RecordedRun counted_run(const Scenario& scenario, int& n_evaluations_requested) {
  return run_with(scenario, [&](auto pairs, auto assets, const OpenContext& context) -> std::unique_ptr<Contact> {
    return std::make_unique<Outer>(fem::open_local_contact(pairs, assets, context), n_evaluations_requested);
  });
}

TEST_P(AnyIntegrator, SeparationBoundsChangeNoBitOfARun) {
  const std::string yaml = read_text(HEELSTRIKE_SOURCE_DIR "/examples/colliding_spheres.yaml");
  std::vector<std::string> changes = {"analysis.integrator.name=" + std::string(GetParam())};
  if (changes[0].ends_with("rk4") || changes[0].ends_with("ab4am4")) {
    changes.emplace_back("analysis.integrator.step=2e-4");
  }
  for (const Scenario& scenario : {bouncing_ball(GetParam()).scenario, scenario_from(yaml, changes)}) {
    int n_with = 0;
    int n_without = 0;
    const RecordedRun with = counted_run<CountedContact>(scenario, n_with);
    const RecordedRun without = counted_run<SilentContact>(scenario, n_without);
    ASSERT_EQ(with.summary.status, "completed") << with.summary.error->what();
    ASSERT_EQ(with.rows.size(), without.rows.size());
    for (std::size_t i = 0; i < with.rows.size(); ++i) {
      expect_same_bits(with.rows[i], without.rows[i], with.columns, fmt::format("row {}", i));
    }
    EXPECT_EQ(with.summary.integrator.steps, without.summary.integrator.steps);
    ASSERT_EQ(with.episodes.size(), without.episodes.size());
    EXPECT_LE(n_with, n_without);
    // The bound rarely excludes contact for spheres that start almost in contact; it does for a ball in flight.
    if (!scenario.gravity.isZero(0.0)) {
      EXPECT_LT(n_with, n_without);
    }
    std::printf("%s: asked %d times instead of %d\n", GetParam(), n_with, n_without);
  }
}

/// Outputs at uneven times from the current time of the simulation.
std::vector<std::vector<double>> course(mbs::Simulation& simulation) {
  std::vector<std::vector<double>> rows;
  while (simulation.time() < simulation.end_time()) {
    EXPECT_TRUE(simulation.advance_to(std::min(simulation.end_time(), simulation.time() + 0.0377)));
    rows.push_back(copy(simulation.output_values()));
  }
  return rows;
}

TEST_P(AnyIntegrator, RestoreRepeatsWhatFollowedTheSave) {
  const mbs::RunInput input = bouncing_ball(GetParam());
  // In free flight, and during the first contact, which lasts from 0.4284 s for 1.3 ms.
  for (const double t : {0.2, 0.4285}) {
    mbs::Simulation simulation(input);
    simulation.initialise(fem::open_local_contact);
    ASSERT_TRUE(simulation.advance_to(t));
    const Checkpoint saved = simulation.save();
    EXPECT_EQ(saved.time, t);
    const auto first = course(simulation);
    simulation.restore(saved);
    EXPECT_EQ(simulation.time(), t);
    const auto second = course(simulation);
    mbs::RunInput resumed = input;
    resumed.resume_from = saved;
    mbs::Simulation other(resumed);
    other.initialise(fem::open_local_contact);
    const auto third = course(other);
    ASSERT_EQ(first.size(), second.size());
    ASSERT_EQ(first.size(), third.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
      expect_same_bits(first[i], second[i], simulation.outputs(),
                       fmt::format("restored at {} s, {} s", t, first[i][0]));
      expect_same_bits(first[i], third[i], simulation.outputs(), fmt::format("resumed at {} s, {} s", t, first[i][0]));
    }
    // A run of the program continues from it too.
    const RecordedRun run = run_local(input.scenario, saved);
    ASSERT_EQ(run.summary.status, "completed") << run.summary.error->what();
    EXPECT_EQ(run.column("ball.z_m").back(), first.back()[3]);
  }
}

constexpr const char* free_body = R"(
heelstrike: 1
gravity: [0, 0, 0]
bodies:
  idle: {mass: 1, inertia: [1, 1, 1], position: [5, 0, 0]}
  ball: {mass: 2, inertia: [0.5, 0.5, 0.5]}
analysis: {end_time: 1, integrator: {name: cvode_index1, rtol: 1.0e-10}}
output: {interval: 0.1}
)";

std::vector<std::string> by(const std::string& integrator) {
  std::vector<std::string> changes = {"analysis.integrator.name=" + integrator};
  if (integrator == "rk4" || integrator == "ab4am4") changes.emplace_back("analysis.integrator.step=0.01");
  return changes;
}

TEST_P(AnyIntegrator, ForcesAndTorquesActFromTheirStart) {
  const mbs::RunInput input = input_of(scenario_from(free_body, by(GetParam())));
  mbs::Simulation simulation(input);
  simulation.initialise({});
  ASSERT_TRUE(simulation.advance_to(0.3));
  simulation.set_input("ball.fx_N", 4.0, 2.0);
  simulation.set_input("ball.tz_Nm", 1.5);
  ASSERT_TRUE(simulation.advance_to(0.8));
  // x'' = 2 + tau, wz' = 3, with tau = 0.5 s. Methods with an error estimate have errors of at most about 200 rtol
  // (docs/theory/integrators.md). Of fixed steps, h = 0.01 s, the rotation has the largest error: its Euler parameters
  // are sine and cosine of f = 3 tau^2 / 4, whose sixth derivative is at most f'^6 + 15 f'^4 f'' + 45 f'^2 f''^2 + 15
  // f''^3 = 114, and the error of their rates is at most c h^4 times its integral, 57, with c = 251/720 of the
  // Adams-Bashforth predictor, the largest constant of the two methods; wz is twice a rate.
  const bool fixed_steps = GetParam() == std::string("rk4") || GetParam() == std::string("ab4am4");
  const double tolerance = fixed_steps ? 2.0 * 251.0 / 720.0 * 1e-8 * 57.0 : 200.0 * 1e-10;
  constexpr double tau = 0.5;
  EXPECT_NEAR(simulation.output("ball.x_m"), tau * tau + tau * tau * tau / 6.0, tolerance);
  EXPECT_NEAR(simulation.output("ball.vx_m_s"), 2.0 * tau + tau * tau / 2.0, tolerance);
  EXPECT_NEAR(simulation.output("ball.wz_rad_s"), 3.0 * tau, tolerance);
  EXPECT_NEAR(simulation.output("energy.external_work_J"), simulation.output("energy.kinetic_J"), tolerance);
  EXPECT_EQ(simulation.output("idle.x_m"), 5.0);
  // The state of the inputs is saved too; a second body has one only after that.
  const Checkpoint saved = simulation.save();
  ASSERT_TRUE(simulation.advance_to(1.0));
  const auto first = copy(simulation.output_values());
  simulation.restore(saved);
  simulation.set_input("idle.fy_N", 1.0);
  ASSERT_TRUE(simulation.advance_to(0.9));
  EXPECT_GT(simulation.output("idle.y_m"), 0.0);
  for (int i = 0; i < 2; ++i) {
    simulation.restore(saved);
    ASSERT_TRUE(simulation.advance_to(1.0));
    expect_same_bits(first, simulation.output_values(), simulation.outputs(), "restored with inputs");
  }
}

TEST_P(AnyIntegrator, DriverFollowsItsInput) {
  const mbs::RunInput input = input_of(scenario_from(R"yaml(
heelstrike: 1
gravity: [0, 0, 0]
bodies:
  crank: {mass: 1, inertia: [0.1, 0.1, 0.1], position: [1, 0, 0]}
joints:
  pin: {type: revolute, bodies: [ground, crank], point: [0, 0, 0], axis: [0, 0, 1]}
drivers:
  motor: {joint: pin, angle: {polynomial: [0, 0.5]}}
analysis: {end_time: 1, integrator: {name: cvode_index1, rtol: 1.0e-8}}
output: {interval: 0.1}
)yaml",
                                                     by(GetParam())));
  mbs::Simulation simulation(input);
  simulation.initialise({});
  ASSERT_TRUE(simulation.advance_to(0.4));
  // The scenario prescribes t / 2; from here on the input decelerates to a stop within 0.5 s.
  simulation.set_input("motor.angle_rad", 0.2, 0.5, -1.0);
  ASSERT_TRUE(simulation.advance_to(0.9));
  const double angle = 0.2 + 0.5 * 0.5 - 0.5 * 0.25;
  // Fixed steps satisfy joints and drivers to the order of the step only (Baumgarte): h^4 = 1e-8 of the motion.
  EXPECT_NEAR(std::atan2(simulation.output("crank.y_m"), simulation.output("crank.x_m")), angle, 1e-7);
  EXPECT_NEAR(simulation.output("crank.wz_rad_s"), 0.0, 1e-6);
}

/// Stores the reported events.
class Recorder final : public mbs::SimulationListener {
 public:
  void on_event(const mbs::SimulationEvent& event) override {
    events.emplace_back(event.kind, event.t);
    if (event.episode != nullptr) episodes.push_back(*event.episode);
  }
  bool on_step(mbs::SimulationStep& step) override {
    EXPECT_LT(step.start(), step.end());
    return n_steps_allowed-- > 0;
  }
  using Kind = mbs::SimulationEvent::Kind;
  std::vector<std::pair<Kind, double>> events;
  std::vector<ContactEpisode> episodes;
  int n_steps_allowed = 1'000'000;
};

TEST(Simulation, ReportsOnsetAndEndOfEveryContact) {
  const mbs::RunInput input = bouncing_ball();
  const RecordedRun run = run_local(input.scenario);
  ASSERT_GE(run.episodes.size(), 2U);
  Recorder recorder;
  mbs::Simulation simulation(input);
  simulation.listen(recorder);
  simulation.initialise(fem::open_local_contact);
  ASSERT_TRUE(simulation.advance_to(simulation.end_time()));
  std::vector<std::pair<Recorder::Kind, double>> expected;
  for (const ContactEpisode& episode : run.episodes) {
    expected.emplace_back(Recorder::Kind::onset, episode.onset);
    expected.emplace_back(Recorder::Kind::separation, *episode.end);
  }
  // Free flights that end deep in the ground are rejected as trial steps: the integrator cannot predict them.
  EXPECT_EQ(recorder.events.front().first, Recorder::Kind::rejected_step);
  std::erase_if(recorder.events, [](const auto& event) {
    return event.first != Recorder::Kind::onset && event.first != Recorder::Kind::separation;
  });
  EXPECT_EQ(recorder.events, expected);
  ASSERT_EQ(recorder.episodes.size(), run.episodes.size());
  EXPECT_EQ(recorder.episodes[0].max_force, run.episodes[0].max_force);
}

TEST(Simulation, ListenerThatRejectsAStepStopsBeforeIt) {
  const mbs::RunInput input = bouncing_ball();
  Recorder recorder;
  mbs::Simulation simulation(input);
  simulation.listen(recorder);
  simulation.initialise(fem::open_local_contact);
  recorder.n_steps_allowed = 3;
  EXPECT_FALSE(simulation.advance_to(1.0));
  const double stopped = simulation.time();
  EXPECT_LT(stopped, 1.0);
  EXPECT_EQ(simulation.output_values()[0], stopped);
  recorder.n_steps_allowed = 1'000'000;
  EXPECT_TRUE(simulation.advance_to(1.2));
  // Nothing is lost or repeated.
  EXPECT_EQ(simulation.output("ball.z_m"), run_local(input.scenario).column("ball.z_m").back());
}

void expect_rejected(const std::function<void()>& action, const std::string& part) {
  try {
    action();
    ADD_FAILURE() << "accepted, expected: " << part;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_input) << e.what();
    EXPECT_THAT(e.what(), HasSubstr(part));
  }
}

TEST(Simulation, RejectsUnknownNamesWithoutSideEffects) {
  const mbs::RunInput input = bouncing_ball();
  mbs::Simulation simulation(input);
  simulation.initialise(fem::open_local_contact);
  ASSERT_TRUE(simulation.advance_to(0.5));
  const auto before = copy(simulation.output_values());
  expect_rejected([&] { (void)simulation.advance_to(0.4); }, "expected a time from 0.5 s");
  expect_rejected([&] { (void)simulation.advance_to(1.3); }, "to 1.2 s");
  expect_rejected([&] { (void)simulation.advance_to(std::nan("")); }, "found nan");
  expect_rejected([&] { simulation.set_input("ball.fx", 1.0); }, "name of an input");
  expect_rejected([&] { simulation.set_input("ball.fx", 1.0); }, "did you mean 'ball.fx_N'?");
  expect_rejected([&] { simulation.set_input("ball.fx_N", INFINITY); }, "finite numbers");
  expect_rejected([&] { (void)simulation.output("ball.height"); }, "name of an output");
  Checkpoint damaged = simulation.save();
  damaged.state[2] += 1.0;
  expect_rejected([&] { simulation.restore(damaged); }, "damaged");
  EXPECT_EQ(simulation.time(), 0.5);
  EXPECT_EQ(simulation.output("ball.z_m"), before[3]);
}

}  // namespace
}  // namespace heelstrike::test
