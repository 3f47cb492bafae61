#include "fem_server/sessions/session_bytes.hpp"

#include <fmt/format.h>

#include "common/errors/error.hpp"
#include "fem_server/backends/shared/state_bytes.hpp"

namespace heelstrike::fem {

namespace {

constexpr std::string_view format_version = "heelstrike session 1";

template <typename Matrix>
void put(StateWriter& writer, const Matrix& m) {
  for (Eigen::Index i = 0; i < m.size(); ++i) writer.put(m.data()[i]);
}

template <typename Matrix>
void get(StateReader& reader, Matrix& m) {
  for (Eigen::Index i = 0; i < m.size(); ++i) m.data()[i] = reader.number();
}

void put_response(StateWriter& writer, const Response& r) {
  put(writer, r.F_A.torque);
  put(writer, r.F_A.force);
  put(writer, r.dF_A_dX);
  put(writer, r.dF_A_dV);
  writer.put(r.gap);
  writer.put(r.gap_rate);
  writer.put(r.area);
  put(writer, r.p_ACop);
  writer.put(r.peak_pressure);
  writer.put(r.stored_energy);
  writer.put(r.dissipated_power);
  writer.put(r.dissipated_increment);
  writer.put(std::int64_t{r.statistics.iterations});
  writer.put(std::int64_t{r.statistics.active_points});
  writer.put(r.statistics.residual);
}

Response get_response(StateReader& reader) {
  Response r;
  get(reader, r.F_A.torque);
  get(reader, r.F_A.force);
  get(reader, r.dF_A_dX);
  get(reader, r.dF_A_dV);
  r.gap = reader.number();
  r.gap_rate = reader.number();
  r.area = reader.number();
  get(reader, r.p_ACop);
  r.peak_pressure = reader.number();
  r.stored_energy = reader.number();
  r.dissipated_power = reader.number();
  r.dissipated_increment = reader.number();
  r.statistics.iterations = static_cast<int>(reader.integer());
  r.statistics.active_points = static_cast<int>(reader.integer());
  r.statistics.residual = reader.number();
  return r;
}

}  // namespace

std::string session_bytes(const SessionRecord& record) {
  StateWriter writer;
  writer.put(format_version);
  writer.put(std::string_view(record.backend));
  writer.put(std::string_view(record.digest));
  writer.put(std::string_view(record.history));
  writer.put(record.step);
  writer.put(record.state.t);
  put(writer, record.state.X_AB.R);
  put(writer, record.state.X_AB.p);
  put(writer, record.state.V_AB.w);
  put(writer, record.state.V_AB.v);
  put_response(writer, record.response);
  return writer.take();
}

SessionRecord session_record(std::string_view bytes, const std::string& pair, const std::string& backend,
                             const std::string& digest) {
  StateReader reader(bytes, fmt::format("saved state of pair '{}'", pair));
  reader.expect("format", format_version);
  reader.expect("back-end", backend);
  reader.expect("digest", digest);
  SessionRecord record{
      .backend = backend, .digest = digest, .history = std::string(reader.text()), .state = {}, .response = {}};
  record.step = static_cast<std::int64_t>(reader.integer());
  record.state.t = reader.number();
  get(reader, record.state.X_AB.R);
  get(reader, record.state.X_AB.p);
  get(reader, record.state.V_AB.w);
  get(reader, record.state.V_AB.v);
  record.response = get_response(reader);
  reader.finish();
  if (record.step < -1) {
    throw input_error(
        "state", fmt::format("saved state of pair '{}': expected a step >= -1, found {}; these bytes are damaged", pair,
                             record.step));
  }
  return record;
}

}  // namespace heelstrike::fem
