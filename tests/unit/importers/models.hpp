/// Robots for tests, and a folder for their files.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "fem_server/geometry/read_mesh.hpp"
#include "importers/robots/mjcf_model.hpp"
#include "importers/robots/urdf_model.hpp"

namespace heelstrike::test {

/// A private folder that is removed afterwards.
class ModelFolder {
 public:
  explicit ModelFolder(const std::string& name)
      : path_(std::filesystem::path(testing::TempDir()) / (name + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~ModelFolder() { std::filesystem::remove_all(path_); }
  ModelFolder(const ModelFolder&) = delete;
  ModelFolder& operator=(const ModelFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

/// A surface from file content. @param name  gives the format
inline fem::SurfaceMesh surface_in(const std::string& content, const std::string& name) {
  fem::ReadOptions options;
  options.name = name;
  return fem::read_surface(content, options);
}
/// Meshes as the program reads them.
inline models::MeshImportOptions mesh_import_options() {
  return {.read = [](const std::filesystem::path& file) -> Triangles {
    std::ostringstream bytes;
    bytes << std::ifstream(file, std::ios::binary).rdbuf();
    fem::ReadOptions options;
    options.name = file.string();
    options.points_suffice = true;
    fem::SurfaceMesh mesh = fem::read_outer_surface(bytes.str(), options);
    return {.vertices = std::move(mesh.vertices), .triangles = std::move(mesh.triangles)};
  }};
}
inline models::UrdfOptions urdf_options() {
  return {.meshes = mesh_import_options()};
}
inline models::TreeModel mjcf(const std::filesystem::path& file, const std::string& keyframe = "") {
  return models::read_mjcf(file, {.meshes = mesh_import_options(), .keyframe = keyframe});
}

/// A tetrahedron with edges of 1 along the axes.
inline constexpr const char* wedge_stl =
    "solid w\nfacet normal 0 0 0\nouter loop\nvertex 0 0 0\nvertex 0 1 0\nvertex 1 0 0\nendloop\nendfacet\n"
    "facet normal 0 0 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 0 1\nendloop\nendfacet\n"
    "facet normal 0 0 0\nouter loop\nvertex 0 0 0\nvertex 0 0 1\nvertex 0 1 0\nendloop\nendfacet\n"
    "facet normal 0 0 0\nouter loop\nvertex 1 0 0\nvertex 0 1 0\nvertex 0 0 1\nendloop\nendfacet\nendsolid w\n";

/// Every joint of URDF except planar (which differs in MuJoCo), rotated frames, a welded camera, damping.
inline constexpr const char* arm_urdf = R"(<?xml version="1.0"?>
<robot name="arm">
  <link name="table"/>
  <link name="upper">
    <inertial><origin xyz="0.01 0 0.2" rpy="0.1 0.2 0.3"/><mass value="2.5"/>
      <inertia ixx="0.03" ixy="0.001" ixz="-0.002" iyy="0.035" iyz="0.0005" izz="0.01"/></inertial>
  </link>
  <link name="lower">
    <inertial><origin xyz="0 0.02 0.15"/><mass value="1.25"/>
      <inertia ixx="0.012" ixy="0" ixz="0" iyy="0.011" iyz="0" izz="0.004"/></inertial>
  </link>
  <link name="camera">
    <inertial><mass value="0.3"/><inertia ixx="0.0003" ixy="0" ixz="0" iyy="0.0002" iyz="0" izz="0.0002"/></inertial>
  </link>
  <link name="lens"/>
  <link name="slider">
    <inertial><mass value="0.5"/><inertia ixx="0.001" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.0015"/></inertial>
  </link>
  <link name="thrown">
    <inertial><origin xyz="0.1 0 0"/><mass value="0.7"/><inertia ixx="0.001" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.0015"/></inertial>
  </link>
  <joint name="shoulder" type="continuous"><parent link="table"/><child link="upper"/>
    <origin xyz="0 0 0.5" rpy="0.3 -0.4 0.5"/><axis xyz="0 1 1"/><dynamics damping="0.2" friction="0.05"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
    <origin xyz="0 0 0.4" rpy="0 0.7 0"/><axis xyz="1 0 0"/><limit lower="-1.5" upper="1.5" effort="10" velocity="2"/></joint>
  <joint name="mount" type="fixed"><parent link="lower"/><child link="camera"/><origin xyz="0.05 0.01 0.1" rpy="0.2 0 1"/></joint>
  <joint name="glass" type="fixed"><parent link="camera"/><child link="lens"/><origin xyz="0.02 0 0"/></joint>
  <joint name="rail" type="prismatic"><parent link="lower"/><child link="slider"/>
    <origin xyz="0 0 0.3" rpy="0 0.3 0"/><axis xyz="0.6 0 0.8"/><limit lower="0" upper="0.2" effort="5" velocity="1"/></joint>
  <joint name="flight" type="floating"><parent link="table"/><child link="thrown"/><origin xyz="1 0 1"/></joint>
  <transmission name="drive"><joint name="elbow"/></transmission>
  <gazebo reference="lower"/>
</robot>
)";

/// Every joint of MJCF, and bodies with several joints equivalent to one: universal, spherical, cylindrical, planar,
/// free.
inline constexpr const char* joints_mjcf = R"(<mujoco model="joints">
  <option gravity="0.3 0 -9.7"/>
  <default><geom density="800" contype="0" conaffinity="0"/><joint damping="0"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="swing" pos="0 0 2" euler="10 20 30">
      <joint name="sway" type="hinge" axis="0 1 1" pos="0 0.1 0.2" damping="0.3" stiffness="4" springref="20"/>
      <geom type="box" size="0.1 0.2 0.3" pos="0.02 0 0"/>
      <body name="cardan" pos="0.3 0 0">
        <joint name="c1" type="hinge" axis="1 0 0"/><joint name="c2" type="hinge" axis="0 0 1"/>
        <geom type="ellipsoid" size="0.1 0.2 0.15" pos="0.1 0.05 0"/>
        <site name="tip"/>
        <body name="weight" pos="0.2 0.1 0" euler="0 40 0"><geom type="sphere" size="0.08"/></body>
      </body>
      <body name="socket" pos="-0.3 0 0">
        <joint name="ball" type="ball" pos="0.1 0 0"/><geom type="capsule" size="0.05 0.2"/>
      </body>
    </body>
    <body name="hip" pos="1 0 2">
      <joint name="h1" type="hinge" axis="1 0 0" pos="0 0 0.2"/><joint name="h2" type="hinge" axis="0 1 0" pos="0 0 0.2"/>
      <joint name="h3" type="hinge" axis="0 0 1" pos="0 0 0.2"/><geom type="box" size="0.1 0.2 0.3"/>
    </body>
    <body name="tube" pos="2 0 1">
      <joint name="t1" type="slide" axis="1 0 1"/><joint name="t2" type="hinge" axis="1 0 1" pos="0 0.1 0"/>
      <geom type="box" size="0.1 0.2 0.3"/>
    </body>
    <body name="puck" pos="3 0 1">
      <joint name="p1" type="slide" axis="1 0 0"/><joint name="p2" type="slide" axis="0 0 1"/>
      <joint name="p3" type="hinge" axis="0 1 0" pos="0.05 0 0"/><geom type="box" size="0.1 0.2 0.3" pos="0.02 0 0.01"/>
    </body>
    <body name="drone" pos="4 0 1"><freejoint/><geom type="box" size="0.1 0.2 0.3" pos="0.05 0 0"/>
      <body name="rotor" pos="0 0 0.3"><joint name="spin" type="hinge" axis="0 0 1"/><geom type="box" size="0.3 0.02 0.01"/></body>
    </body>
    <body name="lift" pos="5 0 1"><joint name="up" type="slide" axis="0 0.6 0.8"/><geom type="sphere" size="0.1"/></body>
  </worldbody>
  <actuator><motor name="engine" joint="sway"/></actuator>
  <keyframe><key name="rest" time="0"/></keyframe>
</mujoco>
)";

}  // namespace heelstrike::test
