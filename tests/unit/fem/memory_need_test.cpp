// Memory: reported before its allocation, equal to the allocation, and rejected by name where unavailable.
#include "fem_server/fem/memory_need.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"
#include "common/errors/rejection.hpp"
#include "fem_server/fem/condensation.hpp"
#include "fem_server/fem/element_kind.hpp"
#include "fem_server/fem/sparse_cholesky.hpp"
#include "fem_server/fem/vibration_modes.hpp"
#include "tests/unit/fem/test_meshes.hpp"

namespace heelstrike::fem {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::vector<Material> tissue{{.youngs_modulus = 0.5e6, .poissons_ratio = 0.49, .density = 1000.0, .set = ""}};
const MemoryLimit any{.bytes = 1e12, .key = "contact.pair.parameters.max_memory"};

void quiet(std::string_view, double) {}

BodyModel block(int n, const ElementKind& kind) {
  return {test::block_mesh_of(kind.n_nodes, {0.0, 0.0, 0.0}, {0.04, 0.04, 0.04}, n, n, n), tissue, kind.pressure};
}

Support clamped_support(const BodyModel& body) {
  return {.inertia_relief = false, .clamped_nodes = body.mesh().node_sets.at("z1")};
}

/// Error that rejects `work`.
std::string rejected(const std::function<void()>& work) {
  const auto error = rejection_error(work);
  if (!error) return "no error";
  if (error->code() != ErrorCode::limit) return fmt::format("{}: {}", to_string(error->code()), error->what());
  return error->field() + "| " + error->what();
}

TEST(MemoryNeed, OtherFailedAllocationsAreLimitErrors) {
  const auto error = rejection_error([] { throw std::bad_alloc(); });
  EXPECT_EQ(error->code(), ErrorCode::limit);
  EXPECT_THAT(error->what(), AllOf(HasSubstr("the limit of the process is reached"), HasSubstr("ulimit -v")));
}

/// @return [B] a line of /proc/self/status
double status(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    double kilobytes = 0.0;
    if (word == name + ":" && file >> kilobytes) return 1024.0 * kilobytes;
  }
  return 0.0;
}

/// Output of `work` in a separate process, which ends with it.
std::string run_in_child_process(const std::function<std::string()>& work) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string message = work();
    (void)!::write(ends[1], message.data(), message.size());
    std::_Exit(0);
  }
  ::close(ends[1]);
  std::string message;
  char buffer[1024];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) message.append(buffer, static_cast<size_t>(n));
  ::close(ends[0]);
  int end = 0;
  ::waitpid(child, &end, 0);
  return WIFEXITED(end) ? message : "ended by signal " + std::to_string(WTERMSIG(end));
}

void allow(double more) {
  const auto bytes = static_cast<rlim_t>(status("VmSize") + more);
  const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
  ::setrlimit(RLIMIT_AS, &limit);
}

TEST(MemoryNeed, AvailableAddressSpaceIsNotNegative) {
  const std::string left = run_in_child_process([] {
    allow(-0.5 * status("VmSize"));
    return memory_text(available_address_space());
  });
  EXPECT_EQ(left, "0 kB");
}

