#include "library/composition/ranks.hpp"

#include <utility>

#include "common/files/digest.hpp"
#include "common/process/version.hpp"
#include "fem_server/backend_interface/ranks.hpp"

namespace heelstrike {

std::unique_ptr<RankSession> join_ranks(std::function<void(const Error&)> on_loss) {
  return fem::join_ranks(std::move(on_loss));
}

std::string digest_of(const RunRequest& request) {
  Sha256 digest;
  digest.add(program_version);
  digest.add(request.yaml);
  for (const auto& [name, of_file] : file_digests(request)) {
    // Zero bytes end a part, so that no text of one part is mistaken for the next one.
    for (const std::string& part : {name, of_file}) {
      digest.add(std::string_view("\0", 1));
      digest.add(part);
    }
  }
  return digest.hex();
}

}  // namespace heelstrike
