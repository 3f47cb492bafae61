// The C header over the C++ one: no exception leaves a function; the last one is stored per thread.
#include <heelstrike/heelstrike.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <heelstrike/contact.hpp>
#include <heelstrike/run.hpp>
#include <heelstrike/simulation.hpp>

struct hs_contact {
  hs::Contact contact;
};
struct hs_simulation {
  hs::Simulation simulation;
};

namespace {

struct LastError {
  std::string message, key, file;
  int line = 0;
};

LastError& last_error() {
  thread_local LastError error;
  return error;
}

/// The C codes are those of C++ after HS_OK.
hs_status status_of(hs::ErrorCode code) {
  return static_cast<hs_status>(static_cast<int>(code) + 1);
}
static_assert(static_cast<int>(HS_INTERNAL) == static_cast<int>(hs::ErrorCode::internal) + 1);
static_assert(static_cast<int>(HS_CANCELLED) == static_cast<int>(hs::ErrorCode::cancelled) + 1);

template <typename Work>
hs_status guarded_call(Work&& work) noexcept {
  last_error() = {};
  try {
    work();
    return HS_OK;
  } catch (const hs::Error& error) {
    last_error() = {.message = error.what(), .key = error.key(), .file = error.file(), .line = error.line()};
    return status_of(error.code());
  } catch (const std::exception& defect) {
    last_error() = {.message = defect.what(), .key = {}, .file = {}, .line = 0};
    return HS_INTERNAL;
  }
}

void require(const void* argument, const char* name) {
  if (argument != nullptr) return;
  throw hs::Error(hs::ErrorCode::invalid_input, std::string(name) + ": expected a pointer, found NULL", {}, 0, name);
}

/// A call of an object. @param name  of its argument
template <typename Handle, typename Work>
hs_status guarded_call(Handle* handle, const char* name, Work&& work) noexcept {
  return guarded_call([&] {
    require(handle, name);
    work();
  });
}

std::string text(const char* given) {
  return given == nullptr ? std::string() : std::string(given);
}

hs::State state_of(double t, const double* R, const double* p, const double* V) {
  require(R, "R");
  require(p, "p");
  hs::State state;
  state.t = t;
  std::copy_n(R, 9, state.R_AB.begin());
  std::copy_n(p, 3, state.p_AB.begin());
  if (V != nullptr) std::copy_n(V, 6, state.V_AB.begin());
  return state;
}

void copy(double from, double& to) {
  to = from;
}
void copy(int from, int& to) {
  to = from;
}
template <std::size_t n>
void copy(const std::array<double, n>& from, double (&to)[n]) {
  std::ranges::copy(from, to);
}

void copy(const hs::Response& from, hs_response& to) {
  copy(from.F_A, to.F_A);
  copy(from.dF_A_dX, to.dF_A_dX);
  copy(from.dF_A_dV, to.dF_A_dV);
  hs::for_each_response_member<hs::Response, hs_response>(
      [&](const hs::ResponseMember&, auto of_from, auto of_to) { copy(from.*of_from, to.*of_to); });
}

hs::Changes changes_of(const char* backend, const char* const* set, size_t n_set) {
  if (n_set > 0) require(set, "set");
  hs::Changes changes;
  changes.backend = text(backend);
  for (size_t i = 0; i < n_set; ++i) changes.set.push_back(text(set[i]));
  return changes;
}

constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// All NaN, so that it cannot be mistaken for a response; counts are zero.
hs_response no_response() {
  hs::Response empty;
  empty.F_A.fill(none);
  empty.dF_A_dX.fill(none);
  empty.dF_A_dV.fill(none);
  hs::for_each_response_member<hs::Response>([&](const hs::ResponseMember&, auto member) {
    if constexpr (std::is_same_v<decltype(member), hs::Vector3 hs::Response::*>) (empty.*member).fill(none);
    if constexpr (std::is_same_v<decltype(member), double hs::Response::*>) empty.*member = none;
  });
  hs_response made{};
  copy(empty, made);
  return made;
}

void copy_to_caller(const std::string& saved, void** bytes, size_t* size) {
  require(bytes, "bytes");
  require(size, "size");
  *bytes = std::malloc(std::max<std::size_t>(saved.size(), 1));
  if (*bytes == nullptr) throw hs::Error(hs::ErrorCode::limit, "not enough memory for the saved state");
  std::memcpy(*bytes, saved.data(), saved.size());
  *size = saved.size();
}

std::string_view view_of_bytes(const void* bytes, size_t size) {
  require(bytes, "bytes");
  return {static_cast<const char*>(bytes), size};
}

std::span<const hs::Column> inputs_of(const hs_simulation* simulation) {
  return simulation == nullptr ? std::span<const hs::Column>() : simulation->simulation.inputs();
}
std::span<const hs::Column> outputs_of(const hs_simulation* simulation) {
  return simulation == nullptr ? std::span<const hs::Column>() : simulation->simulation.outputs();
}

const char* name_at(std::span<const hs::Column> columns, size_t index) {
  return index < columns.size() ? columns[index].name.c_str() : nullptr;
}

}  // namespace

const char* hs_error_message() {
  return last_error().message.c_str();
}
const char* hs_error_key() {
  return last_error().key.c_str();
}
const char* hs_error_file() {
  return last_error().file.c_str();
}
int hs_error_line() {
  return last_error().line;
}
const char* hs_version() {
  return hs::version();
}
void hs_free(void* bytes) {
  std::free(bytes);
}