TEST(MemoryNeed, IsReportedInReadableUnits) {
  EXPECT_EQ(memory_text(12'345.0), "12.3 kB");
  EXPECT_EQ(memory_text(1e6), "1 MB");
  EXPECT_EQ(memory_text(3.125e9), "3.12 GB");
}

TEST(MemoryNeed, ReportsWhatWouldFit) {
  const MemoryNeed need{.matrices = 1e9, .factors = 7e9, .dense = 8e9, .compressed = 0.5e9};
  EXPECT_EQ(fitting_alternatives(need, 17e9), "");
  // 1.05 (16 / 8.6)^(1/4) = 1.23; 8 + 0.5 < 8.6; 8 / (8.6 - 8) = 13.3.
  EXPECT_EQ(fitting_alternatives(need, 8.6e9),
            "elements of 1.23 times the size, compliance: compressed (about 8.5 GB), 14 ranks with this memory each "
            "(mpirun -n 14 heelstrike condense)");
  // 1.05 (16 / 4)^(1/4) = 1.48; 8 / (4 - 0.5) = 2.3.
  EXPECT_EQ(fitting_alternatives(need, 4e9),
            "elements of 1.48 times the size, 3 ranks with this memory each (mpirun -n 3 heelstrike condense) and "
            "compliance: compressed");
  // One of two ranks: 2 * 8 / (4 - 0.5) = 4.6.
  MemoryNeed of_rank = need;
  of_rank.n_ranks = 2.0;
  EXPECT_THAT(fitting_alternatives(of_rank, 4e9), HasSubstr("5 ranks"));
  EXPECT_EQ(fitting_alternatives(need, std::numeric_limits<double>::infinity()), "");
}

TEST(MemoryNeed, CondensationReportsItsNeedInAdvance) {
  const BodyModel body = block(4, default_element(4));
  const std::vector<std::uint32_t> candidates = body.mesh().node_sets.at("z0");
  MemoryLimit limit{.bytes = 1e4, .key = "contact.pair.parameters.max_memory"};
  bool began = false;
  const auto watch = [&](std::string_view, double fraction) { began = began || fraction > 0.0; };
  EXPECT_THAT(rejected([&] { (void)condense(body, clamped_support(body), candidates, watch, {}, limit); }),
              AllOf(HasSubstr("contact.pair.parameters.max_memory| contact.pair.parameters.max_memory: condensing "
                              "this body to 25 candidate nodes would take about"),
                    HasSubstr("allowed are 10 kB"), HasSubstr("larger elements"), HasSubstr("raise this limit")));
  EXPECT_FALSE(began);
  EXPECT_THAT(rejected([&] {
                (void)condensed_stiffness(body, clamped_support(body).clamped_nodes, candidates, quiet, {}, limit);
              }),
              HasSubstr("25 candidate nodes would take about"));
  EXPECT_THAT(rejected([&] { (void)vibration_modes(body, clamped_support(body), 5, {}, limit); }),
              HasSubstr("finding 5 vibration modes of this body would take about"));
}

TEST(MemoryNeed, EstimateOfTheFactorEqualsTheFactor) {
  for (const ElementKind& kind : element_kinds()) {
    const BodyModel body = block(6, kind);
    std::vector<std::int64_t> all(body.n_dofs());
    for (std::size_t dof = 0; dof < all.size(); ++dof) all[dof] = static_cast<std::int64_t>(dof);
    const std::span last = std::span<const std::int64_t>(all).last(60);
    const std::span inner = std::span<const std::int64_t>(all).first(all.size() - 60);
    const FactorSize before = Elimination(node_graph(body), inner, last).size();
    const SparseMatrix K = linear_stiffness(body);
    const SparseCholesky factor(K, inner, last);
    std::printf("%s: factor %.4g before, %.4g entries, %.4g with zeros, front %.3g\n", std::string(kind.name).c_str(),
                before.factor, factor.n_entries(), factor.size().factor, factor.size().front);
    EXPECT_EQ(before.matrix, static_cast<double>(K.nonZeros()));
    // Counted in blocks of three, which a dof-wise elimination fills in the same way; the last block as a square.
    EXPECT_EQ(before.factor, factor.n_entries() + 0.5 * 60 * 60);
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/// [B] peak memory of `work`.
double peak_of(const std::function<void()>& work) {
  const std::string message = run_in_child_process([&] {
    ::malloc_trim(0);  // otherwise freed memory would be reused without a trace
    const double before = status("VmRSS");
    std::ofstream("/proc/self/clear_refs") << "5";  // resets the high-water mark
    work();
    return std::to_string(status("VmHWM") - before);
  });
  return std::strtod(message.c_str(), nullptr);
}

TEST(MemoryNeed, EqualsTheAllocationOfTheProcess) {
  for (const auto& [name, n] : {std::pair{"tet4", 20}, {"tet10", 10}, {"tet10_mixed", 8}, {"hex8", 20}, {"hex27", 6}}) {
    const ElementKind kind = *named_element(name);
    const BodyModel body = block(n, kind);
    const std::vector<std::uint32_t> candidates = body.mesh().node_sets.at("z0");
    std::vector<std::int64_t> free;
    const std::vector<bool> fixed = clamped_dofs(body, clamped_support(body).clamped_nodes);
    for (std::size_t dof = 0; dof < fixed.size(); ++dof) {
      if (!fixed[dof]) free.push_back(static_cast<std::int64_t>(dof));
    }
    // Each thread computes 64 nodes at a time.
    const double n_leaves = std::ceil(static_cast<double>(candidates.size()) / 64.0);
    const double n_columns = 192.0 * std::min<double>(n_leaves, std::max(1U, std::thread::hardware_concurrency()));
    const auto need = [&](const FactorSize& size) {
      const auto n = static_cast<double>(candidates.size());
      return compliance_memory(size, candidates.size(), n_columns, sizeof(double) * 9.0 * n * n).total();
    };
    Elimination order(node_graph(body), free, {});
    const double before = need(order.size());
    const double exact = need(SparseCholesky(linear_stiffness(body), std::move(order)).size());
    const double peak = peak_of([&] { (void)condense(body, clamped_support(body), candidates, quiet, {}); });
    std::printf("%s: %s estimated before, %s exact, %s taken\n", name, memory_text(before).c_str(),
                memory_text(exact).c_str(), memory_text(peak).c_str());
    // Not counted: graphs and orderings (about 100 B for each of K's blocks), panels of the inverse, memory retained by
    // malloc.
    EXPECT_GT(exact, 0.8 * peak) << name;
    // Panels need fewer rows than the body has: those of the candidates and their ancestors in the elimination tree.
    EXPECT_LT(exact, 1.2 * peak) << name;
  }
}

/// For any limit of the process, either the error names the limit, the estimate and the remedy, or the work completes.
TEST(MemoryNeed, AboveTheProcessLimitIsRejectedByName) {
  const BodyModel body = block(6, *named_element("tet10_mixed"));
  const std::vector<std::uint32_t> candidates = body.mesh().node_sets.at("z0");
  const auto peak = peak_of([&] { (void)condense(body, clamped_support(body), candidates, quiet, {}); });
  for (const int percent : {10, 40, 70, 95, 120, 160, 200, 250, 300}) {
    const std::string message = run_in_child_process([&] {
      allow(0.01 * percent * peak);
      return rejected([&] { (void)condense(body, clamped_support(body), candidates, quiet, {}, any); });
    });
    if (percent > 70 && message == "no error") continue;  // how much is taken depends on the threads
    EXPECT_THAT(message, AllOf(HasSubstr("contact.pair.parameters.max_memory| "), HasSubstr("would take about"),
                               HasSubstr("ulimit -v")))
        << percent << " % of the peak";
  }
}

TEST(MemoryNeed, FailedAllocationOfAFactorIsReported) {
  const BodyModel body = block(8, *named_element("tet10_mixed"));
  const SparseMatrix K = linear_stiffness(body);
  std::vector<std::int64_t> free;
  for (std::size_t dof = 0; dof < body.n_dofs(); ++dof) {
    if (!clamped_dofs(body, clamped_support(body).clamped_nodes)[dof]) free.push_back(static_cast<std::int64_t>(dof));
  }
  const std::string message = run_in_child_process([&] {
    SparseCholesky factor(K, free, {});
    const MemoryNeed need = factorisation_memory(factor.size());
    allow(0.5 * need.factors);
    return rejected([&] { with_memory_report(any, need, "solving", [&] { (void)factor.factorize(K); }); });
  });
  EXPECT_THAT(message, AllOf(HasSubstr("contact.pair.parameters.max_memory: solving would take about"),
                             HasSubstr("the allocation failed"), HasSubstr("ulimit -v")));
}

#endif

}  // namespace
}  // namespace heelstrike::fem
