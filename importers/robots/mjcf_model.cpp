#include "importers/robots/mjcf_model.hpp"

#include <fmt/format.h>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <memory>

#include "common/errors/error.hpp"
#include "common/errors/plain_text.hpp"
#include "common/files/read_file.hpp"
#include "common/text/markup.hpp"
#include "importers/robots/link_motion.hpp"
#include "importers/robots/mjcf_geometry.hpp"

namespace heelstrike::models {
namespace {

namespace fs = std::filesystem;
using Kind = JointDof::Kind;

/// MuJoCo's binary meshes: counts of vertices, normals, texture coordinates and triangles, then their data.
Triangles read_mujoco_mesh(const fs::path& file) {
  const std::string bytes = read_file(file, "mesh");
  std::array<std::int32_t, 4> counts{};
  constexpr std::size_t head = sizeof counts;
  if (bytes.size() >= head) std::memcpy(counts.data(), bytes.data(), head);
  const auto n = [&](std::size_t i) { return static_cast<std::uint64_t>(counts.at(i)); };
  const bool counted = std::ranges::all_of(counts, [](std::int32_t c) { return c >= 0; }) && counts[0] > 0;
  if (!counted || bytes.size() != head + 4 * (3 * n(0) + 3 * n(1) + 2 * n(2) + 3 * n(3))) {
    throw input_error("model", fmt::format("{}: expected a MuJoCo mesh (.msh), found {} bytes of another format",
                                           file.string(), bytes.size()));
  }
  Triangles mesh;
  std::vector<float> vertices(3 * n(0));
  std::memcpy(vertices.data(), bytes.data() + head, 4 * vertices.size());
  for (std::size_t i = 0; i < n(0); ++i)
    mesh.vertices.emplace_back(vertices[3 * i], vertices[3 * i + 1], vertices[3 * i + 2]);
  mesh.triangles.resize(n(3));
  std::memcpy(mesh.triangles.data(), bytes.data() + bytes.size() - 12 * n(3), 12 * n(3));
  for (const auto& t : mesh.triangles) {
    for (const std::uint32_t corner : t) {
      if (corner < n(0)) continue;
      throw input_error("model", fmt::format("{}: expected corners below {}, found {}", file.string(), n(0), corner));
    }
  }
  return mesh;
}

/// A mesh of the file's assets.
struct MeshAsset {
  std::string name;
  fs::path file;  ///< empty: only `triangles`
  Triangles triangles;
  Vector3 factors = Vector3::Ones();
  Pose X_SM;  ///< of the scaled mesh, by refpos and refquat
  MeshMass kind = MeshMass::legacy;
};

/// A file and its named assets.
struct Source {
  Source(const fs::path& path, MjcfAttributes& attributes) : file(path, attributes) {}
  MjcfFile file;
  std::map<std::string, MeshAsset> meshes;
  std::map<std::string, fs::path> models;
};

/// Position of an element in the tree.
struct Scope {
  Source* source = nullptr;
  std::optional<std::size_t> link = {};  ///< none: the world
  Pose X_LF = {};                        ///< of the frame around it, in the link
  std::string of_class = {};
  std::string prefix = {}, suffix = {};  ///< of names in attached models and replicates
  std::size_t depth = 0;
};

/// A site referenced by equality constraints.
struct Site {
  std::optional<std::size_t> link;
  Pose X_LS;
};

class MjcfReader {
 public:
  explicit MjcfReader(const MjcfOptions& import_options)
      : import_options_(import_options), files_(import_options.meshes) {}

  [[nodiscard]] TreeModel read(const fs::path& file);

