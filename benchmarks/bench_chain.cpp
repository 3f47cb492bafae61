/// Pendulum chains of 10, 100 and 1000 bodies with spherical joints, falling from a horizontal zigzag under gravity.
/// Prints per chain: time of one acceleration (assembly, factorisation, solution), of one Newton factorisation, and of
/// one accepted step of cvode_index1, each with the slope d log(time) / d log(N) relative to the previous chain; and,
/// if Simbody was found at configure time, the same chain with ball mobilizers at the same accuracy in the same
/// program.
///
/// Also a few balls bouncing without loss: a complete run dominated by contact, with both programs.
///
/// The algorithms differ: Simbody uses joint coordinates, its O(n) recursion needs no factorisation, and its integrator
/// here is explicit (Runge-Kutta-Merson).
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/chain_record.hpp"
#include "fem_server/backend_interface/backend.hpp"
#include "fem_server/sessions/local_contact.hpp"
#include "mbs_server/analysis/catalog.hpp"
#include "mbs_server/analysis/run.hpp"
#include "mbs_server/coupling/coupling_scheme.hpp"
#include "mbs_server/formulation/joint_equations.hpp"
#include "mbs_server/integrators/integrator.hpp"
#include "mbs_server/simulation/run_problem.hpp"

namespace {

using namespace heelstrike;
using bench::accuracy, bench::angle_of, bench::Clock, bench::length, bench::mass, bench::Record, bench::seconds_since,
    bench::simulated_time, bench::timed;

constexpr int sizes[] = {10, 100, 1000};
std::map<std::string, std::map<int, Record>>& records() {
  static std::map<std::string, std::map<int, Record>> all;
  return all;
}

mbs::Model chain(int n) {
  mbs::Model model;
  model.gravity = {0.0, 0.0, -9.81};
  Vector3 top = Vector3::Zero();
  for (int i = 0; i < n; ++i) {
    mbs::Body body;
    body.name = fmt::format("link{}", i);
    const double J = mass * length * length / 12.0;
    body.mass_properties = {
        .mass = mass, .center_of_mass = {0.5 * length, 0.0, 0.0}, .inertia = Vector3(0.1 * J, J, J).asDiagonal()};
    body.X_WB.R = Eigen::AngleAxisd(angle_of(i), Vector3::UnitY()).toRotationMatrix();
    body.X_WB.p = top;
    top = body.X_WB * Vector3(length, 0.0, 0.0);
    model.bodies.push_back(body);
    mbs::JointSide a;
    a.body = i == 0 ? mbs::ground : i - 1;
    a.X_BF.p = i == 0 ? Vector3(Vector3::Zero()) : Vector3(length, 0.0, 0.0);
    model.joints.push_back(
        mbs::quadratic_joint(fmt::format("joint{}", i), a, {.body = i, .X_BF = {}}, mbs::same_point));
  }
  return model;
}

void run_heelstrike(benchmark::State& state) {
  const int n = static_cast<int>(state.range(0));
  Record& record = records()["heelstrike"][n];
  const mbs::Model model = chain(n);
  for (auto _ : state) {
    mbs::System system(model);
    mbs::ContactExchange exchange(system.model(), nullptr);
    const mbs::ContactStates states(0);
    const auto scheme = mbs::monolithic().make({}, exchange, states);
    mbs::RigidContactSet rigid(system, exchange);
    mbs::RunProblem problem(system, *scheme, states, rigid, {}, std::numeric_limits<std::int64_t>::max());
    mbs::VectorX q = system.initial_q();
    const mbs::VectorX qd = system.initial_qd();
    system.linearize({0.0, q, qd});
    double n_calls = 0.0;
    // A different q every time, because factors of an equal q are cached.
    record.acceleration = timed(std::max(1, 1000 / n), [&](int) {
      q[0] = 1e-12 * ++n_calls;
      (void)system.accelerations({0.0, q, qd});
    });
    record.factor = timed(std::max(1, 1000 / n), [&](int i) { system.factor_newton(1e-3 + 1e-6 * i); });

    mbs::VectorX y(problem.size());
    y << system.initial_q(), qd;
    IntegratorSpec spec;
    spec.rtol = spec.atol = accuracy;
    const auto integrator = mbs::make_integrator(spec, problem);
    problem.reset_factorisation();
    const auto begin = Clock::now();
    integrator->restart(0.0, y, mbs::VectorX::Zero(problem.n_quadratures()), {}, {});
    double t = 0.0;
    while (t < simulated_time) t = integrator->step(simulated_time).t;
    record.run = seconds_since(begin);
    record.steps = integrator->statistics().steps;
    const auto last = integrator->y().segment<12>(12 * (n - 1));
    record.tip_height = (mbs::pose_from_coordinates(last) * Vector3(length, 0.0, 0.0)).z();
  }
}

std::map<std::string, bench::BallsRecord>& balls() {
  static std::map<std::string, bench::BallsRecord> all;
  return all;
}

/// Stores only the last row.
class LastRow final : public RunSink {
 public:
  void on_schema(std::span<const Column> /*columns*/) override {}
  void on_row(std::span<const double> values) override { row.assign(values.begin(), values.end()); }
  void on_progress(const Progress& /*progress*/) override {}
  void on_log(std::string_view /*level*/, std::string_view /*text*/) override {}
  void on_episode(const ContactEpisode& /*episode*/) override {}
  void on_checkpoint(const Checkpoint& /*checkpoint*/) override {}

