/// The sections of a scenario file: the keys of each and its reader for checked values. One source file per section.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenario/catalog.hpp"
#include "scenario/scenario.hpp"
#include "scenario/schema/document.hpp"
#include "scenario/schema/field.hpp"
#include "scenario/schema/schema.hpp"

namespace heelstrike::config {

// import.cpp
/// The section that imports a foreign model. It is replaced by the imported model when the file is read
/// (library/runs/import_section.hpp), so that all other code uses an ordinary scenario.
inline constexpr const char* import_section = "import";

[[nodiscard]] KeySchema import_keys();

// bodies.cpp
[[nodiscard]] KeySchema body_keys();
[[nodiscard]] BodySpec read_body(const Field& field);
/// Name of an existing body; `ground` is accepted if `with_ground`.
[[nodiscard]] std::string read_body_name(const Field& field, const std::vector<BodySpec>& bodies, bool with_ground);
/// The two bodies of a joint or force element, [a, b]; either may be `ground`.
[[nodiscard]] std::vector<std::string> read_joint_bodies(const Field& field, const std::vector<BodySpec>& bodies);
/// Checks a body with `initial_state_from` after all bodies are known.
void check_start(const Field& field, const BodySpec& body, const std::vector<BodySpec>& bodies);
[[nodiscard]] KeySchema load_keys();
[[nodiscard]] LoadSpec read_load(const Field& field, Scenario& scenario);

// functions.cpp
/// Unit of a coordinate of a joint.
inline constexpr const char* coordinate_unit = "rad or m";
/// Whether a table may be piecewise linear: a driver needs two derivatives, a load none.
enum class Joins { smooth, smooth_or_linear };
/// A function of time.
[[nodiscard]] KeySchema function_keys(std::string name, const std::string& unit, const std::string& meaning,
                                      Joins joins = Joins::smooth);
/// @param is_angle  its values are angles in rad
[[nodiscard]] FunctionSpec read_function(const Field& choice, double end_time, std::vector<std::string>& files,
                                         bool is_angle = false);

// elements.cpp
/// Name, type, location and ends of a joint or force element.
[[nodiscard]] ElementSpec read_element(const Field& field, std::shared_ptr<const Document> document,
                                       const Scenario& scenario);
[[nodiscard]] KeySchema joint_keys(const Catalog& catalog);
[[nodiscard]] JointSpec read_joint(const Field& field, const std::shared_ptr<const Document>& document,
                                   const Scenario& scenario, const Catalog& catalog);
[[nodiscard]] KeySchema force_keys(const Catalog& catalog);
[[nodiscard]] ElementSpec read_force(const Field& field, const std::shared_ptr<const Document>& document,
                                     Scenario& scenario, const Catalog& catalog);

[[nodiscard]] KeySchema driver_keys(const Catalog& catalog);
[[nodiscard]] DriverSpec read_driver(const Field& field, Scenario& scenario, const Catalog& catalog);

// motion.cpp
[[nodiscard]] KeySchema motion_keys();
[[nodiscard]] MarkerMotionSpec read_marker_motion(const Field& field, std::vector<std::string>& files);

// surfaces.cpp
[[nodiscard]] KeySchema surface_keys();
[[nodiscard]] Surface read_surface(const Field& choice, std::vector<std::string>& files);
/// Checks beyond single keys. @param is_rigid  the body has no material
void check_surface(const Field& choice, const Surface& surface, bool is_rigid);

// contact.cpp
[[nodiscard]] KeySchema contact_keys();
[[nodiscard]] PairModel read_pair(const Field& field, Scenario& scenario, const BackendSchemas& backends,
                                  Issues& issues);
void check_shared_bodies(const Field& root, const Scenario& scenario, const BackendSchemas& backends);

// analysis.cpp
/// Bodies in vertical balance, for analyses with prescribed motion.
[[nodiscard]] KeySchema balance_keys();
/// Accepted relative residual of a static analysis [-].
[[nodiscard]] KeySchema max_residual_key();
[[nodiscard]] KeySchema analysis_keys(const Catalog& catalog, const std::string& default_integrator);
/// The default integrator. @param root  unchecked file
[[nodiscard]] std::string default_integrator(const Node& root, const Catalog& catalog);
/// Rejects a grid that exceeds its budget before the computation.
void check_grid(const Field& field, double end_time, double distance, std::int64_t budget, const char* what,
                const char* key);
[[nodiscard]] AnalysisSpec read_analysis(const Field& field, std::shared_ptr<const Document> document,
                                         const Catalog& catalog);
void read_balances(const Field& field, Scenario& scenario);
/// Checks required by the type of the analysis.
void check_analysis(const Field& field, const Scenario& scenario, const Catalog& catalog);

[[nodiscard]] KeySchema coupling_keys(const Catalog& catalog);
[[nodiscard]] CouplingSpec read_coupling(const Field& field, std::shared_ptr<const Document> document,
                                         const Scenario& scenario, const Catalog& catalog);

// output.cpp
[[nodiscard]] KeySchema output_keys();
[[nodiscard]] OutputSpec read_output(const Field& field, const AnalysisSpec& analysis);

}  // namespace heelstrike::config