 private:
  Source& open(const fs::path& file);
  void add_assets(Source& source);
  void add_mesh_asset(Source& source, const MjcfElement& element);
  void add_contents(pugi::xml_node parent, const Scope& scope);
  void add_pending();
  void add_element(pugi::xml_node node, const Scope& scope);
  void add_body(pugi::xml_node node, const Scope& scope);
  void add_inertial(const MjcfElement& inertial, const Scope& scope);
  void add_joint(pugi::xml_node node, const Scope& scope);
  void report_joint_omissions(const MjcfElement& element, const std::string& name, bool is_rotation, double unit);
  void add_geom(pugi::xml_node node, const Scope& scope);
  void compute_mass(const MjcfElement& geom, const Scope& scope, const MassProperties& of_density_1);
  [[nodiscard]] const MeshAsset& mesh_of(const MjcfElement& geom, const Scope& scope) const;
  [[nodiscard]] Triangles triangles_of(const MeshAsset& mesh);
  void add_frame(pugi::xml_node node, const Scope& scope);
  void add_replicates(pugi::xml_node node, const Scope& scope);
  void add_attached(pugi::xml_node node, const Scope& scope);
  void finish_masses(const MjcfCompiler& compiler);
  void bound(MassProperties& mass, const MjcfCompiler& compiler, const std::string& name);
  void add_coupling(const MjcfElement& element, const std::string& name);
  void add_equality(const MjcfElement& element);
  [[nodiscard]] Site site_of(const MjcfElement& element, const char* site, const char* body) const;
  [[nodiscard]] Pose pose_of(const std::optional<std::size_t>& link) const;
  void read_option(Source& source);
  void set_keyframe(Source& source);
  void print_repeat_counts(const Source& source);
  void add_omission(std::string text) { model_.omissions.push_back(std::move(text)); }
  [[nodiscard]] std::string name_of(const MjcfElement& element, const Scope& scope, const char* kind);
  [[nodiscard]] std::string link_name(const std::optional<std::size_t>& link) const {
    return link ? model_.links[*link].name : "the world";
  }

