#include "fem_server/backends/fem_full/full_steps.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/errors/error.hpp"

namespace heelstrike::fem {

BodyHistoryVariables history_variables_at(const std::string& backend, const Eigen::VectorXd& values,
                                          const std::optional<double>& committed_at, double t) {
  const BodyHistoryVariables memory{.values = {values.data(), static_cast<std::size_t>(values.size())},
                                    .dt = committed_at ? t - *committed_at : 0.0};
  if (memory.dt >= 0.0) return memory;
  throw input_error("state.t",
                    fmt::format("{}: the material relaxes in time: expected a state at or after the commit at "
                                "{} s, found one at {} s",
                                backend, *committed_at, t));
}

namespace {

constexpr int max_load_steps = 32;

}  // namespace

void solve_in_load_steps(std::string_view backend, double depth,
                         const std::function<bool(double offset, bool restart)>& equilibrium) {
  for (int n_steps = 4; n_steps <= max_load_steps; n_steps *= 2) {
    bool good = true;
    for (int step = 1; step <= n_steps && good; ++step) {
      good = equilibrium(std::max(depth, 0.0) * (1.0 - static_cast<double>(step) / n_steps), step == 1);
    }
    if (good) return;
  }
  throw RecoverableError(
      fmt::format("{} found no equilibrium at {} m overlap, not even in {} load steps; use a smaller "
                  "step, a finer mesh or, if Poisson's ratio is near 0.5, a mixed element",
                  backend, depth, max_load_steps));
}

}  // namespace heelstrike::fem
