#include <array>

#include "client/subcommands/subcommand.hpp"

namespace heelstrike::client {

void add_run(CLI::App& program, Invocation& invocation);
void add_resume(CLI::App& program, Invocation& invocation);
void add_attach(CLI::App& program, Invocation& invocation);
void add_compare(CLI::App& program, Invocation& invocation);
void add_compare_grf(CLI::App& program, Invocation& invocation);
void add_plantar(CLI::App& program, Invocation& invocation);
void add_report(CLI::App& program, Invocation& invocation);
void add_sweep(CLI::App& program, Invocation& invocation);
void add_verify(CLI::App& program, Invocation& invocation);
void add_watch(CLI::App& program, Invocation& invocation);
void add_validate(CLI::App& program, Invocation& invocation);
void add_mesh(CLI::App& program, Invocation& invocation);
void add_condense(CLI::App& program, Invocation& invocation);
void add_calibrate(CLI::App& program, Invocation& invocation);
void add_backends(CLI::App& program, Invocation& invocation);
void add_fmu(CLI::App& program, Invocation& invocation);
void add_import(CLI::App& program, Invocation& invocation);
void add_import_osim(CLI::App& program, Invocation& invocation);
void add_hdf5(CLI::App& program, Invocation& invocation);
void add_schema(CLI::App& program, Invocation& invocation);
void add_doctor(CLI::App& program, Invocation& invocation);

std::span<const AddSubcommand> subcommands() {
  static constexpr std::array all{
      add_run,    add_resume, add_attach, add_compare,     add_compare_grf, add_plantar,  add_report,
      add_verify, add_sweep,  add_watch,  add_validate,    add_mesh,        add_condense, add_calibrate,
      add_fmu,    add_hdf5,   add_import, add_import_osim, add_backends,    add_schema,   add_doctor};
  return all;
}

}  // namespace heelstrike::client
