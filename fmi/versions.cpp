// FMUs through the C functions of FMI 2.0 (https://fmi-standard.org/docs/2.0.5, chapters 2 and 4) and FMI 3
// (https://fmi-standard.org/docs/3.0.2, sections 2.2 and 4). Names and signatures are those of the standards.
#include "fmi/versions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <utility>

#include "common/errors/error.hpp"
#include "fmi/fmi_platform.hpp"

namespace heelstrike::mbs {
namespace {

constexpr CommonNames names_2 = {.exit = "fmi2ExitInitializationMode",
                                 .terminate = "fmi2Terminate",
                                 .free = "fmi2FreeInstance",
                                 .get_state = "fmi2GetFMUstate",
                                 .set_state = "fmi2SetFMUstate",
                                 .free_state = "fmi2FreeFMUstate",
                                 .size = "fmi2SerializedFMUstateSize",
                                 .serialize = "fmi2SerializeFMUstate",
                                 .deserialize = "fmi2DeSerializeFMUstate"};
constexpr CommonNames names_3 = {.exit = "fmi3ExitInitializationMode",
                                 .terminate = "fmi3Terminate",
                                 .free = "fmi3FreeInstance",
                                 .get_state = "fmi3GetFMUState",
                                 .set_state = "fmi3SetFMUState",
                                 .free_state = "fmi3FreeFMUState",
                                 .size = "fmi3SerializedFMUStateSize",
                                 .serialize = "fmi3SerializeFMUState",
                                 .deserialize = "fmi3DeserializeFMUState"};

/// noSetFMUStatePriorToCurrentPoint of DoStep. The FMU is stepped only after a step of the multibody integrator has
/// been accepted, and a discarded step is repeated from its own start, so that no state from before it is restored.
/// FMUs that are told otherwise may defer their results: some then remain at their last point for ever. A restored
/// checkpoint begins another run.
constexpr int never_back = 1;

/// @param where  key of the scenario, for messages
/// @throws Error{solver_failed} for a number outside the range of the type
template <typename Type>
Type typed(double value, const FmuVariable& variable, const std::string& where) {
  if constexpr (std::is_floating_point_v<Type>) {
    return static_cast<Type>(value);
  } else {
    using Limits = std::numeric_limits<Type>;
    constexpr bool is_flag = std::is_same_v<Type, bool>;
    const double nearest = is_flag ? static_cast<double>(value != 0.0) : std::nearbyint(value);
    // The largest 64-bit integer is not representable as a double, the next power of two is.
    const double end = std::ldexp(1.0, Limits::digits);
    if (std::isfinite(value) && nearest >= static_cast<double>(Limits::min()) && nearest < end) {
      return static_cast<Type>(nearest);
    }
    throw Error(
        ErrorCode::solver_failed,
        fmt::format("{}: expected a number in the range of the variable '{}' of type {}, from {} to {}, found {}; "
                    "set another value",
                    where, variable.name, variable.type, +Limits::min(), +Limits::max(), value),
        where);
  }
}

/// A contiguous array for the functions of FMI; std::vector<bool> has none.
template <typename Type>
std::unique_ptr<Type[]> typed_values(std::span<const FmuVariable* const> variables, std::span<const double> values,
                                     const std::string& where) {
  auto made = std::make_unique<Type[]>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) made[i] = typed<Type>(values[i], *variables[i], where);
  return made;
}

std::vector<std::uint32_t> references_of(std::span<const FmuVariable* const> variables) {
  std::vector<std::uint32_t> references;
  for (const FmuVariable* variable : variables) references.push_back(variable->reference);
  return references;
}

/// Calls `use` with a value of the corresponding C++ type and the name of the type in FMI 3.
template <typename Use>
void with_type(NumberType type, Use use) {
  switch (type) {
    case NumberType::float64:
      return use(double{}, "Float64");
    case NumberType::float32:
      return use(float{}, "Float32");
    case NumberType::int8:
      return use(std::int8_t{}, "Int8");
    case NumberType::uint8:
      return use(std::uint8_t{}, "UInt8");
    case NumberType::int16:
      return use(std::int16_t{}, "Int16");
    case NumberType::uint16:
      return use(std::uint16_t{}, "UInt16");
    case NumberType::int32:
      return use(std::int32_t{}, "Int32");
    case NumberType::uint32:
      return use(std::uint32_t{}, "UInt32");
    case NumberType::int64:
      return use(std::int64_t{}, "Int64");
    case NumberType::uint64:
      return use(std::uint64_t{}, "UInt64");
    case NumberType::boolean:
      return use(bool{}, "Boolean");
  }
}

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
      : ImportedFmu(std::move(parts), fmi2_binaries, names_2),
        callbacks_{heelstrike_log_2, std::calloc, std::free, nullptr, &log_messages_} {
    find(instantiate_, "fmi2Instantiate");
    find(setup_, "fmi2SetupExperiment");
    find(enter_, "fmi2EnterInitializationMode");
    find(step_, "fmi2DoStep");
    constexpr int co_simulation = 1;
    // FMI 2.0 cannot express "no resources": the URI of an absent folder is passed.
    const std::string resources = uri_of(archive().folder() / "resources");
    instance_ =
        instantiate_(name.c_str(), co_simulation, description().token.c_str(), resources.c_str(), &callbacks_, 0, 0);
    if (instance_ == nullptr) throw_instantiation_error();
  }
  ~Fmi2Fmu() override { free_instance(); }

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
  int try_step(double t, double h) override { return step_(instance_, t, h, never_back); }

