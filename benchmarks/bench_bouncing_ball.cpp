/// The complete run of examples/bouncing_ball.yaml, with in-process contact and with the real contact service in a
/// separate process, over a Unix socket and over TCP. Prints steps, evaluations, calls (messages), median wall time,
/// real-time factor and the ratio of the two, which is the cost of transport for a minimal contact model. Repetitions
/// of both alternate (--benchmark_enable_random_interleaving), so that machine load affects both equally.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "benchmarks/served_contact.hpp"
#include "fem_server/sessions/local_contact.hpp"
#include "rpc/remote_contact.hpp"
#include "tests/support/local_run.hpp"

namespace {

using namespace heelstrike;

constexpr int repetitions = 15;

struct Record {
  std::vector<double> seconds;
  RunSummary summary;
};

using Records = std::map<std::string, Record>;

void run_once(benchmark::State& state, const Scenario& scenario, const ContactFactory& open_contact, Record& record) {
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    auto run = test::run_with(scenario, open_contact);
    record.seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    if (run.summary.error) state.SkipWithError(run.summary.error->what());
    record.summary = std::move(run.summary);
  }
  state.counters["steps"] = static_cast<double>(record.summary.integrator.steps);
  state.counters["evaluations"] = static_cast<double>(record.summary.contact_evaluations);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

void print_table(const Records& records) {
  fmt::print("\n{:<8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>12}{:>12}{:>12}{:>16}\n", "contact", "steps", "rhs", "evals",
             "commits", "calls", "median ms", "us/step", "min ms", "x real time");
  for (const auto& [name, record] : records) {
    const double seconds = median(record.seconds);
    const auto& s = record.summary;
    fmt::print("{:<8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>12.2f}{:>12.2f}{:>12.2f}{:>16.1f}\n", name, s.integrator.steps,
               s.integrator.rhs_evaluations, s.contact_evaluations, s.contact_commits, s.rpc ? s.rpc->calls : 0,
               1e3 * seconds, 1e6 * seconds / static_cast<double>(std::max<std::int64_t>(1, s.integrator.steps)),
               1e3 * *std::ranges::min_element(record.seconds), s.simulated_time / seconds);
  }
  const auto local = records.find("local");
  for (const auto& [name, record] : records) {
    if (local == records.end() || !record.summary.rpc) continue;
    const double own = median(local->second.seconds);
    const double remote = median(record.seconds);
    const auto calls = static_cast<double>(record.summary.rpc->calls);
    fmt::print("{} / local {:.2f}; {:.1f} us of wire per call, {:.2f} calls per step\n", name, remote / own,
               1e6 * (remote - own) / calls, calls / static_cast<double>(record.summary.integrator.steps));
  }
}

void add(const std::string& name, const Scenario& scenario, const ContactFactory& open_contact, Records& records) {
  benchmark::RegisterBenchmark(("bouncing_ball/" + name).c_str(),
                               [&scenario, open_contact, name, &records](benchmark::State& state) {
                                 run_once(state, scenario, open_contact, records[name]);
                               })
      ->Iterations(1)
      ->Repetitions(repetitions)
      ->ReportAggregatesOnly()
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
}

}  // namespace

int main(int argc, char** argv) {
  const ServedContact served;
  std::vector<char*> arguments(argv, argv + argc);
  std::string interleaving = "--benchmark_enable_random_interleaving=true";
  arguments.insert(arguments.begin() + 1, interleaving.data());
  int n_arguments = static_cast<int>(arguments.size());
  benchmark::Initialize(&n_arguments, arguments.data());
  spdlog::set_level(spdlog::level::warn);

  const Scenario scenario = test::scenario_from(test::read_text(HEELSTRIKE_SOURCE_DIR "/examples/bouncing_ball.yaml"));
  Records records;
  add("local", scenario, fem::open_local_contact, records);
  add("unix", scenario, rpc::open_remote_contact({.endpoint = {.address = served.unix_address(), .tls = {}}}), records);
  add("tcp", scenario, rpc::open_remote_contact({.endpoint = {.address = served.tcp_address(), .tls = {}}}), records);
  benchmark::RunSpecifiedBenchmarks();
  print_table(records);
}