  std::vector<double> row;
};

std::string balls_scenario(const std::string& integrator, double rtol) {
  std::string bodies, contacts;
  const double J = 0.4 * bench::ball_mass * bench::ball_radius * bench::ball_radius;
  for (int i = 0; i < bench::n_balls; ++i) {
    bodies += fmt::format("  ball{0}: {{mass: {1}, inertia: [{2}, {2}, {2}], position: [{0}, 0, {3}]}}\n", i,
                          bench::ball_mass, J, bench::drop_height(i));
    contacts += fmt::format(
        "  pair{0}: {{main: {{body: ball{0}, surface: {{sphere: {{radius: {1}}}}}}}, partner: {{body: ground, surface: "
        "{{plane: {{}}}}}}, backend: hertz, parameters: {{stiffness: {2}, exponent: 1.5}}}}\n",
        i, bench::ball_radius, bench::ball_stiffness);
  }
  return fmt::format(
      "heelstrike: 1\ngravity: [0, 0, -9.81]\nbodies:\n{}contact:\n{}analysis: {{end_time: {}, integrator: {{name: "
      "{}, rtol: {}, atol: {}}}}}\noutput: {{interval: {}, steps: none}}\n",
      bodies, contacts, bench::balls_time, integrator, rtol, rtol, bench::balls_time);
}

void run_balls(benchmark::State& state, const std::string& integrator, double rtol) {
  BackendSchemas schemas;
  for (const auto& entry : fem::backend_registry()) schemas[entry.name] = entry.parameters;
  const Scenario scenario =
      parse_scenario(balls_scenario(integrator, rtol), "balls.yaml", mbs::scenario_catalog(schemas));
  bench::BallsRecord& record = balls()[fmt::format("heelstrike {} {:.0e}", integrator, rtol)];
  for (auto _ : state) {
    LastRow sink;
    const mbs::RunInput input{
        .scenario = scenario, .assets = {}, .run_id = "bench", .scenario_digest = "bench", .resume_from = {}};
    const auto begin = Clock::now();
    const RunSummary summary = mbs::run_scenario(input, fem::open_local_contact, sink, {});
    record.run = seconds_since(begin);
    if (summary.error) state.SkipWithError(summary.error->what());
    record.steps = summary.integrator.steps;
    record.energy_error = summary.energy.balance_error / summary.energy.initial;
    record.heights.clear();
    for (int i = 0; i < bench::n_balls; ++i) record.heights.push_back(sink.row[static_cast<std::size_t>(3 + 13 * i)]);
  }
}

#ifdef HEELSTRIKE_HAVE_SIMBODY
void run_simbody_contact(benchmark::State& state) {
  for (auto _ : state) balls()[fmt::format("simbody {:.0e}", accuracy)] = bench::run_simbody_balls();
}

void run_simbody(benchmark::State& state) {
  const int n = static_cast<int>(state.range(0));
  for (auto _ : state) records()["simbody"][n] = bench::run_simbody_chain(n);
}
#endif

void print_balls() {
  fmt::print("\n{} balls bouncing without loss for {} s, accuracy {:.0e}\n", bench::n_balls, bench::balls_time,
             accuracy);
  for (const auto& [name, r] : balls()) {
    fmt::print("{:<24}{:>8} steps {:>10.2f} ms {:>10.2f} us/step  energy error {:9.1e}  heights", name, r.steps,
               1e3 * r.run, 1e6 * r.run / static_cast<double>(std::max<std::int64_t>(1, r.steps)), r.energy_error);
    for (const double z : r.heights) fmt::print(" {:.6f}", z);
    fmt::print("\n");
  }
}

double slope(double before, double now, int n_before, int n_now) {
  return std::log(now / before) / std::log(static_cast<double>(n_now) / n_before);
}

void print_table() {
  for (const auto& [name, by_size] : records()) {
    fmt::print("\n{:<11}{:>6}{:>16}{:>7}{:>16}{:>7}{:>8}{:>14}{:>7}{:>12}{:>14}\n", name, "N", "acceleration us",
               "slope", "factor us", "slope", "steps", "us/step", "slope", "run ms", "tip z [m]");
    const Record* last = nullptr;
    int last_n = 0;
    for (const auto& [n, r] : by_size) {
      const auto per_step = [](const Record& record) {
        return record.run / static_cast<double>(std::max<std::int64_t>(1, record.steps));
      };
      const auto text = [&](double now, double before) {
        return last != nullptr && before > 0.0 ? fmt::format("{:.2f}", slope(before, now, last_n, n))
                                               : std::string("-");
      };
      fmt::print("{:<11}{:>6}{:>16.1f}{:>7}{:>16.1f}{:>7}{:>8}{:>14.1f}{:>7}{:>12.1f}{:>14.8f}\n", "", n,
                 1e6 * r.acceleration, text(r.acceleration, last ? last->acceleration : 0.0), 1e6 * r.factor,
                 text(r.factor, last ? last->factor : 0.0), r.steps, 1e6 * per_step(r),
                 text(per_step(r), last ? per_step(*last) : 0.0), 1e3 * r.run, r.tip_height);
      last = &r;
      last_n = n;
    }
  }
#ifdef HEELSTRIKE_HAVE_SIMBODY
  fmt::print("\nheelstrike / simbody, wall time of the same {} s:", simulated_time);
  for (const int n : sizes)
    fmt::print("  N={}: {:.2f}", n, records()["heelstrike"][n].run / records()["simbody"][n].run);
  fmt::print("\n");
#else
  fmt::print("\nBuilt without Simbody (HEELSTRIKE_BENCH_SIMBODY, libsimbody-dev): no comparison\n");
#endif
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const int n : sizes) {
    benchmark::RegisterBenchmark("chain/heelstrike", run_heelstrike)->Arg(n)->Iterations(1)->UseRealTime();
#ifdef HEELSTRIKE_HAVE_SIMBODY
    benchmark::RegisterBenchmark("chain/simbody", run_simbody)->Arg(n)->Iterations(1)->UseRealTime();
#endif
  }
  for (const std::string integrator : {"cvode_index1", "arkode_erk"}) {
    // Also a tenth of the tolerance: the cost of an energy error similar to Simbody's.
    for (const double rtol : {accuracy, 0.1 * accuracy}) {
      benchmark::RegisterBenchmark(fmt::format("balls/heelstrike/{}/{:.0e}", integrator, rtol).c_str(),
                                   [integrator, rtol](benchmark::State& state) { run_balls(state, integrator, rtol); })
          ->Iterations(3)
          ->UseRealTime();
    }
  }
#ifdef HEELSTRIKE_HAVE_SIMBODY
  benchmark::RegisterBenchmark("balls/simbody", run_simbody_contact)->Iterations(3)->UseRealTime();
#endif
  benchmark::RunSpecifiedBenchmarks();
  print_balls();
  print_table();
}
