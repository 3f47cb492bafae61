#include "importers/opensim/osim_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <Eigen/Geometry>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numbers>
#include <optional>
#include <pugixml.hpp>
#include <ranges>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "common/errors/error.hpp"
#include "common/text/markup.hpp"
#include "importers/model_numbers.hpp"
#include "importers/opensim/model_document.hpp"

namespace heelstrike::osim {
namespace {

using Node = pugi::xml_node;

Matrix3 rotation_about(const Vector3& axis, double angle) {
  return Eigen::AngleAxisd(angle, axis.normalized()).toRotationMatrix();
}

/// Last part of a path such as /bodyset/tibia_r.
std::string last_part(std::string path) {
  const auto begin = path.find_first_not_of(" \t\r\n");
  const auto end = path.find_last_not_of(" \t\r\n");
  path = begin == std::string::npos ? "" : path.substr(begin, end - begin + 1);
  return path.substr(path.rfind('/') + 1);
}

std::string name_of(Node node) {
  return node.attribute("name").as_string();
}

/// Text without surrounding blanks, truncated for a list.
std::string one_line(std::string text) {
  constexpr std::size_t longest = 40;
  std::ranges::replace_if(
      text, [](char c) { return c == '\t' || c == '\r' || c == '\n'; }, ' ');
  const auto begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  text = text.substr(begin, text.find_last_not_of(' ') - begin + 1);
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

/// Unused elements of a file, grouped by kind of owner and path, one line per group.
class UnusedElements {
 public:
  /// @param value  empty for an element with children. @param name  of its owner
  void add(const std::string& kind, const std::string& path, const std::string& value, const std::string& name) {
    const std::string key = kind + ": " + path;
    auto group = std::ranges::find(groups_, key, &Group::key);
    if (group == groups_.end()) group = groups_.insert(group, {.key = key, .values = {}});
    auto found = std::ranges::find(group->values, value, &Value::text);
    if (found == group->values.end()) found = group->values.insert(found, {.text = value, .names = {}});
    found->names.push_back(name);
  }
  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (const Group& group : groups_) {
      std::size_t n = 0;
      std::vector<std::string> values;
      for (const Value& value : group.values) {
        n += value.names.size();
        values.push_back(value.text.empty() ? fmt::format("({})", owners(value))
                                            : fmt::format("= {} ({})", value.text, owners(value)));
      }
      lines.push_back(group.values.size() > max_values ? fmt::format("{}: {} values of {}", group.key, values.size(), n)
                                                       : fmt::format("{} {}", group.key, fmt::join(values, ", ")));
    }
    return lines;
  }

 private:
  static constexpr std::size_t max_values = 5, max_names = 5;
  struct Value {
    std::string text;
    std::vector<std::string> names;
  };
  struct Group {
    std::string key;
    std::vector<Value> values;
  };
  [[nodiscard]] static std::string owners(const Value& value) {
    if (value.names.size() <= max_names) return fmt::format("{}", fmt::join(value.names, ", "));
    return fmt::format("{} of them, {} ...", value.names.size(), value.names.front());
  }
  std::vector<Group> groups_;
};

/// Reads one file and includes its name in messages.
class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  [[nodiscard]] Model read(const std::string& text);

 private:
  [[noreturn]] void reject(const std::string& what) const {
    throw input_error("model", fmt::format("{}: {}", file_, what));
  }
  /// Accessors that mark every element read; unmarked elements are reported as unused. @{
  Node mark(Node node) {
    if (node) read_.insert(node.hash_value());
    return node;
  }
  Node take(Node node, const char* key) { return mark(node.child(key)); }
  [[nodiscard]] std::string text(Node node, const char* key) { return take(node, key).child_value(); }
  [[nodiscard]] std::vector<Node> items(Node list);
  [[nodiscard]] std::vector<double> numbers(Node node, const char* key, std::size_t n);
  [[nodiscard]] double number(Node node, const char* key, double fallback);
  [[nodiscard]] Vector3 vector(Node node, const char* key);
  [[nodiscard]] bool flag(Node node, const char* key, bool fallback);
  /// Marks an element that has no effect with this value.
  void accept(Node node, const char* key, std::string_view value) {
    if (last_part(node.child_value(key)) == value) take(node, key);
  }
  void accept_defaults(Node node, const std::string& path);
  /// @}
  [[nodiscard]] Pose placed(Node node, const char* translation, const char* rotation);
  [[nodiscard]] Frame frame(const std::string& socket, const std::vector<std::pair<std::string, Frame>>& local);
  [[nodiscard]] Frame frame_of(Node offset, const std::vector<std::pair<std::string, Frame>>& local);
  [[nodiscard]] Frame station(Node frame, const char* socket);
  [[nodiscard]] Pose axes_of_stations(Node node, const std::array<Vector3, 3>& points) const;
  [[nodiscard]] Frame frame_of_stations(Node node);
  [[nodiscard]] std::string coordinate_at(const std::string& path) const;
  [[nodiscard]] std::vector<std::pair<std::string, Frame>> local_frames(Node node);
  [[nodiscard]] std::vector<double> list(Node node, const char* key);

  void add_body(Node node);
  void add_wraps(Node node, const std::string& body);
  void add_joint(Node node);
  [[nodiscard]] Function function(Node node, const std::vector<std::string>& coordinates);
  void add_function(Node node, const std::vector<std::string>& coordinates, double factor, Function& out);
  [[nodiscard]] Function::Term table_term(Node node, const char* name, Joining joining, double factor);
  [[nodiscard]] Axis axis(Node node, const Joint& joint);
  [[nodiscard]] Coordinate coordinate(Node node);
  void complete_joint(Joint& joint, Node node);
  void add_scapulothoracic(Joint joint, Node node);
  void add_constraint(Node node);
  [[nodiscard]] PathPoint path_point(Node node);
  void add_force(Node node);
  void add_line(Node node);
  [[nodiscard]] Muscle muscle(Node node);
  [[nodiscard]] std::optional<std::string> muscle_table(Node node, const std::string& name);
  void add_mesh(Node node);
  void add_other(Node item);
  void add_others(Node model);
  void add_unused(Node node, Node owner, const std::string& path, UnusedElements& unused) const;

