#include "mbs_server/fmu/foreign_unit.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>

#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "mbs_server/fmu/versions.hpp"

namespace heelstrike::mbs {

void UnitJournal::note(const char* text) {
  constexpr std::size_t most = 3;
  if (text == nullptr) return;
  if (sentences.size() == most) sentences.erase(sentences.begin());
  sentences.push_back(one_line(text));
}

std::string UnitJournal::told() const {
  return sentences.empty() ? "; it said nothing" : fmt::format("; it said: {}", fmt::join(sentences, " / "));
}

ForeignUnit::ForeignUnit(UnitParts parts, const std::string& folder) : parts_(std::move(parts)) {
  const auto path = archive().binary(folder, description().model_identifier);
  library_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    const char* reason = ::dlerror();
    throw input_error(parts_.where,
                      fmt::format("{}: the binary of the unit cannot be loaded here ({}); install what it "
                                  "needs, or export it for this system",
                                  parts_.where, one_line(reason != nullptr ? reason : "unknown reason")));
  }
}

ForeignUnit::~ForeignUnit() {
  if (library_ != nullptr) ::dlclose(library_);
}

void* ForeignUnit::symbol(const char* name) const {
  void* found = ::dlsym(library_, name);
  if (found == nullptr) {
    throw input_error(parts_.where,
                      fmt::format("{}: the binary of the unit has no function {}, which its version of FMI "
                                  "demands; export it again",
                                  parts_.where, name));
  }
  return found;
}

void ForeignUnit::require(int status, const std::string& call) {
  if (status == 0 || status == 1) return;
  constexpr std::array<const char*, 3> names = {"discard", "error", "fatal"};
  const std::size_t index = static_cast<std::size_t>(status - 2);
  const char* advice = status == 2 ? "it may manage a smaller `step`" : "its maker knows what it cannot do";
  throw Error(ErrorCode::solver_failed,
              fmt::format("{}: {} of the unit answered '{}'{}; {}", parts_.where, call,
                          index < names.size() ? names[index] : "an unknown status", journal_.told(), advice),
              parts_.where);
}

void ForeignUnit::find_state_functions(const StateFunctionNames& names) {
  names_ = names;
  if (!description().can_serialize_state) return;
  find(get_state_, names.get);
  find(set_state_, names.set);
  find(free_state_, names.free);
  find(size_, names.size);
  find(serialize_, names.serialize);
  find(deserialize_, names.deserialize);
}

std::string ForeignUnit::save() {
  void* state = nullptr;
  require(get_state_(instance_, &state), names_.get);
  std::size_t size = 0;
  int status = size_(instance_, state, &size);
  std::string bytes(status <= 1 ? size : 0, '\0');
  if (status <= 1) status = serialize_(instance_, state, bytes.data(), size);
  (void)free_state_(instance_, &state);
  require(status, names_.serialize);
  return bytes;
}

void ForeignUnit::restore(const std::string& bytes) {
  void* state = nullptr;
  require(deserialize_(instance_, bytes.data(), bytes.size(), &state), names_.deserialize);
  const int status = set_state_(instance_, state);
  (void)free_state_(instance_, &state);
  require(status, names_.set);
}

void ForeignUnit::fail_instantiation() {
  throw input_error(parts_.where, fmt::format("{}: the unit does not let itself be instantiated with its token '{}'{}; "
                                              "the description and the binary may be of different exports",
                                              parts_.where, description().token, journal_.told()));
}

std::unique_ptr<ForeignUnit> open_unit(const std::string& content, const std::string& name, const std::string& where) {
  auto archive = std::make_unique<UnitArchive>(content, where);
  ForeignDescription description = read_unit_description(archive->description(), where);
  const UnitVersion version = description.version;
  UnitParts parts{where, std::move(archive), std::move(description)};
  return version == UnitVersion::fmi2 ? make_unit_2(std::move(parts), name) : make_unit_3(std::move(parts), name);
}

}  // namespace heelstrike::mbs
