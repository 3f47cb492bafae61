#include "mbs_server/analysis/field_output.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/errors/error.hpp"
#include "mbs_server/coupling/pair_kinematics.hpp"
#include "mbs_server/simulation/run_state.hpp"

namespace heelstrike::mbs {

namespace {

/// True if the back-end provides, or may provide, these fields but the partner did not deliver them; another run may
/// succeed.
bool is_data_loss(ErrorCode code) {
  switch (code) {
    case ErrorCode::unavailable:
    case ErrorCode::deadline:
    case ErrorCode::not_found:
    case ErrorCode::limit:
    case ErrorCode::file:
    case ErrorCode::internal:
      return true;
    default:
      return false;
  }
}

}  // namespace

FieldOutputWriter::FieldOutputWriter(const Scenario& scenario, const Model& model,
                                     const std::optional<FieldOutput>& spec, RunSink& sink)
    : scenario_(scenario),
      model_(model),
      spec_(spec),
      sink_(sink),
      excluded_(scenario.pairs.size(), 0),
      partner_written_(scenario.pairs.size(), 0) {}

std::optional<double> FieldOutputWriter::next_time() const {
  const bool any_active = std::ranges::any_of(excluded_, [](char excluded) { return excluded == 0; });
  if (!spec_ || !any_active || spec_->interval == 0.0) return std::nullopt;
  // Grid times are products, not sums, to avoid drift.
  return spec_->interval * static_cast<double>(next_);
}

void FieldOutputWriter::restore(const FieldPosition& position) {
  next_ = position.next;
  excluded_ = position.excluded;
  partner_written_ = position.partner_written;
}

void FieldOutputWriter::skip_to(double t) {
  if (spec_ && spec_->interval > 0.0) next_ = first_after(spec_->interval, t);
}

void FieldOutputWriter::write(Contact& contact, const ContactStates& states, double t, const ConstVector& q,
                              const ConstVector& qd) {
  ++next_;
  for (std::size_t pair = 0; pair < excluded_.size(); ++pair) {
    if (!spec_->contact_only || states.closed(pair)) write_active_pair(pair, contact, t, q, qd);
  }
}

void FieldOutputWriter::write_active_pair(std::size_t pair, Contact& contact, double t, const ConstVector& q,
                                          const ConstVector& qd) {
  if (excluded_[pair] != 0) return;
  try {
    write_pair(pair, contact, t, q, qd);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::cancelled) return;  // the run handles cancellation
    if (is_data_loss(e.code()) && !data_loss_) {
      data_loss_ = Error(e.code(),
                         fmt::format("the fields of pair '{}' are missing from t = {} s on: {}",
                                     scenario_.pairs[pair].spec.name, t, e.what()),
                         "output.fields", e.retryable());
    }
    const bool is_recoverable = e.code() == ErrorCode::recoverable;
    excluded_[pair] = is_recoverable ? 0 : 1;
    sink_.on_log("warning", fmt::format("no fields of pair '{}' {} t = {} s{}: {}", scenario_.pairs[pair].spec.name,
                                        is_recoverable ? "at" : "from", t, is_recoverable ? "" : " on", e.what()));
  }
}

void FieldOutputWriter::write_pair(std::size_t pair, Contact& contact, double t, const ConstVector& q,
                                   const ConstVector& qd) {
  const PairModel& model = scenario_.pairs[pair];
  const PairState state = pair_state(model_.pairs[pair], t, q, qd);
  FieldRequest request{.part = FieldPart::main,
                       .mesh = spec_->mesh,
                       .quantities = spec_->quantities,
                       .X_WA = main_pose(model_.pairs[pair], q)};
  sink_.on_fields({.time = t,
                   .pair = model.spec.name,
                   .body = model.main_body,
                   .part = FieldPart::main,
                   .vtu = contact.fields(pair, state, request)});
  FieldFrame partner{
      .time = t, .pair = model.spec.name, .body = model.partner_body, .part = FieldPart::partner, .vtu = {}};
  char& drawn = partner_written_[pair];
  // A rigid partner at rest is sent once.
  if (model.partner_body != "ground" || drawn == 0) {
    request.part = FieldPart::partner;
    partner.vtu = contact.fields(pair, state, request);
    drawn = 1;
  }
  sink_.on_fields(partner);
}

}  // namespace heelstrike::mbs
