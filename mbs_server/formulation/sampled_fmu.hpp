/// A co-simulation FMU in a model: its inputs, outputs and current values.
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

namespace heelstrike::mbs {

struct SampledFmu {
  struct Input {
    std::string variable;
    std::string column;  ///< of the time series
    std::string key;     ///< of the scenario, for messages, also below
  };
  struct Output {
    std::string variable;
    std::string key;
  };
  /// A coordinate of a driver that the FMU prescribes by value and rate.
  struct Drive {
    std::string driver;
    std::string coordinate;
    std::size_t value = 0;  ///< index of an output [m] or [rad]
    std::size_t rate = 0;   ///< [m/s] or [rad/s]
    std::string key;
  };
  struct Parameter {
    std::string variable;
    std::variant<double, bool, std::string> value;  ///< as written in the scenario
    std::string key;
  };

  std::string name;
  std::string file;
  std::string key;    ///< of the file
  double step = 0.0;  ///< [s] communication step size; communication points are its multiples
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<Drive> drives;
  std::vector<Parameter> parameters;

  // Written at communication points when the FMU is stepped, and constant between them.
  std::vector<double> input_values;   ///< one per input
  std::vector<double> output_values;  ///< one per output, of the end of the communication step
  std::vector<double> start_values;   ///< outputs at the start of the communication step
  double since = 0.0;                 ///< [s] start of the communication step
};

}  // namespace heelstrike::mbs
