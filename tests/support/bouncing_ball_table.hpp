/// The bouncing ball of Flores et al. (2011): m 1 kg, R 0.1 m, K 1.4e8 N/m^1.5, v0 = sqrt(2 g 0.9 m), gravity acting
/// during contact. Independent RK4 and DOP853 integrations that agree in all digits given.
#pragma once

#include <ostream>

namespace heelstrike::test {

struct BouncingBallRow {
  const char* backend;
  double restitution, max_depth_mm, max_force_N, contact_ms, separation_m_s;
};

inline void PrintTo(const BouncingBallRow& row, std::ostream* out) {
  *out << row.backend << " " << row.restitution;
}

inline constexpr BouncingBallRow bouncing_ball_table[] = {
    {"flores", 1.0, 1.903077, 11622.85, 1.332359, 4.202142},
    {"flores", 0.8, 1.735238, 10631.65, 1.371661, 3.311427},
    {"flores", 0.6, 1.549954, 10589.72, 1.447586, 2.421829},
    {"flores", 0.4, 1.329722, 11541.72, 1.620417, 1.519155},
    {"flores", 0.2, 1.028163, 14495.91, 2.193947, 0.646065},
    {"hunt_crossley", 1.0, 1.903077, 11622.85, 1.332359, 4.202142},
    {"hunt_crossley", 0.8, 1.771635, 10758.15, 1.361258, 3.498129},
    {"hunt_crossley", 0.6, 1.670540, 10511.36, 1.393356, 2.988895},
    {"hunt_crossley", 0.4, 1.589054, 10525.60, 1.427717, 2.600607},
    {"hunt_crossley", 0.2, 1.521222, 10658.41, 1.463827, 2.293743},
    {"lankarani_nikravesh", 1.0, 1.903077, 11622.85, 1.332359, 4.202142},
    {"lankarani_nikravesh", 0.8, 1.783172, 10807.84, 1.358203, 3.558073},
    {"lankarani_nikravesh", 0.6, 1.708172, 10565.82, 1.380206, 3.175020},
    {"lankarani_nikravesh", 0.4, 1.661633, 10504.43, 1.396701, 2.945458},
    {"lankarani_nikravesh", 0.2, 1.635997, 10496.51, 1.406863, 2.821776},
};

}  // namespace heelstrike::test
