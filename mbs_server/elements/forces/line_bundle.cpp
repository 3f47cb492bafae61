#include "mbs_server/elements/forces/line_bundle.hpp"

#include <iterator>
#include <memory>
#include <utility>

namespace heelstrike::mbs {
namespace {

class LineBundle final : public ForceElement {
 public:
  LineBundle(std::string name, const std::vector<LineElement>& lines) : name_(std::move(name)) {
    for (const auto& line : lines) lines_.push_back(std::make_unique<LineForce>(line));
  }

  [[nodiscard]] std::string name() const override { return name_; }
  void add_forces(const MotionState& at, Eigen::Ref<VectorX> g, EnergyTerms& energy) override {
    for (auto& line : lines_) line->add_forces(at, g, energy);
  }
  void add_tangents(const MotionState& at, SparseAssembler& K, SparseAssembler& C) override {
    for (auto& line : lines_) line->add_tangents(at, K, C);
  }
  [[nodiscard]] std::string check_initial_state(const MotionState& at) const override {
    std::string notes;
    for (const auto& line : lines_) {
      const std::string note = line->check_initial_state(at);
      if (!note.empty()) notes += (notes.empty() ? "" : "; ") + note;
    }
    return notes;
  }
  [[nodiscard]] std::vector<Column> columns() const override {
    std::vector<Column> columns = {{name_ + ".force_N", "N", "sum of the line tensions"}};
    for (const auto& line : lines_) {
      auto more = line->columns();
      std::move(more.begin(), more.end(), std::back_inserter(columns));
    }
    return columns;
  }
  void append_values(const MotionState& at, std::vector<double>& row) const override {
    const std::size_t total = row.size();
    row.push_back(0.0);
    for (const auto& line : lines_) {
      // The tension is the third column of a line.
      const std::size_t first = row.size();
      line->append_values(at, row);
      row[total] += row[first + 2];
    }
  }

 private:
  std::string name_;
  std::vector<std::unique_ptr<LineForce>> lines_;
};

}  // namespace

Force line_bundle(const std::string& name, std::vector<LineElement> lines) {
  Force force{.name = name, .make = {}};
  force.make = [name, lines = std::move(lines)] { return std::make_unique<LineBundle>(name, lines); };
  return force;
}

}  // namespace heelstrike::mbs
