#include "importers/robots/mjcf_file.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <string_view>

#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/files/read_file.hpp"
#include "common/text/markup.hpp"
#include "importers/model_numbers.hpp"

namespace heelstrike::models {
namespace {

namespace fs = std::filesystem;

/// Default class of elements without a class.
const std::string outermost_class = "main";

bool is_element(pugi::xml_node node) {
  return node.type() == pugi::node_element;
}

}  // namespace

void MjcfAttributes::record_element(pugi::xml_node element) {
  for (const pugi::xml_attribute attribute : element.attributes()) ++elements_[element.name()][attribute.name()];
}

std::vector<std::string> MjcfAttributes::unused() const {
  std::vector<std::string> lines;
  for (const auto& [element, attributes] : elements_) {
    std::string line;
    const auto record_read = read_attributes_.find(element);
    for (const auto& [name, count] : attributes) {
      if (record_read != read_attributes_.end() && record_read->second.contains(name)) continue;
      line += fmt::format("{}{} ({} times)", line.empty() ? "" : ", ", printable(name), count);
    }
    if (!line.empty()) lines.push_back(fmt::format("attributes of {}: {}", element, line));
  }
  return lines;
}

MjcfElement::MjcfElement(MjcfFile& file, pugi::xml_node node, const std::string& scope) : file_(file), node_(node) {
  file.attributes().record_element(node);
  const std::string own = text("class").value_or("");
  defaults_ = file.defaults(node.name(), own.empty() ? scope : own);
}

void MjcfElement::reject(const std::string& what) const {
  std::string where = node_.name();
  if (const std::string own = node_.attribute("name").value(); !own.empty()) {
    where += fmt::format(" '{}'", own);
  } else {
    for (pugi::xml_node around = node_.parent(); around; around = around.parent()) {
      const std::string outer = around.attribute("name").value();
      if (outer.empty()) continue;
      where += fmt::format(" of {} '{}'", around.name(), outer);
      break;
    }
  }
  file_.reject(fmt::format("{}: {}", printable(where), what));
}

std::optional<std::string> MjcfElement::text(const char* attribute) const {
  file_.attributes().record_read(node_.name(), attribute);
  if (const pugi::xml_attribute own = node_.attribute(attribute)) return own.value();
  if (defaults_ == nullptr) return std::nullopt;
  const auto found = defaults_->find(attribute);
  return found == defaults_->end() ? std::nullopt : std::optional(found->second);
}

std::vector<double> MjcfElement::numbers_of(const char* attribute, const std::string& text, std::size_t min_count,
                                            std::size_t max_count) const {
  auto numbers = numbers_in(text);
  if (numbers && numbers->size() >= min_count && numbers->size() <= max_count) return std::move(*numbers);
  reject(
      fmt::format("expected {} finite number{} in '{}', found '{}'",
                  min_count == max_count ? fmt::format("{}", min_count) : fmt::format("{} to {}", min_count, max_count),
                  max_count > 1 ? "s" : "", attribute, printable(text, 60)));
}

std::vector<double> MjcfElement::numbers(const char* attribute, std::size_t min_count, std::size_t max_count) const {
  const auto found = text(attribute);
  return found ? numbers_of(attribute, *found, min_count, max_count) : std::vector<double>();
}

double MjcfElement::number(const char* attribute, double fallback) const {
  const std::vector<double> found = numbers(attribute, 1, 1);
  return found.empty() ? fallback : found[0];
}

Vector3 MjcfElement::vector(const char* attribute, const Vector3& fallback) const {
  const std::vector<double> found = numbers(attribute, 3, 3);
  return found.empty() ? fallback : Vector3(found[0], found[1], found[2]);
}

bool MjcfElement::flag(const char* attribute, bool fallback) const {
  const auto found = text(attribute);
  if (!found) return fallback;
  if (*found != "true" && *found != "false") {
    reject(fmt::format("expected true or false in '{}', found '{}'", attribute, printable(*found, 60)));
  }
  return *found == "true";
}

/// @param own  true: own attribute; false: that of the class
std::optional<Matrix3> MjcfElement::orientation_in(bool own) const {
  const auto get = [&](const char* attribute, std::size_t count) -> std::vector<double> {
    file_.attributes().record_read(node_.name(), attribute);
    if (own) {
      const pugi::xml_attribute found = node_.attribute(attribute);
      return found ? numbers_of(attribute, found.value(), count, count) : std::vector<double>();
    }
    return node_.attribute(attribute) ? std::vector<double>() : numbers(attribute, count, count);
  };
  const auto direction = [&](const Vector3& v) {
    if (!(v.norm() > 0.0)) reject("expected nonzero directions in its orientation");
    return Vector3(v.normalized());
  };
  if (const auto q = get("quat", 4); !q.empty()) {
    const Quaternion rotation(q[0], q[1], q[2], q[3]);
    if (!(rotation.norm() > 0.0)) reject("expected a nonzero quaternion in 'quat'");
    return rotation.normalized().toRotationMatrix();
  }
  if (const auto a = get("axisangle", 4); !a.empty()) {
    return Eigen::AngleAxisd(file_.angle_unit() * a[3], direction({a[0], a[1], a[2]})).toRotationMatrix();
  }
  if (const auto e = get("euler", 3); !e.empty()) return file_.euler({e[0], e[1], e[2]});
  if (const auto a = get("xyaxes", 6); !a.empty()) {
    Matrix3 R;
    R.col(0) = direction({a[0], a[1], a[2]});
    const Vector3 y(a[3], a[4], a[5]);
    R.col(1) = direction(y - R.col(0).dot(y) * R.col(0));
    R.col(2) = R.col(0).cross(R.col(1));
    return R;
  }
  if (const auto z = get("zaxis", 3); !z.empty()) {
    return Quaternion::FromTwoVectors(Vector3::UnitZ(), direction({z[0], z[1], z[2]})).toRotationMatrix();
  }
  return std::nullopt;
}

Matrix3 MjcfElement::orientation() const {
  if (const auto own = orientation_in(true)) return *own;
  return orientation_in(false).value_or(Matrix3::Identity());
}

Matrix3 MjcfFile::euler(const Vector3& angles) const {
  Matrix3 R = Matrix3::Identity();
  for (Eigen::Index i = 0; i < 3; ++i) {
    // Lower-case axes are body-fixed, upper-case axes are fixed in the parent.
    const char letter = compiler_.eulerseq[static_cast<std::size_t>(i)];
    const bool moves = letter >= 'x';
    const Vector3 axis = Vector3::Unit(letter - (moves ? 'x' : 'X'));
    const Matrix3 rotation = Eigen::AngleAxisd(angle_unit() * angles[i], axis).toRotationMatrix();
    R = moves ? Matrix3(R * rotation) : Matrix3(rotation * R);
  }
  return R;
}

void MjcfFile::reject(const std::string& what) const {
  throw input_error("model", fmt::format("{}: {}", path_.string(), what));
}

void MjcfFile::load(const fs::path& file, pugi::xml_document& document) const {
  const std::string text = strict_xml(read_file(file, "model"));
  check_xml_nesting(text, file.string(), "model");
  const auto result = document.load_buffer(text.data(), text.size());
  if (result) return;
  throw input_error("model",
                    fmt::format("{}, line {}: expected an MJCF model in XML, found: {}", file.string(),
                                line_of_offset(text, static_cast<std::size_t>(result.offset)), result.description()));
}

/// Replaces include elements by the contents of their files. @param of  the file of `parent`
void MjcfFile::include(pugi::xml_node parent, const fs::path& of, std::size_t depth) {
  if (depth > max_xml_depth) reject(fmt::format("expected a nesting depth of at most {}, found more", max_xml_depth));
  for (pugi::xml_node node = parent.first_child(); node;) {
    const pugi::xml_node next = node.next_sibling();
    if (std::string_view(node.name()) != "include") {
      include(node, of, depth + 1);
    } else {
      const fs::path named = node.attribute("file").value();
      fs::path file = of.parent_path() / named;
      // Paths in included files are relative to the folder of the file, or to that of the model.
      if (!fs::exists(file)) file = path_.parent_path() / named;
      if (!fs::exists(file)) {
        reject(fmt::format("expected the file '{}' included by {}, found none at {}", named.string(), of.string(),
                           fs::absolute(of.parent_path() / named).lexically_normal().string()));
      }
      if (!included_.insert(fs::weakly_canonical(file)).second) {
        reject(fmt::format("expected every file to be included once, found '{}' twice", named.string()));
      }
      pugi::xml_document part;
      load(file, part);
      include(part.document_element(), file, depth + 1);
      for (const pugi::xml_node child : part.document_element().children()) parent.insert_copy_before(child, node);
      parent.remove_child(node);
    }
    node = next;
  }
}

void MjcfFile::read_class(pugi::xml_node node, const Class& outer) {
  const std::string name = node.attribute("class").value();
  const bool outermost = std::string_view(node.parent().name()) != "default";
  if (name.empty() && !outermost) reject("expected a name in 'class' of every nested default, found none");
  Class& values = classes_[name.empty() ? outermost_class : name];
  for (const auto& [element, attributes] : outer) {
    for (const auto& [key, value] : attributes) values[element].try_emplace(key, value);
  }
  for (const pugi::xml_node element : node.children()) {
    if (!is_element(element) || std::string_view(element.name()) == "default") continue;
    attributes_.record_element(element);
    for (const pugi::xml_attribute a : element.attributes()) values[element.name()][a.name()] = a.value();
  }
  // The outermost class may be renamed.
  if (outermost && name != outermost_class && !name.empty()) classes_[outermost_class] = values;
  const Class inherited = values;
  for (const pugi::xml_node inner : node.children("default")) read_class(inner, inherited);
}

void MjcfFile::read_compiler(pugi::xml_node node) {
  const MjcfElement element(*this, node, "");
  MjcfCompiler& c = compiler_;
  c.degrees = element.text("angle", c.degrees ? "degree" : "radian") != "radian";
  c.eulerseq = element.text("eulerseq", c.eulerseq);
  if (c.eulerseq.size() != 3 || c.eulerseq.find_first_not_of("xyzXYZ") != std::string::npos) {
    element.reject(fmt::format("expected three letters of xyzXYZ in 'eulerseq', found '{}'", printable(c.eulerseq)));
  }
  if (element.text("coordinate", "local") != "local") {
    element.reject(
        "expected local coordinates, found global ones, which MuJoCo 3 does not support; save the model with MuJoCo 2");
  }
  c.strips_paths = element.flag("strippath", c.strips_paths);
  c.mesh_folder = element.text("meshdir", element.text("assetdir", c.mesh_folder.string()));
  c.inertia_from_geom = element.text("inertiafromgeom", c.inertia_from_geom);
  if (const auto groups = element.numbers("inertiagrouprange", 2, 2); !groups.empty()) {
    c.first_group = static_cast<int>(groups[0]);
    c.last_group = static_cast<int>(groups[1]);
  }
  c.balance = element.flag("balanceinertia", c.balance);
  c.min_mass = element.number("boundmass", c.min_mass);
  c.min_moment = element.number("boundinertia", c.min_moment);
  c.total_mass = element.number("settotalmass", c.total_mass);
  c.exact_meshes = element.flag("exactmeshinertia", c.exact_meshes);
  c.fits_extents = element.flag("fitaabb", c.fits_extents);
  // These do not affect imported elements.
  for (const char* attribute : {"autolimits", "fusestatic", "usethread", "discardvisual", "texturedir"}) {
    attributes_.record_read("compiler", attribute);
  }
}

const std::map<std::string, std::string>* MjcfFile::defaults(const std::string& element,
                                                             const std::string& of_class) const {
  const auto found = classes_.find(of_class.empty() ? outermost_class : of_class);
  if (found == classes_.end()) {
    if (of_class.empty() || of_class == outermost_class) return nullptr;
    reject(fmt::format("expected a default of the class '{}' used by {}, found none", printable(of_class), element));
  }
  const auto values = found->second.find(element);
  return values == found->second.end() ? nullptr : &values->second;
}

MjcfFile::MjcfFile(const fs::path& file, MjcfAttributes& attributes) : path_(file), attributes_(attributes) {
  load(file, document_);
  if (std::string_view(root().name()) != "mujoco") reject("expected an MJCF model (<mujoco>), found other XML");
  included_.insert(fs::weakly_canonical(file));
  include(root(), file, 1);
  for (const pugi::xml_node node : root().children("default")) read_class(node, {});
  for (const pugi::xml_node node : root().children("compiler")) read_compiler(node);
}

}  // namespace heelstrike::models
