#include "importers/opensim/external_loads.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <pugixml.hpp>

#include "common/errors/error.hpp"
#include "common/text/markup.hpp"

namespace heelstrike::osim {
namespace {

using Node = pugi::xml_node;

/// Without blanks; OpenSim writes "Unassigned" for an absent name.
std::string name_in(Node node, const char* key) {
  std::string text = node.child(key).text().as_string();
  constexpr const char* blanks = " \t\r\n";
  text.erase(text.find_last_not_of(blanks) + 1);
  text.erase(0, std::min(text.find_first_not_of(blanks), text.size()));
  return text == "Unassigned" ? "" : text;
}

/// "/bodyset/calcn_r" as "calcn_r".
std::string body_in(Node node, const char* key) {
  const std::string path = name_in(node, key);
  return path.substr(path.rfind('/') + 1);
}

class LoadsReader {
 public:
  explicit LoadsReader(std::string file) : file_(std::move(file)) {}

  ExternalLoads read(const std::string& text) {
    check_xml_nesting(text, file_, "external_loads");
    pugi::xml_document document;
    const auto result = document.load_buffer(text.data(), text.size());
    if (!result) reject(fmt::format("expected XML, found at byte {}: {}", result.offset, result.description()));
    const Node root = document.child("OpenSimDocument").child("ExternalLoads");
    if (!root) {
      reject(
          "expected ExternalLoads in an OpenSimDocument, found none; name the file that assigns force plates to "
          "bodies");
    }
    for (const Node node : root.child("objects").children()) {
      if (node.type() == pugi::node_element) add(node);
    }
    if (loads_.forces.empty()) reject("expected at least one ExternalForce, found none");
    loads_.data_file = name_in(root, "datafile");
    constexpr const char* kinematics = "external_loads_model_kinematics_file";
    if (const std::string file = name_in(root, kinematics); !file.empty()) {
      loads_.unsupported.push_back(
          fmt::format("{} = {}: points in the ground follow the motion of the scenario", kinematics, file));
    }
    return std::move(loads_);
  }

 private:
  [[noreturn]] void reject(const std::string& text) const {
    throw input_error("external_loads", fmt::format("{}: {}", file_, text));
  }

  void add(Node node) {
    const std::string name = node.attribute("name").as_string();
    if (std::string(node.name()) != "ExternalForce") {
      loads_.unsupported.push_back(fmt::format("{} {}: this load is not supported", node.name(), name));
      return;
    }
    ExternalForce force{.name = name,
                        .body = body_in(node, "applied_to_body"),
                        .force = name_in(node, "force_identifier"),
                        .torque = name_in(node, "torque_identifier"),
                        .point = name_in(node, "point_identifier")};
    if (const std::string axes = body_in(node, "force_expressed_in_body"); !axes.empty()) force.axes = axes;
    if (const std::string frame = body_in(node, "point_expressed_in_body"); !frame.empty()) force.point_frame = frame;
    force.applies = name_in(node, "appliesForce") != "false" && name_in(node, "isDisabled") != "true";
    const auto expected = [&](const char* what, const char* advice) {
      reject(fmt::format("ExternalForce '{}': expected {}, found none; {}", name, what, advice));
    };
    if (name.empty()) expected("a name", "add the attribute `name`");
    if (force.body.empty()) expected("applied_to_body", "name the body that it acts on");
    if (force.force.empty() && force.torque.empty())
      expected("force_identifier or torque_identifier", "name the beginning of three columns of the data file");
    if (std::ranges::find(loads_.forces, name, &ExternalForce::name) != loads_.forces.end()) {
      reject(fmt::format("ExternalForce '{}': expected different names, found it twice; rename one", name));
    }
    loads_.forces.push_back(std::move(force));
  }

  std::string file_;
  ExternalLoads loads_;
};

}  // namespace

ExternalLoads read_external_loads(const std::string& text, const std::string& file) {
  return LoadsReader(file).read(text);
}

std::array<std::string, 3> component_headings(const MotionTable& data, const std::string& identifier,
                                              const ExternalForce& force) {
  std::vector<std::string> found;
  for (const std::string& heading : data.headings) {
    if (heading.starts_with(identifier)) found.push_back(heading);
  }
  if (found.size() == 3) return {found[0], found[1], found[2]};
  throw input_error("external_loads",
                    fmt::format("ExternalForce '{}': expected three columns that begin with '{}' in {}, found {}; the "
                                "file has {}",
                                force.name, identifier, data.file_name,
                                found.empty() ? std::string("none") : fmt::format("{}", fmt::join(found, ", ")),
                                fmt::join(data.headings, ", ")));
}

}  // namespace heelstrike::osim
