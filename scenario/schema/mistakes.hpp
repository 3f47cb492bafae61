/// All mistakes of a scenario file at once, so that nobody mends them one run at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenario/schema/document.hpp"
#include "common/errors/error.hpp"

namespace heelstrike::config {

/// One mistake in a file with its line.
class Mistake : public Error {
 public:
  /// @param message  begins with the place
  Mistake(int line, std::string field, const std::string& message)
      : Error(ErrorCode::invalid_input, message, std::move(field)), line_(line) {}
  [[nodiscard]] int line() const { return line_; }

 private:
  int line_;
};

/// The mistake "location: text" at `node`. @param field  dotted key
[[nodiscard]] Mistake mistake_at(const Document& document, const Node& node, std::string field,
                                 const std::string& text);

/// What a part that knows no files says about a value of the scenario, with the place of that value or, where the file
/// does not have it, of what it belongs to.
[[nodiscard]] Mistake mistake_of(const Document& document, const Error& error);

/// What was found so far.
class Mistakes {
 public:
  /// Runs `work`; what it refuses is kept instead of ending the reading.
  template <typename Work>
  void attempt(Work&& work) {
    try {
      work();
    } catch (const Mistake& mistake) {
      add(mistake);
    }
  }
  void add(Mistake mistake);

  /// Whether `path`, a dotted key, or something below it is wrong: it can then not be read any further.
  [[nodiscard]] bool touch(std::string_view path) const;

  /// @throws Mistake when there are any: one line for each in the order of the file, of very many the first ones and
  /// how many more there are; field and line are those of the first
  void raise();

 private:
  std::vector<Mistake> found_;
  std::size_t n_more_ = 0;  ///< not kept, because nobody reads so many
};

}  // namespace heelstrike::config
