// An FMU through the C functions of FMI 2.0 (https://fmi-standard.org/docs/2.0.5, chapters 2 and 4). Names and
// signatures are those of the standard.
#include <fmt/format.h>

#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "fmi/fmi_platform.hpp"
#include "fmi/typed_values.hpp"
#include "fmi/versions.hpp"

namespace heelstrike::mbs {
namespace {

extern "C" void heelstrike_log_2(void* journal, const char* /*instance*/, int /*status*/, const char* /*category*/,
                                 const char* format, ...) {
  std::array<char, 1024> text{};
  va_list values;
  va_start(values, format);
  (void)std::vsnprintf(text.data(), text.size(), format != nullptr ? format : "", values);
  va_end(values);
  static_cast<FmuLog*>(journal)->note(text.data());
}

struct Callbacks2 {
  void (*log)(void*, const char*, int, const char*, const char*, ...);
  void* (*allocate)(std::size_t, std::size_t);
  void (*free)(void*);
  void (*step_finished)(void*, int);
  void* environment;
};

/// A path as the URI that FMI 2.0 requires: all characters but unreserved ones are percent-encoded.
std::string uri_of(const std::string& path) {
  std::string uri = "file://";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

class Fmi2Fmu final : public ImportedFmu {
 public:
  Fmi2Fmu(FmuParts parts, const std::string& name)
      : ImportedFmu(std::move(parts), fmi2_binaries),
        callbacks_{heelstrike_log_2, std::calloc, std::free, nullptr, &log_messages_} {
    find_functions();
    constexpr int co_simulation = 1;
    // FMI 2.0 cannot express "no resources": the URI of an absent folder is passed.
    const std::string resources = uri_of(archive().folder() / "resources");
    instance_ =
        instantiate_(name.c_str(), co_simulation, description().token.c_str(), resources.c_str(), &callbacks_, 0, 0);
    if (instance_ == nullptr) throw_instantiation_error();
  }
  ~Fmi2Fmu() override {
    if (instance_ == nullptr) return;
    free_start_state();
    if (initialized_) (void)terminate_(instance_);
    free_(instance_);
  }

  void set_text(const FmuVariable& variable, const std::string& value) override {
    int (*set)(void*, const std::uint32_t*, std::size_t, const char* const*) = nullptr;
    find(set, "fmi2SetString");
    const char* text = value.c_str();
    require(set(instance_, &variable.reference, 1, &text), "fmi2SetString");
  }
  void enter_initialization() override {
    require(setup_(instance_, 0, 0.0, 0.0, 0, 0.0), "fmi2SetupExperiment");
    require(enter_(instance_), "fmi2EnterInitializationMode");
  }
  void exit_initialization() override {
    require(exit_(instance_), "fmi2ExitInitializationMode");
    initialized_ = true;
  }

 private:
  /// FMI 2.0 has three numeric types, and Booleans of four bytes.
  template <typename Type, typename Wire>
  void set_as(const char* function, std::span<const FmuVariable* const> variables, std::span<const double> values) {
    int (*set)(void*, const std::uint32_t*, std::size_t, const Wire*) = nullptr;
    find(set, function);
    const auto references = references_of(variables);
    const auto typed = typed_values<Type>(variables, values, where());
    const std::vector<Wire> wire(typed.get(), typed.get() + values.size());
    require(set(instance_, references.data(), references.size(), wire.data()), function);
  }
  template <typename Wire>
  void get_as(const char* function, std::span<const FmuVariable* const> variables, std::span<double> values) {
    int (*get)(void*, const std::uint32_t*, std::size_t, Wire*) = nullptr;
    find(get, function);
    const auto references = references_of(variables);
    std::vector<Wire> wire(values.size());
    require(get(instance_, references.data(), references.size(), wire.data()), function);
    std::ranges::copy(wire, values.begin());
  }
  void set_group(NumberType type, std::span<const FmuVariable* const> variables,
                 std::span<const double> values) override {
    if (type == NumberType::float64) return set_as<double, double>("fmi2SetReal", variables, values);
    if (type == NumberType::boolean) return set_as<bool, int>("fmi2SetBoolean", variables, values);
    set_as<std::int32_t, int>("fmi2SetInteger", variables, values);
  }
  void get_group(NumberType type, std::span<const FmuVariable* const> variables, std::span<double> values) override {
    if (type == NumberType::float64) return get_as<double>("fmi2GetReal", variables, values);
    get_as<int>(type == NumberType::boolean ? "fmi2GetBoolean" : "fmi2GetInteger", variables, values);
  }
  int try_step(double t, double h) override { return step_(instance_, t, h, retries() ? 0 : 1); }

  void find_functions() {
    find(instantiate_, "fmi2Instantiate");
    find(setup_, "fmi2SetupExperiment");
    find(enter_, "fmi2EnterInitializationMode");
    find(exit_, "fmi2ExitInitializationMode");
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
  int (*step_)(void*, double, double, int) = nullptr;
  int (*terminate_)(void*) = nullptr;
  void (*free_)(void*) = nullptr;
  bool initialized_ = false;
};

}  // namespace

std::unique_ptr<ImportedFmu> make_fmi2_fmu(FmuParts parts, const std::string& name) {
  return std::make_unique<Fmi2Fmu>(std::move(parts), name);
}

}  // namespace heelstrike::mbs
