/// The sections of a scenario file: of each its keys, and how it is read once they have been checked. One source file
/// per section.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/field.hpp"
#include "common/config/mistakes.hpp"
#include "common/config/scenario.hpp"
#include "common/config/schema.hpp"

namespace heelstrike::config {

// bodies.cpp
[[nodiscard]] KeySchema body_keys();
[[nodiscard]] BodySpec read_body(const Field& field);
/// Name of a body that exists; `ground` counts where `with_ground`.
[[nodiscard]] std::string read_body_name(const Field& field, const std::vector<BodySpec>& bodies, bool with_ground);
/// The two bodies of a joint or force element, [a, b]; either may be `ground`.
[[nodiscard]] std::vector<std::string> read_joint_bodies(const Field& field, const std::vector<BodySpec>& bodies);
/// A body that starts with another one, once all are known.
void check_start(const Field& field, const BodySpec& body, const std::vector<BodySpec>& bodies);

// functions.cpp
/// A function of time.
[[nodiscard]] KeySchema function_keys(std::string name, const std::string& unit, const std::string& meaning);
[[nodiscard]] FunctionSpec read_function(const Field& choice, double end_time, std::vector<std::string>& files);

// loads.cpp
[[nodiscard]] KeySchema load_keys();
[[nodiscard]] LoadSpec read_load(const Field& field, Scenario& scenario);

// joints.cpp
[[nodiscard]] KeySchema joint_keys();
[[nodiscard]] JointSpec read_joint(const Field& field, const Scenario& scenario);

// forces.cpp
[[nodiscard]] KeySchema force_keys();
[[nodiscard]] ForceSpec read_force(const Field& field, const Scenario& scenario);

// motion.cpp
[[nodiscard]] KeySchema motion_keys();
[[nodiscard]] MarkerMotionSpec read_marker_motion(const Field& field, std::vector<std::string>& files);

// drivers.cpp
[[nodiscard]] KeySchema driver_keys();
[[nodiscard]] DriverSpec read_driver(const Field& field, Scenario& scenario);

// surfaces.cpp
[[nodiscard]] KeySchema surface_keys();
[[nodiscard]] Surface read_surface(const Field& choice, std::vector<std::string>& files);
/// What keys alone cannot say. @param is_rigid  the body has no material
void check_surface(const Field& choice, const Surface& surface, bool is_rigid);

// contact.cpp
[[nodiscard]] KeySchema contact_keys();
[[nodiscard]] PairModel read_pair(const Field& field, Scenario& scenario, const BackendSchemas& backends,
                                  Mistakes& mistakes);
void check_shared_bodies(const Field& root, const Scenario& scenario, const BackendSchemas& backends);

// analysis.cpp
[[nodiscard]] KeySchema analysis_keys();
/// Where no contact asks for few evaluations, accuracy is cheap: Runge-Kutta methods keep the energy a hundred times
/// better than BDF formulas at the same tolerance (docs/theory/integrators.md). Springs may be stiff, so that the
/// implicit one takes over.
[[nodiscard]] std::string default_integrator(const Field& root);
/// A grid that is known not to fit into its budget is refused before anything is computed.
void check_grid(const Field& field, double end_time, double distance, std::int64_t budget, const char* what,
                const char* key);
[[nodiscard]] AnalysisSpec read_analysis(const Field& field, const std::string& default_name);
void read_balances(const Field& field, Scenario& scenario);

// output.cpp
[[nodiscard]] KeySchema output_keys();
[[nodiscard]] OutputSpec read_output(const Field& field, const AnalysisSpec& analysis);

}  // namespace heelstrike::config
