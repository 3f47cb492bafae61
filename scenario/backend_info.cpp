#include "scenario/backend_info.hpp"

#include <algorithm>

#include "common/text/suggestion.hpp"

namespace heelstrike {
namespace {

/// A word of other programs or of the literature, and the back-ends that are closest to it.
struct CommonWord {
  std::string word;
  std::vector<std::string> backends;
};

const std::vector<CommonWord>& common_words() {
  static const std::vector<CommonWord> words = {
      {"penalty", {"elastic_foundation", "hertz", "hunt_crossley"}},
      {"spring", {"elastic_foundation", "hooke"}},
      {"winkler", {"elastic_foundation"}},
      {"linear", {"fem_condensed", "hooke"}},
      {"nonlinear", {"fem_layered", "fem_full"}},
      {"hyperelastic", {"fem_layered", "fem_full"}},
      {"complementarity", {"rigid", "rigid_coulomb"}},
      {"lcp", {"rigid", "rigid_coulomb"}},
      {"viscoelastic", {"kelvin_voigt", "hunt_crossley"}},
  };
  return words;
}

}  // namespace

std::string backend_suggestion(const std::string& word, std::span<const std::string> known,
                               const std::string& otherwise) {
  const auto common = std::ranges::find(common_words(), word, &CommonWord::word);
  if (common == common_words().end()) return suggestion(word, known, otherwise);
  std::vector<std::string> names;
  for (const std::string& name : common->backends) {
    if (std::ranges::find(known, name) != known.end()) names.push_back(name);
  }
  return names.empty() ? otherwise : did_you_mean(names);
}

std::string unknown_backend_message(const std::string& word, std::span<const std::string> known) {
  return unknown_name_message("back-end", word, known, backend_suggestion(word, known, ""));
}

}  // namespace heelstrike
