#include "fem_server/backends/fem_condensed/condensed_contact.hpp"

#include <fmt/format.h>

#include <utility>

#include "common/errors/error.hpp"
#include "common/errors/rejection.hpp"
#include "fem_server/backend_interface/field_request.hpp"
#include "fem_server/backend_interface/saved_history.hpp"
#include "fem_server/backend_interface/surface_regions.hpp"
#include "fem_server/bodies/body_fields.hpp"
#include "fem_server/contact_solver/pairing/solve_contact.hpp"

namespace heelstrike::fem {

namespace {

struct CondensedHistory final : SavedHistory<CondensedHistory>, CommittedContact {
  static constexpr std::string_view format = "heelstrike surface history 3";

  template <class Archive, class Self>
  static void transfer(Archive& archive, Self& self) {
    archive(self.X_AB, self.nodes);
  }
};

/// Without friction and hysteresis a commit only defines the start of the next solution, which ends at the unique
/// active set; with a penalty, Newton's iteration ends only within its tolerance of the solution.
bool is_history_independent(const CondensedModel& model) {
  const ContactOptions& options = model.options;
  const bool is_cloud = model.point_compliance > 0.0;
  return !is_cloud && options.friction == 0.0 && options.hysteresis_factor == 0.0 && options.penalty == 0.0;
}

std::string write_points(const std::vector<Vector3>& points, const FieldRequest& request) {
  FieldGrid grid{.points = {}, .nodes_per_cell = 1, .connectivity = {}};
  for (const Vector3& p : points) {
    grid.connectivity.push_back(static_cast<std::uint32_t>(grid.points.size()));
    grid.points.push_back(request.X_WA * p);
  }
  return write_fields(grid, {}, {part_of_cells(request.part, grid.points.size())});
}

}  // namespace

CondensedContact::CondensedContact(std::string name, CondensedModel model, ParameterMap parameters)
    : ContactBackend({.parameters = std::move(parameters),
                      .history_independent = is_history_independent(model),
                      .expensive = model.points.size() >= 500,
                      .regions = region_names(model.regions)}),
      name_(std::move(name)),
      pairing_(make_pairing(std::move(static_cast<PairingModel&>(model)))),
      fields_(std::move(model.fields)),
      partner_fields_(std::move(model.partner_fields)) {
  const ContactOptions& options = pairing_->model().options;
  if (options.penalty > 0.0 && options.friction > 0.0) {
    throw input_error("penalty",
                      fmt::format("the penalty is for frictionless contact, found friction = {} and penalty = "
                                  "{} Pa/m^2; set one of them to 0",
                                  options.friction, options.penalty));
  }
}

PairedContact CondensedContact::solve(const CommittedContact& committed, const PairState& state,
                                      const EvaluateOptions& options) const {
  PairedContact contact;
  pairing_->detect(committed, state, contact);
  if (contact.near.deepest() == 0.0) return contact;  // no penetration
  int iteration = 0;
  do {
    solve_points(committed, state, options, contact);
  } while (pairing_->follow(committed, state, iteration++, contact));
  pairing_->displace_partner(state, contact);
  return contact;
}

void CondensedContact::solve_points(const CommittedContact& committed, const PairState& state,
                                    const EvaluateOptions& options, PairedContact& contact) const {
  if (model().options.friction > 0.0) {
    // From the committed matrix only for commits with a warm start: a loaded history always has one, and its responses
    // must equal those of the history that was saved.
    solve_with_friction(*pairing_, committed, state, options.tangents, options.keep_warm_start, contact);
  } else {
    solve_frictionless(state, model().options, options.tangents, contact, pairing_.get());
  }
}

std::shared_ptr<const History> CondensedContact::initial_history() const {
  return CondensedHistory::of_backend(name_);
}

Response CondensedContact::evaluate(const History& history, const PairState& state,
                                    const EvaluateOptions& options) const {
  const CondensedHistory& own = CondensedHistory::from(history);
  return pairing_->response(solve(own, pairing_->solved_state(state), options), own.approach_velocity, state);
}

Committed CondensedContact::commit(const History& history, const PairState& state,
                                   const EvaluateOptions& options) const {
  const CondensedHistory& own = CondensedHistory::from(history);
  const PairState solved = pairing_->solved_state(state);
  const PairedContact contact = solve(own, solved, options);
  auto next = CondensedHistory::of_backend(name_);
  next->X_AB = solved.X_AB;
  next->approach_velocity = latched_speed(contact, model().options, own.approach_velocity, solved);
  next->nodes = committed_nodes(contact, model().points, solved);
  if (options.keep_warm_start) next->candidate_cache = pairing_->make_candidate_cache(*next);
  Response response = pairing_->response(contact, next->approach_velocity, state);
  response.slip_speed = slip_speed_after(contact, model().options, solved);
  return {.history = std::move(next), .response = response};
}

const BatchEvaluation* CondensedContact::batches() const {
  return model().options.friction > 0.0 || model().deformable ? nullptr : this;
}

std::vector<BatchEntry> CondensedContact::evaluate_all(const History& history,
                                                       std::span<const PairState> states) const {
  const CondensedHistory& own = CondensedHistory::from(history);
  std::vector<PairedContact> contacts(states.size());
  std::vector<BatchEntry> entries(states.size());
  std::vector<NormalTask> tasks;
  std::vector<std::size_t> evaluated;
  for (std::size_t i = 0; i < states.size(); ++i) {
    entries[i].error = rejection_error([&] { pairing_->detect(own, states[i], contacts[i]); });
    if (entries[i].error || !contacts[i].touches()) continue;
    tasks.push_back({.compliance = &contacts[i].compliance(), .near = &contacts[i].near});
    evaluated.push_back(i);
  }
  const std::vector<NormalOutcome> outcomes = solve_normal_contacts(tasks);
  for (std::size_t k = 0; k < evaluated.size(); ++k) {
    const std::size_t i = evaluated[k];
    entries[i].error = rejection_error([&] {
      if (outcomes[k].error) std::rethrow_exception(outcomes[k].error);
      take(outcomes[k].contact, contacts[i]);
      for (int iteration = 0; pairing_->follow(own, states[i], iteration, contacts[i]); ++iteration) {
        solve_points(own, states[i], prescribed_motion, contacts[i]);
      }
    });
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (!entries[i].error) entries[i].response = pairing_->response(contacts[i], own.approach_velocity, states[i]);
  }
  return entries;
}

std::shared_ptr<const History> CondensedContact::load_history(std::string_view bytes) const {
  auto history = CondensedHistory::load(bytes, name_);
  std::int64_t before = -1;
  for (const CommittedNode& entry : history->nodes) {
    if (std::int64_t{entry.node} <= before || entry.node >= model().points.size()) {
      throw input_error("state", fmt::format("history of back-end '{}': candidate {} of {} is out of range or out of "
                                             "order; the bytes are damaged or belong to another body",
                                             name_, entry.node, model().points.size()));
    }
    before = entry.node;
  }
  history->candidate_cache = pairing_->make_candidate_cache(*history);
  return history;
}

friction::LocalProblem CondensedContact::local_problem(const History& history, const PairState& state) const {
  if (!(model().options.friction > 0.0)) {
    throw Error(ErrorCode::unimplemented,
                "a friction problem needs friction above 0, found 0: set the parameter friction");
  }
  const CondensedHistory& committed = CondensedHistory::from(history);
  const PairState solved = pairing_->solved_state(state);
  PairedContact contact;
  pairing_->detect(committed, solved, contact);
  return fem::local_problem(contact.compliance(), friction_problem(*pairing_, committed, solved, contact));
}

CondensedContact::SurfaceState CondensedContact::surface_state(const History& history, const PairState& state) const {
  const PairedContact contact = solve(CondensedHistory::from(history), pairing_->solved_state(state));
  std::vector<double> normal_forces;
  std::vector<Vector3> forces;
  for (const ContactNodeState& node : contact.nodes) {
    normal_forces.push_back(node.lambda);
    forces.push_back(node.force());
  }
  return {.pressure = pairing_->pressure(contact, pairing_->solved_state(state), normal_forces),
          .displacement = pairing_->displacements(pairing_->on_candidates(contact, forces))};
}

std::string CondensedContact::fields(const History& history, const PairState& state,
                                     const FieldRequest& request) const {
  if (!fields_ && !partner_fields_) return ContactBackend::fields(history, state, request);
  const PairState solved = pairing_->solved_state(state);
  const bool swapped = pairing_->swaps_roles();
  FieldRequest of_solved = request;  // in the frame of the body of the candidates
  if (swapped) of_solved.X_WA = request.X_WA * state.X_AB;
  const bool is_partner = (request.part == FieldPart::partner) != swapped;
  if (is_partner && partner_fields_) return write_body(*partner_fields_, true, history, solved, of_solved);
  if (is_partner) return fields_->write_partner(solved.X_AB, of_solved);
  if (!fields_) return write_points(model().points, of_solved);
  return write_body(*fields_, false, history, solved, of_solved);
}

std::string CondensedContact::write_body(const BodyFields& fields, bool is_partner, const History& history,
                                         const PairState& state, const FieldRequest& request) const {
  const CondensedHistory& own = CondensedHistory::from(history);
  const PairedContact contact = solve(own, state);
  const std::vector<double> factors = hysteresis_factors(contact, model().options, own.approach_velocity, state);
  const auto on_nodes = [&](const auto& value) {
    std::vector<Vector3> values;
    for (std::size_t i = 0; i < contact.nodes.size(); ++i) values.emplace_back(value(contact.nodes[i], factors[i]));
    return is_partner ? pairing_->on_partner(contact, values) : pairing_->on_candidates(contact, values);
  };
  const auto in_axes = [&](std::vector<Vector3> values) {
    if (!is_partner) return values;
    for (Vector3& v : values) v = -(state.X_AB.R.transpose() * v);
    return values;
  };
  FieldRequest in_frame = request;
  if (is_partner) in_frame.X_WA = request.X_WA * state.X_AB;
  // The body deforms under the elastic forces; pressure and traction are those of the response, including hysteresis.
  FieldState picture = fields.linear_state(in_axes(on_nodes([](const auto& node, double) { return node.force(); })));
  picture.forces = in_axes(on_nodes([](const auto& node, double factor) { return Vector3(factor * node.force()); }));
  std::vector<Vector3> normals = on_nodes([](const auto& node, double) { return node.surface.normal; });
  for (Vector3& n : normals) n = n.isZero(0.0) ? n : n.normalized();
  if (!is_partner) picture.pressure = pairing_->pressure_of_both(contact, state, active_loads(contact, factors));
  return fields.write_body_fields(picture, in_axes(std::move(normals)), in_frame);
}

}  // namespace heelstrike::fem