hs_status hs_contact_open(const char* file, const char* pair, const char* backend, const char* const* set, size_t n_set,
                          const char* server, hs_contact** contact) {
  return guarded_call([&] {
    require(file, "file");
    require(contact, "contact");
    *contact = nullptr;
    const hs::Changes changes = changes_of(backend, set, n_set);
    hs::OpenOptions options;
    options.server = text(server);
    *contact = new hs_contact{hs::Contact::open(hs::Pair::from_yaml(file, text(pair), changes), options)};
  });
}

hs_status hs_contact_evaluate(hs_contact* contact, double t, const double* R, const double* p, const double* V,
                              hs_response* response) {
  return guarded_call(contact, "contact", [&] {
    require(response, "response");
    copy(contact->contact.evaluate(state_of(t, R, p, V)), *response);
  });
}

// NOLINTNEXTLINE(readability-function-size): C arrays, each documented in the header.
hs_status hs_contact_evaluate_many(hs_contact* contact, size_t n, const double* t, const double* R, const double* p,
                                   const double* V, int tangents, hs_response* responses, hs_status* statuses) {
  return guarded_call(contact, "contact", [&] {
    if (n == 0) return;
    require(t, "t");
    require(R, "R");
    require(p, "p");
    require(responses, "responses");
    require(statuses, "statuses");
    std::vector<hs::State> states;
    for (size_t i = 0; i < n; ++i) {
      states.push_back(state_of(t[i], R + 9 * i, p + 3 * i, V == nullptr ? nullptr : V + 6 * i));
    }
    const std::vector<hs::BatchResponse> results = contact->contact.evaluate_many(states, tangents != 0);
    for (size_t i = 0; i < n; ++i) {
      statuses[i] = results[i].ok ? HS_OK : status_of(results[i].code);
      responses[i] = no_response();
      if (results[i].ok) copy(results[i].response, responses[i]);
    }
  });
}

hs_status hs_contact_fields(hs_contact* contact, double t, const double* R, const double* p, const double* V,
                            int volume, void** vtu, size_t* size) {
  return guarded_call(contact, "contact",
                      [&] { copy_to_caller(contact->contact.fields(state_of(t, R, p, V), volume != 0), vtu, size); });
}

hs_status hs_contact_commit(hs_contact* contact, double t, const double* R, const double* p, const double* V,
                            hs_response* response) {
  return guarded_call(contact, "contact", [&] {
    const hs::Response batch_response = contact->contact.commit(state_of(t, R, p, V));
    if (response != nullptr) copy(batch_response, *response);
  });
}

hs_status hs_contact_save(hs_contact* contact, void** bytes, size_t* size) {
  return guarded_call(contact, "contact", [&] { copy_to_caller(contact->contact.save(), bytes, size); });
}

hs_status hs_contact_restore(hs_contact* contact, const void* bytes, size_t size) {
  return guarded_call(contact, "contact", [&] { contact->contact.restore(view_of_bytes(bytes, size)); });
}

void hs_contact_close(hs_contact* contact) {
  delete contact;
}

hs_status hs_simulation_open(const char* file, const char* backend, const char* const* set, size_t n_set,
                             const char* server, hs_simulation** simulation) {
  return guarded_call([&] {
    require(file, "file");
    require(simulation, "simulation");
    *simulation = nullptr;
    const hs::Changes changes = changes_of(backend, set, n_set);
    hs::OpenOptions options;
    options.server = text(server);
    *simulation = new hs_simulation{hs::Simulation::open(file, changes, options)};
  });
}

double hs_simulation_time(const hs_simulation* simulation) {
  return simulation == nullptr ? none : simulation->simulation.time();
}
double hs_simulation_end_time(const hs_simulation* simulation) {
  return simulation == nullptr ? none : simulation->simulation.end_time();
}

hs_status hs_simulation_advance_to(hs_simulation* simulation, double t) {
  return guarded_call(simulation, "simulation", [&] { simulation->simulation.advance_to(t); });
}

size_t hs_simulation_n_inputs(const hs_simulation* simulation) {
  return inputs_of(simulation).size();
}
const char* hs_simulation_input_name(const hs_simulation* simulation, size_t index) {
  return name_at(inputs_of(simulation), index);
}
size_t hs_simulation_n_outputs(const hs_simulation* simulation) {
  return outputs_of(simulation).size();
}
const char* hs_simulation_output_name(const hs_simulation* simulation, size_t index) {
  return name_at(outputs_of(simulation), index);
}

hs_status hs_simulation_set(hs_simulation* simulation, const char* name, double value, double rate,
                            double acceleration) {
  return guarded_call(simulation, "simulation", [&] {
    require(name, "name");
    simulation->simulation.set(name, value, rate, acceleration);
  });
}

hs_status hs_simulation_get(hs_simulation* simulation, const char* name, double* value) {
  return guarded_call(simulation, "simulation", [&] {
    require(name, "name");
    require(value, "value");
    *value = simulation->simulation.get(name);
  });
}

hs_status hs_simulation_values(hs_simulation* simulation, double* values) {
  return guarded_call(simulation, "simulation", [&] {
    require(values, "values");
    std::ranges::copy(simulation->simulation.values(), values);
  });
}

hs_status hs_simulation_save(hs_simulation* simulation, void** bytes, size_t* size) {
  return guarded_call(simulation, "simulation", [&] { copy_to_caller(simulation->simulation.save(), bytes, size); });
}

hs_status hs_simulation_restore(hs_simulation* simulation, const void* bytes, size_t size) {
  return guarded_call(simulation, "simulation", [&] { simulation->simulation.restore(view_of_bytes(bytes, size)); });
}

void hs_simulation_close(hs_simulation* simulation) {
  delete simulation;
}
