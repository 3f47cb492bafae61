// A unit through the C functions of FMI 2.0 (https://fmi-standard.org/docs/2.0.5, chapters 2 and 4). Names and
// signatures are those of the standard.
#include <fmt/format.h>

#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "mbs_server/fmu/versions.hpp"

namespace heelstrike::mbs {
namespace {

extern "C" void heelstrike_log_2(void* journal, const char* /*instance*/, int /*status*/, const char* /*category*/,
                                 const char* format, ...) {
  std::array<char, 1024> text{};
  va_list values;
  va_start(values, format);
  (void)std::vsnprintf(text.data(), text.size(), format != nullptr ? format : "", values);
  va_end(values);
  static_cast<UnitJournal*>(journal)->note(text.data());
}

struct Callbacks2 {
  void (*log)(void*, const char*, int, const char*, const char*, ...);
  void* (*allocate)(std::size_t, std::size_t);
  void (*free)(void*);
  void (*step_finished)(void*, int);
  void* environment;
};

/// A path as the URI that version 2 asks for: what is no plain letter is escaped.
std::string uri_of(const std::string& path) {
  std::string uri = "file://";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

class Unit2 final : public ForeignUnit {
 public:
  Unit2(UnitParts parts, const std::string& name)
      : ForeignUnit(std::move(parts), "binaries/linux64"),
        callbacks_{heelstrike_log_2, std::calloc, std::free, nullptr, &journal_} {
    find_functions();
    constexpr int co_simulation = 1;
    // Version 2 has no word for "no resources": a place that is empty.
    const std::string resources = uri_of(archive().folder() / "resources");
    instance_ =
        instantiate_(name.c_str(), co_simulation, description().token.c_str(), resources.c_str(), &callbacks_, 0, 0);
    if (instance_ == nullptr) fail_instantiation();
  }
  ~Unit2() override {
    if (instance_ == nullptr) return;
    if (initialized_) (void)terminate_(instance_);
    free_(instance_);
  }

  void set(std::span<const std::uint32_t> references, std::span<const double> values) override {
    if (references.empty()) return;
    require(set_(instance_, references.data(), references.size(), values.data()), "fmi2SetReal");
  }
  void get(std::span<const std::uint32_t> references, std::span<double> values) override {
    if (references.empty()) return;
    require(get_(instance_, references.data(), references.size(), values.data()), "fmi2GetReal");
  }
  void enter_initialization() override {
    require(setup_(instance_, 0, 0.0, 0.0, 0, 0.0), "fmi2SetupExperiment");
    require(enter_(instance_), "fmi2EnterInitializationMode");
  }
  void exit_initialization() override {
    require(exit_(instance_), "fmi2ExitInitializationMode");
    initialized_ = true;
  }
  void step(double t, double h) override {
    require(step_(instance_, t, h, 1), fmt::format("fmi2DoStep from t = {} s over {} s", t, h));
  }

 private:
  void find_functions() {
    find(instantiate_, "fmi2Instantiate");
    find(setup_, "fmi2SetupExperiment");
    find(enter_, "fmi2EnterInitializationMode");
    find(exit_, "fmi2ExitInitializationMode");
    find(set_, "fmi2SetReal");
    find(get_, "fmi2GetReal");
    find(step_, "fmi2DoStep");
    find(terminate_, "fmi2Terminate");
    find(free_, "fmi2FreeInstance");
    find_state_functions({.get = "fmi2GetFMUstate",
                          .set = "fmi2SetFMUstate",
                          .free = "fmi2FreeFMUstate",
                          .size = "fmi2SerializedFMUstateSize",
                          .serialize = "fmi2SerializeFMUstate",
                          .deserialize = "fmi2DeSerializeFMUstate"});
  }

  Callbacks2 callbacks_;
  void* (*instantiate_)(const char*, int, const char*, const char*, const Callbacks2*, int, int) = nullptr;
  int (*setup_)(void*, int, double, double, int, double) = nullptr;
  int (*enter_)(void*) = nullptr;
  int (*exit_)(void*) = nullptr;
  int (*set_)(void*, const std::uint32_t*, std::size_t, const double*) = nullptr;
  int (*get_)(void*, const std::uint32_t*, std::size_t, double*) = nullptr;
  int (*step_)(void*, double, double, int) = nullptr;
  int (*terminate_)(void*) = nullptr;
  void (*free_)(void*) = nullptr;
  bool initialized_ = false;
};

}  // namespace

std::unique_ptr<ForeignUnit> make_unit_2(UnitParts parts, const std::string& name) {
  return std::make_unique<Unit2>(std::move(parts), name);
}

}  // namespace heelstrike::mbs
