#include "client/models/mjcf_model.hpp"

#include <fmt/format.h>
#include <mujoco/mujoco.h>
#include <array>
#include <map>
#include <memory>
#include <vector>

#include "common/errors/error.hpp"

namespace heelstrike::client::models {
namespace {

namespace fs = std::filesystem;
using Kind = Freedom::Kind;
using Surface = Shape::Surface;

/// MuJoCo's warnings go to a function without context; it would write a file otherwise.
thread_local std::vector<std::string>* warnings_of_this_thread = nullptr;

void hear_warning(const char* text) {
  if (warnings_of_this_thread != nullptr) warnings_of_this_thread->emplace_back(text);
}

using Compiled = std::unique_ptr<mjModel, decltype(&mj_deleteModel)>;

Compiled compile(const fs::path& file, std::vector<std::string>& warnings) {
  std::array<char, 1000> message{};
  warnings_of_this_thread = &warnings;
  mju_user_warning = hear_warning;
  Compiled model(mj_loadXML(file.c_str(), nullptr, message.data(), static_cast<int>(message.size())), mj_deleteModel);
  warnings_of_this_thread = nullptr;
  if (!model) {
    throw input_error("model", fmt::format("{}: expected an MJCF model, found, in MuJoCo's words: {}", file.string(),
                                           message.data()));
  }
  // A model that compiles may come with a remark.
  if (message[0] != '\0') warnings.emplace_back(message.data());
  return model;
}

Vector3 vector(const mjtNum* numbers, int i) {
  return {numbers[3 * i], numbers[3 * i + 1], numbers[3 * i + 2]};
}

Matrix3 rotation(const mjtNum* numbers, int i) {
  const mjtNum* q = numbers + 4 * i;
  return Quaternion(q[0], q[1], q[2], q[3]).normalized().toRotationMatrix();
}

class MjcfReader {
 public:
  explicit MjcfReader(const mjModel& compiled) : m_(compiled) {}

  [[nodiscard]] TreeModel read();

 private:
  /// Name, or kind and number of what has none.
  [[nodiscard]] std::string name_of(mjtObj kind, int i) const {
    const char* name = mj_id2name(&m_, kind, i);
    return name != nullptr && *name != '\0' ? name : fmt::format("{}{}", mju_type2Str(kind), i);
  }
  [[nodiscard]] Freedom freedom_of(int joint);
  [[nodiscard]] Shape shape_of(int geom);
  [[nodiscard]] MeshCopy mesh_of(int mesh);
  void add_body(int body);
  void tell_joint(int joint);
  void tell_rest();
  void miss(std::string text) { model_.not_taken.push_back(std::move(text)); }

