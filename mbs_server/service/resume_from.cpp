#include "mbs_server/service/resume_from.hpp"

#include <utility>

#include "common/errors/error.hpp"
#include "rpc/wire/run_records_wire.hpp"

namespace heelstrike::mbs {

void resume_from(std::string_view bytes, RunInput& input) {
  Checkpoint checkpoint = wire::checkpoint_from(bytes, wire::FieldPath("resume_from"));
  if (checkpoint.scenario_digest != input.scenario_digest) {
    throw input_error("resume_from",
                      "the checkpoint belongs to another scenario or to other files; resume with the "
                      "original ones");
  }
  input.resume_from = std::move(checkpoint);
}

}  // namespace heelstrike::mbs
