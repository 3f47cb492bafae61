// The press test of the thesis as a function of mesh size: the scanned foot on a rigid plate, h = 5, 4, 3 mm, clamp at
// z >= 0, E = 3.62 MPa, nu = 0.3, depths counted from the lowest point of the mesh and of the scan; and the time of one
// evaluation with and without condensation (figure 5.8 of the thesis, there for a cylinder). Needs HEELSTRIKE_DATA.
// Arguments: sizes in mm; --full also runs the full order below 3.5 mm (minutes, gigabytes).
#include <fmt/format.h>

#include <sys/resource.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "benchmarks/clocks.hpp"
#include "fem_server/backends/fem_full/full_contact.hpp"
#include "fem_server/fem/dense_kernels.hpp"
#include "tests/support/foot_case.hpp"

namespace heelstrike::fem {
namespace {

/// [s] median of 9.
double evaluation_time(const ContactBackend& contact, const History& history, const PairState& state, int n) {
  std::vector<double> times;
  for (int i = 0; i < n; ++i) {
    const double start = bench::thread_seconds();
    (void)contact.evaluate(history, state);
    times.push_back(bench::thread_seconds() - start);
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

void press(double h, bool with_full_order) {
  const VolumeMesh mesh = test::foot_mesh(h);
  // Candidates: all faces within 70 degrees of the downward direction; no others come near the plate at these depths.
  const PreparedBody prepared = test::foot_body(mesh, 0.0, 1.22);
  const double start = bench::thread_seconds();
  const CondensedContact contact("fem_condensed", test::condensed_model(prepared), {});
  const double preparation = bench::thread_seconds() - start;
  const double sole = test::sole_height(contact.model().points);
  const double scan_sole = test::scan_height();
  fmt::print("lowest point of the mesh {:.3f} mm above that of the scan; F scan: force at the depth below the latter\n",
             1e3 * (sole - scan_sole));
  fmt::print("\nh = {} mm: {} nodes, {} tetrahedra, {} candidates, condensation (or cache) {:.1f} s\n", 1e3 * h,
             mesh.nodes.size(), mesh.n_elements(), prepared.contact.nodes.size(), preparation);
  fmt::print("{:>7}{:>11}{:>10}{:>10}{:>10}{:>11}{:>8}{:>11}{:>11}\n", "d mm", "F N", "A cm2", "x mm", "y mm",
             "peak kPa", "nodes", "warm ms", "F scan N");
  auto history = contact.initial_history();
  for (const double depth : {2e-3, 4e-3, 6e-3, 8e-3, 8.8e-3}) {
    const PairState state = test::loaded_foot(sole, depth);
    Committed c = contact.commit(*history, state);
    history = c.history;
    const Response& r = c.response;
    PairState next = state;
    next.X_AB.p.z() += 1e-5;
    fmt::print("{:>7.1f}{:>11.3f}{:>10.3f}{:>10.3f}{:>10.3f}{:>11.2f}{:>8}{:>11.3f}{:>11.3f}\n", 1e3 * depth,
               r.F_A.force.z(), 1e4 * r.area, 1e3 * r.p_ACop.x(), 1e3 * r.p_ACop.y(), 1e-3 * r.peak_pressure,
               r.statistics.active_points, 1e3 * evaluation_time(contact, *history, next, 9),
               contact.evaluate(*history, test::loaded_foot(scan_sole, depth)).F_A.force.z());
  }
  if (!with_full_order) return;
  const PairState state = test::loaded_foot(sole, 5e-3);
  PairState next = state;
  next.X_AB.p.z() += 1e-5;
  const FullContact full("fem_full", test::foot_body(mesh, 0.0), MaterialLaw::neo_hookean, {});
  const auto full_history = full.commit(*full.initial_history(), state).history;
  const auto condensed_history = contact.commit(*contact.initial_history(), state).history;
  const double without = evaluation_time(full, *full_history, next, 1);
  const double with = evaluation_time(contact, *condensed_history, next, 9);
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "one evaluation at 5 mm: with condensation {:.3f} ms, without {:.0f} ms, ratio {:.0f}; peak memory {:.2f} GB\n",
      1e3 * with, 1e3 * without, without / with, 1e-6 * static_cast<double>(usage.ru_maxrss));
}

}  // namespace
}  // namespace heelstrike::fem

int main(int argc, char** argv) {
  if (!heelstrike::fem::test::foot_scan()) {
    fmt::print("no foot scan: set HEELSTRIKE_DATA to the folder that contains foot/foot_left.stl\n");
    return 0;
  }
  heelstrike::fem::use_one_blas_thread();
  std::vector<double> sizes;
  bool full_everywhere = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--full") {
      full_everywhere = true;
    } else {
      sizes.push_back(1e-3 * std::atof(argv[i]));
    }
  }
  if (sizes.empty()) sizes = {6e-3, 5e-3, 4e-3, 3e-3};
  for (const double h : sizes) heelstrike::fem::press(h, full_everywhere || h > 3.5e-3);
}
