#include <numbers>

#include "scenario/import_section.hpp"
#include "scenario/schema/keys.hpp"

namespace heelstrike::config {

KeySchema import_keys() {
  return {
      .name = import_section,
      .kind = KeyKind::map,
      .meaning =
          "a part of a model of OpenSim 4, which gives sections of the scenario (gravity, bodies, analysis and output "
          "among them) as `heelstrike import-osim` writes them; sections here add to those, and a key that both give "
          "is refused",
      .keys = {
          required(text("osim", "the model, .osim of version 4; `${NAME}` stands for a variable of the environment")),
          text_list(
              "subset",
              "joints whose bodies are taken, with all ligaments and muscles between them; without, the whole model"),
          text_list("hold",
                    "joints that are held where their coordinates are: what hangs on them becomes part of the bodies "
                    "of the subset, and muscles that reach there come along"),
          {.name = "coordinates",
           .kind = KeyKind::parameters,
           .meaning =
               "values of coordinates in the place of the model's defaults [rad or m], `hip_flex_r: 0.44`; bodies "
               "stand and what is held is held there"},
          text_list("geometry", "further folders of mesh files"),
          {.name = "meshes",
           .kind = KeyKind::parameters,
           .meaning = "another file for a contact mesh, by its name, or for the surface below it, by `NAME.back`"},
          number("flexion", "rad", {.min = -2.0 * std::numbers::pi, .max = 2.0 * std::numbers::pi},
                 "bends the first joint of the subset with six coordinates to this value of its first one, in "
                 "equilibria; without, nothing drives the scenario"),
          text("motion",
               "instead of `flexion`: a motion file (.mot, .sto, .csv) with a column named like this coordinate, which "
               "follows it in time"),
          number("draw", "N", loads, "after `flexion`, on the bent body along its x axis, in further equilibria"),
          text_list("without", "ligaments and muscles that are left out; `ACLam` is all its lines"),
          number("activation", "-", {.min = 0.0, .max = 1.0},
                 "of all muscles, constant; none = what is set later, or their least one"),
          {.name = "rigid_tendons",
           .kind = KeyKind::flag,
           .meaning = "tendons of all muscles are rigid; in equilibria they are anyway",
           .fallback = "false"},
          {.name = "set",
           .kind = KeyKind::parameters,
           .meaning =
               "changes of what is imported, by dotted keys as of `--set`: `contact.layers: lumped` of all pairs, "
               "`forces.MUSCLE.passive_strain: 0.7`"},
      }};
}

}  // namespace heelstrike::config
