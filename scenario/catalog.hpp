/// The types available in scenarios. They are passed to the scenario reader, which contains no names of types.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/errors/error.hpp"
#include "scenario/scenario.hpp"
#include "scenario/schema/schema.hpp"

namespace heelstrike {

/// One type of joint, force element, driver, integrator, analysis or coupling scheme for the reader.
struct ElementType {
  std::string name;                          ///< as in the file
  std::string meaning;                       ///< one sentence
  std::vector<config::KeySchema> keys = {};  ///< in addition to those of all types of its section
  std::vector<std::string> functions = {};   ///< keys of a force element that are functions of time
  /// Checks beyond the table of keys, by Field::reject; may be empty. `scenario` contains the preceding sections in the
  /// order of reading: bodies, analysis, joints, forces, motion, drivers, contact, coupling.
  std::function<void(const config::Field& field, const Scenario& scenario)> check = {};
};

/// A type of joint. One between two bodies has the keys of config::attachment_keys().
struct JointSchema : ElementType {
  JointCoordinates coordinates = {};
};

/// A type of driver, identified by its name as a key of the entry; of several the first in the catalog.
struct DriverSchema : ElementType {
  /// Reads and checks everything but the name; adds its files to those of the scenario.
  std::function<void(const config::Field& field, DriverSpec& driver, Scenario& scenario)> read;
};

struct AnalysisSchema : ElementType {
  AnalysisTraits traits = {};
};

/// Default integrators.
struct DefaultIntegrators {
  std::string with_contact, with_forces, otherwise;
  std::string with_rigid_contact{};  ///< if any pair is rigid
};

struct Catalog {
  std::vector<JointSchema> joints;
  std::vector<ElementType> forces;
  std::vector<DriverSchema> drivers;
  std::vector<ElementType> integrators;
  DefaultIntegrators default_integrators;
  std::vector<AnalysisSchema> analyses;  ///< the first is the default
  std::vector<ElementType> couplings;    ///< the first is the default
  BackendSchemas backends = {};          ///< empty = back-ends and their parameters are not checked
};

namespace config {

/// Attachment of a type to its two bodies.
struct AttachmentKeys {
  enum class Points { optional, one, two };  ///< two: the ends on a and on b may differ
  enum class Axes { none, one, two };        ///< two: the axes on a and on b differ
  Points points = Points::one;
  Axes axes = Axes::none;
  const char* point_meaning = "the point, in the world at the initial poses";
};

/// Keys of the attachment to two bodies: `bodies`, and in the world `point`, `axis`, or `points`, `axes` in the frames
/// of the bodies.
[[nodiscard]] std::vector<KeySchema> attachment_keys(const AttachmentKeys& use);
/// Reads these keys. @throws Issue for unknown bodies and for zero directions
[[nodiscard]] Attachment read_attachment(const Field& field, const std::vector<BodySpec>& bodies);

/// An entry of one of several types: its key `choice` selects the type, and each type adds its keys.
/// @param choice  a text, whose choices and meaning are completed from the types; without a name, the first type whose
/// name is among the keys is selected
/// @param shared  keys of all types
template <typename Type>
[[nodiscard]] KeySchema variant_of(KeySchema choice, const std::vector<Type>& types,
                                   const std::vector<KeySchema>& shared = {}) {
  KeySchema variant{.kind = KeyKind::variant, .meaning = choice.meaning, .keys = {std::move(choice)}};
  for (const ElementType& type : types) add_type(variant, type.name, type.meaning, shared, type.keys);
  return variant;
}

/// The type of that name. @throws Error{internal} if missing: the schema must have rejected it
template <typename Types>
[[nodiscard]] const auto& type_named(const Types& types, const std::string& name) {
  for (const auto& type : types) {
    if (type.name == name) return type;
  }
  throw Error(ErrorCode::internal, "type '" + name + "' was not checked");
}

}  // namespace config
}  // namespace heelstrike
