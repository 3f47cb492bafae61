/// Preparation of the XML of OpenSim model files: default objects, layouts before version 4.0.
#pragma once

#include <pugixml.hpp>

namespace heelstrike::osim {

inline constexpr int first_read_version = 10600;  ///< of OpenSim 1.6, the earliest that OpenSim 4 converts
inline constexpr int current_version = 40000;

/// Rewrites a document of a version from `first_read_version` to `current_version` in the layout of version 4.0:
/// members of SimbodyEngine become those of the Model; joints, which are in their child bodies, members of the JointSet
/// with one offset frame each in parent and child; the body `ground` the element Ground; six elements of inertia one;
/// names of bodies and coordinates the sockets of version 4; `isDisabled` its negation; classes get their later names.
/// A joint without a name is named after its child body, another component after its
/// class. The rules are those of `updateFromXMLNode` in the classes of
/// opensim-core 4.5; elements for display remain as they are.
/// @param document  OpenSimDocument
void convert_to_version_4(pugi::xml_node document);

/// Adds the members that components omit and the element `defaults` of the model has for their class; removes
/// `defaults`. @param model  Model
void apply_default_objects(pugi::xml_node model);

}  // namespace heelstrike::osim
