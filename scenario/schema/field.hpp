/// Checked values of a scenario file, for the readers of its sections.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenario/schema/document.hpp"
#include "scenario/schema/schema.hpp"
#include "common/spatial/spatial.hpp"

namespace heelstrike::config {

/// A checked value with its dotted key: reading cannot fail, only meaning can.
class Field {
 public:
  Field(const Document& document, const Node& node, std::string path)
      : document_(&document), node_(&node), path_(std::move(path)) {}

  [[nodiscard]] bool has(const std::string& key) const { return node_->find(key) != nullptr; }
  /// @throws Error{internal} when it is not there: the schema should have required it or given it a default
  [[nodiscard]] Field operator[](const std::string& key) const;
  /// The values of a map, in the order of the file.
  [[nodiscard]] std::vector<Field> entries() const;
  /// Fields of a map that may be absent.
  [[nodiscard]] std::vector<Field> entries_of(const std::string& key) const {
    return has(key) ? (*this)[key].entries() : std::vector<Field>();
  }
  [[nodiscard]] std::string name() const { return path_.substr(path_.rfind('.') + 1); }
  [[nodiscard]] const Node& node() const { return *node_; }
  [[nodiscard]] const Document& document() const { return *document_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  [[nodiscard]] const std::string& text() const { return node_->scalar; }
  [[nodiscard]] std::string text_or(const std::string& key) const { return has(key) ? (*this)[key].text() : ""; }
  [[nodiscard]] bool flag() const { return node_->scalar == "true"; }
  [[nodiscard]] double number() const { return number_of(*node_); }
  [[nodiscard]] std::optional<double> optional_number(const std::string& key) const {
    return has(key) ? std::optional((*this)[key].number()) : std::nullopt;
  }
  [[nodiscard]] std::vector<double> numbers() const;
  [[nodiscard]] Vector3 vector3() const;

  [[noreturn]] void refuse(const std::string& expected, const std::string& found, const std::string& advice) const {
    config::refuse(*document_, *node_, path_, expected, found, advice);
  }

 private:
  [[nodiscard]] double number_of(const Node& node) const;

  const Document* document_;
  const Node* node_;
  std::string path_;
};

/// Keys that a type needs, and keys that it may have besides.
struct TypeKeys {
  std::vector<std::string> needed;
  std::vector<std::string> allowed;
};

/// A unit quaternion [w, x, y, z]. @throws Mistake when its norm is not one
[[nodiscard]] Matrix3 read_rotation(const Field& field);
/// A vector of any length, normalised. @throws Mistake for one without a direction
[[nodiscard]] Vector3 read_direction(const Field& field);
/// "file:line: dotted.key", for messages of those who use the value later.
[[nodiscard]] std::string location_of(const Field& field);
/// Two vectors, one for each body. @throws Mistake for another number of them
[[nodiscard]] std::vector<Vector3> read_two(const Field& field, bool directions);
[[nodiscard]] std::vector<std::string> read_texts(const Field& field);
/// Adds a name to the files that travel with the scenario, each once; empty = none.
void add_file(std::vector<std::string>& files, const std::string& name);
/// @param type    what the keys are for, in messages
/// @param always  keys that every type may have
/// @throws Mistake for a key that `type` does not know and for one that it lacks
void check_keys(const Field& field, const std::string& type, const TypeKeys& use, const std::vector<std::string>& always);

}  // namespace heelstrike::config
