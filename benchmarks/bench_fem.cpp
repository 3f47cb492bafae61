// Finite-element contact on the scanned foot: preparation, cache, warm and cold evaluation with and without friction,
// in units of the time to stream the active block of the compliance from memory, and compared with the full order.
// Needs HEELSTRIKE_DATA (the scan); HEELSTRIKE_BENCH_H sets the element size in mm (default 4), HEELSTRIKE_BENCH_SHORT
// measures only the evaluations.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numeric>

#include "benchmarks/clocks.hpp"
#include "fem_server/backends/fem_full/full_contact.hpp"
#include "fem_server/fem/dense_kernels.hpp"
#include "tests/support/foot_case.hpp"

namespace heelstrike::fem {
namespace {

constexpr double load = 622.0;              // [N] foot flat
constexpr double friction = 0.3;            // [-]
constexpr double continuation_step = 5e-5;  // [m] committed steps up to the load
constexpr double next_step = 2.5e-5;        // [m] motion of a warm evaluation from the last commit

/// Page faults: memory returned to the kernel between evaluations costs more than their arithmetic.
long page_faults() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

template <class Work>
double median(int n, Work&& work) {
  std::vector<double> times;
  for (int i = 0; i < n; ++i) {
    const double start = bench::thread_seconds();
    work();
    times.push_back(bench::thread_seconds() - start);
  }
  std::ranges::nth_element(times, times.begin() + n / 2);
  return times[static_cast<std::size_t>(n / 2)];
}

/// [s/byte] of reading uncached memory.
double stream_rate() {
  const std::vector<double> far(std::size_t{1} << 25, 1.0);  // 256 MB
  double sum = 0.0;
  const double time = median(5, [&] { sum += std::accumulate(far.begin(), far.end(), 0.0); });
  benchmark::DoNotOptimize(sum);
  return time / (8.0 * static_cast<double>(far.size()));
}

/// The foot descends slightly tilted and dragged, as in walking.
PairState approach(double sole, double depth) {
  PairState state = test::loaded_foot(sole, depth);
  state.X_AB.p.x() = 0.2 * depth;
  state.X_AB.R = rotation_from_vector(Vector3(0.0, 0.5 * depth, 0.0));
  return state;
}

struct Case {
  std::unique_ptr<CondensedContact> contact;
  std::shared_ptr<const History> committed;
  double sole = 0.0;
  double depth = 0.0;
  Response last;
  double commit_time = 0.0;  // [s] last commit
};

/// Commits steps until the load is reached.
Case march_to_load(const PreparedBody& prepared, double mu, double compression) {
  Case c;
  CondensedModel model = test::condensed_model(prepared, compression);
  model.options.friction = mu;
  c.sole = test::sole_height(model.points);
  c.contact = std::make_unique<CondensedContact>("fem_condensed", std::move(model), ParameterMap{});
  c.committed = c.contact->initial_history();
  while (c.last.F_A.force.z() < load) {
    c.depth += continuation_step;
    const double start = bench::thread_seconds();
    Committed next = c.contact->commit(*c.committed, approach(c.sole, c.depth));
    c.commit_time = bench::thread_seconds() - start;
    c.committed = std::move(next.history);
    c.last = next.response;
  }
  return c;
}

void print_evaluations(const PreparedBody& prepared, double rate, double compression) {
  fmt::print("\n{:<18}{:>8}{:>8}{:>10}{:>8}{:>10}{:>10}{:>11}{:>12}{:>8}{:>9}\n",
             compression > 0.0 ? "622 N, compressed" : "622 N, dense", "active", "d mm", "warm ms", "iter", "cold ms",
             "commit ms", "stream ms", "warm/stream", "faults", "F N");
  for (const double mu : {0.0, friction}) {
    const Case c = march_to_load(prepared, mu, compression);
    const auto initial = c.contact->initial_history();
    for (const double step : {1e-6, next_step, 2.0 * next_step}) {
      const PairState state = approach(c.sole, c.depth + step);
      Response r;
      const long faults = page_faults();
      const double warm = median(51, [&] { r = c.contact->evaluate(*c.committed, state); });
      const double faulted = static_cast<double>(page_faults() - faults) / 51.0;
      const double cold = median(5, [&] { (void)c.contact->evaluate(*initial, state); });
      const double active = r.statistics.active_points;
      const double stream = 72.0 * active * active * rate;
      fmt::print("{:<18}{:>8}{:>8.3f}{:>10.3f}{:>8}{:>10.1f}{:>10.2f}{:>11.3f}{:>12.2f}{:>8.0f}{:>9.2f}\n",
                 fmt::format("mu {}, +{:.0f} um", mu, 1e6 * step), active, 1e3 * c.depth, 1e3 * warm,
                 r.statistics.iterations, 1e3 * cold, 1e3 * c.commit_time, 1e3 * stream, warm / stream, faulted,
                 r.F_A.force.z());
    }
  }
}

void print_full_order(const VolumeMesh& mesh, const PreparedBody& prepared) {
  const CondensedContact condensed("fem_condensed", test::condensed_model(prepared), {});
  const PairState state = test::loaded_foot(test::sole_height(condensed.model().points), 5e-3);
  fmt::print("\n{:<22}{:>12}{:>12}{:>14}{:>10}\n", "5 mm, cold", "F N", "time s", "/ condensed", "iter");
  Response r;
  const double condensed_cold_ms = median(5, [&] { r = condensed.evaluate(*condensed.initial_history(), state); });
  const auto committed = condensed.commit(*condensed.initial_history(), state).history;
  const double condensed_warm_ms = median(21, [&] { (void)condensed.evaluate(*committed, state); });
  fmt::print("{:<22}{:>12.4f}{:>12.5f}{:>14}{:>10}\n", "condensed", r.F_A.force.z(), condensed_cold_ms, "1",
             r.statistics.iterations);
  for (const auto& [law, name] :
       {std::pair{MaterialLaw::linear, "full, linear"}, std::pair{MaterialLaw::neo_hookean, "full, neo-Hookean"}}) {
    const FullContact full("fem_full", test::foot_body(mesh, 0.0), law, {});
    double start = bench::thread_seconds();
    Committed c = full.commit(*full.initial_history(), state);
    const double cold = bench::thread_seconds() - start;
    PairState moved = state;
    moved.X_AB.p.z() += next_step;
    start = bench::thread_seconds();
    const Response warm = full.evaluate(*c.history, moved);
    const double time = bench::thread_seconds() - start;
    fmt::print("{:<22}{:>12.4f}{:>12.3f}{:>14.0f}{:>10}\n", name, c.response.F_A.force.z(), cold,
               cold / condensed_cold_ms, c.response.statistics.iterations);
    fmt::print("{:<22}{:>12.4f}{:>12.3f}{:>14.0f}{:>10}\n", "  warm, one step on", warm.F_A.force.z(), time,
               time / condensed_warm_ms, warm.statistics.iterations);
  }
}

int run() {
  if (!test::foot_scan()) {
    fmt::print("no foot scan: set HEELSTRIKE_DATA to the folder that contains foot/foot_left.stl\n");
    return 0;
  }
  const char* size = std::getenv("HEELSTRIKE_BENCH_H");
  const double h = 1e-3 * (size != nullptr ? std::atof(size) : 4.0);
  double start = bench::wall_seconds();
  const VolumeMesh mesh = test::foot_mesh(h);
  const double meshing = bench::wall_seconds() - start;
  const PreparedBody prepared = test::foot_body(mesh, 0.0);
  if (std::getenv("HEELSTRIKE_BENCH_SHORT") != nullptr) {
    use_one_blas_thread();
    for (const double compression : {0.0, 1e-6}) print_evaluations(prepared, stream_rate(), compression);
    return 0;
  }
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("heelstrike_bench_{}", ::getpid());
  const auto open = [&] {
    return cached_compliance(folder.string(), prepared.body, prepared.support, prepared.contact.nodes,
                             [](std::string_view, double) {}, {});
  };
  start = bench::wall_seconds();
  const SurfaceCompliance fresh = open();
  const double condensing = bench::wall_seconds() - start;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const double opening = median(3, [&] { (void)open(); });
  std::filesystem::remove_all(folder);
  const double rate = stream_rate();
  fmt::print("Evaluations in processor time of the calling thread, preparation in wall time.\n");
  fmt::print("foot, h = {} mm: {} nodes, {} tetrahedra, {} candidates\n", 1e3 * h, mesh.nodes.size(), mesh.n_elements(),
             prepared.contact.nodes.size());
  fmt::print("meshing {:.1f} s (or read from the cache), condensation and storage {:.1f} s, peak memory {:.2f} GB\n",
             meshing, condensing, static_cast<double>(usage.ru_maxrss) * 1024e-9);
  fmt::print("compliance from the cache {:.2f} s ({:.0f} MB), memory streams {:.1f} GB/s\n", opening,
             1e-6 * 8.0 * static_cast<double>(fresh.data().size()), 1e-9 / rate);
  for (const double compression : {0.0, 1e-6}) print_evaluations(prepared, rate, compression);
  print_full_order(mesh, prepared);
  return 0;
}

}  // namespace
}  // namespace heelstrike::fem

int main() {
  return heelstrike::fem::run();
}
