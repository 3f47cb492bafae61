// An FMU through the C functions of FMI 3 (https://fmi-standard.org/docs/3.0.2, section 2.2 and 4). Names and
// signatures are those of the standard.
#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "fmi/fmi_platform.hpp"
#include "fmi/typed_values.hpp"
#include "fmi/versions.hpp"

namespace heelstrike::mbs {
namespace {

void log_3(void* journal, int /*status*/, const char* /*category*/, const char* text) {
  static_cast<FmuLog*>(journal)->note(text);
}

class Fmi3Fmu final : public ImportedFmu {
 public:
  Fmi3Fmu(FmuParts parts, const std::string& name) : ImportedFmu(std::move(parts), fmi3_binaries) {
    find_functions();
    const std::string resources = archive().resources().empty() ? std::string() : archive().resources().string() + "/";
    instance_ = instantiate_(name.c_str(), description().token.c_str(), resources.empty() ? nullptr : resources.c_str(),
                             false, false, false, false, nullptr, 0, &log_messages_, log_3, nullptr);
    if (instance_ == nullptr) throw_instantiation_error();
  }
  ~Fmi3Fmu() override {
    if (instance_ == nullptr) return;
    free_start_state();
    if (initialized_) (void)terminate_(instance_);
    free_(instance_);
  }

  void set_text(const FmuVariable& variable, const std::string& value) override {
    int (*set)(void*, const std::uint32_t*, std::size_t, const char* const*, std::size_t) = nullptr;
    find(set, "fmi3SetString");
    const char* text = value.c_str();
    require(set(instance_, &variable.reference, 1, &text, 1), "fmi3SetString");
  }
  void enter_initialization() override {
    require(enter_(instance_, false, 0.0, 0.0, false, 0.0), "fmi3EnterInitializationMode");
  }
  void exit_initialization() override {
    require(exit_(instance_), "fmi3ExitInitializationMode");
    initialized_ = true;
  }

 private:
  void set_group(NumberType type, std::span<const FmuVariable* const> variables,
                 std::span<const double> values) override {
    with_type(type, [&](auto of_type, const char* name) {
      using Type = decltype(of_type);
      const std::string function = fmt::format("fmi3Set{}", name);
      int (*set)(void*, const std::uint32_t*, std::size_t, const Type*, std::size_t) = nullptr;
      find(set, function.c_str());
      const auto references = references_of(variables);
      const auto typed = typed_values<Type>(variables, values, where());
      require(set(instance_, references.data(), references.size(), typed.get(), values.size()), function);
    });
  }
  void get_group(NumberType type, std::span<const FmuVariable* const> variables, std::span<double> values) override {
    with_type(type, [&](auto of_type, const char* name) {
      using Type = decltype(of_type);
      const std::string function = fmt::format("fmi3Get{}", name);
      int (*get)(void*, const std::uint32_t*, std::size_t, Type*, std::size_t) = nullptr;
      find(get, function.c_str());
      const auto references = references_of(variables);
      const auto typed = std::make_unique<Type[]>(values.size());
      require(get(instance_, references.data(), references.size(), typed.get(), values.size()), function);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(typed[i]);
    });
  }
  int try_step(double t, double h) override {
    bool event = false, terminate = false, early = false;
    double last = t + h;
    // Except after a discarded step, no state from before this point is restored: the FMU is stepped only after a step
    // of the multibody integrator has been accepted.
    const int status = step_(instance_, t, h, !retries(), &event, &terminate, &early, &last);
    if (status > 1 || (!terminate && !early)) return status;
    log_messages_.note(terminate ? "it requested termination" : "it returned early without permission");
    return 3;
  }
  void find_functions() {
    find(instantiate_, "fmi3InstantiateCoSimulation");
    find(enter_, "fmi3EnterInitializationMode");
    find(exit_, "fmi3ExitInitializationMode");
    find(step_, "fmi3DoStep");
    find(terminate_, "fmi3Terminate");
    find(free_, "fmi3FreeInstance");
    find_state_functions({.get = "fmi3GetFMUState",
                          .set = "fmi3SetFMUState",
                          .free = "fmi3FreeFMUState",
                          .size = "fmi3SerializedFMUStateSize",
                          .serialize = "fmi3SerializeFMUState",
                          .deserialize = "fmi3DeserializeFMUState"});
  }

  using Log = void (*)(void*, int, const char*, const char*);
  void* (*instantiate_)(const char*, const char*, const char*, bool, bool, bool, bool, const std::uint32_t*,
                        std::size_t, void*, Log, void (*)()) = nullptr;
  int (*enter_)(void*, bool, double, double, bool, double) = nullptr;
  int (*exit_)(void*) = nullptr;
  int (*step_)(void*, double, double, bool, bool*, bool*, bool*, double*) = nullptr;
  int (*terminate_)(void*) = nullptr;
  void (*free_)(void*) = nullptr;
  bool initialized_ = false;
};

}  // namespace

std::unique_ptr<ImportedFmu> make_fmi3_fmu(FmuParts parts, const std::string& name) {
  return std::make_unique<Fmi3Fmu>(std::move(parts), name);
}

}  // namespace heelstrike::mbs
