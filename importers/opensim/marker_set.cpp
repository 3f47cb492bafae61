#include "importers/opensim/marker_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>

#include "common/errors/error.hpp"
#include "common/text/markup.hpp"
#include "importers/model_numbers.hpp"

namespace heelstrike::osim {
namespace {

using Node = pugi::xml_node;

[[noreturn]] void reject(const std::string& file, const std::string& text) {
  throw input_error("markers", fmt::format("{}: {}", file, text));
}

/// The last name of a path: "/bodyset/pelvis" as "pelvis".
std::string last_name(std::string path) {
  constexpr const char* blanks = " \t\r\n";
  path.erase(path.find_last_not_of(blanks) + 1);
  path.erase(0, std::min(path.find_first_not_of(blanks), path.size()));
  return path.substr(path.rfind('/') + 1);
}

/// None for text that is not only numbers.
std::vector<double> numbers(Node node) {
  return models::numbers_in(node.text().as_string()).value_or(std::vector<double>());
}

/// The first element of this name anywhere in the file.
Node find_set(pugi::xml_document& document, const std::string& text, const std::string& file, const char* name) {
  check_xml_nesting(text, file, "markers");
  const auto result = document.load_buffer(text.data(), text.size());
  if (!result) reject(file, fmt::format("expected XML, found at byte {}: {}", result.offset, result.description()));
  const Node set = document.find_node([&](Node node) { return std::string_view(node.name()) == name; });
  if (!set) reject(file, fmt::format("expected an element {}, found none", name));
  return set.child("objects");
}

}  // namespace

std::vector<Marker> read_marker_set(const std::string& text, const std::string& file) {
  pugi::xml_document document;
  std::map<std::string, Marker> seen;
  std::vector<Marker> markers;
  for (const Node node : find_set(document, text, file, "MarkerSet").children("Marker")) {
    Marker marker{.name = node.attribute("name").as_string(), .body = {}};
    // Version 4 has a path to the frame, earlier ones the name of the body.
    const Node frame = node.child("socket_parent_frame") ? node.child("socket_parent_frame") : node.child("body");
    marker.body = last_name(frame.text().as_string());
    const std::vector<double> p = numbers(node.child("location"));
    if (marker.body.empty() || p.size() != 3) {
      reject(file, fmt::format("marker '{}': expected a body and a location of three numbers, found '{}' and {}",
                               marker.name, marker.body, p.size()));
    }
    marker.p_BM = {p[0], p[1], p[2]};
    if (!seen.emplace(marker.name, marker).second) {
      reject(file, fmt::format("expected each marker once, found '{}' twice", marker.name));
    }
    markers.push_back(std::move(marker));
  }
  if (markers.empty()) reject(file, "expected at least one Marker, found none");
  return markers;
}

MarkerTasks read_marker_tasks(const std::string& text, const std::string& file) {
  pugi::xml_document document;
  MarkerTasks tasks;
  for (const Node node : find_set(document, text, file, "IKTaskSet").children()) {
    if (node.type() != pugi::node_element) continue;
    const std::string name = node.attribute("name").as_string();
    const bool applies = last_name(node.child("apply").text().as_string("true")) != "false";
    const std::string kind = node.name();
    const std::vector<double> weight = numbers(node.child("weight"));
    if (weight.size() != 1 || weight[0] < 0.0) {
      reject(file, fmt::format("{} '{}': expected a weight >= 0, found '{}'", kind, name,
                               node.child("weight").text().as_string()));
    }
    if (kind == "IKMarkerTask") {
      tasks.weights[name] = applies ? weight[0] : 0.0;
      continue;
    }
    if (!applies || weight[0] == 0.0) continue;
    const std::string source = last_name(node.child("value_type").text().as_string());
    const std::vector<double> value = numbers(node.child("value"));
    if (kind == "IKCoordinateTask" && source == "default_value") {
      tasks.coordinates.push_back({.coordinate = name, .weight = weight[0]});
    } else if (kind == "IKCoordinateTask" && source == "manual_value" && value.size() == 1) {
      tasks.coordinates.push_back({.coordinate = name, .weight = weight[0], .value = value[0]});
    } else {
      tasks.unsupported.push_back(fmt::format("{} {} {}", kind, name, source));
    }
  }
  return tasks;
}

std::map<std::string, ScalarFunctionPtr> read_coordinate_functions(const std::string& text, const std::string& file) {
  pugi::xml_document document;
  std::map<std::string, ScalarFunctionPtr> functions;
  for (const Node node : find_set(document, text, file, "FunctionSet").children()) {
    if (node.type() != pugi::node_element) continue;
    const std::string kind = node.name();
    const std::string name = last_name(node.attribute("name").as_string());
    if (kind != "SimmSpline" && kind != "PiecewiseLinearFunction") {
      reject(file,
             fmt::format("function of '{}': expected a SimmSpline or a PiecewiseLinearFunction, found {}", name, kind));
    }
    const std::vector<double> x = numbers(node.child("x"));
    const std::vector<double> y = numbers(node.child("y"));
    try {
      functions[name] = make_table(x, y, kind == "SimmSpline" ? Joining::spline : Joining::lines);
    } catch (const Error& error) {
      reject(file, fmt::format("function of '{}': {}", name, error.what()));
    }
  }
  return functions;
}

}  // namespace heelstrike::osim
