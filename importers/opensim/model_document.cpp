#include "importers/opensim/model_document.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heelstrike::osim {
namespace {

using Node = pugi::xml_node;

struct Renamed {
  std::string_view from, to;
};

constexpr std::array<Renamed, 9> renamed_classes = {{{"ActuatorSet", "ForceSet"},
                                                     {"Delp1990Muscle", "Delp1990Muscle_Deprecated"},
                                                     {"Schutte1993Muscle", "Schutte1993Muscle_Deprecated"},
                                                     {"MuscleWrap", "PathWrap"},
                                                     {"MuscleWrapSet", "PathWrapSet"},
                                                     {"MusclePoint", "PathPoint"},
                                                     {"MuscleViaPoint", "ConditionalPathPoint"},
                                                     {"MovingMusclePoint", "MovingPathPoint"},
                                                     {"MusclePointSet", "PathPointSet"}}};

/// Members of path points, contact geometry and constraints with two points, by the end of their owner's name.
struct RenamedMember {
  std::string_view owner, from, to;
};
constexpr std::array<RenamedMember, 17> renamed_members = {
    {{"PathPoint", "body", "socket_parent_frame"},
     {"ConditionalPathPoint", "coordinate", "socket_coordinate"},
     {"ConditionalPathPoint", "coordinates", "socket_coordinate"},
     {"MovingPathPoint", "x_coordinate", "socket_x_coordinate"},
     {"MovingPathPoint", "y_coordinate", "socket_y_coordinate"},
     {"MovingPathPoint", "z_coordinate", "socket_z_coordinate"},
     {"MovingPathPoint", "XAttachment", "x_location"},
     {"MovingPathPoint", "YAttachment", "y_location"},
     {"MovingPathPoint", "ZAttachment", "z_location"},
     {"PointConstraint", "body_1", "socket_body_1"},
     {"PointConstraint", "body_2", "socket_body_2"},
     {"ConstantDistanceConstraint", "body_1", "socket_body_1"},
     {"ConstantDistanceConstraint", "body_2", "socket_body_2"},
     {"PointOnLineConstraint", "line_body", "socket_line_body"},
     {"PointOnLineConstraint", "follower_body", "socket_follower_body"},
     {"Muscle", "pennation_angle", "pennation_angle_at_optimal"},
     {"Muscle_Deprecated", "pennation_angle", "pennation_angle_at_optimal"}}};

std::string trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(blanks) - begin + 1));
}

std::string value_of(Node node, const char* key) {
  return trimmed(node.child_value(key));
}

void rename(Node node, std::string_view name) {
  node.set_name(std::string(name).c_str());
}

void add(Node owner, const char* key, const std::string& value) {
  owner.append_child(key).text().set(value.c_str());
}

std::vector<Node> elements(Node list) {
  std::vector<Node> found;
  for (const Node child : list.children()) {
    if (child.type() == pugi::node_element) found.push_back(child);
  }
  return found;
}

/// Version 4 requires names; components without one get that of their class.
void name_components(Node list) {
  std::map<std::string, int> unnamed;
  for (Node item : elements(list)) {
    if (!trimmed(item.attribute("name").as_string()).empty()) continue;
    std::string name = item.name();
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const int n = ++unnamed[name];
    if (n > 1) name += "_" + std::to_string(n);
    item.remove_attribute("name");
    item.append_attribute("name").set_value(name.c_str());
  }
}

/// <connectors><Connector_X_ name="N"><connectee_name> and connector_N_connectee_name, which are from the development
/// of version 4.0, become socket_N.
void rename_sockets(Node node) {
  while (const Node connectors = node.child("connectors")) {
    for (const Node connector : elements(connectors)) {
      const std::string socket = std::string("socket_") + connector.attribute("name").as_string();
      add(node, socket.c_str(), value_of(connector, "connectee_name"));
    }
    node.remove_child(connectors);
  }
  for (Node child : elements(node)) {
    std::string_view name = child.name();
    if (!name.starts_with("connector_") && !name.starts_with("socket_")) continue;
    constexpr std::string_view connectee = "_connectee_name";
    if (name.ends_with(connectee)) name.remove_suffix(connectee.size());
    rename(child, "socket_" + std::string(name.substr(name.find('_') + 1)));
  }
}

