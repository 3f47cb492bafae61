#include <numbers>

#include "scenario/schema/keys.hpp"
#include "scenario/sections.hpp"

namespace heelstrike::config {

KeySchema import_keys() {
  return {
      .name = import_section,
      .kind = KeyKind::map,
      .meaning =
          "a part of an OpenSim 4 model, imported as sections of the scenario (including gravity, bodies, analysis and "
          "output) as by `heelstrike import-osim`; sections here are added, and a key in both is an error",
      .keys = {
          required(file("osim", "the model, .osim of version 4; `${NAME}` is replaced by an environment variable")),
          text_list("subset",
                    "joints whose bodies are imported, with all ligaments and muscles between them; default: the whole "
                    "model"),
          text_list("lock_joints",
                    "joints locked at their coordinates: bodies beyond them are merged into those of the subset, and "
                    "muscles attached there are imported"),
          {.name = "coordinates",
           .kind = KeyKind::parameters,
           .meaning = "values of coordinates instead of the model's defaults [rad or m], `hip_flex_r: 0.44`; initial "
                      "poses and locked joints use them"},
          {.name = "scale",
           .kind = KeyKind::parameters,
           .meaning = "uniform factors of bodies, `femur_r: 1.06`, and of all parts fixed in them; slack and fibre "
                      "lengths follow their lines, masses grow with the third power"},
          number("mass", "kg", masses,
                 "total mass, to which the masses of all bodies are scaled; by default unchanged"),
          text_list("geometry", "further folders of mesh files"),
          {.name = "meshes",
           .kind = KeyKind::parameters,
           .meaning = "replacement file for a contact mesh, by its name, or for its back surface, by `NAME.back`"},
          number("flexion", "rad", {.min = -2.0 * std::numbers::pi, .max = 2.0 * std::numbers::pi},
                 "drives the first joint of the subset with six coordinates to this value of its first one, through "
                 "equilibria; by default nothing is driven"),
          file("motion",
               "instead of `flexion`: a motion file (.mot, .sto, .csv) with a column named like this coordinate, which "
               "is driven in time; of the whole model, all coordinates with a column, at the times of the file"),
          number("start", "s", instants,
                 "time of `motion` of the whole model at which the initial poses are taken; by default its first row"),
          number("cutoff", "Hz", frequencies,
                 "zero-lag low-pass of `motion` of the whole model: 3 dB frequency after both passes; unfiltered by "
                 "default"),
          integer("filter_order", {.min = 2.0, .max = 16.0}, "order of this filter, both passes together; even", 4),
          text_list("radians",
                    "coordinates with columns in rad in a motion file whose header states degrees: OpenSim does not "
                    "convert a coordinate that enters its joint through a spline"),
          file("external_loads",
               "forces and torques of a data file on bodies of the whole model (ExternalLoads, .xml), which become "
               "`loads`; times of the file are those of the run"),
          file("external_loads_data", "data file of `external_loads` instead of the one it names"),
          number("drawer_force", "N", loads,
                 "force after `flexion` on the driven body along its x axis, through further equilibria"),
          text_list("exclude", "ligaments, muscles and contacts that are excluded; `ACLam` excludes all its lines"),
          number("activation", "-", {.min = 0.0, .max = 1.0},
                 "of all muscles, constant; none = the value set later, or their minimum"),
          {.name = "rigid_tendons",
           .kind = KeyKind::flag,
           .meaning = "tendons of all muscles are rigid; in equilibria they always are",
           .fallback = false},
          {.name = "set",
           .kind = KeyKind::parameters,
           .meaning =
               "changes of the imported model, by dotted keys as for `--set`: `contact.layers: lumped` of all pairs, "
               "`forces.MUSCLE.passive_strain: 0.7`"},
      }};
}

}  // namespace heelstrike::config
