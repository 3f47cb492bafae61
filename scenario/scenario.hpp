/// A scenario: model, contact pairs, analysis and output of one run, as read from one YAML file.
///
/// The text is parsed by the client (to report line and key of every error) and again by the multibody server, with the
/// same code.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/contact/fields.hpp"
#include "common/contact/surface.hpp"
#include "common/motion/body_record.hpp"
#include "common/motion/time_function.hpp"
#include "common/parameters/parameter.hpp"
#include "common/spatial/spatial.hpp"
#include "scenario/marker_motion.hpp"
#include "scenario/schema/field.hpp"

namespace heelstrike {

/// A rigid body; `position` is that of its frame's origin, which need not be the centre of mass.
struct BodySpec {
  std::string name;
  double mass = 0.0;                         ///< [kg] > 0
  Vector3 center_of_mass = Vector3::Zero();  ///< [m] in the body frame
  Matrix3 inertia = Matrix3::Zero();         ///< [kg m^2] about the centre of mass, in body axes
  Pose X_WB;                                 ///< initial pose in the world
  Twist V_WB;  ///< initial twist, expressed in the world, linear part at the body's origin
  std::string initial_state_from =
      {};  ///< body with the same initial pose and twist, e.g. one that follows a recording
};

/// A function of time as written in the file: explicit, or a column of a motion file that is sent with the scenario.
struct FunctionSpec {
  TimeFunctionPtr function;  ///< none until `file` is read
  std::string file;
  std::string column;
  std::string time_column;
  int degree = 3;                       ///< of the spline through the column
  std::optional<double> cutoff = {};    ///< [Hz] of a low-pass of the column; none = unfiltered
  int order = 4;                        ///< of the filter, both passes together
  double scale = 1.0;                   ///< factor on the column's values
  bool is_angle = false;                ///< in rad; the column of a file may be in degrees
  std::optional<bool> in_degrees = {};  ///< of an angle; none = as the file states
  std::string where;                    ///< "file:line: key", for messages
};

/// Force and torque on a body: a constant part, and components that follow functions of time.
struct LoadSpec {
  std::string name;
  std::string body;
  Vector3 force = Vector3::Zero();                ///< [N]
  Vector3 torque = Vector3::Zero();               ///< [N m]
  Vector3 point = Vector3::Zero();                ///< [m] point of application in the frame of `point_body`
  std::string axes_body = "ground";               ///< its axes are those of force and torque
  std::string point_body = {};                    ///< `body`, another body or "ground"
  std::map<std::string, FunctionSpec> functions;  ///< fx, fy, fz [N], tx, ty, tz [N m], px, py, pz [m], added to these
};

/// Attachment of a joint or force element to its two bodies: in the world at the initial poses, or in the frame of each
/// body.
struct Attachment {
  std::vector<std::string> bodies = {};      ///< [a, b], names in `bodies` or "ground"
  bool in_world = true;                      ///< points and axes are in the world at the initial poses
  std::vector<Vector3> points = {};          ///< [m] none or one in the world, or one in the frame of each body
  std::optional<Vector3> second_point = {};  ///< [m] the end on b, in the world, if different
  std::vector<Vector3> axes = {};            ///< unit vectors, likewise
  std::optional<Vector3> second_axis = {};   ///< the axis on b, in the world, if different
};

/// Common data of joints and force elements. All other keys are in `keys`, checked against the table of the type, for
/// the builder of that type.
struct ElementSpec {
  std::string name;
  std::string type;                                  ///< name in the catalog
  std::shared_ptr<const config::Document> document;  ///< source of `keys`
  config::Field keys;
  std::optional<Attachment> ends = {};                 ///< of a type with two bodies
  std::map<std::string, FunctionSpec> functions = {};  ///< by key, of types with functions
  std::string where = {};                              ///< "file:line: forces.NAME", for messages
};

/// Free coordinates of a joint, for drivers, springs and gears.
struct JointCoordinates {
  bool angle = false;         ///< about the joint's axis
  bool displacement = false;  ///< along the joint's axis
  bool rotation = false;      ///< all rotations about the joint's point
  bool named = false;         ///< the coordinates in its key `coordinates`
};

struct JointSpec : ElementSpec {
  JointCoordinates coordinates = {};  ///< of its type
  bool reactions = false;             ///< force and torque become columns of the time series
};

/// Table of recorded poses of bodies, from a run or a measurement.
struct RecordSpec {
  std::string file;         ///< empty = none
  std::string time_column;  ///< empty = `time_s` or `time`, whichever exists
  std::string where;        ///< "file:line: drivers.NAME.recorded", for messages
  /// Records of the driven body, or of the bodies a and b of the driven joint; null for ground, and until the file is
  /// read.
  std::vector<BodyRecordPtr> bodies;
};

/// Motion prescribed to a joint or a body.
struct DriverSpec {
  std::string name;
  std::string type;                               ///< name in the catalog
  std::string joint;                              ///< name in `joints`, or empty
  std::string body;                               ///< name in `bodies`, or empty
  std::map<std::string, FunctionSpec> functions;  ///< angle, displacement; x, y, z, rx, ry, rz
  RecordSpec record = {};                         ///< instead of functions
  std::string follow = {};                        ///< instead of functions: MOTION.FOOT.SEGMENT or MOTION.ground
  std::string where;                              ///< "file:line: drivers.NAME"
};

/// A contact pair of the model.
struct PairModel {
  PairSpec spec;
  std::string main_body;     ///< name in `bodies`, or "ground"
  std::string partner_body;  ///< name in `bodies`, or "ground"
};

struct IntegratorSpec {
  std::string name = "cvode_index1";
  double rtol = 1e-8;              ///< [-]
  double atol = 1e-10;             ///< [m, -, m/s, 1/s] for all coordinates
  std::optional<double> max_step;  ///< [s]
  int max_rejections = 50;         ///< consecutive rejected steps after which the run fails
  std::optional<int> order;        ///< largest order (BDF methods) or order (Runge-Kutta); none = default of the method
  std::optional<double> step;      ///< [s] > 0 fixed-step methods, which require it
  double baumgarte_alpha = 5.0;    ///< [1/s] >= 0 fixed-step methods; alpha = beta = 5 is critical damping,
  double baumgarte_beta = 5.0;     ///< the values of [machado2012] section 3.5
};

/// Bodies of a hybrid analysis that are moved along the vertical until the ground exerts a prescribed force.
struct BalanceSpec {
  std::string name;
  std::vector<std::string> bodies;  ///< moved together
  std::string plate;                ///< MOTION.FOOT: force of that foot's plate; empty = `force` is used
  bool from_motion = false;         ///< the force on the foot `plate` follows from the motion of the whole body instead
  FunctionSpec force;               ///< [N] vertical force of the ground on the bodies
  double threshold = 20.0;          ///< [N] below it the bodies keep their prescribed position, but out of contact
  /// [N/m] forward and lateral (axes of the first body, in the ground) of the bushing between the prescribed motion
  /// and the bodies, an upper that slides on its sole; empty = rigid.
  std::vector<double> sliding_stiffness = {};
  /// MOTION.FOOT: horizontal force on that foot that the motion of the whole body requires; the bodies slide until the
  /// contact exerts it. Empty = the shear is a result of the contact.
  std::string shear = {};
  std::array<TimeFunctionPtr, 3> shear_force = {};  ///< [N] in the world, horizontal; of `shear`
  std::string where;                                ///< "file:line: analysis.balance.NAME"
};

/// Limits of a run; exceeding one raises Error{limit}.
struct RunBudget {
  std::int64_t rows = 2'000'000;             ///< of the time series
  std::int64_t steps = 10'000'000;           ///< accepted steps of the integrator
  std::int64_t evaluations = 1'000'000'000;  ///< of the equations of motion or of balance
  std::int64_t stalled_steps = 20'000;       ///< trial steps that advance the time by less than a billionth of the run
};

/// Properties of a type of analysis, for preparation of input and display of results.
struct AnalysisTraits {
  bool finds_events = false;  ///< its steps locate the begin and end of contact
  bool prescribed = false;    ///< drivers prescribe the motion; nothing is integrated
  bool balances = false;      ///< heights of bodies follow from the supporting force
  bool loads = false;         ///< it computes loads of joints and drivers
  bool steppable = false;     ///< a host can advance it in time, in a Simulation, with the columns of its run
};

struct AnalysisSpec {
  std::string type = "forward";
  AnalysisTraits traits = {};  ///< of the type
  double end_time = 0.0;       ///< [s] > 0
  IntegratorSpec integrator;
  std::vector<BalanceSpec> balance = {};  ///< of a hybrid analysis
  double max_residual = 1e-5;             ///< [-] accepted relative residual of a static analysis
  RunBudget budget = {};
  std::shared_ptr<const config::Document> document = {};  ///< source of `keys`
  std::optional<config::Field> keys = {};                 ///< for types with keys of their own
};

/// Coupling of the multibody side and its contact partner. All other keys are in `keys`, checked against the table of
/// the scheme, for its builder.
struct CouplingSpec {
  std::string scheme;                                ///< name in the catalog; empty = the catalog's first
  std::shared_ptr<const config::Document> document;  ///< source of `keys`
  std::optional<config::Field> keys = {};            ///< set if `scheme` is
};

enum class StepRows { none, contact, all };

/// Files for ParaView.
struct FieldOutput {
  double interval = 0.0;                ///< [s] 0 = only at contact events
  FieldMesh mesh = FieldMesh::surface;  ///< boundary triangles or tetrahedra
  std::vector<std::string> quantities;  ///< empty = all
  bool contact_only = false;            ///< only while the pair is in contact
  bool at_events = false;               ///< also at onset, peak and end of every contact of a forward analysis
};

struct OutputSpec {
  double interval = 0.0;                      ///< [s] interval of the regular rows
  bool accelerations = false;                 ///< of all bodies, as columns
  StepRows steps = StepRows::contact;         ///< accepted steps that become additional rows
  double checkpoint_period = 10.0;            ///< [s] wall time between checkpoints; 0 = none by wall time
  std::optional<double> checkpoint_interval;  ///< [s] simulated time between further ones; none = no further ones
  std::optional<FieldOutput> fields = {};     ///< none = no fields
};

struct Scenario {
  std::string name;                   ///< file name without folder and extension
  std::string description;            ///< free text
  Vector3 gravity = Vector3::Zero();  ///< [m/s^2] in the world
  std::vector<BodySpec> bodies;       ///< in file order
  std::vector<LoadSpec> loads;
  std::vector<JointSpec> joints;
  std::vector<MarkerMotionSpec> motions;
  std::vector<DriverSpec> drivers;
  std::vector<ElementSpec> forces;
  std::vector<PairModel> pairs;
  AnalysisSpec analysis;
  CouplingSpec coupling = {};
  OutputSpec output;
  std::vector<std::string> notes;  ///< notes for the user from reading the recordings
  std::vector<std::string> files;  ///< files sent with the scenario, as named in it, each once
};

/// Parameter schemas of the known back-ends by name, from the registry or by RPC.
using BackendSchemas = std::map<std::string, std::vector<ParameterSchema>>;

/// The available types of joints, force elements etc., and the contact back-ends (scenario/catalog.hpp).
struct Catalog;

/// Parses and checks. Every issue raises Error{invalid_input}. Its message starts with "file:line: key: ", states
/// what was expected (with unit and range) and found, and suggests the nearest known key or name.
/// @param yaml       the text
/// @param file_name  for messages and for `Scenario::name`
/// @param catalog    without back-ends, their names and parameters are not checked here
[[nodiscard]] Scenario parse_scenario(std::string_view yaml, const std::string& file_name, const Catalog& catalog);

/// The files sent with the scenario (meshes), relative to the scenario file. A mesh surface names its file in
/// `asset_name`; `sha256` is set after the content is read.
[[nodiscard]] std::vector<std::string> referenced_files(const Scenario& scenario);

/// Label of a run: the contact back-ends of its pairs.
/// Names of the back-ends of all pairs in alphabetical order, each once, joined by '+'.
/// @param without_pairs  label of a scenario without pairs
[[nodiscard]] std::string backend_label(const Scenario& scenario, const std::string& without_pairs = "none");

/// One `--set key=value`; value is YAML. `contact.PARAMETER=v` sets a parameter of all pairs,
/// `contact.PAIR.PARAMETER=v` of one, any other dotted key replaces that key's value. An unknown key is an error that
/// suggests the nearest one. The changed value has a comment `# --set key=value`, so that messages about it refer to
/// the option instead of a line.
/// @returns the changed YAML text. @throws Error{invalid_input}
[[nodiscard]] std::string with_override(std::string_view yaml, const std::string& file_name,
                                        const std::string& assignment, const Catalog& catalog);

/// Replaces the back-end of every pair; parameters unknown to the new back-end are removed and listed in `dropped`.
[[nodiscard]] std::string with_backend(std::string_view yaml, const std::string& file_name, const std::string& backend,
                                       const BackendSchemas& backends, std::vector<std::string>& dropped);

}  // namespace heelstrike
