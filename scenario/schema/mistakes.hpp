/// Collects all mistakes of a scenario file, so that they can be corrected together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/errors/error.hpp"
#include "scenario/schema/document.hpp"

namespace heelstrike::config {

/// One mistake in a file with its line.
class Mistake : public Error {
 public:
  /// @param message  begins with the position
  Mistake(int line, std::string field, const std::string& message)
      : Error(ErrorCode::invalid_input, message, std::move(field)), line_(line) {}
  [[nodiscard]] int line() const { return line_; }

 private:
  int line_;
};

/// The mistake "location: text" at `node`. @param field  dotted key
[[nodiscard]] Mistake mistake_at(const Document& document, const Node& node, std::string field,
                                 const std::string& text);

/// Adds to an error about a value of the scenario the position of that value or, if absent from the file, of its
/// parent.
[[nodiscard]] Mistake mistake_of(const Document& document, const Error& error);

/// Mistakes found so far.
class Mistakes {
 public:
  /// Runs `work` and stores its Mistake, so that reading continues.
  template <typename Work>
  void attempt(Work&& work) {
    try {
      work();
    } catch (const Mistake& mistake) {
      add(mistake);
    }
  }
  void add(Mistake mistake);

  /// True if `path`, a dotted key, or a key below it is invalid and cannot be read further.
  [[nodiscard]] bool touch(std::string_view path) const;

  /// @throws Mistake if there are any: one line each in file order, limited to the first ones and the number of others;
  /// field and line are those of the first
  void raise();

 private:
  std::vector<Mistake> found_;
  std::size_t n_more_ = 0;  ///< not stored, beyond the limit of messages
};

}  // namespace heelstrike::config
