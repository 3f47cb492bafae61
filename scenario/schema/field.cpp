#include "scenario/schema/field.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <cmath>

#include "common/errors/error.hpp"

namespace heelstrike::config {

Field Field::operator[](const std::string& key) const {
  const Node* value = node_->find(key);
  if (value == nullptr) throw Error(ErrorCode::internal, fmt::format("{}.{} was not checked", path_, key));
  return {*document_, *value, path_.empty() ? key : path_ + "." + key};
}

std::vector<Field> Field::entries() const {
  std::vector<Field> fields;
  for (const Entry& e : node_->entries) fields.emplace_back(*document_, *e.value, path_ + "." + e.key);
  return fields;
}

std::vector<double> Field::numbers() const {
  std::vector<double> values;
  for (const auto& item : node_->items) values.push_back(number_of(*item));
  return values;
}

Vector3 Field::vector3() const {
  const auto values = numbers();
  return {values.at(0), values.at(1), values.at(2)};
}

double Field::number_of(const Node& node) const {
  double value = 0.0;
  if (!read_number(node, value)) throw Error(ErrorCode::internal, path_ + " was not checked");
  return value;
}

Matrix3 read_rotation(const Field& field) {
  const auto q = field.numbers();
  const double norm = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  if (!(std::abs(norm - 1.0) <= quaternion_norm_tolerance)) {
    field.reject(fmt::format("a unit quaternion [w, x, y, z] (norm within {:g} of 1)", quaternion_norm_tolerance),
                 fmt::format("norm {}", norm),
                 norm > 0.0 ? "divide its entries by this norm" : "no rotation is [1, 0, 0, 0]");
  }
  return rotation_from_quaternion(Quaternion(q[0], q[1], q[2], q[3]));
}

Vector3 read_direction(const Field& field) {
  const Vector3 direction = field.vector3();
  const double length = direction.norm();
  constexpr double shortest = 1e-9;  // for entries near one; far above underflow of their squares
  if (!(length >= shortest)) {
    field.reject(fmt::format("a direction of nonzero length (at least {:g})", shortest),
                 fmt::format("length {:g}", length), "give e.g. [0, 0, 1]");
  }
  return direction / length;
}

std::string location_of(const Field& field) {
  return fmt::format("{}: {}", location(field.document(), field.node()), field.path());
}

std::vector<Vector3> read_two(const Field& field, bool directions) {
  std::vector<Vector3> values;
  for (const auto& item : field.node().items) {
    const Field entry(field.document(), *item, field.path());
    values.push_back(directions ? read_direction(entry) : entry.vector3());
  }
  if (values.size() != 2) {
    field.reject("two vectors: one for each body", fmt::format("{}", values.size()), "give [[...], [...]]");
  }
  return values;
}

std::vector<std::string> read_texts(const Field& field) {
  std::vector<std::string> texts;
  for (const auto& item : field.node().items) texts.push_back(item->scalar);
  return texts;
}

void add_file(std::vector<std::string>& files, const std::string& name) {
  if (!name.empty() && std::ranges::find(files, name) == files.end()) files.push_back(name);
}

}  // namespace heelstrike::config
