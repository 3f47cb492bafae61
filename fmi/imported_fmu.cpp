#include "fmi/imported_fmu.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "fmi/fmi_platform.hpp"
#include "fmi/versions.hpp"

namespace heelstrike::mbs {

namespace {

constexpr int discarded = 2;
/// Limit of the step bisection: 2^-10 of the requested step. An FMU that discards even that has failed.
constexpr int max_halvings = 10;

std::string step_text(double t, double h) {
  return fmt::format("DoStep from t = {} s over {} s", t, h);
}

/// Calls `exchange` with the variables of each type and their indices.
template <typename Exchange>
void for_each_group(std::span<const FmuVariable* const> variables, Exchange exchange) {
  std::vector<char> done(variables.size(), 0);
  for (std::size_t first = 0; first < variables.size(); ++first) {
    if (done[first] != 0) continue;
    const NumberType type = variables[first]->number_type().value();
    std::vector<const FmuVariable*> group;
    std::vector<std::size_t> places;
    for (std::size_t i = first; i < variables.size(); ++i) {
      if (variables[i]->number_type() != type) continue;
      done[i] = 1;
      group.push_back(variables[i]);
      places.push_back(i);
    }
    exchange(type, group, places);
  }
}

FmuParts unpacked(const std::string& content, const std::string& where) {
  auto archive = std::make_unique<FmuArchive>(content, where);
  FmuDescription description = read_fmu_description(archive->description(), where);
  return {where, std::move(archive), std::move(description)};
}

}  // namespace

void FmuLog::note(const char* text) {
  constexpr std::size_t most = 3;
  if (text == nullptr) return;
  if (messages.size() == most) messages.erase(messages.begin());
  messages.push_back(one_line(text));
}

std::string FmuLog::text() const {
  return messages.empty() ? "; it logged no message" : fmt::format("; its log: {}", fmt::join(messages, " / "));
}

ImportedFmu::ImportedFmu(FmuParts parts, const std::string& folder, const CommonNames& names)
    : parts_(std::move(parts)), library_(nullptr, ::dlclose), names_(names) {
  const auto path = archive().binary(folder, description().model_identifier);
  library_.reset(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library_ == nullptr) {
    const char* reason = ::dlerror();
    const std::string needs = printable(archive().dependencies());
    throw input_error(parts_.where,
                      fmt::format("{}: the binary of the FMU cannot be loaded ({}); install what it needs{}, or "
                                  "export it for this system",
                                  parts_.where, one_line(reason != nullptr ? reason : "unknown reason"),
                                  needs.empty() ? "" : fmt::format(" (its documentation lists: {})", needs)));
  }
  find(exit_, names.exit);
  find(terminate_, names.terminate);
  find(free_, names.free);
  if (!description().can_get_and_set_state) return;
  find(get_state_, names.get_state);
  find(set_state_, names.set_state);
  find(free_state_, names.free_state);
  if (!description().can_serialize_state) return;
  find(size_, names.size);
  find(serialize_, names.serialize);
  find(deserialize_, names.deserialize);
}

void ImportedFmu::exit_initialization() {
  require(exit_(instance_), names_.exit);
  initialized_ = true;
}

void ImportedFmu::free_instance() {
  if (instance_ == nullptr) return;
  if (start_ != nullptr) (void)free_state_(instance_, &start_);
  if (initialized_) (void)terminate_(instance_);
  free_(instance_);
}

void ImportedFmu::set(std::span<const FmuVariable* const> variables, std::span<const double> values) {
  for_each_group(variables,
                 [&](NumberType type, std::span<const FmuVariable* const> group, std::span<const std::size_t> places) {
                   std::vector<double> some;
                   for (const std::size_t place : places) some.push_back(values[place]);
                   set_group(type, group, some);
                 });
}

void ImportedFmu::get(std::span<const FmuVariable* const> variables, std::span<double> values) {
  for_each_group(variables,
                 [&](NumberType type, std::span<const FmuVariable* const> group, std::span<const std::size_t> places) {
                   std::vector<double> some(group.size());
                   get_group(type, group, some);
                   for (std::size_t i = 0; i < places.size(); ++i) values[places[i]] = some[i];
                 });
}

void ImportedFmu::step(double t, double h) {
  int parts = 1;
  for (int i = 0; i < parts; ++i) {
    // The end points are bitwise those of the whole step.
    const double from = t + h * i / parts, to = t + h * (i + 1) / parts;
    // Saved at the start of each part: a restored state is never from before the point that DoStep was last told.
    if (retries()) require(get_state_(instance_, &start_), names_.get_state);
    const int status = try_step(from, parts == 1 ? h : to - from);
    if (status != discarded || !retries()) {
      require(status, step_text(t, h));
      continue;
    }
    require(set_state_(instance_, start_), names_.set_state);
    if (parts == 1 << max_halvings) {
      require(discarded, fmt::format("{}, also in steps of {} s,", step_text(t, h), h / (1 << max_halvings)));
    }
    parts *= 2;
    i = 2 * i - 1;  // the same place among parts of half the length
  }
}

ImportedFmu::~ImportedFmu() = default;

void* ImportedFmu::symbol(const char* name) const {
  void* found = ::dlsym(library_.get(), name);
  if (found == nullptr) {
    throw input_error(parts_.where, fmt::format("{}: the binary of the FMU has no function {}, which its FMI version "
                                                "requires; export it again",
                                                parts_.where, name));
  }
  return found;
}

void ImportedFmu::require(int status, const std::string& call) {
  if (status == 0 || status == 1) return;
  constexpr std::array<const char*, 3> names = {"reject", "error", "fatal"};
  const std::size_t index = static_cast<std::size_t>(status - 2);
  const char* advice = status == 2 ? "reduce `step`" : "see the documentation of the FMU for its limits";
  throw Error(ErrorCode::solver_failed,
              fmt::format("{}: {} of the FMU returned '{}'{}; {}", parts_.where, call,
                          index < names.size() ? names[index] : "an unknown status", log_messages_.text(), advice),
              parts_.where);
}

std::string ImportedFmu::save() {
  void* state = nullptr;
  require(get_state_(instance_, &state), names_.get_state);
  std::size_t size = 0;
  int status = size_(instance_, state, &size);
  std::string bytes(status <= 1 ? size : 0, '\0');
  if (status <= 1) status = serialize_(instance_, state, bytes.data(), size);
  (void)free_state_(instance_, &state);
  require(status, names_.serialize);
  return bytes;
}

void ImportedFmu::restore(const std::string& bytes) {
  void* state = nullptr;
  require(deserialize_(instance_, bytes.data(), bytes.size(), &state), names_.deserialize);
  const int status = set_state_(instance_, state);
  (void)free_state_(instance_, &state);
  require(status, names_.set_state);
}

void ImportedFmu::throw_instantiation_error() {
  throw input_error(parts_.where, fmt::format("{}: the FMU cannot be instantiated with its token '{}'{}; "
                                              "the description and the binary may come from different exports",
                                              parts_.where, description().token, log_messages_.text()));
}

FmuDescription check_fmu(const std::string& content, const std::string& where) {
  FmuParts parts = unpacked(content, where);
  const char* folder = parts.description.version == FmiVersion::fmi2 ? fmi2_binaries : fmi3_binaries;
  (void)parts.archive->binary(folder, parts.description.model_identifier);
  return std::move(parts.description);
}

std::unique_ptr<ImportedFmu> load_fmu(const std::string& content, const std::string& name, const std::string& where) {
  FmuParts parts = unpacked(content, where);
  const FmiVersion version = parts.description.version;
  return version == FmiVersion::fmi2 ? make_fmi2_fmu(std::move(parts), name) : make_fmi3_fmu(std::move(parts), name);
}

}  // namespace heelstrike::mbs
