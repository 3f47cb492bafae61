/// One bounce of examples/fem_ball.yaml, with the contact in this process and with the real contact service behind a
/// Unix socket. Prints the share of the remote run's wall time that is spent in transport. Both runs make the same
/// calls and get the same bits, so every remote call is compared with its local twin; transport is the number of calls
/// times the median of these differences, which a busy machine moves much less than the difference of the sums.
/// Preparation is not counted. Medians over the pairs of runs.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/served_contact.hpp"
#include "common/rpc/remote_contact.hpp"
#include "fem_server/sessions/cache_directory.hpp"
#include "fem_server/sessions/local_contact.hpp"
#include "tests/support/forwarding_contact.hpp"
#include "tests/support/local_run.hpp"

namespace {

using namespace heelstrike;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Times the calls of another contact.
class TimedContact final : public test::ForwardingContact {
 public:
  TimedContact(std::unique_ptr<Contact> inner, std::vector<double>& seconds)
      : ForwardingContact(std::move(inner)), seconds_(seconds) {}

  void evaluate(std::int64_t step, std::int32_t iteration, std::span<const PairState> states,
                std::span<Response> responses) override {
    const auto begin = Clock::now();
    ForwardingContact::evaluate(step, iteration, states, responses);
    seconds_.push_back(since(begin));
  }
  void commit(std::int64_t step, std::span<const PairState> states, std::span<Response> responses) override {
    const auto begin = Clock::now();
    ForwardingContact::commit(step, states, responses);
    seconds_.push_back(since(begin));
  }

 private:
  std::vector<double>& seconds_;
};

struct Measured {
  double wall = 0.0;          ///< [s] of the run after the contact was opened
  std::vector<double> calls;  ///< [s] of each contact call
  RunSummary summary;
};

Measured measure(const Scenario& scenario, const ContactFactory& open) {
  Measured m;
  Clock::time_point opened;
  const ContactFactory timed = [&](std::span<const PairSpec> pairs, std::span<const AssetContent> assets,
                                   const OpenContext& context) -> std::unique_ptr<Contact> {
    auto contact = std::make_unique<TimedContact>(open(pairs, assets, context), m.calls);
    opened = Clock::now();
    return contact;
  };
  m.summary = test::run_with(scenario, timed).summary;
  m.wall = since(opened);
  return m;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

int main() {
  const std::string cache = fem::default_cache_directory();
  const ServedContact served(cache);
  constexpr int n_pairs = 3;
  spdlog::set_level(spdlog::level::warn);
  Scenario scenario = test::scenario_from(test::read_text(HEELSTRIKE_SOURCE_DIR "/examples/fem_ball.yaml"));
  scenario.analysis.end_time = 0.5;
  scenario.output.fields.reset();
  rpc::RemoteContactOptions options;
  options.endpoint = {.address = served.unix_address(), .tls = {}};

  std::vector<double> shares;
  std::vector<double> per_call;
  Measured local;
  Measured remote;
  fmt::print("{:>12}{:>14}{:>16}{:>16}{:>14}\n", "local s", "remote s", "local call ms", "transport us", "share %");
  for (int i = 0; i < n_pairs; ++i) {
    local = measure(scenario, fem::local_contact_factory(cache));
    remote = measure(scenario, rpc::open_remote_contact(options));
    std::vector<double> differences;
    for (std::size_t c = 0; c < std::min(local.calls.size(), remote.calls.size()); ++c) {
      differences.push_back(remote.calls[c] - local.calls[c]);
    }
    per_call.push_back(median(differences));
    const double transport = per_call.back() * static_cast<double>(remote.calls.size());
    // As if both runs had found the machine equally busy.
    shares.push_back(transport / (local.wall + transport));
    fmt::print("{:>12.3f}{:>14.3f}{:>16.3f}{:>16.1f}{:>14.2f}\n", local.wall, remote.wall, 1e3 * median(local.calls),
               1e6 * per_call.back(), 100.0 * shares.back());
    std::fflush(stdout);
  }
  const bool same = local.summary.contacts.at(0).max_force == remote.summary.contacts.at(0).max_force;
  fmt::print(
      "share of transport in the wall time of the remote run: {:.2f} % (median of {}; limit 15 %), {:.1f} us per "
      "call, {} evaluations and {} commits; largest force {}\n",
      100.0 * median(shares), n_pairs, 1e6 * median(per_call), remote.summary.contact_evaluations,
      remote.summary.contact_commits, same ? "the same bit for bit" : "DIFFERS");
  return same ? 0 : 1;
}
