#include <heelstrike/simulation.hpp>

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "common/results/checkpoint_bytes.hpp"
#include "library/bindings/boundary.hpp"
#include "library/composition/embedded.hpp"
#include "mbs_server/service/run_input.hpp"
#include "mbs_server/simulation/simulation.hpp"

namespace hs {

namespace inner = heelstrike;

namespace {

std::vector<Column> outside(std::span<const inner::Column> columns) {
  std::vector<Column> made;
  for (const inner::Column& column : columns) made.push_back({column.name, column.unit, column.meaning});
  return made;
}

}  // namespace

struct Simulation::Content {
  std::string file;
  inner::bindings::CallGuard guard;
  inner::mbs::RunInput input;  ///< referenced by `simulation`
  std::unique_ptr<inner::mbs::Simulation> simulation;
  std::vector<Column> inputs;
  std::vector<Column> outputs;
  std::stop_token stop;
  double time = 0.0;  ///< [s] at the end of the last call
  double end_time = 0.0;

  explicit Content(const std::string& name) : file(name), guard("simulation of '" + name + "'") {}
};

Simulation::Simulation(std::unique_ptr<Content> content) : content_(std::move(content)) {}
Simulation::Simulation(Simulation&&) noexcept = default;
Simulation& Simulation::operator=(Simulation&& other) noexcept {
  std::swap(content_, other.content_);
  return *this;
}
Simulation::~Simulation() {
  // As for a contact: joining threads or closing sockets of the parent would hang a child process.
  if (content_ && content_->simulation && !content_->guard.close()) (void)content_.release();
}

Simulation Simulation::open(const std::string& file, const Changes& changes, const OpenOptions& options) {
  return inner::bindings::with_public_errors(file, [&] {
    const auto schemas = inner::schemas_of(inner::embedded_backends());
    const auto request = inner::load_request(file, inner::bindings::inside(changes), schemas, options.stop);
    inner::require_steppable(request, options.stop);
    (void)inner::find_pair_warnings(request);  // errors in meshes are reported with their lines
    auto content = std::make_unique<Content>(file);
    content->input = inner::mbs::make_run_input(request.scenario, request.yaml, request.files, schemas);
    content->input.run_id = "library";
    content->input.allow_fmus = true;  // the caller's own scenario, in the caller's own process
    content->stop = options.stop;
    content->simulation = std::make_unique<inner::mbs::Simulation>(content->input, options.stop);
    const inner::ContactFactory source = inner::bindings::contact_source(options);
    // The simulation itself has no progress callback.
    content->simulation->initialise([&](std::span<const inner::PairSpec> pairs,
                                        std::span<const inner::AssetContent> assets,
                                        const inner::OpenContext& context) {
      inner::OpenContext watched = inner::bindings::open_context(options);
      watched.run_id = context.run_id;
      return source(pairs, assets, watched);
    });
    content->inputs = outside(content->simulation->inputs());
    content->outputs = outside(content->simulation->outputs());
    content->time = content->simulation->time();
    content->end_time = content->simulation->end_time();
    return Simulation(std::move(content));
  });
}

double Simulation::time() const {
  return content_->time;
}
double Simulation::end_time() const {
  return content_->end_time;
}

void Simulation::advance_to(double t) {
  const auto advance = [&] {
    const auto stopped = [&] {
      return inner::Error(inner::ErrorCode::cancelled,
                          fmt::format("stopped on request at t = {:g} s; to continue, open the simulation again and "
                                      "restore a saved state",
                                      content_->time));
    };
    if (content_->stop.stop_requested()) throw stopped();
    const bool arrived = content_->simulation->advance_to(t);
    content_->time = content_->simulation->time();
    if (!arrived) throw stopped();
  };
  content_->guard.call("advance_to", advance, content_->file);
}

std::span<const Column> Simulation::inputs() const {
  return content_->inputs;
}
std::span<const Column> Simulation::outputs() const {
  return content_->outputs;
}

void Simulation::set(const std::string& name, double value, double rate, double acceleration) {
  content_->guard.call("set", [&] { content_->simulation->set_input(name, value, rate, acceleration); });
}

std::span<const double> Simulation::values() {
  return content_->guard.call("values", [&] { return content_->simulation->output_values(); });
}

double Simulation::get(std::string_view name) {
  return content_->guard.call("get", [&] { return content_->simulation->output(name); });
}

std::string Simulation::save() {
  return content_->guard.call("save", [&] { return inner::checkpoint_bytes(content_->simulation->save()); });
}

void Simulation::restore(std::string_view bytes) {
  content_->guard.call("restore", [&] {
    content_->simulation->restore(inner::checkpoint_from(bytes, "bytes"));
    content_->time = content_->simulation->time();
  });
}

void Simulation::close() {
  if (content_->guard.close()) content_->simulation.reset();
}

bool Simulation::is_open() const noexcept {
  return content_ && content_->guard.is_open();
}

}  // namespace hs