void rename_members(Node node) {
  const std::string_view owner = node.name();
  for (const RenamedMember& member : renamed_members) {
    if (!owner.ends_with(member.owner)) continue;
    if (Node child = node.child(std::string(member.from).c_str())) rename(child, member.to);
  }
  if (owner.starts_with("Contact")) {
    if (Node child = node.child("body_name")) rename(child, "socket_frame");
  }
  if (Node disabled = node.child("isDisabled")) {
    const bool applies = value_of(node, "isDisabled") != "true";
    rename(disabled, owner.ends_with("Constraint") ? "isEnforced" : "appliesForce");
    disabled.text().set(applies ? "true" : "false");
  }
}

/// Muscles before 2.3 have their path points and wraps beside their parameters.
void gather_path(Node node) {
  const bool is_path = std::string_view(node.name()) == "GeometryPath";
  if (is_path || node.child("GeometryPath") || !node.child("PathPointSet")) return;
  Node path = node.append_child("GeometryPath");
  path.append_move(node.child("PathPointSet"));
  if (const Node wraps = node.child("PathWrapSet")) path.append_move(wraps);
}

void join_inertia(Node node) {
  if (!node.child("inertia_xx")) return;
  std::string inertia;
  for (const char* key : {"inertia_xx", "inertia_yy", "inertia_zz", "inertia_xy", "inertia_xz", "inertia_yz"}) {
    const std::string value = value_of(node, key);
    inertia += (value.empty() ? "0" : value) + " ";
    node.remove_child(key);
  }
  add(node, "inertia", trimmed(inertia));
}

/// Axes of a CustomJoint before 1.9.1 are a list, each marked as rotation or translation.
void order_axes(Node joint) {
  const Node list = joint.child("TransformAxisSet");
  if (!list) return;
  Node transform = joint.append_child("SpatialTransform");
  std::size_t rotations = 0, translations = 0;
  for (Node axis : elements(list.child("objects"))) {
    const bool turns = value_of(axis, "is_rotation") == "true";
    axis.remove_child("is_rotation");
    const std::string name =
        turns ? "rotation" + std::to_string(++rotations) : "translation" + std::to_string(++translations);
    if (!axis.attribute("name")) axis.append_attribute("name");
    axis.attribute("name").set_value(name.c_str());
    if (Node coordinate = axis.child("coordinate")) rename(coordinate, "coordinates");
    transform.append_move(axis);
  }
  joint.remove_child("TransformAxisSet");
}

/// Adds an offset frame to a body. @param suffix  of the members that place it
/// @returns the frame's name
std::string add_offset(Node owner, const std::string& body, const std::string& location,
                       const std::string& orientation) {
  Node frames = owner.child("frames") ? owner.child("frames") : owner.append_child("frames");
  Node frame = frames.append_child("PhysicalOffsetFrame");
  const std::string name = body.substr(body.rfind('/') + 1) + "_offset";
  frame.append_attribute("name").set_value(name.c_str());
  add(frame, "socket_parent", body);
  if (!location.empty()) add(frame, "translation", location);
  if (!orientation.empty()) add(frame, "orientation", orientation);
  return name;
}

/// Replaces a body and the members that place a frame in it by an offset frame and a socket.
void place_frame(Node owner, const std::string& socket, const std::string& body, const std::string& location,
                 const std::string& orientation) {
  const std::string frame =
      add_offset(owner, body, value_of(owner, location.c_str()), value_of(owner, orientation.c_str()));
  for (const std::string& key : {location, orientation}) owner.remove_child(key.c_str());
  owner.remove_child(socket.c_str());
  add(owner, socket.c_str(), frame);
}

void convert_weld(Node node) {
  if (!node.child("body_1")) return;
  for (const std::string side : {"1", "2"}) {
    const std::string key = "body_" + side;
    place_frame(node, "socket_frame" + side, value_of(node, key.c_str()), "location_" + key, "orientation_" + key);
    node.remove_child(key.c_str());
  }
}

