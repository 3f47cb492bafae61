#include "mbs_server/integrators/arkode_erk.hpp"

#include <fmt/format.h>

#include "mbs_server/integrators/arkode_stepper.hpp"

namespace heelstrike::mbs {
namespace {

ARKODE_ERKTableID table_of(const IntegratorSpec& spec) {
  switch (spec.order.value_or(5)) {
    case 2:
      return ARKODE_HEUN_EULER_2_1_2;
    case 3:
      return ARKODE_BOGACKI_SHAMPINE_4_2_3;
    case 4:
      return ARKODE_ZONNEVELD_5_3_4;
    case 5:
      return ARKODE_DORMAND_PRINCE_7_4_5;
    case 6:
      return ARKODE_VERNER_8_5_6;
    case 8:
      return ARKODE_FEHLBERG_13_7_8;
    default:
      throw input_error("analysis.integrator.order",
                        fmt::format("analysis.integrator.order: expected 2, 3, 4, 5, 6 or 8 for {}, found {}",
                                    spec.name, *spec.order));
  }
}

class ArkodeErk final : public ArkodeStepper {
 public:
  ArkodeErk(const IntegratorSpec& spec, Problem& problem)
      : ArkodeStepper(spec, problem, false), table_(table_of(spec)) {}

 private:
  void configure(void* arkode) override {
    check_setup(ARKStepSetTableNum(arkode, ARKODE_DIRK_NONE, table_), "ARKStepSetTableNum");
  }

  ARKODE_ERKTableID table_;
};

}  // namespace

std::unique_ptr<Integrator> make_arkode_erk(const IntegratorSpec& spec, Problem& problem) {
  return std::make_unique<ArkodeErk>(spec, problem);
}

}  // namespace heelstrike::mbs
