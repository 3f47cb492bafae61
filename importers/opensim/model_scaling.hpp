/// Scaling of a model to a subject.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "importers/opensim/osim_model.hpp"

namespace heelstrike::osim {

/// Scales bodies uniformly, with all that is fixed in them: centres of mass, frames, points of lines, wrap objects,
/// contact meshes with their layers, translations of their joints. As in OpenSim, slack lengths, optimal fibre lengths
/// and tendon lengths are scaled with the length of their line at the default values of the coordinates, and forces of
/// muscles and stiffnesses of ligaments are unchanged. Lines count as straight between their points; wrap objects have
/// no effect on the ratio.
/// @param factors  by body; absent = 1. Masses grow with the third power, moments of inertia with the fifth.
/// @param mass  [kg] of all bodies together, to which all masses are scaled afterwards; none = as they are
/// @throws Error{invalid_input} with the field `scale` or `mass` for an unknown body, for a factor or a mass that is
/// not positive and finite, for a mass of a model without masses, and for a coupler that depends on a translation
void scale_model(Model& model, const std::map<std::string, double>& factors, std::optional<double> mass);

}  // namespace heelstrike::osim
