/// A unit for co-simulation (FMU) in a model: what goes in, what comes out, and what it gives at present.
#pragma once

#include <string>
#include <vector>

namespace heelstrike::mbs {

struct SampledUnit {
  struct Input {
    std::string variable;
    std::string column;  ///< of the time series
    std::string key;     ///< of the scenario, for messages, as everywhere below
  };
  struct Output {
    std::string variable;
    std::string key;
  };
  struct Parameter {
    std::string variable;
    double value = 0.0;
    std::string key;
  };

  std::string name;
  std::string file;
  std::string key;    ///< of the file
  double step = 0.0;  ///< [s] between communication points, which are the multiples of it
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<Parameter> parameters;

  // Written at communication points, by whoever steps the unit, and held between them.
  std::vector<double> input_values;   ///< one per input
  std::vector<double> output_values;  ///< one per output [N] or [N m]
};

}  // namespace heelstrike::mbs
