/// Checked values of a scenario file, for the readers of its sections.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/spatial/spatial.hpp"
#include "scenario/schema/document.hpp"
#include "scenario/schema/schema.hpp"

namespace heelstrike::config {

/// A checked value with its dotted key: reading cannot fail; only further checks can.
class Field {
 public:
  Field(const Document& document, const Node& node, std::string path)
      : document_(&document), node_(&node), path_(std::move(path)) {}

  [[nodiscard]] bool has(const std::string& key) const { return node_->find(key) != nullptr; }
  /// @throws Error{internal} if absent: the schema must require it or define a default
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

  [[noreturn]] void reject(const std::string& expected, const std::string& found, const std::string& advice) const {
    config::reject(*document_, *node_, path_, expected, found, advice);
  }

 private:
  [[nodiscard]] double number_of(const Node& node) const;

  const Document* document_;
  const Node* node_;
  std::string path_;
};

/// A unit quaternion [w, x, y, z]. @throws Issue if its norm is not one
[[nodiscard]] Matrix3 read_rotation(const Field& field);
/// A vector of any length, normalised. @throws Issue for a zero vector
[[nodiscard]] Vector3 read_direction(const Field& field);
/// "file:line: dotted.key", for later messages about the value.
[[nodiscard]] std::string location_of(const Field& field);
/// Two vectors, one for each body. @throws Issue for another number of them
[[nodiscard]] std::vector<Vector3> read_two(const Field& field, bool directions);
[[nodiscard]] std::vector<std::string> read_texts(const Field& field);
/// Adds a name to the files sent with the scenario, each once; empty = none.
void add_file(std::vector<std::string>& files, const std::string& name);

}  // namespace heelstrike::config