  const MjcfOptions& import_options_;
  MeshFiles files_;
  MjcfAttributes attributes_;
  std::map<fs::path, Source> sources_;  ///< files and attached models
  TreeModel model_;
  std::map<std::string, int> unnamed_;  ///< counters by kind
  std::map<std::string, std::size_t> bodies_;
  std::map<std::string, Site> sites_;
  std::vector<bool> explicit_mass_;              ///< of links
  std::vector<MassProperties> of_geometry_;      ///< of links
  std::vector<std::vector<double>> references_;  ///< of links: coordinates of their degrees of freedom at the initial
                                                 ///< pose
  std::size_t elements_ = 0;
  /// Elements to be read, the next one last: models may be nested more deeply than the stack of a thread allows.
  struct Pending {
    pugi::xml_node node;
    std::shared_ptr<const Scope> scope;
  };
  std::vector<Pending> pending_;
};

/// Name, or kind and number of an unnamed element.
std::string MjcfReader::name_of(const MjcfElement& element, const Scope& scope, const char* kind) {
  const int number = unnamed_[kind]++;
  const std::string own = element.name();
  return own.empty() ? fmt::format("{}{}", kind, number) : scope.prefix + own + scope.suffix;
}

Source& MjcfReader::open(const fs::path& file) {
  const fs::path path = file.lexically_normal();
  const auto [found, is_new] = sources_.try_emplace(path, path, attributes_);
  if (is_new) add_assets(found->second);
  return found->second;
}

void MjcfReader::add_assets(Source& source) {
  std::map<std::string, int> others;
  for (const pugi::xml_node assets : source.file.root().children("asset")) {
    for (const pugi::xml_node node : assets.children()) {
      if (node.type() != pugi::node_element) continue;
      const std::string_view kind = node.name();
      if (kind != "mesh" && kind != "model") ++others[node.name()];
      if (kind == "mesh") add_mesh_asset(source, MjcfElement(source.file, node, ""));
      if (kind == "model") {
        const MjcfElement element(source.file, node, "");
        const fs::path file = source.file.path().parent_path() / element.text("file", "");
        // An unnamed asset uses the model name of its file.
        const std::string own = element.name().empty() ? open(file).file.root().attribute("model").value() : "";
        source.models[element.text("name", own)] = file;
      }
    }
  }
  for (const auto& [kind, count] : others) add_omission(fmt::format("assets: {} of kind {}", count, printable(kind)));
}

void MjcfReader::add_mesh_asset(Source& source, const MjcfElement& element) {
  const MjcfCompiler& compiler = source.file.compiler();
  MeshAsset mesh;
  if (const auto file = element.text("file")) {
    const fs::path named = compiler.strips_paths ? fs::path(*file).filename() : fs::path(*file);
    mesh.file = source.file.path().parent_path() / compiler.mesh_folder / named;
  }
  mesh.name = element.text("name", mesh.file.stem().string());
  mesh.factors = element.vector("scale", Vector3::Ones());
  const std::vector<double> q = element.numbers("refquat", 4, 4);
  const Matrix3 R = q.empty() ? Matrix3(Matrix3::Identity())
                              : Quaternion(q[0], q[1], q[2], q[3]).normalized().toRotationMatrix().transpose();
  mesh.X_SM = {.R = R, .p = -(R * element.vector("refpos"))};
  const std::string kind = element.text("inertia", compiler.exact_meshes ? "exact" : "legacy");
  mesh.kind = kind == "convex"  ? MeshMass::convex
              : kind == "exact" ? MeshMass::exact
              : kind == "shell" ? MeshMass::shell
                                : MeshMass::legacy;
  constexpr std::size_t many = std::numeric_limits<std::int32_t>::max();
  const std::vector<double> vertices = element.numbers("vertex", 0, many), faces = element.numbers("face", 0, many);
  for (std::size_t i = 0; i + 2 < vertices.size(); i += 3) {
    mesh.triangles.vertices.emplace_back(vertices[i], vertices[i + 1], vertices[i + 2]);
  }
  for (std::size_t i = 0; i + 2 < faces.size(); i += 3) {
    auto& t = mesh.triangles.triangles.emplace_back();
    for (std::size_t k = 0; k < 3; ++k) {
      if (!(faces[i + k] >= 0.0 && faces[i + k] < static_cast<double>(mesh.triangles.vertices.size()))) {
        element.reject(fmt::format("expected indices of its vertices in 'face', found {}", faces[i + k]));
      }
      t.at(k) = static_cast<std::uint32_t>(faces[i + k]);
    }
  }
  source.meshes[mesh.name] = std::move(mesh);
}

/// Schedules the elements of `parent` before all others, in the order of the file.
void MjcfReader::add_contents(pugi::xml_node parent, const Scope& scope) {
  // Replicates and attached models can expand a small file beyond memory, or be cyclic.
  constexpr std::size_t max_elements = 1'000'000;
  const auto shared = std::make_shared<const Scope>(scope);
  for (pugi::xml_node node = parent.last_child(); node; node = node.previous_sibling()) {
    if (node.type() != pugi::node_element) continue;
    if (++elements_ > max_elements || scope.depth > max_xml_depth) {
      scope.source->file.reject(fmt::format(
          "expected at most {} elements with a nesting depth of at most {}, found more", max_elements, max_xml_depth));
    }
    pending_.push_back({.node = node, .scope = shared});
  }
}

void MjcfReader::add_pending() {
  while (!pending_.empty()) {
    const Pending next = std::move(pending_.back());
    pending_.pop_back();
    add_element(next.node, *next.scope);
  }
}

void MjcfReader::add_element(pugi::xml_node node, const Scope& scope) {
  const std::string_view kind = node.name();
  if (kind == "body") return add_body(node, scope);
  if (kind == "joint" || kind == "freejoint") return add_joint(node, scope);
  if (kind == "geom") return add_geom(node, scope);
  if (kind == "frame") return add_frame(node, scope);
  if (kind == "replicate") return add_replicates(node, scope);
  if (kind == "attach") return add_attached(node, scope);
  const MjcfElement element(scope.source->file, node, scope.of_class);
  if (kind == "inertial") return add_inertial(element, scope);
  if (kind == "composite" || kind == "flexcomp") {
    element.reject(
        fmt::format("expected bodies with joints, found a {}, from which MuJoCo generates bodies that are not "
                    "imported; remove it, or load and save the model in MuJoCo",
                    kind));
  }
  const std::string name = name_of(element, scope, node.name());
  if (kind == "site") sites_[name] = {.link = scope.link, .X_LS = scope.X_LF * element.pose()};
  add_omission(fmt::format("{} {} of {}", kind, name, link_name(scope.link)));
}

void MjcfReader::add_body(pugi::xml_node node, const Scope& scope) {
  const MjcfElement element(scope.source->file, node, "");
  // The world is MuJoCo's first body.
  if (unnamed_["body"] == 0) unnamed_["body"] = 1;
  const std::string name = name_of(element, scope, "body");
  const std::size_t index = model_.links.size();
  if (!bodies_.emplace(name, index).second) element.reject("expected a unique body name");
  model_.links.push_back({.name = name, .mass = {}, .parent = scope.link, .X_PL = scope.X_LF * element.pose()});
  explicit_mass_.push_back(false);
  references_.emplace_back();
  of_geometry_.emplace_back();
  if (element.flag("mocap", false)) add_omission(fmt::format("body {}: its external motion (mocap)", name));
  if (const double g = element.number("gravcomp", 0.0); g != 0.0) {
    add_omission(fmt::format("body {}: its gravity compensation {}; its full weight acts", name, g));
  }
  Scope inner = scope;
  ++inner.depth;
  inner.link = index;
  inner.X_LF = {};
  inner.of_class = element.text("childclass", scope.of_class);
  add_contents(node, inner);
}

void MjcfReader::add_inertial(const MjcfElement& inertial, const Scope& scope) {
  if (!scope.link) inertial.reject("expected the element in a body, found it in the world");
  if (scope.source->file.compiler().inertia_from_geom == "true") {
    return add_omission(
        fmt::format("inertial of body {}: the file requests inertias from geometry", link_name(scope.link)));
  }
  const Pose X = inertial.pose();
  const std::vector<double> full = inertial.numbers("fullinertia", 6, 6);
  Matrix3 inertia = inertial.vector("diaginertia").asDiagonal();
  if (!full.empty()) inertia << full[0], full[3], full[4], full[3], full[1], full[5], full[4], full[5], full[2];
  model_.links[*scope.link].mass =
      expressed_in(X, {.mass = inertial.number("mass", 0.0), .center_of_mass = Vector3::Zero(), .inertia = inertia});
  explicit_mass_[*scope.link] = true;
}

void MjcfReader::report_joint_omissions(const MjcfElement& element, const std::string& name, bool is_rotation,
                                        double unit) {
  const std::vector<double> range = element.numbers("range", 2, 2);
  const std::string limited = element.text("limited", "auto");
  if (!range.empty() && range[0] != range[1] && limited != "false") {
    add_omission(fmt::format("joint {}: its limits, {} to {} {}", name, unit * range[0], unit * range[1],
                             is_rotation ? "rad" : "m"));
  }
  if (const double value = element.number("frictionloss", 0.0); value != 0.0) {
    add_omission(fmt::format("joint {}: its friction {}", name, value));
  }
  if (const auto pair = element.numbers("springdamper", 2, 2); !pair.empty() && (pair[0] > 0.0 || pair[1] > 0.0)) {
    add_omission(
        fmt::format("joint {}: its springdamper {} {}, from which MuJoCo computes a spring", name, pair[0], pair[1]));
  }
}

void MjcfReader::add_joint(pugi::xml_node node, const Scope& scope) {
  const MjcfElement element(scope.source->file, node, scope.of_class);
  if (!scope.link) element.reject("expected the element in a body, found it in the world");
  Link& link = model_.links[*scope.link];
  JointDof dof{.name = name_of(element, scope, "joint")};
  const std::string type = std::strcmp(node.name(), "freejoint") == 0 ? "free" : element.text("type", "hinge");
  const std::map<std::string, Kind> kinds{
      {"free", Kind::free}, {"ball", Kind::spherical}, {"slide", Kind::prismatic}, {"hinge", Kind::revolute}};
  const auto kind = kinds.find(type);
  if (kind == kinds.end()) {
    element.reject(fmt::format("expected free, ball, slide or hinge in 'type', found '{}'", printable(type, 60)));
  }
  dof.kind = kind->second;
  if (dof.kind == Kind::free && link.parent) element.reject("expected a free joint in a body of the world only");
  const bool is_rotation = dof.kind == Kind::revolute || dof.kind == Kind::spherical;
  const double unit = is_rotation ? scope.source->file.angle_unit() : 1.0;
  const Vector3 axis = scope.X_LF.R * element.vector("axis", Vector3::UnitZ());
  if (!(axis.norm() > 0.0)) element.reject("expected a nonzero axis");
  dof.axis = axis.normalized();
  dof.point = scope.X_LF * element.vector("pos");
  // Newer files may have further coefficients, of higher powers of the velocity.
  constexpr std::size_t powers = 3;
  const std::vector<double> stiffness = element.numbers("stiffness", 1, powers);
  const std::vector<double> damping = element.numbers("damping", 1, powers);
  if (!stiffness.empty()) dof.stiffness = stiffness[0];
  if (!damping.empty()) dof.damping = damping[0];
  if (stiffness.size() > 1 || damping.size() > 1)
    add_omission(fmt::format("joint {}: the nonlinear terms of its resistance", dof.name));
  const double reference = unit * element.number("ref", 0.0);
  const double armature = element.number("armature", 0.0);
  if (armature < 0.0)
    element.reject(fmt::format("expected an inertia of at least 0 in 'armature', found {}", armature));
  if (dof.kind == Kind::revolute || dof.kind == Kind::prismatic) {
    dof.armature = armature;
  } else if (armature > 0.0) {
    add_omission(
        fmt::format("joint {}: its armature {}, which is imported for joints with one coordinate only: the body "
                    "accelerates more than in MuJoCo",
                    dof.name, armature));
  }
  dof.neutral = unit * element.number("springref", 0.0) - reference;
  references_[*scope.link].push_back(reference);
  if (link.dofs.empty()) link.joint = dof.name;
  if (dof.kind != Kind::free) report_joint_omissions(element, dof.name, is_rotation, unit);
  link.dofs.push_back(std::move(dof));
}

const MeshAsset& MjcfReader::mesh_of(const MjcfElement& geom, const Scope& scope) const {
  const std::string name = geom.text("mesh", "");
  const auto found = scope.source->meshes.find(name);
  if (found == scope.source->meshes.end()) {
    geom.reject(fmt::format("expected a mesh of the assets in 'mesh', found '{}'", printable(name, 60)));
  }
  if (found->second.file.empty() && found->second.triangles.vertices.empty()) {
    geom.reject(
        fmt::format("expected a mesh with a file or vertices, found '{}', which MuJoCo or one of its plugins "
                    "generates; load the model in MuJoCo and save the mesh",
                    printable(name, 60)));
  }
  return found->second;
}

/// [m], in the frame of the geometry.
Triangles MjcfReader::triangles_of(const MeshAsset& mesh) {
  const bool own = mesh.file.extension() == ".msh" || mesh.file.extension() == ".MSH";
  Triangles all = mesh.file.empty() ? mesh.triangles : own ? read_mujoco_mesh(mesh.file) : files_.triangles(mesh.file);
  // MuJoCo transforms before scaling.
  for (Vector3& v : all.vertices) v = mesh.X_SM * v;
  all = transformed(std::move(all), mesh.factors, {});
  return all.triangles.empty() ? convex_hull(all.vertices, mesh.name) : all;
}

/// Adds the mass of the geometry to its body, unless the body has an explicit inertia.
void MjcfReader::compute_mass(const MjcfElement& geom, const Scope& scope, const MassProperties& of_density_1) {
  const double density = geom.number("density", 1000.0);
  const std::vector<double> mass = geom.numbers("mass", 1, 1);
  const double factor = mass.empty() ? density : of_density_1.mass > 0.0 ? mass[0] / of_density_1.mass : 0.0;
  if (!(factor >= 0.0)) geom.reject(fmt::format("expected a mass and a density of at least 0, found {}", factor));
  MassProperties weighed = of_density_1;
  weighed.mass *= factor;
  weighed.inertia *= factor;
  MassProperties& all = of_geometry_[*scope.link];
  all = welded(all, weighed);
}

/// The body or world that contains the frames of an element.
pugi::xml_node body_of(pugi::xml_node node) {
  do node = node.parent();
  while (std::strcmp(node.name(), "frame") == 0 || std::strcmp(node.name(), "replicate") == 0);
  return node;
}

void MjcfReader::add_geom(pugi::xml_node node, const Scope& scope) {
  const MjcfElement geom(scope.source->file, node, scope.of_class);
  const MjcfCompiler& compiler = scope.source->file.compiler();
  const std::string name = name_of(geom, scope, "geom");
  const GeomType type = geom_type(geom);
  const bool is_mesh = type == GeomType::mesh || type == GeomType::sdf;
  const bool has_mesh = is_mesh || geom.text("mesh");
  const int group = static_cast<int>(geom.number("group", 0.0));
  const bool heavy = geom.number("mass", geom.number("density", 1000.0)) != 0.0;
  const bool counts = scope.link && group >= compiler.first_group && group <= compiler.last_group && heavy;
  const bool touches = geom.number("contype", 1.0) != 0.0 || geom.number("conaffinity", 1.0) != 0.0;
  const bool shell = geom.flag("shellinertia", false);
  // The mesh is read only if it contributes mass; an inertial later in the file counts as well.
  const bool own_mass = body_of(node).child("inertial");
  const bool weighs =
      counts && (compiler.inertia_from_geom == "true" || (!own_mass && compiler.inertia_from_geom != "false"));
  Shape shape{.what = fmt::format("{} {}", to_string(type), name), .X_BS = scope.X_LF * geom.pose()};
  if (has_mesh && (weighs || (touches && !is_mesh))) {
    const MeshAsset& mesh = mesh_of(geom, scope);
    const std::string owner = fmt::format("mesh '{}', which defines the mass of geom '{}'", mesh.name, name);
    if (!mesh.file.empty() && !files_.exists(mesh.file, owner)) return;
    const Triangles triangles = triangles_of(mesh);
    const MassProperties mass = mass_of_mesh(triangles, mesh.kind, mesh.name);
    if (is_mesh) {
      compute_mass(geom, scope, expressed_in(shape.X_BS, mass));
    } else {
      Primitive primitive = fitted(triangles, mass, type, compiler.fits_extents, geom.number("fitscale", 1.0));
      shape.X_BS = shape.X_BS * primitive.X_BG;
      shape.size = primitive.size;
      if (weighs) compute_mass(geom, scope, expressed_in(shape.X_BS, mass_of_primitive(primitive, shell)));
    }
  } else if (!has_mesh) {
    const Primitive primitive = primitive_of(geom, type);
    shape.X_BS = scope.X_LF * primitive.X_BG;
    shape.size = primitive.size;
    if (weighs) compute_mass(geom, scope, expressed_in(shape.X_BS, mass_of_primitive(primitive, shell)));
  }
  if (!touches) {
    return add_omission(
        fmt::format("{} of {}: visual geometry without contact in the file", shape.what, link_name(scope.link)));
  }
  const std::map<GeomType, Shape::Kind> kinds{{GeomType::plane, Shape::Kind::plane},
                                              {GeomType::sphere, Shape::Kind::sphere},
                                              {GeomType::capsule, Shape::Kind::capsule},
                                              {GeomType::cylinder, Shape::Kind::cylinder},
                                              {GeomType::box, Shape::Kind::box}};
  if (is_mesh) {
    const MeshAsset& mesh = mesh_of(geom, scope);
    const bool own = mesh.file.empty() || mesh.file.extension() == ".msh" || mesh.X_SM.p != Vector3::Zero() ||
                     mesh.X_SM.R != Matrix3::Identity();
    if (own && (mesh.file.empty() || (!import_options_.meshes.leave_out && files_.exists(mesh.file, mesh.name)))) {
      files_.use(shape, triangles_of(mesh), mesh.name);
    } else {
      files_.use(shape, mesh.file, fmt::format("mesh '{}'", mesh.name), mesh.factors);
    }
  } else if (const auto found = kinds.find(type); found != kinds.end()) {
    shape.kind = found->second;
  }
  (scope.link ? model_.links[*scope.link].shapes : model_.ground_shapes).push_back(std::move(shape));
}

void MjcfReader::add_frame(pugi::xml_node node, const Scope& scope) {
  const MjcfElement element(scope.source->file, node, "");
  Scope inner = scope;
  ++inner.depth;
  inner.X_LF = scope.X_LF * element.pose();
  inner.of_class = element.text("childclass", scope.of_class);
  add_contents(node, inner);
}

void MjcfReader::add_replicates(pugi::xml_node node, const Scope& scope) {
  const MjcfElement element(scope.source->file, node, "");
  const double requested = element.number("count", 0.0);
  constexpr double most = 1e5;
  if (!(requested >= 1.0 && requested <= most))
    element.reject(fmt::format("expected a 'count' of 1 to {}, found {}", most, requested));
  const std::string separator = element.text("sep", "");
  const Vector3 euler = element.vector("euler");
  const Vector3 step = element.vector("offset");
  const auto digits = fmt::format("{}", static_cast<int>(requested)).size();
  Pose X;
  std::vector<Scope> copies;
  for (int i = 0; i < static_cast<int>(requested); ++i) {
    Scope inner = scope;
    ++inner.depth;
    // The i-th copy is rotated by i times the angles.
    X.R = scope.source->file.euler(i * euler);
    inner.X_LF = scope.X_LF * X;
    inner.suffix = fmt::format("{}{:0{}}{}", separator, i, digits, scope.suffix);
    inner.of_class = element.text("childclass", scope.of_class);
    copies.push_back(std::move(inner));
    X.p += X.R * step;
  }
  for (auto copy = copies.rbegin(); copy != copies.rend(); ++copy) add_contents(node, *copy);
}

void MjcfReader::add_attached(pugi::xml_node node, const Scope& scope) {
  const MjcfElement element(scope.source->file, node, "");
  const std::string model = element.text("model", ""), body = element.text("body", "");
  const auto found = scope.source->models.find(model);
  if (!model.empty() && found == scope.source->models.end()) {
    element.reject(fmt::format("expected a model of the assets in 'model', found '{}'", printable(model, 60)));
  }
  // Without a model, the body belongs to this model.
  Source& source = model.empty() ? *scope.source : open(found->second);
  Scope inner = scope;
  ++inner.depth;
  inner.source = &source;
  inner.of_class = "";
  inner.prefix = scope.prefix + element.text("prefix", "");
  bool done = false;
  const pugi::xml_node root = source.file.root();
  for (pugi::xml_node world = root.last_child(); world; world = world.previous_sibling()) {
    if (std::strcmp(world.name(), "worldbody") != 0) continue;
    if (body.empty()) add_contents(world, inner);
    const pugi::xml_node part = world.find_node(
        [&](pugi::xml_node n) { return std::strcmp(n.name(), "body") == 0 && body == n.attribute("name").value(); });
    if (part) add_body(part, inner);
    done = done || body.empty() || part;
  }
  if (!done) element.reject(fmt::format("expected a body '{}' in {}, found none", body, source.file.path().string()));
  add_omission(fmt::format("attached model {}: elements other than bodies", model));
}

void MjcfReader::bound(MassProperties& mass, const MjcfCompiler& compiler, const std::string& name) {
  mass.mass = std::max(mass.mass, compiler.min_mass);
  if (!compiler.balance && compiler.min_moment <= 0.0) return;
  const Eigen::SelfAdjointEigenSolver<Matrix3> principal(mass.inertia);
  Vector3 moments = principal.eigenvalues();
  if (compiler.min_moment > 0.0) moments = moments.cwiseMax(compiler.min_moment);
  if (compiler.balance && moments[0] + moments[1] < moments[2]) {
    moments.setConstant(moments.mean());
    add_omission(
        fmt::format("body {}: its principal moments of inertia, {} kg m^2; balanced to {} kg m^2 as the file requests",
                    name, list(principal.eigenvalues()), moments[0]));
  }
  if (moments == principal.eigenvalues()) return;
  mass.inertia = principal.eigenvectors() * moments.asDiagonal() * principal.eigenvectors().transpose();
}

void MjcfReader::finish_masses(const MjcfCompiler& compiler) {
  double total = 0.0;
  for (std::size_t i = 0; i < model_.links.size(); ++i) {
    Link& link = model_.links[i];
    if (!explicit_mass_[i]) link.mass = of_geometry_[i];
    bound(*link.mass, compiler, link.name);
    total += link.mass->mass;
  }
  if (!(compiler.total_mass > 0.0) || !(total > 0.0)) return;
  for (Link& link : model_.links) {
    link.mass->mass *= compiler.total_mass / total;
    link.mass->inertia *= compiler.total_mass / total;
  }
}

Pose MjcfReader::pose_of(const std::optional<std::size_t>& link) const {
  Pose X;
  for (auto at = link; at; at = model_.links[*at].parent) X = model_.links[*at].X_PL * X;
  return X;
}

/// @param body  key of a body instead of a site; none = the world
Site MjcfReader::site_of(const MjcfElement& element, const char* site, const char* body) const {
  if (const auto name = element.text(site)) {
    const auto found = sites_.find(*name);
    if (found == sites_.end())
      element.reject(fmt::format("expected a site in '{}', found '{}'", site, printable(*name, 60)));
    return found->second;
  }
  const std::string name = element.text(body, "world");
  if (name == "world") return {};
  const auto found = bodies_.find(name);
  if (found == bodies_.end())
    element.reject(fmt::format("expected a body in '{}', found '{}'", body, printable(name, 60)));
  return {.link = found->second, .X_LS = {}};
}

/// Both coordinates are relative to the reference positions of their joints, as in JointDof.
void MjcfReader::add_coupling(const MjcfElement& element, const std::string& name) {
  Coupling coupling{.what = "equality " + name,
                    .name = name,
                    .dependent = element.text("joint1", ""),
                    .independent = element.text("joint2", ""),
                    .polynomial = element.numbers("polycoef", 0, 5)};
  if (coupling.polynomial.empty()) coupling.polynomial = {0.0, 1.0};
  model_.couplings.push_back(std::move(coupling));
}

void MjcfReader::add_equality(const MjcfElement& element) {
  const std::string_view kind = element.node().name();
  const std::string name = name_of(element, {}, "equality");
  if (kind == "joint" && element.flag("active", true)) return add_coupling(element, name);
  if ((kind != "connect" && kind != "weld") || !element.flag("active", true)) {
    return add_omission(fmt::format("equality {} ({})", name, kind));
  }
  Site a = site_of(element, "site1", "body1"), b = site_of(element, "site2", "body2");
  // With bodies, the point on the second body is the one that coincides with the first's at the initial pose.
  if (!element.text("site1")) {
    a.X_LS.p = element.vector("anchor");
    const auto relative = element.numbers("relpose", 7, 7);
    if (kind == "weld" && !relative.empty() && Eigen::Map<const Eigen::Vector4d>(relative.data() + 3).norm() > 0.0) {
      a.X_LS = {.R = Quaternion(relative[3], relative[4], relative[5], relative[6]).normalized().toRotationMatrix(),
                .p = Vector3(relative[0], relative[1], relative[2])};
    } else {
      b.X_LS = pose_of(b.link).inverse() * pose_of(a.link) * a.X_LS;
    }
  }
  model_.loops.push_back({.kind = kind == "weld" ? Loop::Kind::weld : Loop::Kind::point,
                          .name = name,
                          .a = a.link,
                          .b = b.link,
                          .X_AJ = a.X_LS,
                          .X_BJ = b.X_LS});
}

void MjcfReader::read_option(Source& source) {
  for (const pugi::xml_node node : source.file.root().children("option")) {
    const MjcfElement option(source.file, node, "");
    model_.gravity = option.vector("gravity", model_.gravity);
    for (const pugi::xml_node flags : node.children("flag")) {
      if (MjcfElement(source.file, flags, "").text("gravity", "enable") == "disable") model_.gravity.setZero();
    }
  }
}

/// Sets all links to the poses of a keyframe.
void MjcfReader::set_keyframe(Source& source) {
  std::vector<double> q;
  bool found = false;
  std::string known;
  for (const pugi::xml_node keys : source.file.root().children("keyframe")) {
    for (const pugi::xml_node node : keys.children("key")) {
      const MjcfElement key(source.file, node, "");
      const std::string name = name_of(key, {}, "keyframe");
      known += (known.empty() ? "" : ", ") + name;
      if (name != import_options_.keyframe) {
        add_omission(fmt::format("keyframe {}", name));
        continue;
      }
      found = true;
      q = key.numbers("qpos", 0, std::numeric_limits<std::int32_t>::max());
    }
  }
  if (import_options_.keyframe.empty()) return;
  if (!found) {
    source.file.reject(
        fmt::format("expected a keyframe '{}', found {}", import_options_.keyframe, known.empty() ? "none" : known));
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < model_.links.size(); ++i) {
    Link& link = model_.links[i];
    for (std::size_t k = 0; k < link.dofs.size(); ++k) {
      const Kind kind = link.dofs[k].kind;
      const std::size_t count = kind == Kind::free ? 7 : kind == Kind::spherical ? 4 : 1;
      if (at + count > q.size()) break;
      if (count == 1) q[at] -= references_[i][k];
      displace(link, k, &q[at]);
      at += count;
    }
  }
  if (at != q.size()) {
    source.file.reject(
        fmt::format("keyframe '{}': expected as many numbers in 'qpos' as the joints have coordinates, found {}",
                    import_options_.keyframe, q.size()));
  }
}

/// Reports sections without a counterpart in a scenario.
void MjcfReader::print_repeat_counts(const Source& source) {
  for (const pugi::xml_node section : source.file.root().children()) {
    if (section.type() != pugi::node_element) continue;
    const std::string_view kind = section.name();
    static const std::set<std::string_view> read{"compiler",  "option",   "default", "asset",
                                                 "worldbody", "equality", "keyframe"};
    if (read.contains(kind)) continue;
    if (!section.first_child()) add_omission(fmt::format("section {}", printable(kind)));
    for (const pugi::xml_node node : section.children()) {
      if (node.type() != pugi::node_element) continue;
      const std::string name = node.attribute("name").value();
      const std::string type = kind == "actuator" || kind == "sensor" ? "" : fmt::format("{} ", printable(node.name()));
      add_omission(
          fmt::format("{} {}{}", printable(kind), type, name.empty() ? printable(node.name()) : printable(name)));
    }
  }
}

TreeModel MjcfReader::read(const fs::path& file) {
  Source& source = open(file);
  model_.kind = "MJCF";
  model_.file = file.string();
  model_.name = source.file.root().attribute("model").as_string("MuJoCo Model");
  read_option(source);
  for (const pugi::xml_node world : source.file.root().children("worldbody")) {
    add_contents(world, {.source = &source});
    add_pending();
  }
  finish_masses(source.file.compiler());
  for (const pugi::xml_node equalities : source.file.root().children("equality")) {
    for (const pugi::xml_node node : equalities.children()) {
      if (node.type() == pugi::node_element) add_equality({source.file, node, ""});
    }
  }
  set_keyframe(source);
  follow_couplings(model_);
  print_repeat_counts(source);
  for (std::string& line : attributes_.unused()) add_omission(std::move(line));
  files_.throw_missing(file.string());
  return std::move(model_);
}

}  // namespace

TreeModel read_mjcf(const fs::path& file, const MjcfOptions& import_options) {
  return MjcfReader(import_options).read(file);
}

ModelFormat mjcf_format() {
  return {
      .name = "MJCF",
      .description = "MJCF of MuJoCo 2 and 3",
      .root = "mujoco",
      .example = "anymal.xml --keyframe home -o anymal",
      .options = robot_options(
          {{.name = "--keyframe", .value = "NAME", .description = "Keyframe of an MJCF model with the initial pose"}}),
      .import = [](const ModelInput& input) {
        const MjcfOptions options{.meshes = mesh_import_options(input), .keyframe = input.value("--keyframe")};
        return import_tree(read_mjcf(input.file, options), input);
      }};
}

}  // namespace heelstrike::models
