/// Cost of transport for expensive contact: one bounce of examples/fem_ball.yaml, and examples/foot_press.yaml, with
/// in-process contact and with the real contact service in a separate process over a Unix socket. Runs of both
/// alternate, so that machine load affects both equally; preparation is excluded. Prints the median of the ratios of
/// neighbouring runs, messages per step, and whether the results are bitwise equal.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "benchmarks/clocks.hpp"
#include "benchmarks/served_contact.hpp"
#include "fem_server/sessions/local_contact.hpp"
#include "fem_server/sessions/open_session.hpp"
#include "rpc/remote_contact.hpp"
#include "tests/support/local_run.hpp"

namespace {

using namespace heelstrike;

struct Measured {
  double wall = 0.0;  ///< [s] of the run after the contact was opened
  RunSummary summary;
};

Measured measure(const Scenario& scenario, const ContactFactory& open) {
  Measured m;
  double opened = 0.0;
  const ContactFactory timed = [&](std::span<const PairSpec> pairs, std::span<const AssetContent> assets,
                                   const OpenContext& context) {
    auto contact = open(pairs, assets, context);
    opened = bench::wall_seconds();
    return contact;
  };
  m.summary = test::run_with(scenario, timed).summary;
  m.wall = bench::wall_seconds() - opened;
  return m;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// @returns true if both runs have the same force
bool compare(const std::string& name, const Scenario& scenario, const ContactFactory& local,
             const ContactFactory& remote) {
  constexpr int n_pairs = 7;
  std::vector<double> ratios, own, other;
  Measured here, there;
  for (int i = 0; i < n_pairs; ++i) {
    here = measure(scenario, local);
    there = measure(scenario, remote);
    own.push_back(here.wall);
    other.push_back(there.wall);
    ratios.push_back(there.wall / here.wall);
  }
  const bool same = here.summary.contacts.at(0).max_force == there.summary.contacts.at(0).max_force;
  const auto calls = there.summary.rpc ? there.summary.rpc->calls : 0;
  const auto steps = std::max<std::int64_t>(1, there.summary.contact_commits);
  fmt::print("{:<12}{:>12.3f}{:>12.3f}{:>10.3f}{:>12}{:>12}{:>12.2f}  {}\n", name, median(own), median(other),
             median(ratios), there.summary.contact_evaluations, calls,
             static_cast<double>(calls) / static_cast<double>(steps), same ? "same bits" : "DIFFERS");
  std::fflush(stdout);
  return same;
}

Scenario example(const std::string& name) {
  Scenario scenario = test::scenario_from(test::read_text(HEELSTRIKE_SOURCE_DIR "/examples/" + name + ".yaml"));
  scenario.output.fields.reset();
  return scenario;
}

}  // namespace

int main() {
  const std::string cache = fem::default_cache_directory();
  const ServedContact served(cache);
  spdlog::set_level(spdlog::level::warn);
  const auto local = fem::local_contact_factory(cache);
  const auto remote = rpc::open_remote_contact({.endpoint = {.address = served.unix_address(), .tls = {}}});
  fmt::print("{:<12}{:>12}{:>12}{:>10}{:>12}{:>12}{:>12}\n", "scenario", "local s", "remote s", "ratio", "evaluations",
             "messages", "per commit");
  Scenario ball = example("fem_ball");
  ball.analysis.end_time = 0.5;
  const bool same_ball = compare("fem_ball", ball, local, remote);
  const bool is_press_equal = compare("foot_press", example("foot_press"), local, remote);
  return same_ball && is_press_equal ? 0 : 1;
}
