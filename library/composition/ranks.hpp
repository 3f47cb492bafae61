/// Preparation of contact on several processes of this program.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/errors/error.hpp"
#include "common/process/rank_session.hpp"
#include "library/runs/run_request.hpp"

namespace heelstrike {

/// Joins the processes that mpirun started together with this one; null when it is alone. See fem::join_ranks.
[[nodiscard]] std::unique_ptr<RankSession> join_ranks(std::function<void(const Error&)> on_loss);

/// Digest of all on which a preparation depends: text, files, version of the program.
[[nodiscard]] std::string digest_of(const RunRequest& request);

}  // namespace heelstrike