  Callbacks2 callbacks_;
  void* (*instantiate_)(const char*, int, const char*, const char*, const Callbacks2*, int, int) = nullptr;
  int (*setup_)(void*, int, double, double, int, double) = nullptr;
  int (*enter_)(void*) = nullptr;
  int (*step_)(void*, double, double, int) = nullptr;
};

void log_3(void* journal, int /*status*/, const char* /*category*/, const char* text) {
  static_cast<FmuLog*>(journal)->note(text);
}

class Fmi3Fmu final : public ImportedFmu {
 public:
  Fmi3Fmu(FmuParts parts, const std::string& name) : ImportedFmu(std::move(parts), fmi3_binaries, names_3) {
    find(instantiate_, "fmi3InstantiateCoSimulation");
    find(enter_, "fmi3EnterInitializationMode");
    find(step_, "fmi3DoStep");
    const std::string resources = archive().resources().empty() ? std::string() : archive().resources().string() + "/";
    instance_ = instantiate_(name.c_str(), description().token.c_str(), resources.empty() ? nullptr : resources.c_str(),
                             false, false, false, false, nullptr, 0, &log_messages_, log_3, nullptr);
    if (instance_ == nullptr) throw_instantiation_error();
  }
  ~Fmi3Fmu() override { free_instance(); }

  void set_text(const FmuVariable& variable, const std::string& value) override {
    int (*set)(void*, const std::uint32_t*, std::size_t, const char* const*, std::size_t) = nullptr;
    find(set, "fmi3SetString");
    const char* text = value.c_str();
    require(set(instance_, &variable.reference, 1, &text, 1), "fmi3SetString");
  }
  void enter_initialization() override {
    require(enter_(instance_, false, 0.0, 0.0, false, 0.0), "fmi3EnterInitializationMode");
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
    const int status = step_(instance_, t, h, never_back != 0, &event, &terminate, &early, &last);
    if (status > 1 || (!terminate && !early)) return status;
    log_messages_.note(terminate ? "it requested termination" : "it returned early without permission");
    return 3;
  }
  using Log = void (*)(void*, int, const char*, const char*);
  void* (*instantiate_)(const char*, const char*, const char*, bool, bool, bool, bool, const std::uint32_t*,
                        std::size_t, void*, Log, void (*)()) = nullptr;
  int (*enter_)(void*, bool, double, double, bool, double) = nullptr;
  int (*step_)(void*, double, double, bool, bool*, bool*, bool*, double*) = nullptr;
};

}  // namespace

std::unique_ptr<ImportedFmu> make_fmi2_fmu(FmuParts parts, const std::string& name) {
  return std::make_unique<Fmi2Fmu>(std::move(parts), name);
}

std::unique_ptr<ImportedFmu> make_fmi3_fmu(FmuParts parts, const std::string& name) {
  return std::make_unique<Fmi3Fmu>(std::move(parts), name);
}

}  // namespace heelstrike::mbs
