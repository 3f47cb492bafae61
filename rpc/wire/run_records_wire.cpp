#include "rpc/wire/run_records_wire.hpp"

#include <fmt/format.h>

#include "rpc/wire/error_wire.hpp"

namespace heelstrike::wire {

namespace {

void to_proto(const IntegratorStatistics& from, v1::IntegratorStatistics& to) {
  to.set_name(from.name);
  to.set_steps(from.steps);
  to.set_rejected_steps(from.rejected_steps);
  to.set_rhs_evaluations(from.rhs_evaluations);
  to.set_jacobian_evaluations(from.jacobian_evaluations);
  to.set_restarts(from.restarts);
}

IntegratorStatistics from_proto(const v1::IntegratorStatistics& from) {
  return {.name = from.name(),
          .steps = from.steps(),
          .rejected_steps = from.rejected_steps(),
          .rhs_evaluations = from.rhs_evaluations(),
          .jacobian_evaluations = from.jacobian_evaluations(),
          .restarts = from.restarts()};
}

void to_proto(const EnergyBalance& from, v1::EnergyBalance& to) {
  to.set_initial(from.initial);
  to.set_final(from.final);
  to.set_dissipated(from.dissipated);
  to.set_external_work(from.external_work);
  to.set_balance_error(from.balance_error);
  to.set_max_kinetic(from.max_kinetic);
}

/// Numbers of a summary need not be finite: a failed run must be able to report that its energy became NaN.
EnergyBalance from_proto(const v1::EnergyBalance& from) {
  return {.initial = from.initial(),
          .final = from.final(),
          .dissipated = from.dissipated(),
          .external_work = from.external_work(),
          .balance_error = from.balance_error(),
          .max_kinetic = from.max_kinetic()};
}

}  // namespace

void to_proto(std::span<const Column> from, v1::TableSchema& to) {
  to.Clear();
  for (const auto& column : from) {
    auto& message = *to.add_columns();
    message.set_name(column.name);
    message.set_unit(column.unit);
    message.set_meaning(column.meaning);
  }
}

std::vector<Column> from_proto(const v1::TableSchema& from, const FieldPath& path) {
  std::vector<Column> to;
  for (const auto& column : from.columns()) {
    if (column.name().empty()) throw_missing(FieldPath(FieldPath(path, "columns", to.size()), "name"));
    to.push_back({.name = column.name(), .unit = column.unit(), .meaning = column.meaning()});
  }
  return to;
}

void to_proto(const Progress& from, v1::Progress& to) {
  to.set_time(from.time);
  to.set_end_time(from.end_time);
  to.set_step(from.step);
  to.set_step_size(from.step_size);
  to.set_wall_time(from.wall_time);
  to.set_stage(from.stage);
  to.set_fraction(from.fraction);
}

Progress from_proto(const v1::Progress& from, const FieldPath& path) {
  return {.time = finite(from.time(), FieldPath(path, "time")),
          .end_time = finite(from.end_time(), FieldPath(path, "end_time")),
          .step = from.step(),
          .step_size = finite(from.step_size(), FieldPath(path, "step_size")),
          .wall_time = finite(from.wall_time(), FieldPath(path, "wall_time")),
          .stage = from.stage(),
          .fraction = finite(from.fraction(), FieldPath(path, "fraction"))};
}

void to_proto(const ContactEpisode& from, v1::ContactEpisode& to) {
  to.Clear();
  to.set_pair(from.pair);
  to.set_onset(from.onset);
  if (from.end) to.set_end(*from.end);
  to.set_max_force(from.max_force);
  to.set_max_force_time(from.max_force_time);
  to.set_max_indentation(from.max_indentation);
  to.set_max_indentation_time(from.max_indentation_time);
  to.set_approach_velocity(from.approach_velocity);
  if (from.separation_velocity) to.set_separation_velocity(*from.separation_velocity);
  if (from.effective_restitution) to.set_effective_restitution(*from.effective_restitution);
  if (from.max_impulse) to.set_max_impulse(*from.max_impulse);
}

ContactEpisode from_proto(const v1::ContactEpisode& from, const FieldPath& path) {
  ContactEpisode to;
  to.pair = from.pair();
  to.onset = finite(from.onset(), FieldPath(path, "onset"));
  if (from.has_end()) to.end = finite(from.end(), FieldPath(path, "end"));
  to.max_force = finite(from.max_force(), FieldPath(path, "max_force"));
  to.max_force_time = finite(from.max_force_time(), FieldPath(path, "max_force_time"));
  to.max_indentation = finite(from.max_indentation(), FieldPath(path, "max_indentation"));
  to.max_indentation_time = finite(from.max_indentation_time(), FieldPath(path, "max_indentation_time"));
  to.approach_velocity = finite(from.approach_velocity(), FieldPath(path, "approach_velocity"));
  if (from.has_separation_velocity()) {
    to.separation_velocity = finite(from.separation_velocity(), FieldPath(path, "separation_velocity"));
  }
  if (from.has_effective_restitution()) {
    to.effective_restitution = finite(from.effective_restitution(), FieldPath(path, "effective_restitution"));
  }
  if (from.has_max_impulse()) to.max_impulse = finite(from.max_impulse(), FieldPath(path, "max_impulse"));
  return to;
}

void to_proto(const Checkpoint& from, v1::Checkpoint& to) {
  to.set_format(checkpoint_format);
  to.set_scenario_digest(from.scenario_digest);
  to.set_step(from.step);
  to.set_time(from.time);
  to.mutable_state()->Assign(from.state.begin(), from.state.end());
  to.mutable_contact_states()->Assign(from.contact_states.begin(), from.contact_states.end());
  to.set_engine(from.engine);
}

Checkpoint from_proto(const v1::Checkpoint& from, const FieldPath& path) {
  if (from.format() != checkpoint_format) {
    reject(FieldPath(path, "format"), fmt::format("checkpoint format {}", checkpoint_format),
           fmt::format("{}; use the program that wrote it", from.format()));
  }
  Checkpoint to;
  to.scenario_digest = from.scenario_digest();
  to.step = from.step();
  to.time = finite(from.time(), FieldPath(path, "time"));
  to.state.assign(from.state().begin(), from.state().end());
  for (std::size_t i = 0; i < to.state.size(); ++i) finite(to.state[i], FieldPath(path, "state", i));
  to.contact_states.assign(from.contact_states().begin(), from.contact_states().end());
  to.engine = from.engine();
  return to;
}

void to_proto(const RunSummary& from, v1::RunSummary& to) {
  to.Clear();
  to.set_scenario(from.scenario);
  to.set_backend(from.backend);
  to.set_status(from.status);
  to.set_simulated_time(from.simulated_time);
  to.set_wall_time(from.wall_time);
  to_proto(from.integrator, *to.mutable_integrator());
  to.set_contact_evaluations(from.contact_evaluations);
  to.set_contact_commits(from.contact_commits);
  if (from.coupling) {
    to.mutable_coupling()->set_scheme(from.coupling->scheme);
    to.mutable_coupling()->set_exchanges(from.coupling->exchanges);
    to.mutable_coupling()->set_rejected_macro_steps(from.coupling->rejected_macro_steps);
    to.mutable_coupling()->set_iterations(from.coupling->iterations);
  }
  if (from.rpc) {
    to.mutable_rpc()->set_calls(from.rpc->calls);
    to.mutable_rpc()->set_p50_us(from.rpc->p50_us);
    to.mutable_rpc()->set_p99_us(from.rpc->p99_us);
    to.mutable_rpc()->set_round_trip_time(from.rpc->round_trip_time);
    to.mutable_rpc()->set_server_time(from.rpc->server_time);
  }
  to_proto(from.energy, *to.mutable_energy());
  for (const auto& episode : from.contacts) to_proto(episode, *to.add_contacts());
  if (from.error) to_proto(*from.error, *to.mutable_error());
  to.set_max_position_violation(from.max_position_violation);
  to.set_max_velocity_violation(from.max_velocity_violation);
  to.mutable_wall_times()->set_preparation(from.wall_times.preparation);
  to.mutable_wall_times()->set_contact(from.wall_times.contact);
  to.mutable_wall_times()->set_transport(from.wall_times.transport);
  to.mutable_wall_times()->set_fields(from.wall_times.fields);
}

RunSummary from_proto(const v1::RunSummary& from, const FieldPath& path) {
  if (!from.has_integrator()) throw_missing(FieldPath(path, "integrator"));
  if (!from.has_energy()) throw_missing(FieldPath(path, "energy"));
  RunSummary to;
  to.scenario = from.scenario();
  to.backend = from.backend();
  to.status = from.status();
  to.simulated_time = from.simulated_time();
  to.wall_time = from.wall_time();
  to.integrator = from_proto(from.integrator());
  to.contact_evaluations = from.contact_evaluations();
  to.contact_commits = from.contact_commits();
  if (from.has_coupling()) {
    to.coupling = CouplingStatistics{.scheme = from.coupling().scheme(),
                                     .exchanges = from.coupling().exchanges(),
                                     .rejected_macro_steps = from.coupling().rejected_macro_steps(),
                                     .iterations = from.coupling().iterations()};
  }
  if (from.has_rpc()) {
    to.rpc = RpcStatistics{.calls = from.rpc().calls(),
                           .p50_us = from.rpc().p50_us(),
                           .p99_us = from.rpc().p99_us(),
                           .round_trip_time = from.rpc().round_trip_time(),
                           .server_time = from.rpc().server_time()};
  }
  to.energy = from_proto(from.energy());
  for (int i = 0; i < from.contacts_size(); ++i) {
    to.contacts.push_back(from_proto(from.contacts(i), FieldPath(path, "contacts", static_cast<std::size_t>(i))));
  }
  if (from.has_error()) to.error = from_proto(from.error());
  to.max_position_violation = from.max_position_violation();
  to.max_velocity_violation = from.max_velocity_violation();
  to.wall_times = {.preparation = from.wall_times().preparation(),
                   .contact = from.wall_times().contact(),
                   .transport = from.wall_times().transport(),
                   .fields = from.wall_times().fields()};
  return to;
}

void to_proto(const FieldFrame& from, v1::FieldFrame& to) {
  to.set_time(from.time);
  to.set_pair(from.pair);
  to.set_body(from.body);
  to.set_partner(from.part == FieldPart::partner);
  to.set_vtu(from.vtu);
}

FieldFrame from_proto(const v1::FieldFrame& from, const FieldPath& path) {
  return {.time = finite(from.time(), FieldPath(path, "time")),
          .pair = from.pair(),
          .body = from.body(),
          .part = from.partner() ? FieldPart::partner : FieldPart::main,
          .vtu = from.vtu()};
}

std::string checkpoint_bytes(const Checkpoint& from) {
  v1::Checkpoint message;
  to_proto(from, message);
  return message.SerializeAsString();
}

Checkpoint checkpoint_from(std::string_view bytes, const FieldPath& path) {
  v1::Checkpoint message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    throw input_error(path.text(), "invalid checkpoint to resume from: its bytes cannot be read");
  }
  return from_proto(message, path);
}

}  // namespace heelstrike::wire
