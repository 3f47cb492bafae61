#include "fem_server/backends/fem_condensed/contact/condensed_history.hpp"

#include <fmt/format.h>

#include <cmath>

#include "common/errors/error.hpp"
#include "fem_server/backends/shared/state_bytes.hpp"

namespace heelstrike::fem {

namespace {

constexpr std::string_view format_version = "heelstrike surface history 3";

void put(StateWriter& writer, const Vector3& v) {
  for (int k = 0; k < 3; ++k) writer.put(v[k]);
}

double finite(StateReader& reader) {
  const double value = reader.number();
  if (!std::isfinite(value))
    throw input_error("state", "saved contact history: a number is not finite; the bytes are damaged");
  return value;
}

Vector3 vector(StateReader& reader) {
  Vector3 v;
  for (int k = 0; k < 3; ++k) v[k] = finite(reader);
  return v;
}

/// Number of a candidate that must follow `before`.
std::uint32_t candidate_after(StateReader& reader, std::int64_t before, std::size_t n_candidates) {
  const std::uint64_t node = reader.integer();
  if (node >= n_candidates || static_cast<std::int64_t>(node) <= before) {
    throw input_error("state",
                      fmt::format("saved contact history: candidate {} of {} is out of range or out of order; the "
                                  "bytes are damaged",
                                  node, n_candidates));
  }
  return static_cast<std::uint32_t>(node);
}

std::uint64_t node_count(StateReader& reader, std::size_t n_candidates) {
  const std::uint64_t n = reader.integer();
  if (n > n_candidates) {
    throw input_error("state",
                      fmt::format("saved contact history holds {} nodes, the body has {} candidates", n, n_candidates));
  }
  return n;
}

}  // namespace

std::string CondensedHistory::save() const {
  StateWriter writer;
  writer.put(format_version);
  writer.put(std::string_view(backend));
  writer.put(std::uint64_t{approach_speed ? 1U : 0U});
  writer.put(approach_speed.value_or(0.0));
  writer.put(std::uint64_t{started ? 1U : 0U});
  for (int k = 0; k < 3; ++k) put(writer, X_AB.R.col(k));
  put(writer, X_AB.p);
  writer.put(std::uint64_t{nodes.size()});
  for (const CommittedNode& node : nodes) {
    writer.put(std::uint64_t{node.node});
    put(writer, node.force);
    put(writer, node.u);
    put(writer, node.p_BStick);
  }
  return writer.take();
}

CondensedHistory CondensedHistory::load(std::string_view bytes, const std::string& backend,
                                        const SurfaceCompliance& compliance) {
  StateReader reader(bytes, fmt::format("history of back-end '{}'", backend));
  reader.expect("format", format_version);
  reader.expect("back-end", backend);
  CondensedHistory history;
  history.backend = backend;
  const bool latched = reader.integer() != 0;
  const double speed = finite(reader);
  if (latched) history.approach_speed = speed;
  history.started = reader.integer() != 0;
  for (int k = 0; k < 3; ++k) history.X_AB.R.col(k) = vector(reader);
  history.X_AB.p = vector(reader);
  const std::uint64_t n = node_count(reader, compliance.n_nodes());
  for (std::uint64_t i = 0; i < n; ++i) {
    CommittedNode entry;
    const std::int64_t before = history.nodes.empty() ? std::int64_t{-1} : std::int64_t{history.nodes.back().node};
    entry.node = candidate_after(reader, before, compliance.n_nodes());
    entry.force = vector(reader);
    entry.u = vector(reader);
    entry.p_BStick = vector(reader);
    history.nodes.push_back(entry);
  }
  reader.finish();
  return history;
}

const CondensedHistory& condensed_history(const History& history) {
  const auto* own = dynamic_cast<const CondensedHistory*>(&history);
  if (own == nullptr)
    throw Error(ErrorCode::internal, "a finite-element contact was given the history of another back-end");
  return *own;
}

}  // namespace heelstrike::fem
