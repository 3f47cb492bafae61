/// Forces of the ground on both feet from the motion of the whole body (Newton's law), without force plates.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/spatial/spatial.hpp"
#include "gait/force_plate.hpp"
#include "gait/marker_file.hpp"
#include "scenario/marker_motion.hpp"

namespace heelstrike {

/// Division of the force between both feet in double stance.
enum class DoubleStanceDivision {
  continued_direction,  ///< see forces_from_motion
  smooth_transition     ///< published [ren2008], for comparison
};

struct WholeBodyOptions {
  /// [Hz] low-pass filters (fourth order, both directions) of the markers before they are differentiated twice: their
  /// errors grow with the square of the frequency, the acceleration of walking ends below. Chosen on one trial
  /// (docs/studies/gait.md).
  double vertical_cutoff = 8.0;
  double forward_cutoff = 4.0;
  double lateral_cutoff = 3.0;
  /// [m/s] a foot is on the ground while its heel or its toe tip moves along the ground by less: both pass it within
  /// some frames of contact and toe-off.
  double contact_speed = 0.45;
  DoubleStanceDivision division = DoubleStanceDivision::continued_direction;
};

/// Intervals in which one foot is on the ground.
struct FootContacts {
  std::string foot;
  std::vector<Stance> contacts;
  double ground = 0.0;  ///< [m] lowest height of heel and toe tip: a marker's height above the ground
};

/// Centre of mass of the body: of every segment on the line between the means of its markers, weighted by its share of
/// the mass (the sum of the shares is made 1). A marker that is never seen is left out; a gap is bridged by the other
/// markers of that end with the offset from them, or by a straight line; an end without markers moves with the other.
/// @param trial  in world axes
/// @returns [m] per frame, filtered
/// @throws Error{invalid_input} for unknown markers and for segments without a marker that is seen
[[nodiscard]] std::vector<Vector3> center_of_mass(const MarkerTrial& trial, std::span<const BodySegmentSpec> segments,
                                                  double cutoff);

/// Intervals in which the slower of heel and toe tip moves along the ground by less than the contact speed, for at
/// least 0.1 s. @param ground_velocity  [m/s]
[[nodiscard]] FootContacts foot_contacts(const MarkerTrial& trial, const FootSpec& foot, const Vector3& up,
                                         const Vector3& ground_velocity, const WholeBodyOptions& options);

/// Contacts with measured steps in the places of those that overlap them.
void use_measured_contacts(FootContacts& contacts, std::span<const Stance> measured);

/// Force of the ground on each foot: m (a - g) of the body's centre of mass on the only foot on the ground; zero with
/// both feet in the air. In double stance the trailing foot unloads and the rest is on the leading foot. With s from 0
/// to 1 over double stance, F_0 the whole force at its beginning, c the centre of mass, h its height above the ground:
///     vertical          N = (1 + cos(pi s)) / 2 times F_0 a quarter period of the filter earlier, because the filter
///                       spreads the rise of the leading foot's load by as much; or the measured load of that foot
///     along the walk    N (F_0 / N_0 + (c(t) - c(t_0)) / h): the force keeps its direction relative to the line from
///     the
///                       foot, which rests on the ground, to the centre of mass
///     across it         N F_0 / N_0
/// The published smooth transition has instead, with tau = 2 s,
///     vertical and across  F_0 exp(-tau^3)
///     along                F_0 (k_1 exp(-(tau - 2/3)^2) - k_2 tau), k_1 = exp(4/9), k_2 = k_1 exp(-16/9) / 2.
/// @param mass             [kg]
/// @param gravity          [m/s^2] in the world
/// @param ground_velocity  [m/s] in the world
/// @param measured         loads of feet in the world, named as the feet, for the vertical force of the trailing foot
/// in
///                         its measured steps; may be empty
/// @returns per foot, at the times of the trial, forces in the world; points and moments are zero
[[nodiscard]] std::vector<ForcePlate> forces_from_motion(const MarkerTrial& trial,
                                                         std::span<const BodySegmentSpec> segments, double mass,
                                                         const Vector3& gravity, const Vector3& ground_velocity,
                                                         std::span<const FootContacts> feet,
                                                         std::span<const ForcePlate> measured = {},
                                                         const WholeBodyOptions& options = {});

}  // namespace heelstrike
