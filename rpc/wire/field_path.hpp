/// Position of a value in a message, for errors. Allocates only when an error is thrown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heelstrike::wire {

class FieldPath {
 public:
  explicit FieldPath(std::string_view name) : name_(name) {}
  /// `parent` must outlive this object.
  FieldPath(const FieldPath& parent, std::string_view name) : parent_(&parent), name_(name) {}
  FieldPath(const FieldPath& parent, std::string_view name, std::size_t index)
      : parent_(&parent), name_(name), index_(static_cast<long>(index)) {}
  FieldPath(const FieldPath&) = delete;
  FieldPath& operator=(const FieldPath&) = delete;

  /// "pairs[0].state.X_AB.position.x"
  [[nodiscard]] std::string text() const;

 private:
  const FieldPath* parent_ = nullptr;
  std::string_view name_;
  long index_ = -1;
};

/// @throws Error{invalid_input} with the field if `value` is not finite
double finite(double value, const FieldPath& path);

/// @throws Error{invalid_input} with the field of a missing required part of the message
[[noreturn]] void throw_missing(const FieldPath& path);

/// @throws Error{invalid_input} "FIELD: expected EXPECTED, found FOUND"
[[noreturn]] void reject(const FieldPath& path, std::string_view expected, std::string_view found);
[[noreturn]] void reject(const FieldPath& path, std::string_view expected, double found);

}  // namespace heelstrike::wire
