#include "library/fmu/terminals.hpp"

#include <map>
#include <pugixml.hpp>
#include <sstream>
#include <string_view>
#include <vector>

namespace heelstrike::fmu {
namespace {

/// The part of a variable name before the last dot: "ball" of "ball.fx_N".
std::string owner_of(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? std::string() : name.substr(0, dot);
}

/// Variables by terminal; only terminals with inputs can be connected.
std::map<std::string, std::vector<const FmuVariable*>> members_of(const FmuContent& content) {
  std::map<std::string, std::vector<const FmuVariable*>> members;
  if (!content.pair.empty()) {
    for (const FmuVariable& variable : content.variables) {
      if (variable.causality == Causality::input || variable.causality == Causality::output) {
        members[content.pair].push_back(&variable);
      }
    }
    return members;
  }
  for (const FmuVariable& variable : content.variables) {
    if (variable.causality == Causality::input) members[owner_of(variable.name)].push_back(&variable);
  }
  members.erase("");
  for (const FmuVariable& variable : content.variables) {
    if (variable.causality != Causality::output) continue;
    const auto owner = members.find(owner_of(variable.name));
    if (owner != members.end()) owner->second.push_back(&variable);
  }
  return members;
}

/// A square filled by the icon.
void add_icon(pugi::xml_node root) {
  auto picture = root.append_child("GraphicalRepresentation");
  for (const char* name : {"CoordinateSystem", "Icon"}) {
    auto area = picture.append_child(name);
    for (const char* corner : {"x1", "y1", "x2", "y2"}) {
      area.append_attribute(corner) = corner[1] == '1' ? -100 : 100;
    }
    if (std::string_view(name) == "CoordinateSystem") area.append_attribute("suggestedScalingFactorTo_mm") = "0.1";
  }
}

}  // namespace

std::string terminals(const FmuContent& content) {
  pugi::xml_document document;
  auto root = document.append_child("fmiTerminalsAndIcons");
  root.append_attribute("fmiVersion") = "3.0";
  add_icon(root);
  const auto members = members_of(content);
  if (!members.empty()) {
    auto list = root.append_child("Terminals");
    for (const auto& [name, variables] : members) {
      auto terminal = list.append_child("Terminal");
      terminal.append_attribute("name") = name.c_str();
      terminal.append_attribute("matchingRule") = "plug";
      terminal.append_attribute("terminalKind") = content.pair.empty() ? "heelstrike.body" : "heelstrike.contact";
      for (const FmuVariable* variable : variables) {
        auto member = terminal.append_child("TerminalMemberVariable");
        const std::string own = content.pair.empty() ? variable->name.substr(name.size() + 1) : variable->name;
        member.append_attribute("variableKind") = "signal";
        member.append_attribute("variableName") = variable->name.c_str();
        member.append_attribute("memberName") = own.c_str();
      }
    }
  }
  std::ostringstream text;
  document.save(text, "  ", pugi::format_default, pugi::encoding_utf8);
  return text.str();
}

}  // namespace heelstrike::fmu
