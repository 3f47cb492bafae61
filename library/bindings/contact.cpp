#include <heelstrike/contact.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/contact/contact.hpp"
#include "common/contact/require_forces.hpp"
#include "library/bindings/boundary.hpp"
#include "library/composition/embedded.hpp"
#include "scenario/schema/document.hpp"

namespace hs {

namespace inner = heelstrike;

struct Pair::Content {
  std::string file;
  std::string yaml;  ///< with the changes, for the lines of errors
  inner::PairSpec spec;
  std::vector<inner::AssetContent> assets;
};

namespace {

/// Selects a pair of a scenario by name.
inner::PairSpec chosen(std::vector<inner::PairSpec> pairs, const std::string& name) {
  std::vector<std::string> names;
  for (const inner::PairSpec& pair : pairs) names.push_back(pair.name);
  if (name.empty() && pairs.size() == 1) return std::move(pairs.front());
  for (inner::PairSpec& pair : pairs) {
    if (pair.name == name) return std::move(pair);
  }
  if (names.empty()) throw inner::input_error("contact", "the scenario has no contact pairs");
  throw inner::input_error("name", fmt::format("expected the name of one of the pairs of the scenario ({}), found '{}'",
                                               fmt::join(names, ", "), name));
}

}  // namespace

Pair Pair::from_yaml(const std::string& file, const std::string& name, const Changes& changes) {
  return inner::bindings::with_public_errors(file, [&] {
    const auto request =
        inner::load_request(file, inner::bindings::inside(changes), inner::schemas_of(inner::embedded_backends()));
    inner::ContactSetup setup = inner::contact_setup(request);
    auto content = std::make_shared<Content>();
    content->file = file;
    content->yaml = request.yaml;
    content->spec = chosen(std::move(setup.pairs), name);
    content->assets = std::move(setup.assets);
    Pair pair;
    pair.content_ = std::move(content);
    return pair;
  });
}

const std::string& Pair::name() const {
  return content_->spec.name;
}
const std::string& Pair::backend() const {
  return content_->spec.backend;
}
const std::string& Pair::file() const {
  return content_->file;
}
Changes Pair::whole() const {
  Changes changes;
  changes.text = content_->yaml;
  for (const inner::AssetContent& asset : content_->assets) changes.files[asset.name] = asset.content;
  return changes;
}
const ParameterMap& Pair::parameters() const {
  return content_->spec.parameters;
}

struct Contact::Content {
  std::unique_ptr<inner::Contact> contact;
  inner::PairDescription description;
  inner::bindings::CallGuard guard;
  std::int64_t step = 0;  ///< number of the next step

  explicit Content(const std::string& name) : guard("contact '" + name + "'") {}
  inner::Contact& get() { return *contact; }
};

Contact::Contact(std::unique_ptr<Content> content) : content_(std::move(content)) {}
Contact::Contact(Contact&&) noexcept = default;
Contact& Contact::operator=(Contact&& other) noexcept {
  std::swap(content_, other.content_);
  return *this;
}
Contact::~Contact() {
  // Joining threads or closing sockets of the parent would hang a child process.
  if (content_ && content_->contact && !content_->guard.close()) (void)content_.release();
}

Contact Contact::open(const Pair& pair, const OpenOptions& options) {
  const Pair::Content& what = pair.content();
  return inner::bindings::with_public_errors(what.file, [&] {
    auto content = std::make_unique<Content>(what.spec.name);
    try {
      content->contact = inner::bindings::contact_source(options)({&what.spec, 1}, what.assets,
                                                                  inner::bindings::open_context(options));
      inner::require_forces(content->get().pairs().front());
    } catch (const inner::Error& error) {
      if (error.code() != inner::ErrorCode::invalid_input || error.field().empty()) throw;
      throw inner::config::issue_of(inner::config::load_document(what.yaml, what.file), error);
    }
    content->description = content->get().pairs().front();
    return Contact(std::move(content));
  });
}

const std::string& Contact::name() const {
  return content_->description.name;
}
const std::string& Contact::backend() const {
  return content_->description.backend;
}
const ParameterMap& Contact::parameters() const {
  return content_->description.parameters;
}

const std::vector<std::string>& Contact::regions() const {
  return content_->description.regions;
}

Response Contact::evaluate(const State& state) {
  return content_->guard.call("evaluate", [&] {
    const inner::PairState requested = inner::bindings::inside(state);
    inner::Response inner_response;
    content_->get().evaluate(content_->step, 0, {&requested, 1}, {&inner_response, 1});
    Response response;
    inner::bindings::take(inner_response, response);
    return response;
  });
}

std::vector<BatchResponse> Contact::evaluate_many(std::span<const State> states, bool tangents, std::stop_token stop) {
  return content_->guard.call("evaluate_many", [&] {
    std::vector<inner::PairState> requested;
    for (const State& state : states) {
      try {
        requested.push_back(inner::bindings::inside(state));
      } catch (const inner::Error& error) {
        throw inner::input_error(error.field(), fmt::format("state {}: {}", requested.size(), error.what()));
      }
    }
    std::vector<BatchResponse> responses(states.size());
    if (states.empty()) return responses;
    const auto entries = content_->get().evaluate_batch(0, requested, tangents, std::move(stop));
    for (std::size_t i = 0; i < entries.size(); ++i) {
      responses[i].ok = entries[i].error == nullptr;
      if (responses[i].ok) {
        inner::bindings::take(entries[i].response, responses[i].response);
      } else {
        responses[i].message = entries[i].error->what();
        responses[i].code = inner::bindings::public_code(entries[i].error->code());
      }
    }
    return responses;
  });
}

Response Contact::commit(const State& state) {
  return content_->guard.call("commit", [&] {
    const inner::PairState accepted = inner::bindings::inside(state);
    inner::Response inner_response;
    content_->get().commit(content_->step, {&accepted, 1}, {&inner_response, 1});
    ++content_->step;
    Response response;
    inner::bindings::take(inner_response, response);
    return response;
  });
}

namespace {

/// The history and the number of the next step, both in the byte order of this machine.
constexpr std::string_view state_header = "heelstrike contact 1\n";

}  // namespace

std::string Contact::save() {
  return content_->guard.call("save", [&] {
    std::string bytes(state_header);
    bytes.append(reinterpret_cast<const char*>(&content_->step), sizeof(content_->step));
    return bytes + content_->get().save_state().front();
  });
}

void Contact::restore(std::string_view bytes) {
  content_->guard.call("restore", [&] {
    std::int64_t step = 0;
    if (!bytes.starts_with(state_header) || bytes.size() < state_header.size() + sizeof(step)) {
      throw inner::input_error(
          "bytes", fmt::format("restore: expected the bytes of save(), found {} other bytes", bytes.size()));
    }
    std::memcpy(&step, bytes.data() + state_header.size(), sizeof(step));
    const std::string history(bytes.substr(state_header.size() + sizeof(step)));
    content_->get().restore_state({&history, 1});
    content_->step = step;
  });
}

std::string Contact::fields(const State& state, bool volume, const std::vector<std::string>& quantities) {
  return content_->guard.call("fields", [&] {
    const inner::FieldRequest request{.part = inner::FieldPart::main,
                                      .mesh = volume ? inner::FieldMesh::volume : inner::FieldMesh::surface,
                                      .quantities = quantities,
                                      .X_WA = {}};
    return content_->get().fields(0, inner::bindings::inside(state), request);
  });
}

void Contact::close() {
  if (content_->guard.close()) content_->contact.reset();
}

bool Contact::is_open() const noexcept {
  return content_ && content_->guard.is_open();
}

}  // namespace hs
