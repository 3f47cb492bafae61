/// The section `motion` of a scenario: recorded markers followed by bodies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/spatial/spatial.hpp"

namespace heelstrike {

/// Directions of the axes of the file in the world: "x", "-x", "y", ... For a laboratory with y up and z to the right
/// and a world with z up and y to the left this is {x: "x", y: "z", z: "-y"}.
struct AxisNames {
  std::string x = "x";
  std::string y = "y";
  std::string z = "z";
};

/// Markers of one foot by name.
struct FootMarkers {
  std::vector<std::string> hindfoot;  ///< at least three, posterior to the metatarsophalangeal joints
  std::string heel;                   ///< with `toe_tip` the direction and the length of the foot
  std::string toe_tip;
  std::string toe_lateral;  ///< with `toe_medial` the metatarsophalangeal axis
  std::string toe_medial;
  std::vector<std::string> origin;    ///< static trial: their mean is the foot's origin, e.g. both malleoli
  std::vector<std::string> stand_in;  ///< further markers, e.g. on the toes, for frames with fewer than three of
                                      ///< `hindfoot`; may be empty
  double toe_axis_depth = 0.0;        ///< [m] >= 0, depth of the metatarsophalangeal axis below the line of its two
                                      ///< markers
};

/// Registration of a foot surface on its markers: pose of the surface's frame M in the hindfoot frame H of the static
/// trial, R_HM = Rz Ry Rx, and the toe angle of the surface at zero recorded toe angle.
struct FootRegistration {
  Vector3 position = Vector3::Zero();  ///< [m] origin of M in H
  Vector3 angles = Vector3::Zero();    ///< [rad] about x (roll), y (pitch, toes down > 0), z (yaw)
  double toe_angle = 0.0;              ///< [rad] added to the recorded angle of the toes, extension > 0
};

/// One foot of a recording.
struct FootSpec {
  std::string name;
  FootMarkers markers;
  std::optional<FootRegistration> registration;  ///< none: bodies have the frames of the segments
  std::string plate;                             ///< name of its force plate (prefix of the columns), "auto" = the
                                                 ///< plates that it steps on, or empty
  std::string where;                             ///< "file:line: motion.NAME.feet.NAME", for messages

  /// The plates of the foot follow from the recording: those under its markers.
  [[nodiscard]] bool finds_plates() const { return plate == "auto"; }
  /// Prefix of the columns of the foot's load in the files of the run folder: that of its plate, or
  /// NAME_ground_force for the sum over its plates.
  [[nodiscard]] std::string columns() const { return finds_plates() ? name + "_ground_force" : plate; }
};

/// A segment of the body in the dynamics of the whole body: its centre of mass lies on the line between the means of
/// two sets of markers.
struct BodySegmentSpec {
  std::string name;
  std::vector<std::string> proximal;  ///< markers at the proximal end
  std::vector<std::string> distal;    ///< markers at the distal end
  double mass_fraction = 0.0;         ///< [-] of the body mass
  double center_fraction = 0.0;       ///< [-] of the distance from the proximal to the distal end
};

/// Stances whose forces a fit may use; all others are reserved for validation.
struct CalibrationSpec {
  std::string markers;          ///< .trc file of the only trial that may be fitted to; empty = any
  std::vector<double> stances;  ///< [s] one time of the file in each stance; empty = stances cut by the recording
};

/// One recording: a walking trial with its static trial, optionally with force plates.
struct MarkerMotionSpec {
  std::string name;
  std::string markers;                     ///< .trc file of the trial
  std::string standing;                    ///< .trc file of the static trial; empty = foot-flat frames of `foot_flat`
  std::string foot_flat;                   ///< .trc file of a walking trial, without a static one; empty = `markers`
  std::string plates;                      ///< .mot file of ground forces, or empty
  AxisNames axes;                          ///< of all three files
  double start = 0.0;                      ///< [s] time of the files at which the run begins
  double max_gap = 0.1;                    ///< [s] longest gap of a marker that is filled
  std::optional<double> cutoff;            ///< [Hz] of the low-pass filter; none = unfiltered
  int order = 4;                           ///< of the filter, both passes together
  std::optional<Vector3> ground_velocity;  ///< [m/s] in the world; none = from the flat foot
  std::optional<double> body_mass;         ///< [kg] none = from the plates
  CalibrationSpec calibration;
  std::vector<BodySegmentSpec> segments;  ///< of the whole body, for ground forces from the motion alone
  std::vector<FootSpec> feet;
  std::string where;  ///< "file:line: motion.NAME"
};

}  // namespace heelstrike