  const mjModel& m_;
  TreeModel model_;
  std::map<std::string, int> mesh_files_;  ///< meshes by the names of their files
};

Freedom MjcfReader::freedom_of(int j) {
  constexpr std::array kinds = {Kind::free, Kind::ball, Kind::shift, Kind::turn};
  static_assert(mjJNT_FREE == 0 && mjJNT_BALL == 1 && mjJNT_SLIDE == 2 && mjJNT_HINGE == 3);
  Freedom freedom{.kind = kinds.at(static_cast<std::size_t>(m_.jnt_type[j])), .name = name_of(mjOBJ_JOINT, j)};
  freedom.axis = vector(m_.jnt_axis, j).normalized();
  freedom.point = vector(m_.jnt_pos, j);
  freedom.stiffness = m_.jnt_stiffness[j];
  freedom.damping = m_.dof_damping[m_.jnt_dofadr[j]];
  const int q = m_.jnt_qposadr[j];
  freedom.neutral = m_.qpos_spring[q] - m_.qpos0[q];
  return freedom;
}

/// What a joint has besides its axis.
void MjcfReader::tell_joint(int j) {
  const std::string name = fmt::format("joint {}", name_of(mjOBJ_JOINT, j));
  if (m_.jnt_limited[j] != 0) {
    miss(fmt::format("{}: its limits, {} to {}", name, m_.jnt_range[2 * j], m_.jnt_range[2 * j + 1]));
  }
  const int dof = m_.jnt_dofadr[j];
  if (m_.dof_armature[dof] != 0.0) miss(fmt::format("{}: its armature {}", name, m_.dof_armature[dof]));
  if (m_.dof_frictionloss[dof] != 0.0) miss(fmt::format("{}: its friction {}", name, m_.dof_frictionloss[dof]));
}

MeshCopy MjcfReader::mesh_of(int mesh) {
  std::string text = fmt::format("# {} as MuJoCo compiled it: [m], about its centre, along its principal axes\n",
                                 name_of(mjOBJ_MESH, mesh));
  const int v0 = m_.mesh_vertadr[mesh], f0 = m_.mesh_faceadr[mesh];
  for (int v = v0; v < v0 + m_.mesh_vertnum[mesh]; ++v) {
    text += fmt::format("v {} {} {}\n", m_.mesh_vert[3 * v], m_.mesh_vert[3 * v + 1], m_.mesh_vert[3 * v + 2]);
  }
  for (int f = f0; f < f0 + m_.mesh_facenum[mesh]; ++f) {
    text +=
        fmt::format("f {} {} {}\n", m_.mesh_face[3 * f] + 1, m_.mesh_face[3 * f + 1] + 1, m_.mesh_face[3 * f + 2] + 1);
  }
  // Names that differ in letters which files may not have must not fall together.
  std::string to = fmt::format("meshes/{}.obj", plain(name_of(mjOBJ_MESH, mesh)));
  if (mesh_files_.try_emplace(to, mesh).first->second != mesh) {
    to = fmt::format("meshes/{}_{}.obj", plain(name_of(mjOBJ_MESH, mesh)), mesh);
  }
  return {.to = to, .content = std::move(text)};
}

Shape MjcfReader::shape_of(int g) {
  constexpr std::array kinds = {"plane", "height field", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"};
  static_assert(mjGEOM_PLANE == 0 && mjGEOM_MESH == 7);
  const auto type = static_cast<std::size_t>(m_.geom_type[g]);
  Shape shape{.what = fmt::format("{} {}", type < kinds.size() ? kinds.at(type) : "geometry", name_of(mjOBJ_GEOM, g)),
              .X_BS = {.R = rotation(m_.geom_quat, g), .p = vector(m_.geom_pos, g)}};
  if (m_.geom_type[g] == mjGEOM_SPHERE) {
    shape.surface = Surface::sphere;
    shape.keys = fmt::format("radius: {}", m_.geom_size[3 * g]);
  } else if (m_.geom_type[g] == mjGEOM_MESH && m_.geom_dataid[g] >= 0) {
    shape.surface = Surface::mesh;
    shape.mesh = mesh_of(m_.geom_dataid[g]);
    shape.keys = fmt::format("file: {}", shape.mesh->to);
  }
  return shape;
}

void MjcfReader::add_body(int b) {
  Link link{.name = name_of(mjOBJ_BODY, b),
            .mass = {},
            .X_PL = {.R = rotation(m_.body_quat, b), .p = vector(m_.body_pos, b)}};
  const Matrix3 R = rotation(m_.body_iquat, b);
  link.mass = MassProperties{.mass = m_.body_mass[b],
                             .center_of_mass = vector(m_.body_ipos, b),
                             .inertia = R * vector(m_.body_inertia, b).asDiagonal() * R.transpose()};
  for (int g = m_.body_geomadr[b]; g < m_.body_geomadr[b] + m_.body_geomnum[b]; ++g) link.shapes.push_back(shape_of(g));
  // The world is the first of MuJoCo's bodies and no link.
  if (m_.body_parentid[b] > 0) link.parent = static_cast<std::size_t>(m_.body_parentid[b] - 1);
  for (int j = m_.body_jntadr[b]; j < m_.body_jntadr[b] + m_.body_jntnum[b]; ++j) {
    link.freedoms.push_back(freedom_of(j));
    tell_joint(j);
  }
  if (!link.freedoms.empty()) {
    link.joint = link.freedoms.front().name;
    link.joint_type = link.freedoms.size() == 1 ? "joint" : fmt::format("{} joints of this body", link.freedoms.size());
  }
  if (m_.body_mocapid[b] >= 0) miss(fmt::format("body {}: that it is moved from outside (mocap)", link.name));
  model_.links.push_back(std::move(link));
}

void MjcfReader::tell_rest() {
  for (int g = m_.body_geomadr[0]; g < m_.body_geomadr[0] + m_.body_geomnum[0]; ++g) {
    miss(fmt::format("{} of the world", shape_of(g).what));
  }
  const auto all = [this](mjtObj kind, int count, const char* what) {
    for (int i = 0; i < count; ++i) miss(fmt::format("{} {}", what, name_of(kind, i)));
  };
  all(mjOBJ_ACTUATOR, m_.nu, "actuator");
  all(mjOBJ_EQUALITY, m_.neq, "equality");
  all(mjOBJ_TENDON, m_.ntendon, "tendon");
  all(mjOBJ_PAIR, m_.npair, "contact pair");
  all(mjOBJ_SENSOR, m_.nsensor, "sensor");
  all(mjOBJ_KEY, m_.nkey, "keyframe");
  all(mjOBJ_SITE, m_.nsite, "site");
  all(mjOBJ_CAMERA, m_.ncam, "camera");
  all(mjOBJ_LIGHT, m_.nlight, "light");
  all(mjOBJ_SKIN, m_.nskin, "skin");
  if (m_.opt.density != 0.0 || m_.opt.viscosity != 0.0) miss("the medium: its density and viscosity");
}

TreeModel MjcfReader::read() {
  model_.kind = "MJCF";
  model_.name = m_.names;
  const bool weightless = (m_.opt.disableflags & mjDSBL_GRAVITY) != 0;
  model_.gravity = weightless ? Vector3(Vector3::Zero()) : vector(m_.opt.gravity, 0);
  for (int b = 1; b < m_.nbody; ++b) add_body(b);
  tell_rest();
  return std::move(model_);
}

}  // namespace

TreeModel read_mjcf(const fs::path& file) {
  std::vector<std::string> warnings;
  const Compiled compiled = compile(file, warnings);
  TreeModel model = MjcfReader(*compiled).read();
  for (const std::string& warning : warnings) model.not_taken.push_back("MuJoCo: " + warning);
  return model;
}

}  // namespace heelstrike::client::models
