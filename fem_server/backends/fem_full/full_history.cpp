#include "fem_server/backends/fem_full/full_history.hpp"

#include <fmt/format.h>

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

}  // namespace heelstrike::fem
