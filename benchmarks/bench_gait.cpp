// All frames of the walking subject, both feet, kinematic: seconds per run without opening the contact, frames per
// second and memory; without friction and with friction history; then the same contact states in batches on one and on
// two threads. Needs HEELSTRIKE_DATA; the first run prepares the feet (minutes at small sizes), later runs use the
// user's cache.
//
//   bench_gait [element_size = 0.005 m [friction]]
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "benchmarks/clocks.hpp"
#include "common/errors/error.hpp"
#include "fem_server/sessions/open_session.hpp"
#include "library/composition/embedded.hpp"
#include "mbs_server/analysis/run.hpp"
#include "mbs_server/service/run_input.hpp"
#include "scenario/surfaces/mesh.hpp"
#include "tests/support/forwarding_contact.hpp"

namespace heelstrike {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double memory_MB() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

class Rows final : public RunSink {
 public:
  void on_schema(std::span<const Column> /*columns*/) override {}
  void on_row(std::span<const double> /*values*/) override { ++count; }
  void on_progress(const Progress& /*progress*/) override {}
  void on_log(std::string_view level, std::string_view text) override {
    if (level == "warning") fmt::print("warning: {}\n", text);
  }
  void on_episode(const ContactEpisode& /*episode*/) override {}
  void on_checkpoint(const Checkpoint& /*checkpoint*/) override {}

  int count = 0;
};

RunRequest request(const std::string& size, const std::string& friction) {
  Overrides overrides;
  overrides.assignments = {"analysis.type=kinematic", "contact.friction=" + friction, "contact.element_size=" + size};
  return load_request(HEELSTRIKE_SOURCE_DIR "/examples/gait_subject01_toes.yaml", overrides,
                      schemas_of(embedded_backends()));
}

struct Cost {
  double wall = 0.0;       // [s]
  double processor = 0.0;  // [s]
};

/// Time from construction to `read`.
class Watch {
 public:
  Cost read() const { return {seconds_since(start_), bench::process_seconds() - processor_}; }

 private:
  Clock::time_point start_ = Clock::now();
  double processor_ = bench::process_seconds();
};

mbs::RunInput input_of(const RunRequest& walk) {
  return mbs::make_run_input(walk.yaml, walk.file_name, walk.files, schemas_of(embedded_backends()));
}

/// Cost of one run from scenario text to last row, and its part for opening the contact.
struct RunCost {
  Cost all;
  Cost opening;
  double wall() const { return all.wall - opening.wall; }
};

RunCost timed_run(const RunRequest& walk, Rows& rows) {
  RunCost cost;
  const ContactFactory timed = [&](std::span<const PairSpec> pairs, std::span<const AssetContent> assets,
                                   const OpenContext& context) {
    const Watch watch;
    auto contact = embedded_contact()(pairs, assets, context);
    cost.opening = watch.read();
    return contact;
  };
  const Watch watch;
  const RunSummary summary = mbs::run_scenario(input_of(walk), timed, rows, {});
  cost.all = watch.read();
  if (summary.error) throw_typed(*summary.error);
  return cost;
}

void whole_run(const std::string& size, const std::string& friction, double goal) {
  constexpr int runs = 5;
  const RunRequest walk = request(size, friction);
  std::vector<RunCost> costs;
  Rows rows;
  for (int i = 0; i < runs; ++i) {
    rows.count = 0;
    costs.push_back(timed_run(walk, rows));
  }
  std::ranges::sort(costs, {}, &RunCost::wall);
  const RunCost& median = costs[runs / 2];
  fmt::print(
      "friction {:>3}: {} frames in {:.2f} s (goal at 4 mm {:.0f} s; {:.2f} to {:.2f} s), {:.0f} frames/s; {:.2f} s of "
      "processor time; opening {:.2f} s, {:.0f} MB\n",
      friction, rows.count, median.wall(), goal, costs.front().wall(), costs.back().wall(), rows.count / median.wall(),
      median.all.processor - median.opening.processor, median.opening.wall, memory_MB());
  std::fflush(stdout);
}

/// Records the requests of the analysis, pair by pair.
class Recorder final : public test::ForwardingContact {
 public:
  Recorder(std::unique_ptr<Contact> inner, std::vector<std::vector<PairState>>& requested)
      : ForwardingContact(std::move(inner)), requested_(requested) {
    requested_.assign(pairs().size(), {});
  }
  void commit(std::int64_t step, std::span<const PairState> states, std::span<Response> responses) override {
    for (std::size_t i = 0; i < states.size(); ++i) requested_[i].push_back(states[i]);
    ForwardingContact::commit(step, states, responses);
  }

 private:
  std::vector<std::vector<PairState>>& requested_;
};

std::vector<std::vector<PairState>> states_of(const RunRequest& walk) {
  std::vector<std::vector<PairState>> requested;
  const ContactFactory recorded = [&](std::span<const PairSpec> pairs, std::span<const AssetContent> assets,
                                      const OpenContext& context) -> std::unique_ptr<Contact> {
    return std::make_unique<Recorder>(embedded_contact()(pairs, assets, context), requested);
  };
  Rows rows;
  const RunSummary summary = mbs::run_scenario(input_of(walk), recorded, rows, {});
  if (summary.error) throw_typed(*summary.error);
  return requested;
}

void batches(const std::string& size) {
  const RunRequest walk = request(size, "0");
  const auto requested = states_of(walk);
  const ContactSetup setup = contact_setup(walk);
  std::vector<std::unique_ptr<fem::Session>> sessions;
  for (const PairSpec& pair : setup.pairs) {
    sessions.push_back(
        fem::open_session(pair, {.asset = [&](const AssetKey&) -> const AssetContent& { return setup.assets.front(); },
                                 .on_progress = [](std::string_view, double) {},
                                 .stop = {},
                                 .cache_directory = fem::default_cache_directory()}));
  }
  double seconds[2] = {};
  double processor[2] = {};
  double force[2] = {};
  for (unsigned threads = 1; threads <= 2; ++threads) {
    const auto start = Clock::now();
    const double before = bench::process_seconds();
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      for (const auto& entry : sessions[i]->evaluate_batch(requested[i], threads, fem::prescribed_motion))
        force[threads - 1] += entry.response.F_A.force.norm();
    }
    seconds[threads - 1] = seconds_since(start);
    processor[threads - 1] = bench::process_seconds() - before;
  }
  fmt::print(
      "batches, friction 0: {:.2f} s on one thread, {:.2f} s on two, parallel efficiency {:.0f} %; processor {:.2f} "
      "and {:.2f} s; "
      "bits {}\n",
      seconds[0], seconds[1], 50.0 * seconds[0] / seconds[1], processor[0], processor[1],
      force[0] == force[1] ? "equal" : "DIFFERENT");
}

}  // namespace
}  // namespace heelstrike

int main(int argc, char** argv) {
  const std::string size = argc > 1 ? argv[1] : "0.005";
  try {
    fmt::print("subject01, two feet of two segments, h = {} m\n", size);
    if (argc > 2) {
      heelstrike::whole_run(size, argv[2], std::string(argv[2]) == "0" ? 1.0 : 5.0);
      return 0;
    }
    heelstrike::whole_run(size, "0", 1.0);
    heelstrike::batches(size);
    heelstrike::whole_run(size, "0.3", 5.0);
  } catch (const std::exception& e) {
    fmt::print(stderr, "bench_gait: {}\n", e.what());
    return 1;
  }
  return 0;
}
