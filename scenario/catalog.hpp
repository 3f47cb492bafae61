/// What a scenario may be made of. Whoever knows the types hands them to the reader of scenarios: the reader itself
/// knows none by name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scenario/scenario.hpp"
#include "scenario/schema/schema.hpp"
#include "common/errors/error.hpp"

namespace heelstrike {

/// One type of joint, force element, driver, integrator, analysis or coupling scheme, as the reader sees it.
struct ElementType {
  std::string name;                          ///< as in the file
  std::string meaning;                       ///< one sentence
  std::vector<config::KeySchema> keys = {};  ///< besides those that all types of its section have
  std::vector<std::string> functions = {};   ///< keys of a force element that are functions of time
  /// Refuses by Field::refuse what no table of keys can say; may be empty. `scenario` has what stands before the
  /// section in the order of reading: bodies, analysis, joints, forces, motion, drivers, contact, coupling.
  std::function<void(const config::Field& field, const Scenario& scenario)> check = {};
};

/// A type of joint. One that holds two bodies has the keys of config::attachment_keys().
struct JointSchema : ElementType {
  JointCoordinates coordinates = {};
};

/// A type of driver, recognised by its name being one of the keys of an entry: of several the first in the catalog.
struct DriverSchema : ElementType {
  /// Reads everything but the name and refuses what is wrong; files that it names are added to the scenario's.
  std::function<void(const config::Field& field, DriverSpec& driver, Scenario& scenario)> read;
};

struct AnalysisSchema : ElementType {
  AnalysisTraits traits = {};
};

/// The integrator of a scenario that names none.
struct DefaultIntegrators {
  std::string with_contact, with_forces, otherwise;
  std::string with_rigid_contact{};  ///< of some pair, whatever the others are
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

/// How a type holds its two bodies.
struct AttachmentKeys {
  enum class Points { optional, one, two };  ///< two: the ends on a and on b may be apart
  enum class Axes { none, one, two };        ///< two: the axes on a and on b differ
  Points points = Points::one;
  Axes axes = Axes::none;
  const char* point_meaning = "the point, in the world at the initial poses";
};

/// Keys that say how a type holds its two bodies: `bodies`, and in the world `point`, `axis`, or `points`, `axes` in
/// the frames of the bodies.
[[nodiscard]] std::vector<KeySchema> attachment_keys(const AttachmentKeys& use);
/// What they say. @throws Mistake for unknown bodies and for numbers that say no direction
[[nodiscard]] Attachment read_attachment(const Field& field, const std::vector<BodySpec>& bodies);

/// An entry that is of one of several types: its key `choice` says which, and each type adds its own keys.
/// @param choice  a text, whose choices and meaning are completed from the types; without a name, the first type whose
///                name is among the keys is meant
/// @param shared  keys of all types
template <typename Type>
[[nodiscard]] KeySchema variant_of(KeySchema choice, const std::vector<Type>& types,
                                   const std::vector<KeySchema>& shared = {}) {
  KeySchema variant{.kind = KeyKind::variant, .meaning = choice.meaning, .keys = {std::move(choice)}};
  for (const ElementType& type : types) add_type(variant, type.name, type.meaning, shared, type.keys);
  return variant;
}

/// The type of that name. @throws Error{internal}: the schema should have refused it
template <typename Types>
[[nodiscard]] const auto& type_named(const Types& types, const std::string& name) {
  for (const auto& type : types) {
    if (type.name == name) return type;
  }
  throw Error(ErrorCode::internal, "type '" + name + "' was not checked");
}

}  // namespace config
}  // namespace heelstrike
