/// A scenario: model, contact pairs, analysis and output of one run, as read from one YAML file.
///
/// The text is parsed once by the client (to say line and key of every mistake) and again by the multibody server from
/// the same text, with the same code.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/config/marker_motion.hpp"
#include "common/config/parameter.hpp"
#include "common/contact/fields.hpp"
#include "common/contact/surface.hpp"
#include "common/motion/body_record.hpp"
#include "common/motion/time_function.hpp"
#include "common/spatial/spatial.hpp"

namespace heelstrike {

/// A rigid body; its frame's origin is where `position` says, its centre of mass anywhere in it.
struct BodySpec {
  std::string name;
  double mass = 0.0;                         ///< [kg] > 0
  Vector3 center_of_mass = Vector3::Zero();  ///< [m] in the body frame
  Matrix3 inertia = Matrix3::Zero();         ///< [kg m^2] about the centre of mass, in body axes
  Pose X_WB;                                 ///< initial pose in the world
  Twist V_WB;                    ///< initial twist, expressed in the world, linear part at the body's origin
  std::string starts_with = {};  ///< body whose initial pose and twist it takes, e.g. one that follows a recording
};

/// A function of time as written in the file: known at once, or a column of a motion file that travels with the
/// scenario.
struct FunctionSpec {
  TimeFunctionPtr function;  ///< none while `file` is to be read
  std::string file;
  std::string column;
  std::string time_column;
  int degree = 3;      ///< of the spline through the column
  double scale = 1.0;  ///< factor on the column's values
  std::string where;   ///< "file:line: key", for messages
};

/// Force and torque on a body: a constant part, and components that follow functions of time.
struct LoadSpec {
  std::string name;
  std::string body;
  Vector3 force = Vector3::Zero();                ///< [N]
  Vector3 torque = Vector3::Zero();               ///< [N m]
  Vector3 point = Vector3::Zero();                ///< [m] point of application in the body frame
  bool body_fixed = false;                        ///< components in body axes instead of world axes
  std::map<std::string, FunctionSpec> functions;  ///< fx, fy, fz [N], tx, ty, tz [N m], added to the constants
};

/// A joint between two bodies, or a gear between two joints; which members mean something depends on `type`.
struct JointSpec {
  std::string name = {};
  std::string type = {};
  std::vector<std::string> bodies = {};  ///< [a, b], names in `bodies` or "ground"
  std::vector<Vector3> points = {};  ///< [m] one in the world at the initial poses, or one in the frame of each body
  std::optional<Vector3> second_point = {};  ///< [m] end on b of a rod, in the world
  std::vector<Vector3> axes = {};            ///< none, one in the world, or one in the frame of each body; unit vectors
  std::optional<Vector3> second_axis = {};   ///< axis on b of a universal joint, in the world
  bool in_world = true;                      ///< points and axes are in the world at the initial poses
  std::optional<double> length = {};         ///< [m] of a rod
  std::vector<std::string> joints = {};      ///< of a gear
  std::vector<int> teeth = {};               ///< of a gear
  bool reactions = false;                    ///< force and torque become columns of the time series
  std::string where = {};                    ///< "file:line: joints.NAME", for messages
};

/// A spring, ligament or bushing.
struct ForceSpec {
  std::string name;
  std::string type;               ///< spring_damper, ligament_quadratic, ligament_toe, torsional_spring, bushing
  JointSpec ends = {};            ///< bodies, points, unstrained length
  std::string joint = {};         ///< of a torsional spring
  double k = 0.0;                 ///< [N/m], [N m/rad]; ligament_quadratic: [N] at strain 1
  double c = 0.0;                 ///< [N s/m], [N m s/rad]
  double neutral = 0.0;           ///< [rad] of a torsional spring
  double toe_strain = 0.03;       ///< [-] half the strain at which a ligament becomes linear
  double reference_strain = 0.0;  ///< [-] strain at the initial poses when no length is given
  Matrix6 K = Matrix6::Zero();    ///< of a bushing
  Matrix6 C = Matrix6::Zero();
  std::string where = {};  ///< "file:line: forces.NAME"
};

/// Table of the poses of bodies that a run or a measurement recorded.
struct RecordSpec {
  std::string file;         ///< empty = none
  std::string time_column;  ///< empty = `time_s` or `time`, whichever is there
  std::string where;        ///< "file:line: drivers.NAME.recorded", for messages
  /// What the file says of the driven body, or of the bodies a and b of the driven joint; null for ground, and while
  /// the file is to be read.
  std::vector<BodyRecordPtr> bodies;
};

/// Motion prescribed to a joint or a body.
struct DriverSpec {
  std::string name;
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
  int max_rejections = 50;         ///< consecutive rejected steps after which the run gives up
  std::optional<int> order;        ///< largest order (BDF methods) or order (Runge-Kutta); none = the method's own
  std::optional<double> step;      ///< [s] > 0 fixed-step methods, which require it
  std::optional<double> baumgarte_alpha;  ///< [1/s] >= 0 fixed-step methods; none = 5
  std::optional<double> baumgarte_beta;   ///< [1/s] >= 0 fixed-step methods; none = 5
};

/// Bodies of a hybrid analysis that are moved along the vertical until the ground carries them with a given force.
struct BalanceSpec {
  std::string name;
  std::vector<std::string> bodies;  ///< moved together
  std::string plate;                ///< MOTION.FOOT: force of that foot's plate; empty = `force` is given
  FunctionSpec force;               ///< [N] vertical force of the ground on the bodies
  double threshold = 20.0;          ///< [N] below it the bodies stay where they are prescribed, but out of contact
  std::string where;                ///< "file:line: analysis.balance.NAME"
};

/// What a run may use before it is ended with Error{limit}.
struct RunBudget {
  std::int64_t rows = 2'000'000;             ///< of the time series
  std::int64_t steps = 10'000'000;           ///< accepted steps of the integrator
  std::int64_t evaluations = 1'000'000'000;  ///< of the equations of motion or of balance
  std::int64_t stalled_steps = 20'000;       ///< tried steps that advance the time by less than a billionth of the run
};

struct AnalysisSpec {
  std::string type = "forward";
  double end_time = 0.0;  ///< [s] > 0
  IntegratorSpec integrator;
  std::vector<BalanceSpec> balance = {};  ///< of a hybrid analysis
  RunBudget budget = {};
};

enum class StepRows { none, contact, all };

/// Files for ParaView.
struct FieldOutput {
  double interval = 0.0;                ///< [s] 0 = only at contact events
  FieldMesh mesh = FieldMesh::surface;  ///< boundary triangles or tetrahedra
  std::vector<std::string> quantities;  ///< empty = all
  bool contact_only = false;            ///< only while the pair touches
  bool at_events = false;               ///< also at onset, peak and end of every contact of a forward analysis
};

struct OutputSpec {
  double interval = 0.0;                      ///< [s] distance of the regular rows
  bool accelerations = false;                 ///< of all bodies, as columns
  StepRows steps = StepRows::contact;         ///< which accepted steps become rows of their own
  std::optional<double> checkpoint_interval;  ///< [s] simulated time between checkpoints; none = no checkpoints
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
  std::vector<ForceSpec> forces;
  std::vector<PairModel> pairs;
  AnalysisSpec analysis;
  OutputSpec output;
  std::vector<std::string> notes;  ///< what reading the recordings found and the user should know
  std::vector<std::string> files;  ///< files that travel with the scenario, as named in it, each once
};

/// Parameter schemas of the known back-ends by name; where they come from (registry, RPC) does not matter here.
using BackendSchemas = std::map<std::string, std::vector<ParameterSchema>>;

/// Parses and checks. Every mistake is Error{invalid_input} whose message starts with "file:line: key: ", names what
/// was expected (with unit and range) and what was found, and suggests the nearest known key or name.
/// @param yaml       the text
/// @param file_name  for messages and for `Scenario::name`
/// @param backends   empty = back-end names and parameters are not checked here
[[nodiscard]] Scenario parse_scenario(std::string_view yaml, const std::string& file_name,
                                      const BackendSchemas& backends);

/// The files that travel with the scenario (meshes), relative to the scenario file. A mesh surface names its file in
/// `asset_name`; whoever has the content fills in `sha256`.
[[nodiscard]] std::vector<std::string> files_named_by(const Scenario& scenario);

/// One `--set key=value`; value is YAML. `contact.PARAMETER=v` sets a parameter of all pairs,
/// `contact.PAIR.PARAMETER=v` of one, any other dotted key replaces that key's value. An unknown key is an error that
/// suggests the nearest one. The changed value carries a comment `# --set key=value`, so that messages about it name
/// the option, not a line.
/// @returns the changed YAML text. @throws Error{invalid_input}
[[nodiscard]] std::string with_override(std::string_view yaml, const std::string& file_name,
                                        const std::string& assignment);

/// Replaces the back-end of every pair; parameters that the new back-end does not know are dropped and named in
/// `dropped`.
[[nodiscard]] std::string with_backend(std::string_view yaml, const std::string& file_name, const std::string& backend,
                                       const BackendSchemas& backends, std::vector<std::string>& dropped);

}  // namespace heelstrike
