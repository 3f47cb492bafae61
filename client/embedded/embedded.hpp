/// The composition root: the one place that knows both servers. Runs in this process without sockets, and the back-ends this
/// program was built with.
#pragma once

#include <memory>
#include <vector>

#include "client/runs/backend_info.hpp"
#include "client/runs/runner.hpp"

namespace heelstrike::client {

[[nodiscard]] std::vector<BackendInfo> embedded_backends();
[[nodiscard]] std::unique_ptr<Runner> make_embedded_runner();

}  // namespace heelstrike::client
