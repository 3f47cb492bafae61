/// Ground reactions of the force plates of a C3D file.
#pragma once

#include <string>
#include <vector>

#include "gait/c3d_file.hpp"
#include "gait/force_plate.hpp"

namespace heelstrike {

struct C3dPlates {
  std::vector<ForcePlate> plates;     ///< "ground_force_1", ...: force on the foot, in the laboratory frame
  std::vector<std::size_t> channels;  ///< channels of the trial used by the plates, from 0
  std::vector<std::string> notes;     ///< skipped or converted items
};

/// Plates of type 1 (forces, centre of pressure and free moment), 2 (forces and moments at the transducers' origin), 3
/// (eight forces of four sensors) and 4 (type 2 behind a calibration matrix) [c3d2020]; other types are noted, and so
/// are plates with missing or short parameters or missing channels. The moment about the centre of the surface is M =
/// M_o + F x ORIGIN, of type 1 M = P x F + T; where the plate carries at least stance_threshold, `point` is the centre
/// of pressure on the plane of CORNERS and `moment` the free moment; elsewhere they are the centre of the surface and
/// the moment about it.
///
/// The plates' z points into the floor, and files usually contain the force on the foot. If the peak load without
/// saturated samples pulls the foot into the floor, the file contains the force on the plate: the load is reversed, and
/// noted.
[[nodiscard]] C3dPlates c3d_plates(const C3dTrial& trial);

}  // namespace heelstrike
