/// Saved state as bytes: little-endian numbers and length-prefixed texts, identical on every machine.
///
/// A struct lists its saved members and their order once; writer and reader both visit this list:
///
///     template <class Archive, class Self>  // Self is const for the writer
///     static void transfer(Archive& archive, Self& self) { archive(self.p, self.names); }
///
/// Supported are flags, integers, texts, matrices, poses, optional values and lists of all these. The reader rejects
/// values that the writer cannot have written: non-finite numbers, flags other than 0 and 1, poses whose R is not a
/// rotation, counts beyond the end of the bytes.
///
/// Common part of all saved histories: format, back-end, approach velocity, and one visitor that writes and reads the
/// remaining members.
#pragma once

#include <fmt/format.h>
#include <Eigen/Core>
#include <Eigen/LU>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/errors/error.hpp"
#include "common/spatial/spatial.hpp"
#include "fem_server/backend_interface/backend.hpp"

namespace heelstrike::fem {

template <class T, class Of>
concept MaybeConst = std::same_as<std::remove_const_t<T>, Of>;

class StateWriter {
 public:
  static constexpr bool reads = false;

  void put(std::uint64_t value);
  void put(std::int64_t value) { put(static_cast<std::uint64_t>(value)); }
  void put(double value);
  void put(std::string_view text);

  template <class... Values>
  void operator()(const Values&... values) {
    (write_value(values), ...);
  }
  /// Identifies the bytes; the reader uses the name of the text in its message.
  void label(std::string_view /*name*/, std::string_view text) { put(text); }
  [[nodiscard]] std::uint64_t count(std::uint64_t n) {
    put(n);
    return n;
  }
  void require(bool /*valid*/, std::string_view /*expected*/) {}

  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  template <class T>
  void write_value(const T& value);

  std::string bytes_;
};

/// Reads the bytes of StateWriter. Every function throws Error{invalid_input} when the bytes end too early.
class StateReader {
 public:
  static constexpr bool reads = true;

  /// @param what  for messages, e.g. "saved state of back-end flores"
  StateReader(std::string_view bytes, std::string what);

  template <class... Values>
  void operator()(Values&... values) {
    (get_value(values), ...);
  }
  /// @throws Error{invalid_input} unless the next text is `expected`; `name` describes it
  void label(std::string_view name, std::string_view expected);
  /// Number of values that follow, each of at least 8 bytes. @throws Error{invalid_input} if fewer bytes remain
  [[nodiscard]] std::size_t count(std::uint64_t before);
  /// @throws Error{invalid_input} unless `valid`. @param expected  content of valid bytes at this position
  void require(bool valid, std::string_view expected) const;
  /// @throws Error{invalid_input} when bytes remain
  void finish() const;

 private:
  [[nodiscard]] std::string_view next(std::uint64_t count);
  [[nodiscard]] std::uint64_t integer();
  template <class T>
  void get_value(T& value);

  std::string_view rest_;
  std::string what_;
};

/// Column by column; the size of a matrix of dynamic size precedes it.
template <class Archive, class Matrix>
requires requires {
  Matrix::SizeAtCompileTime;
}
void transfer(Archive& archive, Matrix& m) {
  if constexpr (Matrix::SizeAtCompileTime == Eigen::Dynamic) {
    const auto n = archive.count(static_cast<std::uint64_t>(m.size()));
    if constexpr (Archive::reads) m.resize(static_cast<Eigen::Index>(n));
  }
  for (Eigen::Index i = 0; i < m.size(); ++i) archive(m.data()[i]);
}

template <class Archive>
void transfer(Archive& archive, MaybeConst<Pose> auto& X) {
  archive(X.R, X.p);
  // A transmitted pose is a rotation up to rounding; any other would stretch the bodies that it moves.
  constexpr double significance_threshold = 1e-6;
  archive.require(
      (X.R * X.R.transpose() - Matrix3::Identity()).norm() < significance_threshold && X.R.determinant() > 0.0,
      "a rotation");
}

/// A flag for the presence of the value, then the value, or T{} if absent.
template <class Archive, class Optional>
requires MaybeConst<Optional, std::optional<typename Optional::value_type>>
void transfer(Archive& archive, Optional& value) {
  bool there = value.has_value();
  auto content = value.value_or(typename Optional::value_type{});
  archive(there, content);
  if constexpr (Archive::reads) {
    value.reset();
    if (there) value = std::move(content);
  }
}

template <class Archive, class List>
requires MaybeConst<List, std::vector<typename List::value_type>>
void transfer(Archive& archive, List& list) {
  const auto n = archive.count(list.size());
  if constexpr (Archive::reads) list.resize(n);
  for (auto& element : list) archive(element);
}

template <class T>
void StateWriter::write_value(const T& value) {
  if constexpr (std::same_as<T, double> || std::same_as<T, std::uint64_t>) {
    put(value);
  } else if constexpr (std::integral<T>) {
    put(static_cast<std::int64_t>(value));
  } else if constexpr (std::same_as<T, std::string>) {
    put(std::string_view(value));
  } else if constexpr (requires { T::transfer(*this, value); }) {
    T::transfer(*this, value);
  } else {
    transfer(*this, value);
  }
}

template <class T>
void StateReader::get_value(T& value) {
  if constexpr (std::same_as<T, double>) {
    value = std::bit_cast<double>(integer());
    require(std::isfinite(value), "a finite number");
  } else if constexpr (std::integral<T>) {
    const std::uint64_t found = integer();
    value = static_cast<T>(found);
    require(static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) == found,
            std::same_as<T, bool> ? "0 or 1" : "a smaller number");
  } else if constexpr (std::same_as<T, std::string>) {
    value = next(integer());
  } else if constexpr (requires { T::transfer(*this, value); }) {
    T::transfer(*this, value);
  } else {
    transfer(*this, value);
  }
}

/// @tparam Own  the history type: has `format` (text with a version that changes with the bytes) and `transfer` of its
///              additional members
template <class Own>
class SavedHistory : public History {
 public:
  std::string backend;                      ///< name of the back-end that wrote it
  std::optional<double> approach_velocity;  ///< [m/s] closing velocity at the onset of contact, > 0; none = no contact

  [[nodiscard]] std::string save() const final {
    StateWriter writer;
    transfer_all(writer, static_cast<const Own&>(*this));
    return writer.take();
  }

  [[nodiscard]] static std::shared_ptr<Own> of_backend(const std::string& name) {
    auto history = std::make_shared<Own>();
    history->backend = name;
    return history;
  }

  /// @throws Error{invalid_input} for bytes of another format or back-end and for damaged bytes
  [[nodiscard]] static std::shared_ptr<Own> load(std::string_view bytes, const std::string& name) {
    auto history = of_backend(name);
    StateReader reader(bytes, fmt::format("history of back-end '{}'", name));
    transfer_all(reader, *history);
    reader.finish();
    return history;
  }

  /// @throws Error{internal} for the history of another back-end
  [[nodiscard]] static const Own& from(const History& history) {
    if (const auto* own = dynamic_cast<const Own*>(&history)) return *own;
    throw Error(ErrorCode::internal,
                fmt::format("expected a history of format '{}', found that of another back-end", Own::format));
  }

 private:
  template <class Archive, class Self>
  static void transfer_all(Archive& archive, Self& self) {
    archive.label("format", Own::format);
    archive.label("back-end", self.backend);
    archive(self.approach_velocity);
    archive.require(self.approach_velocity.value_or(0.0) >= 0.0, "an approach velocity >= 0 m/s");
    Own::transfer(archive, self);
  }
};

}  // namespace heelstrike::fem