  std::string file_;
  Model model_;
  std::vector<Node> offsets_;   ///< all PhysicalOffsetFrame and StationDefinedFrame elements
  std::vector<Node> stations_;  ///< all points of bodies with a name
  std::size_t frame_depth_ = 0;
  std::map<std::pair<std::string, std::string>, std::string> renamed_;  ///< coordinates by their joint and name
  std::unordered_set<std::size_t> read_, whole_;   ///< elements read, and elements reported as a whole, by hash
  std::unordered_set<std::size_t> used_stations_;  ///< of frames, by hash
};

/// The elements in a list.
std::vector<Node> Reader::items(Node list) {
  std::vector<Node> elements;
  for (const Node child : list.children()) {
    if (child.type() == pugi::node_element) elements.push_back(mark(child));
  }
  return elements;
}

std::vector<double> Reader::numbers(Node node, const char* key, std::size_t n) {
  const std::string text = this->text(node, key);
  const auto values = models::numbers_in(text);
  if (values && values->size() == n) return *values;
  reject(
      fmt::format("{} '{}', {}: expected {} numbers, found '{}'; write them with decimal points, separated by blanks",
                  node.name(), name_of(node), key, n, text));
}

double Reader::number(Node node, const char* key, double fallback) {
  return node.child(key) ? numbers(node, key, 1)[0] : fallback;
}

Vector3 Reader::vector(Node node, const char* key) {
  if (!node.child(key)) return Vector3::Zero();
  const auto values = numbers(node, key, 3);
  return {values[0], values[1], values[2]};
}

bool Reader::flag(Node node, const char* key, bool fallback) {
  const Node child = take(node, key);
  return child ? last_part(child.child_value()) == "true" : fallback;
}

/// OpenSim orientations are body-fixed rotations about x, y, z, in this order.
Pose Reader::placed(Node node, const char* translation, const char* rotation) {
  const Vector3 angles = vector(node, rotation);
  return {.R = rotation_about(Vector3::UnitX(), angles.x()) * rotation_about(Vector3::UnitY(), angles.y()) *
               rotation_about(Vector3::UnitZ(), angles.z()),
          .p = vector(node, translation)};
}

/// The element that has a frame or a component: the nearest around it with a name.
Node owner_of(Node node) {
  Node owner = node.parent();
  while (owner && !owner.attribute("name")) owner = owner.parent();
  return owner;
}

/// The component at a path: of bodies, joints and the model; one of that owner before others of its name.
Node component_at(const std::string& path, const std::vector<Node>& components) {
  const std::string name = last_part(path);
  const auto slash = path.rfind('/');
  const std::string owner = slash == std::string::npos ? "" : last_part(path.substr(0, slash));
  Node found;
  for (const Node component : components) {
    if (name_of(component) != name) continue;
    if (name_of(owner_of(component)) == owner) return component;
    if (!found) found = component;
  }
  return found;
}

Frame Reader::frame(const std::string& socket, const std::vector<std::pair<std::string, Frame>>& local) {
  const std::string name = last_part(socket);
  for (const auto& [known, frame] : local) {
    if (known == name) return frame;
  }
  if (name == "ground" || std::ranges::find(model_.bodies, name, &Body::name) != model_.bodies.end()) {
    return {.body = name, .X_BF = {}};
  }
  if (const Node offset = component_at(socket, offsets_)) return frame_of(offset, {});
  reject(
      fmt::format("expected a body, a PhysicalOffsetFrame or a StationDefinedFrame of the model, found '{}'", socket));
}

/// The station of a frame, as a frame with the axes of the body at its place.
Frame Reader::station(Node frame, const char* socket) {
  const std::string path = text(frame, socket);
  const Node found = component_at(path, stations_);
  if (!found) {
    reject(fmt::format("{} '{}', {}: expected a Station of the model, found '{}'", frame.name(), name_of(frame), socket,
                       last_part(path)));
  }
  used_stations_.insert(mark(found).hash_value());
  std::string base = text(found, "socket_parent_frame");
  if (last_part(base) == "..") base = name_of(owner_of(found));
  Frame at = this->frame(base, {});
  return {.body = at.body, .X_BF = {.R = Matrix3::Identity(), .p = at.X_BF * vector(found, "location")}};
}

/// An axis of a frame, "+x" or "-z": its index, and its sign.
std::optional<std::pair<Eigen::Index, double>> axis_named(const std::string& text) {
  const std::size_t sign = text.starts_with('+') || text.starts_with('-') ? 1 : 0;
  const auto axis = std::string_view("xyz").find(text.size() == sign + 1 ? text[sign] : ' ');
  if (axis == std::string_view::npos) return std::nullopt;
  return std::pair(static_cast<Eigen::Index>(axis), text.starts_with('-') ? -1.0 : 1.0);
}

/// The axes along AB, along AB x AC, and along the product of those two axes of the frame, as OpenSim's
/// StationDefinedFrame. @param points  A, B and C
Pose Reader::axes_of_stations(Node node, const std::array<Vector3, 3>& points) const {
  const auto named_axis = [&](const char* key, const char* fallback) {
    return axis_named(node.child(key) ? last_part(node.child_value(key)) : fallback);
  };
  const auto along = named_axis("ab_axis", "+x"), across = named_axis("ab_x_ac_axis", "+y");
  if (!along || !across || along->first == across->first) {
    reject(
        fmt::format("StationDefinedFrame '{}': expected two different axes such as +x and -z, found ab_axis '{}' and "
                    "ab_x_ac_axis '{}'",
                    name_of(node), node.child_value("ab_axis"), node.child_value("ab_x_ac_axis")));
  }
  const Vector3 ab = points[1] - points[0], ac = points[2] - points[0];
  if (!(ab.cross(ac).norm() > 1e-12 * ab.norm() * ac.norm())) {
    reject(
        fmt::format("StationDefinedFrame '{}': expected points a, b and c that form a triangle, found them on a line",
                    name_of(node)));
  }
  Pose X;
  X.R.col(along->first) = along->second * ab.normalized();
  X.R.col(across->first) = across->second * ab.cross(ac).normalized();
  const Eigen::Index third = 3 - along->first - across->first;
  const Eigen::Index second = (third + 1) % 3;
  X.R.col(third) = X.R.col(second).cross(X.R.col(3 - third - second));
  return X;
}

Frame Reader::frame_of_stations(Node node) {
  const Frame origin = station(node, "socket_origin_point");
  std::array<Vector3, 3> points;
  for (std::size_t i = 0; i < points.size(); ++i) {
    constexpr std::array<const char*, 3> sockets = {"socket_point_a", "socket_point_b", "socket_point_c"};
    const Frame point = station(node, sockets[i]);
    if (point.body != origin.body) {
      reject(fmt::format("StationDefinedFrame '{}': expected stations of one body, found {} and {}", name_of(node),
                         origin.body, point.body));
    }
    points[i] = point.X_BF.p;
  }
  for (const char* axis : {"ab_axis", "ab_x_ac_axis"}) take(node, axis);
  return {.body = origin.body, .X_BF = {.R = axes_of_stations(node, points).R, .p = origin.X_BF.p}};
}

Frame Reader::frame_of(Node offset, const std::vector<std::pair<std::string, Frame>>& local) {
  // Frames that are based on each other in a circle have no body.
  if (++frame_depth_ > offsets_.size()) reject(fmt::format("frame '{}' is based on itself", name_of(offset)));
  mark(offset);
  Frame at;
  if (std::string_view(offset.name()) == "StationDefinedFrame") {
    at = frame_of_stations(offset);
  } else {
    std::string base = text(offset, "socket_parent");
    if (last_part(base) == "..") base = name_of(owner_of(offset));
    at = frame(base, local);
    at.X_BF = at.X_BF * placed(offset, "translation", "orientation");
  }
  --frame_depth_;
  return at;
}

void Reader::add_body(Node node) {
  Body body{.name = name_of(node), .mass = number(node, "mass", 0.0), .center_of_mass = vector(node, "mass_center")};
  if (node.child("inertia")) {
    const auto i = numbers(node, "inertia", 6);
    body.inertia << i[0], i[3], i[4], i[3], i[1], i[5], i[4], i[5], i[2];
  }
  take(node, "attached_geometry");
  add_wraps(node, body.name);
  model_.bodies.push_back(std::move(body));
}

void Reader::add_wraps(Node node, const std::string& body) {
  for (const Node wrap : items(take(take(node, "WrapObjectSet"), "objects"))) {
    WrapObject object{.name = name_of(wrap),
                      .body = body,
                      .type = wrap.name(),
                      .X_BS = placed(wrap, "translation", "xyz_body_rotation"),
                      .dimensions = {},
                      .active = flag(wrap, "active", true)};
    if (wrap.child("quadrant")) object.quadrant = last_part(text(wrap, "quadrant"));
    if (wrap.child("dimensions")) object.dimensions = numbers(wrap, "dimensions", 3);
    if (wrap.child("radius")) object.dimensions = numbers(wrap, "radius", 1);
    if (object.type == "WrapCylinder") object.length = number(wrap, "length", 1.0);
    model_.wraps.push_back(std::move(object));
  }
}

/// The first child with none of the given names; a function element is named after its kind.
Node element_besides(Node node, std::initializer_list<std::string_view> names) {
  for (const Node child : node.children()) {
    if (child.type() != pugi::node_element) continue;
    if (std::ranges::find(names, std::string_view(child.name())) == names.end()) return child;
  }
  return {};
}

std::vector<double> Reader::list(Node node, const char* key) {
  const std::string text = this->text(node, key);
  if (auto values = models::numbers_in(text)) return *std::move(values);
  reject(fmt::format("{} '{}', {}: expected numbers, found '{}'; write them with decimal points, separated by blanks",
                     node.name(), name_of(node), key, text));
}

std::vector<double> multiplied(std::vector<double> values, double factor) {
  for (double& value : values) value *= factor;
  return values;
}

Function::Term power_series(std::vector<double> c) {
  return {.f = make_power_series(c),
          .text = fmt::format("polynomial: [{}]", fmt::join(c, ", ")),
          .times = [c](double factor) { return power_series(multiplied(c, factor)); }};
}

Function::Term table(const char* name, std::vector<double> x, std::vector<double> y, Joining joining) {
  return {.f = make_table(x, y, joining),
          .text = fmt::format("{}: {{x: [{}], y: [{}]}}", name, fmt::join(x, ", "), fmt::join(y, ", ")),
          .times = [=](double factor) { return table(name, x, multiplied(y, factor), joining); }};
}

Function::Term sine(double amplitude, double frequency, double phase, double offset) {
  return {.f = make_sine(amplitude, frequency, phase, offset),
          .text = fmt::format("sine: {{amplitude: {}, frequency: {}, phase: {}, offset: {}}}", amplitude, frequency,
                              phase, offset),
          .times = [=](double factor) { return sine(factor * amplitude, frequency, phase, factor * offset); }};
}

Function::Term Reader::table_term(Node node, const char* name, Joining joining, double factor) {
  std::vector<double> x = list(node, "x"), y = list(node, "y");
  for (double& value : y) value *= factor;
  // Files contain repeated points; the first of equal abscissae is used.
  for (std::size_t i = 1; i < std::min(x.size(), y.size());) {
    if (x[i] > x[i - 1]) {
      ++i;
    } else {
      x.erase(x.begin() + static_cast<std::ptrdiff_t>(i));
      y.erase(y.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  if (x.size() == 1) return power_series({y.at(0)});
  try {
    return table(name, x, y, joining);
  } catch (const Error& error) {
    reject(fmt::format("{} of '{}': {}", node.name(), name_of(node.parent()), error.what()));
  }
}

/// Adds factor times a function. @param coordinates  its arguments, in order
void Reader::add_function(Node node, const std::vector<std::string>& coordinates, double factor, Function& out) {
  mark(node);
  const std::string kind = node.name();
  const std::string only = coordinates.empty() ? "" : coordinates.front();
  const auto add = [&](Function::Term term, const std::string& coordinate) {
    term.coordinate = coordinate;
    out.terms.push_back(std::move(term));
  };
  if (kind == "MultiplierFunction") {
    Node inner = element_besides(take(node, "function"), {});
    if (!inner) inner = element_besides(node, {"function", "scale"});
    if (inner) return add_function(inner, coordinates, factor * number(node, "scale", 1.0), out);
    out.unknown = "MultiplierFunction without a function";
  } else if (kind == "Constant") {
    out.constant += factor * number(node, "value", 0.0);
  } else if (kind == "LinearFunction") {
    const auto c = list(node, "coefficients");
    if (c.size() != coordinates.size() + 1) {
      out.unknown = fmt::format("LinearFunction with {} coefficients of {} coordinates", c.size(), coordinates.size());
      return;
    }
    out.constant += factor * c.back();
    for (std::size_t i = 0; i < coordinates.size(); ++i) {
      if (c[i] != 0.0) add(power_series({0.0, factor * c[i]}), coordinates[i]);
    }
  } else if (coordinates.size() > 1) {
    out.unknown = fmt::format("{} of {} coordinates", kind, coordinates.size());
  } else if (kind == "PolynomialFunction") {
    // OpenSim stores the highest power first.
    auto c = list(node, "coefficients");
    std::ranges::reverse(c);
    for (double& value : c) value *= factor;
    add(power_series(std::move(c)), only);
  } else if (kind == "SimmSpline" || kind == "NaturalCubicSpline" || kind == "natCubicSpline") {
    add(table_term(node, "spline", Joining::spline, factor), only);
  } else if (kind == "PiecewiseLinearFunction") {
    add(table_term(node, "lines", Joining::lines, factor), only);
  } else if (kind == "PiecewiseConstantFunction") {
    add(table_term(node, "steps", Joining::steps, factor), only);
  } else if (kind == "GCVSpline" && number(node, "half_order", 3) == 2.0 && number(node, "error_variance", 0) == 0.0) {
    add(table_term(node, "natural_spline", Joining::natural, factor), only);
  } else if (kind == "GCVSpline" && number(node, "half_order", 3) == 1.0 && number(node, "error_variance", 0) == 0.0) {
    add(table_term(node, "lines", Joining::lines, factor), only);
  } else if (kind == "Sine") {
    const double a = factor * number(node, "amplitude", 1.0), w = number(node, "omega", 1.0);
    const double phase = number(node, "phase", 0.0), offset = factor * number(node, "offset", 0.0);
    add(sine(a, w, phase, offset), only);
  } else {
    out.unknown = kind.empty() ? "no function" : kind;
  }
}

/// The function in a node; older files wrap it into an element `function`.
Function Reader::function(Node node, const std::vector<std::string>& coordinates) {
  Function out;
  Node found = element_besides(node, {"coordinates", "axis"});
  if (std::string_view(found.name()) == "function") found = element_besides(mark(found), {});
  add_function(found, coordinates, 1.0, out);
  return out;
}

Axis Reader::axis(Node node, const Joint& joint) {
  Axis axis{.direction = vector(node, "axis")};
  if (axis.direction.norm() > 0.0) axis.direction.normalize();
  std::vector<std::string> coordinates;
  std::string names = text(node, "coordinates");
  for (std::size_t at = 0; (at = names.find_first_not_of(" \t\r\n", at)) != std::string::npos;) {
    const std::size_t end = std::min(names.find_first_of(" \t\r\n", at), names.size());
    coordinates.push_back(coordinate_at(joint.name + "/" + last_part(names.substr(at, end - at))));
    at = end;
  }
  for (const std::string& name : coordinates) {
    if (coordinate_of(joint, name) != nullptr) continue;
    reject(fmt::format("joint '{}': expected one of its coordinates, found '{}'", joint.name, name));
  }
  // A function of no coordinate is a constant, by default zero.
  const Node f = element_besides(node, {"coordinates", "axis"});
  const bool omitted = !f || (std::string_view(f.name()) == "function" && !element_besides(f, {}));
  if (!omitted || coordinates.size() > 1) {
    axis.function = function(node, coordinates);
  } else if (!coordinates.empty()) {
    // OpenSim takes the coordinate itself where the function is omitted.
    axis.function.terms.push_back(power_series({0.0, 1.0}));
    axis.function.terms.back().coordinate = coordinates.front();
  }
  return axis;
}

std::vector<std::pair<std::string, Frame>> Reader::local_frames(Node node) {
  std::vector<std::pair<std::string, Frame>> local;
  for (const Node offset : items(take(node, "frames"))) local.emplace_back(name_of(offset), frame_of(offset, local));
  return local;
}

Coordinate Reader::coordinate(Node c) {
  Coordinate coordinate{.name = name_of(c), .value = number(c, "default_value", 0.0)};
  coordinate.speed = number(c, "default_speed_value", 0.0);
  if (c.child("range")) {
    const auto range = numbers(c, "range", 2);
    coordinate.min = range[0];
    coordinate.max = range[1];
  }
  coordinate.locked = flag(c, "locked", false);
  accept(c, "clamped", "false");
  accept(c, "is_free_to_satisfy_constraints", "false");
  if (flag(c, "prescribed", false)) coordinate.prescribed = function(take(c, "prescribed_function"), {""});
  return coordinate;
}

/// Rotations about or translations along x, y, z of a joint type, in the order of its coordinates.
struct JointPattern {
  std::string_view type;
  std::array<int, 6> axes;         ///< of the three rotations and the three translations: 0 x, 1 y, 2 z
  std::array<int, 6> coordinates;  ///< index of the coordinate; -1 = none
};
constexpr std::array<JointPattern, 9> joint_patterns = {{{"PinJoint", {2, 0, 1, 0, 1, 2}, {0, -1, -1, -1, -1, -1}},
                                                         {"SliderJoint", {0, 1, 2, 0, 1, 2}, {-1, -1, -1, 0, -1, -1}},
                                                         {"UniversalJoint", {0, 1, 2, 0, 1, 2}, {0, 1, -1, -1, -1, -1}},
                                                         {"GimbalJoint", {0, 1, 2, 0, 1, 2}, {0, 1, 2, -1, -1, -1}},
                                                         {"BallJoint", {0, 1, 2, 0, 1, 2}, {0, 1, 2, -1, -1, -1}},
                                                         {"EllipsoidJoint", {0, 1, 2, 0, 1, 2}, {0, 1, 2, -1, -1, -1}},
                                                         {"PlanarJoint", {2, 0, 1, 0, 1, 2}, {0, -1, -1, 1, 2, -1}},
                                                         {"FreeJoint", {0, 1, 2, 0, 1, 2}, {0, 1, 2, 3, 4, 5}},
                                                         {"WeldJoint", {0, 1, 2, 0, 1, 2}, {-1, -1, -1, -1, -1, -1}}}};

/// Adds the axes implied by the joint type, and coordinates that the file omits.
void Reader::complete_joint(Joint& joint, Node node) {
  const auto pattern = std::ranges::find(joint_patterns, joint.type, &JointPattern::type);
  if (pattern == joint_patterns.end()) {
    if (joint.type == "CustomJoint") return;
    reject(fmt::format("joint '{}': expected one of CustomJoint, ScapulothoracicJoint, {}; found unsupported type {}",
                       joint.name, fmt::join(joint_patterns | std::views::transform(&JointPattern::type), ", "),
                       joint.type));
  }
  for (std::size_t k = 0; k < 6; ++k) {
    joint.axes[k].direction = Vector3::Unit(pattern->axes[k]);
    if (pattern->coordinates[k] < 0) continue;
    const auto i = static_cast<std::size_t>(pattern->coordinates[k]);
    while (joint.coordinates.size() <= i) {
      joint.coordinates.push_back({.name = fmt::format("{}_coord_{}", joint.name, joint.coordinates.size())});
    }
  }
  for (std::size_t k = 0; k < 6; ++k) {
    if (pattern->coordinates[k] < 0) continue;
    Function::Term term = power_series({0.0, 1.0});
    term.coordinate = joint.coordinates[static_cast<std::size_t>(pattern->coordinates[k])].name;
    joint.axes[k].function.terms.push_back(std::move(term));
  }
  if (joint.type == "EllipsoidJoint") joint.radii = vector(node, "radii_x_y_z");
}

/// Name of the coordinate at a path such as /jointset/knee_r/knee_angle_r.
std::string Reader::coordinate_at(const std::string& path) const {
  const auto slash = path.rfind('/');
  const std::string name = last_part(path);
  if (slash == std::string::npos) return name;
  const auto renamed = renamed_.find({last_part(path.substr(0, slash)), name});
  return renamed == renamed_.end() ? name : renamed->second;
}

void Reader::add_joint(Node node) {
  if (flag(node, "reverse", false)) {
    reject(fmt::format("joint '{}': expected reverse = false, found true; exchange its bodies in the model",
                       name_of(node)));
  }
  const auto local = local_frames(node);
  Joint joint{.name = name_of(node), .type = node.name(), .parent = {}, .child = {}, .coordinates = {}, .axes = {}};
  joint.parent = frame(text(node, "socket_parent_frame"), local);
  joint.child = frame(text(node, "socket_child_frame"), local);
  for (const Node c : items(take(node, "coordinates"))) {
    Coordinate read = coordinate(c);
    if (joint_with(model_, read.name) != nullptr) {
      const std::string name = joint.name + "_" + read.name;
      model_.notes.push_back(
          fmt::format("coordinate {} of {}: its name, which another joint has; {}", read.name, joint.name, name));
      renamed_[{joint.name, read.name}] = name;
      read.name = name;
    }
    joint.coordinates.push_back(std::move(read));
  }
  // Omitted axes default to those of the frame.
  for (std::size_t i = 0; i < 6; ++i) joint.axes[i].direction = Vector3::Unit(static_cast<Eigen::Index>(i % 3));
  std::size_t k = 0;
  for (const Node transform : take(node, "SpatialTransform").children("TransformAxis")) {
    const std::string_view name = transform.attribute("name").as_string();
    constexpr std::array<std::string_view, 6> names = {"rotation1",    "rotation2",    "rotation3",
                                                       "translation1", "translation2", "translation3"};
    const auto place = std::ranges::find(names, name);
    const std::size_t at = place != names.end() ? static_cast<std::size_t>(place - names.begin()) : k;
    if (at < joint.axes.size()) joint.axes[at] = axis(mark(transform), joint);
    ++k;
  }
  if (joint.type == "ScapulothoracicJoint") return add_scapulothoracic(std::move(joint), node);
  complete_joint(joint, node);
  model_.joints.push_back(std::move(joint));
}

/// On the ellipsoid of the thorax a body without mass, whose axes of abduction and elevation are x and y if both frames
/// are turned by a right angle about z, and on it the scapula, which turns about the winging axis.
void Reader::add_scapulothoracic(Joint joint, Node node) {
  if (joint.coordinates.size() != 4) {
    reject(fmt::format("joint '{}': expected four coordinates, found {}", joint.name, joint.coordinates.size()));
  }
  const Vector3 radii = vector(node, "thoracic_ellipsoid_radii_x_y_z");
  std::array<double, 2> origin = {};
  if (node.child("scapula_winging_axis_origin")) {
    const auto given = numbers(node, "scapula_winging_axis_origin", 2);
    origin = {given[0], given[1]};
  }
  const double direction = number(node, "scapula_winging_axis_direction", 0.0);
  const Pose turned{.R = rotation_about(Vector3::UnitZ(), 0.5 * std::numbers::pi), .p = Vector3::Zero()};
  const Pose winging{
      .R = Eigen::Quaterniond::FromTwoVectors(Vector3::UnitZ(), Vector3(-std::sin(direction), std::cos(direction), 0.0))
               .toRotationMatrix(),
      .p = {origin[0], origin[1], 0.0}};
  const std::string between = joint.name + "_ellipsoid";
  model_.bodies.push_back({.name = between});
  Joint slide = joint;
  slide.name = between;
  slide.type = "EllipsoidJoint";
  slide.parent.X_BF = joint.parent.X_BF * turned;
  slide.child = {.body = between, .X_BF = turned};
  slide.coordinates.pop_back();
  complete_joint(slide, node);
  slide.radii = {radii.y(), radii.x(), radii.z()};
  model_.joints.push_back(std::move(slide));
  joint.type = "PinJoint";
  joint.parent = {.body = between, .X_BF = winging};
  joint.child.X_BF = joint.child.X_BF * winging;
  joint.coordinates.erase(joint.coordinates.begin(), joint.coordinates.begin() + 3);
  complete_joint(joint, node);
  model_.joints.push_back(std::move(joint));
}

void Reader::add_constraint(Node node) {
  const std::string type = node.name();
  if (!flag(node, "isEnforced", true)) {
    add_other(node);
    return;
  }
  if (type == "CoordinateCouplerConstraint") {
    std::vector<std::string> independent;
    const std::string names = text(node, "independent_coordinate_names");
    for (std::size_t at = 0; (at = names.find_first_not_of(" \t\r\n", at)) != std::string::npos;) {
      const std::size_t end = std::min(names.find_first_of(" \t\r\n", at), names.size());
      independent.push_back(last_part(names.substr(at, end - at)));
      at = end;
    }
    Coupler coupler;
    coupler.name = name_of(node);
    coupler.coordinate = last_part(text(node, "dependent_coordinate_name"));
    add_function(element_besides(take(node, "coupled_coordinates_function"), {}), independent,
                 number(node, "scale_factor", 1.0), coupler.function);
    model_.couplers.push_back(std::move(coupler));
    return;
  }
  const auto local = local_frames(node);
  PointConstraint constraint;
  constraint.name = name_of(node);
  constraint.type = type;
  const auto at_point = [&](const char* socket, const char* location) {
    Frame at = frame(text(node, socket), local);
    if (*location != '\0') at.X_BF.p += at.X_BF.R * vector(node, location);
    return at;
  };
  if (type == "PointConstraint") {
    constraint.a = at_point("socket_body_1", "location_body_1");
    constraint.b = at_point("socket_body_2", "location_body_2");
  } else if (type == "PointOnLineConstraint") {
    constraint.a = at_point("socket_line_body", "point_on_line");
    constraint.b = at_point("socket_follower_body", "point_on_follower");
    constraint.direction = constraint.a.X_BF.R * vector(node, "line_direction_vec");
  } else if (type == "ConstantDistanceConstraint") {
    constraint.a = at_point("socket_body_1", "location_body_1");
    constraint.b = at_point("socket_body_2", "location_body_2");
    constraint.distance = number(node, "constant_distance", 0.0);
  } else if (type == "WeldConstraint") {
    constraint.a = at_point("socket_frame1", "");
    constraint.b = at_point("socket_frame2", "");
  } else {
    add_other(node);
    return;
  }
  model_.constraints.push_back(std::move(constraint));
}

/// Properties of muscles and their curves that are supported only with OpenSim's default value.
const std::map<std::string_view, double>& default_shapes() {
  static const std::map<std::string_view, double> defaults = {
      {"ActiveForceLengthCurve/minimum_value", 0.0},
      {"ActiveForceLengthCurve/min_norm_active_fiber_length", 0.4441},
      {"ActiveForceLengthCurve/transition_norm_fiber_length", 0.73},
      {"ActiveForceLengthCurve/max_norm_active_fiber_length", 1.8123},
      {"ActiveForceLengthCurve/shallow_ascending_slope", 0.8616},
      {"ForceVelocityCurve/concentric_slope_at_vmax", 0.0},
      {"ForceVelocityCurve/concentric_slope_near_vmax", 0.25},
      {"ForceVelocityCurve/isometric_slope", 5.0},
      {"ForceVelocityCurve/eccentric_slope_at_vmax", 0.0},
      {"ForceVelocityCurve/eccentric_slope_near_vmax", 0.15},
      {"ForceVelocityCurve/max_eccentric_velocity_force_multiplier", 1.4},
      {"ForceVelocityCurve/concentric_curviness", 0.6},
      {"ForceVelocityCurve/eccentric_curviness", 0.9},
      {"FiberForceLengthCurve/strain_at_zero_force", 0.0},
      {"FiberForceLengthCurve/stiffness_at_low_force", 0.2},
      {"FiberForceLengthCurve/curviness", 0.75},
      {"TendonForceLengthCurve/norm_force_at_toe_end", 2.0 / 3.0},
      {"TendonForceLengthCurve/curviness", 0.5},
      {"KshapeActive", 0.45},
      {"KshapePassive", 5.0},
      {"Af", 0.25},
      {"Flen", 1.4}};
  return defaults;
}

/// The number of an element that has no effect here; none for other text, as of an element without content.
std::optional<double> number_of(Node node) {
  const auto values = models::numbers_in(node.child_value());
  return values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
}

void Reader::accept_defaults(Node node, const std::string& path) {
  for (const Node child : node.children()) {
    const auto known = default_shapes().find(path + child.name());
    if (known == default_shapes().end()) continue;
    // Files store numbers such as 2/3 with up to nine digits.
    const auto value = number_of(child);
    if (value && std::abs(*value - known->second) <= 1e-8 * (1.0 + std::abs(known->second))) mark(child);
  }
}

Muscle Reader::muscle(Node node) {
  Muscle m;
  if (std::string_view(node.name()) == "DeGrooteFregly2016Muscle") {
    m.fiber_damping = 0.0;
    m.rise = 0.015;
    m.fall = 0.060;
  }
  m.max_force = number(node, "max_isometric_force", 1000.0);
  m.optimal_length = number(node, "optimal_fiber_length", 0.1);
  m.tendon_length = number(node, "tendon_slack_length", 0.2);
  m.pennation = number(node, "pennation_angle_at_optimal", 0.0);
  m.max_velocity = number(node, "max_contraction_velocity", m.max_velocity);
  m.fiber_damping = number(node, "fiber_damping", m.fiber_damping);
  m.min_activation = number(node, "minimum_activation", m.min_activation);
  m.rise = number(node, "activation_time_constant", m.rise);
  m.fall = number(node, "deactivation_time_constant", m.fall);
  m.rigid_tendon = flag(node, "ignore_tendon_compliance", false);
  accept_defaults(node, "");
  for (const char* curve :
       {"ActiveForceLengthCurve", "ForceVelocityCurve", "FiberForceLengthCurve", "TendonForceLengthCurve"}) {
    accept_defaults(take(node, curve), std::string(curve) + "/");
  }
  const auto strain = [&](Node owner, const char* key, std::optional<double>& value) {
    if (owner.child(key)) value = number(owner, key, 0.0);
  };
  strain(node.child("FiberForceLengthCurve"), "strain_at_one_norm_force", m.passive_strain);
  strain(node, "FmaxMuscleStrain", m.passive_strain);
  strain(node, "passive_fiber_strain_at_one_norm_force", m.passive_strain);
  strain(node.child("TendonForceLengthCurve"), "strain_at_one_norm_force", m.tendon_strain);
  strain(node, "FmaxTendonStrain", m.tendon_strain);
  strain(node, "tendon_strain_at_one_norm_force", m.tendon_strain);
  // The stiffness of a Millard2012EquilibriumMuscle's tendon follows from its strain.
  const Node stiffness = node.child("TendonForceLengthCurve").child("stiffness_at_one_norm_force");
  const auto value = number_of(stiffness);
  if (value && std::abs(*value * m.tendon_strain.value_or(0.049) - 1.375) < 1e-6) mark(stiffness);
  for (const auto& [name, key] : {std::pair("active_force_length_curve", "active_curve"),
                                  {"passive_force_length_curve", "passive_curve"},
                                  {"tendon_force_length_curve", "tendon_curve"},
                                  {"force_velocity_curve", "velocity_curve"}}) {
    if (const auto table = muscle_table(node, name)) m.tables[key] = *table;
  }
  if (node.child("time_scale") || std::string_view(node.name()).starts_with("Schutte1993")) {
    // Velocities are in optimal lengths per time scale; the class does not use the maximum velocity.
    m.max_velocity = 1.0 / number(node, "time_scale", 0.1);
    m.fiber_damping = number(node, "damping", m.fiber_damping);
  }
  return m;
}

/// A curve that is a spline through points: an element with that name, or a function of that name.
std::optional<std::string> Reader::muscle_table(Node node, const std::string& name) {
  Node curve = mark(element_besides(node.child(name.c_str()), {}));
  if (curve) take(node, name.c_str());
  if (!curve) curve = node.find_child_by_attribute("name", name.c_str());
  if (!curve) return std::nullopt;
  Function function;
  add_function(curve, {""}, 1.0, function);
  constexpr std::string_view kind = "spline: ";
  if (function.terms.size() != 1 || !function.terms[0].text.starts_with(kind)) return std::nullopt;
  return function.terms[0].text.substr(kind.size());
}

PathPoint Reader::path_point(Node node) {
  PathPoint point{
      .name = name_of(node), .type = node.name(), .place = 0, .at = frame(text(node, "socket_parent_frame"), {})};
  const Pose X_BF = point.at.X_BF;
  if (point.type == "MovingPathPoint") {
    constexpr std::array<std::array<const char*, 2>, 3> keys = {{{"socket_x_coordinate", "x_location"},
                                                                 {"socket_y_coordinate", "y_location"},
                                                                 {"socket_z_coordinate", "z_location"}}};
    for (std::size_t k = 0; k < 3; ++k) {
      point.location[k] = function(take(node, keys[k][1]), {coordinate_at(text(node, keys[k][0]))});
    }
    return point;
  }
  point.at.X_BF.p = X_BF * vector(node, "location");
  if (point.type == "ConditionalPathPoint") {
    point.coordinate = coordinate_at(text(node, "socket_coordinate"));
    const auto range = numbers(node, "range", 2);
    point.range = {range[0], range[1]};
  }
  return point;
}

void Reader::add_line(Node node) {
  const Node path = take(node.child("GeometryPath") ? node : take(node, "path"), "GeometryPath");
  Line line{.name = name_of(node), .type = node.name(), .applies = flag(node, "appliesForce", true)};
  for (const Node point : items(take(take(path, "PathPointSet"), "objects"))) {
    line.points.push_back(path_point(point));
    line.points.back().place = static_cast<int>(line.points.size());
  }
  for (const Node wrap : items(take(take(path, "PathWrapSet"), "objects"))) {
    PathWrap use{.object = last_part(text(wrap, "wrap_object")), .method = last_part(text(wrap, "method"))};
    if (wrap.child("range")) {
      const auto range = numbers(wrap, "range", 2);
      use.first = static_cast<int>(range[0]);
      use.last = static_cast<int>(range[1]);
    }
    line.wraps.push_back(std::move(use));
  }
  line.stiffness = number(node, "linear_stiffness", 0.0);
  line.slack_length = number(node, "slack_length", 0.0);
  line.transition_strain = number(node, "transition_strain", line.transition_strain);
  line.damping = number(node, "damping_coefficient", line.damping);
  if (node.child("optimal_fiber_length")) line.muscle = muscle(node);
  if (line.type == "PathSpring") {
    // Tension stiffness (l - l0) from the slack length on: the toe of a ligament shrunk to nothing.
    line.slack_length = number(node, "resting_length", 0.0);
    line.stiffness = number(node, "stiffness", 0.0) * line.slack_length;
    line.transition_strain = 1e-9;
    line.damping = 0.0;
  }
  model_.lines.push_back(std::move(line));
}

void Reader::add_force(Node node) {
  if (node.child("GeometryPath") || node.child("path")) {
    add_line(node);
  } else if (std::string_view(node.name()) == "Smith2018ArticularContactForce") {
    model_.contacts.push_back({.name = name_of(node),
                               .target = last_part(text(node, "socket_target_mesh")),
                               .casting = last_part(text(node, "socket_casting_mesh")),
                               .applies = flag(node, "appliesForce", true),
                               .nonlinear = last_part(text(node, "elastic_foundation_formulation")) == "nonlinear",
                               .lumped = flag(node, "use_lumped_contact_model", false)});
  } else if (std::string_view(node.name()) == "SpringGeneralizedForce") {
    model_.springs.push_back({.name = name_of(node),
                              .coordinate = last_part(text(node, "coordinate")),
                              .applies = flag(node, "appliesForce", true),
                              .stiffness = number(node, "stiffness", 0.0),
                              .rest = number(node, "rest_length", 0.0),
                              .viscosity = number(node, "viscosity", 0.0)});
  } else if (std::string_view(node.name()) == "CoordinateLimitForce") {
    model_.limits.push_back({.name = name_of(node),
                             .coordinate = last_part(text(node, "coordinate")),
                             .applies = flag(node, "appliesForce", true),
                             .upper = number(node, "upper_limit", 0.0),
                             .lower = number(node, "lower_limit", 0.0),
                             .upper_stiffness = number(node, "upper_stiffness", 1.0),
                             .lower_stiffness = number(node, "lower_stiffness", 1.0),
                             .damping = number(node, "damping", 0.001),
                             .transition = number(node, "transition", 0.1)});
  } else {
    add_other(node);
  }
}

void Reader::add_mesh(Node node) {
  if (std::string_view(node.name()) != "Smith2018ContactMesh") {
    add_other(node);
    return;
  }
  ContactMesh mesh{.name = name_of(node), .frame = frame(text(node, "socket_frame"), {})};
  mesh.frame.X_BF = placed(node, "location", "orientation");
  mesh.file = text(node, "mesh_file");
  mesh.youngs_modulus = number(node, "elastic_modulus", 0.0);
  mesh.poissons_ratio = number(node, "poissons_ratio", 0.0);
  mesh.thickness = number(node, "thickness", 0.0);
  mesh.variable_thickness = flag(node, "use_variable_thickness", false);
  if (mesh.variable_thickness) {
    mesh.back_file = text(node, "mesh_back_file");
    mesh.min_thickness = number(node, "min_thickness", mesh.min_thickness);
  }
  if (node.child("scale_factors")) mesh.scale = vector(node, "scale_factors");
  model_.meshes.push_back(std::move(mesh));
}

/// Reports an item by its name, including its children.
void Reader::add_other(Node item) {
  model_.others.push_back({item.name(), name_of(item)});
  whole_.insert(item.hash_value());
}

/// Reports the items of sets that are not imported.
void Reader::add_others(Node model) {
  for (const Node set : model.children()) {
    if (read_.contains(set.hash_value())) continue;
    if (!set.child("objects") && std::string_view(set.name()) != "components") continue;
    for (const Node item : items(set.child("objects") ? take(mark(set), "objects") : mark(set))) add_other(item);
  }
}

bool is_item(Node node) {
  const std::string_view list = node.parent().name();
  return list == "objects" || list == "coordinates" || list == "frames" || list == "attached_geometry" ||
         list == "components";
}

/// @param owner  the list item that contains `node` or is it. @param path  from the owner to `node`
void Reader::add_unused(Node node, Node owner, const std::string& path, UnusedElements& unused) const {
  for (const Node child : node.children()) {
    if (child.type() != pugi::node_element || whole_.contains(child.hash_value())) continue;
    const std::string here = path + child.name();
    if (read_.contains(child.hash_value())) {
      const bool item = is_item(child);
      add_unused(child, item ? child : owner, item ? "" : here + "/", unused);
    } else if (is_item(child)) {
      unused.add(owner.name(), here, "", name_of(child));
    } else if (child.first_child().type() == pugi::node_element) {
      unused.add(owner.name(), here, "", name_of(owner));
    } else if (const std::string value = one_line(child.child_value()); !value.empty()) {
      unused.add(owner.name(), here, value, name_of(owner));
    }
  }
}

Model Reader::read(const std::string& text) {
  check_xml_nesting(text, file_, "model");
  pugi::xml_document document;
  const auto result = document.load_buffer(text.data(), text.size());
  if (!result) reject(fmt::format("expected XML, found at byte {}: {}", result.offset, result.description()));
  const Node root = mark(document.child("OpenSimDocument"));
  if (!root) reject("expected an OpenSim model (OpenSimDocument), found other XML");
  const int version = root.attribute("Version").as_int();
  if (version < first_read_version) {
    reject(fmt::format("expected an OpenSim model of version 1.6 ({}) or later, found version {}", first_read_version,
                       version));
  }
  if (version < current_version) convert_to_version_4(root);
  apply_default_objects(root.child("Model"));
  const Node model = take(root, "Model");
  if (!model) reject("expected a Model in the document, found none");
  model_.name = name_of(model);
  model_.file = file_;
  model_.gravity = model.child("gravity") ? vector(model, "gravity") : Vector3(0.0, -9.80665, 0.0);
  for (const char* meters : {"m", "meters"}) accept(model, "length_units", meters);
  accept(model, "force_units", "N");
  for (const auto& found : model.select_nodes(".//PhysicalOffsetFrame | .//StationDefinedFrame"))
    offsets_.push_back(found.node());
  for (const auto& found : model.select_nodes(".//Station | .//Marker")) stations_.push_back(found.node());
  add_wraps(take(model, "Ground"), "ground");
  const std::vector<Node> components = items(take(model, "components"));
  const auto is_body = [](Node node) { return std::string_view(node.name()) == "Body"; };
  const auto is_joint = [](Node node) { return !node.child("socket_child_frame").empty(); };
  const auto is_force = [](Node node) { return node.child("GeometryPath") || node.child("path"); };
  for (const Node node : items(take(take(model, "BodySet"), "objects"))) add_body(node);
  std::ranges::for_each(components | std::views::filter(is_body), [&](Node node) { add_body(node); });
  for (const Node node : items(take(take(model, "JointSet"), "objects"))) add_joint(node);
  std::ranges::for_each(components | std::views::filter(is_joint), [&](Node node) { add_joint(node); });
  for (const Node node : items(take(take(model, "ConstraintSet"), "objects"))) add_constraint(node);
  for (const Node node : items(take(take(model, "ForceSet"), "objects"))) add_force(node);
  for (const Node node : items(take(take(model, "ContactGeometrySet"), "objects"))) add_mesh(node);
  for (const Node node : components) {
    if (is_force(node)) {
      add_force(node);
    } else if (!is_body(node) && !is_joint(node) && std::ranges::find(offsets_, node) == offsets_.end() &&
               !used_stations_.contains(node.hash_value())) {
      add_other(node);
    }
  }
  add_others(model);
  UnusedElements unused;
  add_unused(model, model, "", unused);
  model_.unused = unused.lines();
  return std::move(model_);
}

}  // namespace

namespace {

/// Value of a function; `find` returns its coordinates.
template <typename Find>
double value_with(const Function& function, Find find) {
  double value = function.constant;
  for (const Function::Term& term : function.terms) value += term.f->at(find(term.coordinate)).f;
  return value;
}

}  // namespace

std::string Axis::coordinate() const {
  const bool linear = function.unknown.empty() && function.terms.size() == 1 && function.terms[0].f->is_linear();
  return linear ? function.terms[0].coordinate : "";
}

double Axis::slope() const {
  return coordinate().empty() ? 0.0 : function.terms[0].f->at(0.0).d1;
}

const Coordinate* coordinate_of(const Joint& joint, const std::string& name) {
  const auto coordinate = std::ranges::find(joint.coordinates, name, &Coordinate::name);
  return coordinate == joint.coordinates.end() ? nullptr : &*coordinate;
}

const Joint* joint_with(const Model& model, const std::string& coordinate) {
  const auto joint = std::ranges::find_if(
      model.joints, [&](const Joint& candidate) { return coordinate_of(candidate, coordinate) != nullptr; });
  return joint == model.joints.end() ? nullptr : &*joint;
}

double value_of(const Function& function, const Model& model) {
  return value_with(function, [&](const std::string& name) {
    const Joint* joint = joint_with(model, name);
    if (joint == nullptr) {
      throw input_error("model", fmt::format("expected a coordinate of the model, found '{}'", name));
    }
    return coordinate_of(*joint, name)->value;
  });
}

Pose joint_pose(const Joint& joint) {
  Pose X;
  for (std::size_t k = 0; k < joint.axes.size(); ++k) {
    const Axis& axis = joint.axes[k];
    const double value =
        value_with(axis.function, [&](const std::string& name) { return coordinate_of(joint, name)->value; });
    if (value == 0.0) continue;
    if (k < 3) {
      X.R = X.R * rotation_about(axis.direction, value);
    } else {
      X.p += value * axis.direction;
    }
  }
  X.p += joint.radii.cwiseProduct(X.R.col(2));
  return X;
}

std::vector<std::string> apply_couplers(Model& model) {
  std::vector<std::string> changed;
  // Couplers may be chained: as many rounds as couplers resolve any chain.
  for (std::size_t round = 0; round < model.couplers.size(); ++round) {
    for (const Coupler& coupler : model.couplers) {
      for (Joint& joint : model.joints) {
        for (Coordinate& coordinate : joint.coordinates) {
          if (coordinate.name != coupler.coordinate || !coupler.function.unknown.empty()) continue;
          const double value = value_of(coupler.function, model);
          if (coordinate.value == value) continue;
          if (std::abs(coordinate.value - value) > 1e-9) {
            changed.push_back(fmt::format("coordinate {}: its value {:.6g}; set to {:.6g} by {}", coordinate.name,
                                          coordinate.value, value, coupler.name));
          }
          coordinate.value = value;
        }
      }
    }
  }
  return changed;
}

namespace {

Pose pose_below(const Model& model, const std::string& body, std::size_t depth) {
  const auto joint =
      std::ranges::find_if(model.joints, [&](const Joint& candidate) { return candidate.child.body == body; });
  // A chain longer than the number of joints is cyclic and has no defined pose.
  if (joint == model.joints.end() || depth > model.joints.size()) return {};
  return pose_below(model, joint->parent.body, depth + 1) * joint->parent.X_BF * joint_pose(*joint) *
         joint->child.X_BF.inverse();
}

}  // namespace

Model read_model(const std::string& text, const std::string& file) {
  return Reader(file).read(text);
}

Pose default_pose(const Model& model, const std::string& body) {
  return pose_below(model, body, 0);
}

}  // namespace heelstrike::osim