/// Members of a joint. Its sockets are named after bodies until version 3.5.4.
void convert_joint(Node joint) {
  order_axes(joint);
  if (Node location = joint.child("location")) rename(location, "location_in_child");
  if (Node orientation = joint.child("orientation")) rename(orientation, "orientation_in_child");
  for (const std::string side : {"parent", "child"}) {
    const std::string socket = "socket_" + side + "_frame";
    if (Node old = joint.child(("socket_" + side + "_body").c_str())) rename(old, socket);
    const std::string body = value_of(joint, socket.c_str());
    if (joint.child("frames").find_child_by_attribute("name", body.substr(body.rfind('/') + 1).c_str())) continue;
    place_frame(joint, socket, body, "location_in_" + side, "orientation_in_" + side);
  }
  if (Node set = joint.child("CoordinateSet")) {
    Node coordinates = joint.append_child("coordinates");
    for (const Node coordinate : elements(set.child("objects"))) coordinates.append_move(coordinate);
    joint.remove_child("CoordinateSet");
  }
}

/// Moves the joint in each body to the model, and members of the body `ground` to the element Ground.
void move_joints(Node model) {
  Node bodies = model.child("BodySet").child("objects");
  Node joints = model.child("JointSet") ? model.child("JointSet") : model.append_child("JointSet");
  if (!joints.child("objects")) joints.append_child("objects");
  for (Node body : elements(bodies)) {
    const std::string name = body.attribute("name").as_string();
    for (Node joint : elements(body.child("Joint"))) {
      if (!joint.attribute("name") || trimmed(joint.attribute("name").as_string()).empty()) {
        joint.remove_attribute("name");
        joint.append_attribute("name").set_value((name + "_joint").c_str());
      }
      const std::string parent = value_of(joint, "parent_body");
      joint.remove_child("parent_body");
      add(joint, "socket_parent_frame", parent.empty() ? "ground" : parent);
      add(joint, "socket_child_frame", name);
      joints.child("objects").append_move(joint);
    }
    body.remove_child("Joint");
    if (name == "ground") {
      rename(body, "Ground");
      for (const char* key : {"mass", "mass_center", "inertia"}) body.remove_child(key);
      model.append_move(body);
    }
  }
}

void convert_elements(Node node) {
  for (Node child : elements(node)) {
    for (const Renamed& type : renamed_classes) {
      if (child.name() == type.from) rename(child, type.to);
    }
    rename_sockets(child);
    rename_members(child);
    if (std::string_view(child.name()) == "objects") name_components(child);
    convert_elements(child);
    gather_path(child);
    join_inertia(child);
    if (std::string_view(child.name()) == "WeldConstraint") convert_weld(child);
  }
}

/// Members of the default object that components of its class below `node` omit.
void complete_components(Node node, Node default_object) {
  for (Node child : elements(node)) {
    if (std::string_view(child.name()) != default_object.name()) {
      complete_components(child, default_object);
      continue;
    }
    for (const Node member : elements(default_object)) {
      if (!child.child(member.name())) child.append_copy(member);
    }
  }
}

}  // namespace

void apply_default_objects(Node model) {
  const Node defaults = model.child("defaults");
  for (const Node set : elements(model)) {
    if (set == defaults) continue;
    for (const Node default_object : elements(defaults)) complete_components(set, default_object);
  }
  model.remove_child("defaults");
}

void convert_to_version_4(Node document) {
  Node model = document.child("Model");
  for (const Node member : elements(model.child("DynamicsEngine").child("SimbodyEngine"))) model.append_move(member);
  model.remove_child("DynamicsEngine");
  convert_elements(model);
  move_joints(model);
  for (const Node joint : elements(model.child("JointSet").child("objects"))) convert_joint(joint);
  if (const Node frames = model.child("FrameSet").child("objects")) {
    Node components = model.child("components") ? model.child("components") : model.append_child("components");
    for (const Node frame : elements(frames)) components.append_move(frame);
    model.remove_child("FrameSet");
  }
}

}  // namespace heelstrike::osim
