/// A unit for co-simulation (FMU) in a model: what goes in, what comes out, and what it gives at present.
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
    std::string key;     ///< of the scenario, for messages, as everywhere below
  };
  struct Output {
    std::string variable;
    std::string key;
  };
  /// A coordinate of a driver that the unit prescribes, by value and rate.
  struct Drive {
    std::string driver;
    std::string coordinate;
    std::size_t value = 0;  ///< index of an output [m] or [rad]
    std::size_t rate = 0;   ///< [m/s] or [rad/s]
    std::string key;
  };
  struct Parameter {
    std::string variable;
    std::variant<double, bool, std::string> value;  ///< as the scenario writes it
    std::string key;
  };

  std::string name;
  std::string file;
  std::string key;    ///< of the file
  double step = 0.0;  ///< [s] between communication points, which are the multiples of it
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<Drive> drives;
  std::vector<Parameter> parameters;

  // Written at communication points, by whoever steps the unit, and held between them.
  std::vector<double> input_values;   ///< one per input
  std::vector<double> output_values;  ///< one per output, of the end of the communication step
  std::vector<double> start_values;   ///< the same of its start, that is, what was given before
  double since = 0.0;                 ///< [s] start of the communication step
};

}  // namespace heelstrike::mbs
