#include "fem_server/sessions/session_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/errors/error.hpp"
#include "common/files/digest.hpp"
#include "fem_server/backend_interface/saved_history.hpp"

namespace heelstrike::fem {

namespace {

constexpr std::string_view format_version = "heelstrike session 6";
constexpr std::size_t digest_length = 64;

}  // namespace

// Outside the unnamed namespace for argument-dependent lookup.
template <class Archive>
void transfer(Archive& archive, MaybeConst<PairState> auto& state) {
  archive(state.t, state.X_AB, state.V_AB.w, state.V_AB.v);
}

template <class Archive>
void transfer(Archive& archive, MaybeConst<ContactPoint> auto& point) {
  archive(point.feature, point.p_AC, point.n_A, point.gap, point.curvature_A, point.curvature_B);
}

template <class Archive>
void transfer(Archive& archive, MaybeConst<RegionLoad> auto& region) {
  archive(region.force, region.area, region.peak_pressure, region.p_ACop);
}

template <class Archive>
void transfer(Archive& archive, MaybeConst<Response> auto& r) {
  archive.label("response members", stored_member_names());
  archive(r.F_A.torque, r.F_A.force, r.dF_A_dX, r.dF_A_dV);
  for_each_stored_member([&](const hs::ResponseMember&, auto member) { archive(r.*member); });
  archive(r.statistics.iterations, r.statistics.active_points, r.statistics.residual, r.points, r.regions);
}

template <class Archive>
void transfer(Archive& archive, MaybeConst<SessionRecord> auto& record) {
  archive.label("format", format_version);
  archive.label("back-end", record.backend);
  if constexpr (Archive::reads) {
    if (record.origin == StateOrigin::tuned_parameters) {
      archive(record.digest);
    } else {
      archive.label("digest", record.digest);
    }
  } else {
    archive.label("digest", record.digest);
  }
  archive(record.history, record.step, record.state, record.response);
  archive.require(record.step >= -1, "a step >= -1");
}

std::string session_bytes(const SessionRecord& record) {
  StateWriter writer;
  writer(record);
  std::string bytes = writer.take();
  return bytes + sha256_hex(bytes);
}

SessionRecord session_record(std::string_view bytes, const std::string& pair, const std::string& backend,
                             const std::string& digest, StateOrigin origin) {
  SessionRecord record{
      .backend = backend, .digest = digest, .history = {}, .state = {}, .response = {}, .origin = origin};
  const std::string what = fmt::format("saved state of pair '{}'", pair);
  const std::size_t n = bytes.size() - std::min(bytes.size(), digest_length);
  StateReader reader(bytes.substr(0, n), what);
  reader(record);
  reader.finish();
  // Checked last, because the checks above report more specific errors.
  if (bytes.substr(n) != sha256_hex(bytes.substr(0, n))) {
    throw input_error("state", fmt::format("{}: expected bytes that end with their SHA-256, found {} that do not: they "
                                           "are damaged",
                                           what, bytes.size()));
  }
  return record;
}

}  // namespace heelstrike::fem
