// heelstrike._core: bindings of the C++ library. All other code is in Python (python/heelstrike).
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <heelstrike/contact.hpp>
#include <heelstrike/run.hpp>
#include <heelstrike/simulation.hpp>

#include "python/source/arguments.hpp"
#include "python/source/interruptible.hpp"
#include "python/source/numbers.hpp"

namespace heelstrike::python {
namespace {

namespace fs = std::filesystem;
using py::literals::operator""_a;

/// @param is_name  the error is a name that a mapping does not have
void raise(const hs::Error& error, bool is_name = false) {
  const py::object made = py::module_::import("heelstrike._errors")
                              .attr("made")(hs::to_string(error.code()), error.what(), error.file(), error.line(),
                                            error.key(), error.retryable(), is_name);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
}

hs::Changes changes_of(const py::object& backend, const py::object& set, bool backend_last = false) {
  return {.backend = text_or_none(backend, "backend"),
          .set = py::module_::import("heelstrike._changes").attr("assignments")(set).cast<std::vector<std::string>>(),
          .backend_last = backend_last};
}

/// The file of a scenario, or the name of a mapping, whose text is stored in `changes`.
fs::path scenario_of(const py::object& scenario, const char* name, hs::Changes& changes) {
  if (!py::hasattr(scenario, "keys")) return path(scenario, name);
  const py::tuple parts = py::module_::import("heelstrike._scenario").attr("written")(scenario);
  changes.text = parts[1].cast<std::string>();
  changes.files = parts[2].cast<std::map<std::string, std::string>>();
  return parts[0].cast<std::string>();
}

/// @param tls  None, or a mapping with the keys of hs::Tls
hs::Tls tls_of(const py::object& tls) {
  hs::Tls made;
  if (tls.is_none()) return made;
  if (!py::hasattr(tls, "keys")) reject("tls", "None or a mapping {'ca_file': FILE, ...}", type_text(tls));
  for (const auto& [key, value] : py::dict(tls)) {
    const std::string name = text(key, "tls");
    std::string* member = name == "ca_file"            ? &made.ca_file
                          : name == "certificate_file" ? &made.certificate_file
                          : name == "key_file"         ? &made.key_file
                          : name == "authority"        ? &made.authority
                                                       : nullptr;
    if (member == nullptr) {
      throw hs::Error(hs::ErrorCode::invalid_input,
                      "tls: expected the keys ca_file, certificate_file, key_file, authority, found '" + name + "'", {},
                      0, "tls");
    }
    *member = py::str(value).cast<std::string>();
  }
  return made;
}

/// Owner of the numbers of one response; arrays are views of it.
struct PyResponse {
  hs::Response response;
  std::vector<std::string> regions;  ///< names
  bool tangents = true;              ///< were requested
};

/// Owner of the numbers of many responses; arrays are views of it.
struct PyResponses {
  std::vector<hs::BatchResponse> responses;
  bool tangents = false;             ///< were requested
  std::vector<std::string> regions;  ///< names
};

struct RegionNumber {
  const char* name;
  double hs::RegionLoad::*member;
  const char* meaning;
};
constexpr RegionNumber region_numbers[] = {
    {"force", &hs::RegionLoad::force, "normal: pressure times area [N]"},
    {"area", &hs::RegionLoad::area, "contact area [m^2]"},
    {"mean_pressure", &hs::RegionLoad::mean_pressure, "force / area [Pa]; 0 without contact"},
    {"peak_pressure", &hs::RegionLoad::peak_pressure, "[Pa]"}};

/// Loads of one region in many states.
struct PyRegionLoads {
  std::vector<py::array_t<double>> numbers;  ///< of the rows of region_numbers
  py::array_t<double> p_cop;
};

/// The metaclass of plain Python classes, instead of that of pybind11.
py::metaclass plain_type() {
  return py::metaclass(reinterpret_cast<PyObject*>(&PyType_Type));
}

py::object wrench(const py::object& self) {
  return view(self.cast<PyResponse&>().response.F_A.data(), {6}, self);
}

/// One number or row per response: NaN where the evaluation failed.
template <typename Numbers>
py::array row_view(const py::object& self, Numbers numbers, std::size_t width) {
  const std::vector<hs::BatchResponse>& responses = self.cast<PyResponses&>().responses;
  const double nothing = 0.0;
  return strided_view(responses.empty() ? &nothing : numbers(responses.front().response), responses.size(), width,
                      sizeof(hs::BatchResponse), self);
}

void require_tangents(bool has_tangents) {
  if (has_tangents) return;
  throw hs::Error(hs::ErrorCode::invalid_input, "tangents were not requested: evaluate_many(..., tangents=True)");
}

template <auto Member>
py::object tangent(const py::object& self) {
  require_tangents(self.cast<PyResponse&>().tangents);
  return view((self.cast<PyResponse&>().response.*Member).data(), {6, 6}, self);
}

/// The same of matrices.
template <auto Member>
py::object tangent_view(const py::object& self) {
  const auto& responses = self.cast<PyResponses&>();
  require_tangents(responses.tangents);
  return row_view(
             self, [](const hs::Response& r) { return (r.*Member).data(); }, 36)
      .attr("reshape")(responses.responses.size(), 6, 6);
}

/// Calls `visit` with every number of a response; its regions are as many as it has.
template <typename Visit>
void for_each_number(hs::Response& r, Visit visit) {
  const auto each = [&](auto& member) {
    if constexpr (std::is_arithmetic_v<std::remove_reference_t<decltype(member)>>) {
      visit(member);
    } else {
      for (double& number : member) visit(number);
    }
  };
  const auto all = [&](auto&... members) { (each(members), ...); };
  all(r.F_A, r.dF_A_dX, r.dF_A_dV);
  hs::for_each_response_member<hs::Response>([&](const hs::ResponseMember&, auto member) { each(r.*member); });
  for (hs::RegionLoad& region : r.regions) {
    all(region.force, region.area, region.mean_pressure, region.peak_pressure, region.p_ACop);
  }
}

void clear_rejected(std::vector<hs::BatchResponse>& responses) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  for (hs::BatchResponse& answer : responses) {
    if (answer.ok) continue;
    for_each_number(answer.response, [](auto& number) {
      if constexpr (std::is_same_v<decltype(number), double&>) number = none;
    });
  }
}

py::list numbers_of(hs::Response response) {
  py::list numbers;
  for_each_number(response, [&](const auto& number) { numbers.append(number); });
  return numbers;
}

hs::Response response_of(const py::list& numbers, std::size_t n_regions) {
  hs::Response response;
  response.regions.resize(n_regions);
  std::size_t n = 0;
  for_each_number(response, [&](const auto&) { ++n; });
  if (n != numbers.size()) throw py::value_error("the pickle of a response is of another version of heelstrike");
  std::size_t next = 0;
  for_each_number(response,
                  [&](auto& number) { number = numbers[next++].cast<std::remove_reference_t<decltype(number)>>(); });
  return response;
}

// Content of pickles.
py::tuple pickled_response(const PyResponse& self) {
  return py::make_tuple(self.tangents, self.regions, numbers_of(self.response));
}
PyResponse unpickled_response(const py::tuple& parts) {
  PyResponse made{
      .response = {}, .regions = parts[1].cast<std::vector<std::string>>(), .tangents = parts[0].cast<bool>()};
  made.response = response_of(parts[2], made.regions.size());
  return made;
}
py::tuple pickled_responses(const PyResponses& self) {
  py::list responses;
  for (const hs::BatchResponse& answer : self.responses) {
    responses.append(py::make_tuple(answer.ok, answer.message, static_cast<int>(answer.code),
                                    answer.response.regions.size(), numbers_of(answer.response)));
  }
  return py::make_tuple(self.tangents, self.regions, responses);
}
PyResponses unpickled_responses(const py::tuple& parts) {
  PyResponses made{
      .responses = {}, .tangents = parts[0].cast<bool>(), .regions = parts[1].cast<std::vector<std::string>>()};
  for (const auto& part : parts[2]) {
    const auto answer = part.cast<py::tuple>();
    made.responses.push_back({.ok = answer[0].cast<bool>(),
                              .response = response_of(answer[4], answer[3].cast<std::size_t>()),
                              .message = answer[1].cast<std::string>(),
                              .code = static_cast<hs::ErrorCode>(answer[2].cast<int>())});
  }
  return made;
}

/// One of the responses, as from evaluate(); NaN for a state that was rejected.
std::unique_ptr<PyResponse> response_at(const PyResponses& self, std::size_t i) {
  auto response = std::make_unique<PyResponse>();
  response->response = self.responses[i].response;
  response->response.regions.resize(self.regions.size());
  response->regions = self.regions;
  response->tangents = self.tangents;
  return response;
}

/// One of n positions; a negative index counts from the end.
std::size_t position_of(const py::handle& index, std::size_t n) {
  const py::ssize_t requested = PyNumber_AsSsize_t(index.ptr(), PyExc_IndexError);
  if (requested == -1 && PyErr_Occurred() != nullptr) throw py::error_already_set();
  const py::ssize_t i = requested < 0 ? requested + static_cast<py::ssize_t>(n) : requested;
  if (i < 0 || i >= static_cast<py::ssize_t>(n)) {
    throw py::index_error("expected an index below " + std::to_string(n) + ", found " + std::to_string(requested));
  }
  return static_cast<std::size_t>(i);
}

/// An array, or a list of which numpy makes one. All arrays have the method of an index, also those with many entries.
bool is_list(const py::object& index) {
  if (py::isinstance<py::array>(index)) return py::array(index).ndim() > 0;
  return py::isinstance<py::list>(index) || (py::hasattr(index, "__array__") && PyIndex_Check(index.ptr()) == 0);
}

/// Positions that an array of whole numbers or of flags selects, with the rules of numpy.
std::vector<std::size_t> positions_of(const py::object& index, std::size_t n) {
  const py::array array = py::array::ensure(index);
  if (!array) PyErr_Clear();  // lists of different lengths
  const char kind = array ? array.dtype().kind() : 'O';
  const bool is_empty = array && array.size() == 0;  // an empty list has no integers from which numpy infers its type
  const bool is_mask = kind == 'b';
  if (!array || array.ndim() != 1 || (!is_mask && kind != 'i' && kind != 'u' && !is_empty)) {
    throw py::type_error("expected one row of whole numbers or of flags, found " +
                         (array ? "an array of " + std::string(py::str(array.dtype())) + " with " +
                                      std::to_string(array.ndim()) + " dimensions"
                                : type_text(index)));
  }
  if (is_mask && static_cast<std::size_t>(array.size()) != n) {
    throw py::index_error("expected a flag for each of " + std::to_string(n) + " states, found " +
                          std::to_string(array.size()) + " flags");
  }
  std::vector<std::size_t> positions;
  std::size_t place = 0;
  for (const py::handle entry : py::list(array.attr("tolist")())) {
    if (!is_mask) positions.push_back(position_of(entry, n));
    if (is_mask && entry.cast<bool>()) positions.push_back(place);
    ++place;
  }
  return positions;
}

std::vector<std::size_t> positions_of(const py::slice& range, std::size_t n) {
  std::size_t start = 0, stop = 0, step = 0, count = 0;
  if (!range.compute(n, &start, &stop, &step, &count)) throw py::error_already_set();
  std::vector<std::size_t> positions(count);
  for (std::size_t& position : positions) position = std::exchange(start, start + step);
  return positions;
}

py::object some_of(const PyResponses& self, const std::vector<std::size_t>& positions) {
  auto some = std::make_unique<PyResponses>();
  some->tangents = self.tangents;
  some->regions = self.regions;
  some->responses.reserve(positions.size());
  for (const std::size_t i : positions) some->responses.push_back(self.responses[i]);
  return py::cast(std::move(some));
}

py::object responses_at(const PyResponses& self, const py::object& index) {
  const std::size_t n = self.responses.size();
  if (py::isinstance<py::slice>(index)) return some_of(self, positions_of(py::slice(index), n));
  if (is_list(index)) return some_of(self, positions_of(index, n));
  if (PyIndex_Check(index.ptr()) == 0) {
    throw py::type_error("expected the index of a state, a range, a list of indices or a mask, found " +
                         type_text(index));
  }
  return py::cast(response_at(self, position_of(index, n)));
}

py::str shown(const PyResponses& self) {
  const auto rejected = std::ranges::count(self.responses, false, &hs::BatchResponse::ok);
  double largest = 0.0, gap = std::numeric_limits<double>::infinity();
  for (const hs::BatchResponse& answer : self.responses) {
    if (!answer.ok) continue;
    const auto& F = answer.response.F_A;
    largest = std::max(largest, std::hypot(F[3], F[4], F[5]));
    gap = std::min(gap, answer.response.gap);
  }
  return py::str("Responses({} states{}, largest force {:.6g} N, smallest gap {:.6g} m)")
      .format(self.responses.size(), rejected == 0 ? std::string() : ", " + std::to_string(rejected) + " rejected",
              largest, gap);
}

py::dict regions_of(const PyResponse& self) {
  py::dict regions;
  for (std::size_t i = 0; i < self.regions.size(); ++i) regions[py::str(self.regions[i])] = self.response.regions[i];
  return regions;
}

/// NaN where the evaluation of a state failed.
PyRegionLoads region_loads(const std::vector<hs::BatchResponse>& responses, std::size_t region) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  constexpr hs::RegionLoad rejected = {
      .force = none, .area = none, .mean_pressure = none, .peak_pressure = none, .p_ACop = {none, none, none}};
  const auto n = static_cast<py::ssize_t>(responses.size());
  PyRegionLoads loads{.numbers = {}, .p_cop = py::array_t<double>({n, py::ssize_t{3}})};
  for (std::size_t k = 0; k < std::size(region_numbers); ++k) loads.numbers.emplace_back(n);
  for (py::ssize_t i = 0; i < n; ++i) {
    const hs::BatchResponse& answer = responses[static_cast<std::size_t>(i)];
    const hs::RegionLoad& load = answer.ok ? answer.response.regions[region] : rejected;
    for (std::size_t k = 0; k < std::size(region_numbers); ++k) {
      loads.numbers[k].mutable_at(i) = load.*region_numbers[k].member;
    }
    std::ranges::copy(load.p_ACop, loads.p_cop.mutable_data(i, 0));
  }
  return loads;
}

py::dict regions_of_all(const PyResponses& self) {
  py::dict regions;
  for (std::size_t i = 0; i < self.regions.size(); ++i) {
    regions[py::str(self.regions[i])] = region_loads(self.responses, i);
  }
  return regions;
}

void bind_regions(py::module_& module) {
  py::class_<hs::RegionLoad> load(module, "RegionLoad", plain_type(), "Load on a region of a contact in one state.");
  for (const RegionNumber& row : region_numbers) load.def_readonly(row.name, row.member, row.meaning);
  load.def_property_readonly(
          "p_cop", [](const py::object& self) { return view(self.cast<hs::RegionLoad&>().p_ACop.data(), {3}, self); },
          "(3,) centre of pressure in A [m]; NaN without force")
      .def("__repr__",
           [](const hs::RegionLoad& self) {
             return py::str("RegionLoad(force={:.6g} N, area={:.6g} m^2, peak_pressure={:.6g} Pa)")
                 .format(self.force, self.area, self.peak_pressure);
           })
      .def(py::pickle(
          [](const hs::RegionLoad& self) {
            return py::make_tuple(self.force, self.area, self.mean_pressure, self.peak_pressure, self.p_ACop);
          },
          [](const py::tuple& parts) {
            return hs::RegionLoad{parts[0].cast<double>(), parts[1].cast<double>(), parts[2].cast<double>(),
                                  parts[3].cast<double>(), parts[4].cast<hs::Vector3>()};
          }));
  py::class_<PyRegionLoads> loads(module, "RegionLoads", plain_type(),
                                  "Load on a region of a contact in many states. NaN where a state was rejected.");
  for (std::size_t k = 0; k < std::size(region_numbers); ++k) {
    const auto get = [k](const PyRegionLoads& self) { return self.numbers[k]; };
    loads.def_property_readonly(region_numbers[k].name, get,
                                ("(n,) " + std::string(region_numbers[k].meaning)).c_str());
  }
  loads.def_readonly("p_cop", &PyRegionLoads::p_cop, "(n, 3) centre of pressure in A [m]; NaN without force")
      .def("__repr__",
           [](const PyRegionLoads& self) {
             const py::array& force = self.numbers.front();
             return py::str("RegionLoads({} states, largest force {:.6g} N)")
                 .format(force.size(), py::module_::import("numpy").attr("nanmax")(force, "initial"_a = 0.0));
           })
      .def(py::pickle([](const PyRegionLoads& self) { return py::make_tuple(self.numbers, self.p_cop); },
                      [](const py::tuple& parts) {
                        return PyRegionLoads{parts[0].cast<std::vector<py::array_t<double>>>(),
                                             parts[1].cast<py::array_t<double>>()};
                      }));
}

void bind_pair(py::module_& module) {
  py::class_<hs::Pair>(module, "Pair", plain_type(),
                       "Two bodies, their surfaces and materials, and the back-end that computes their contact.")
      .def_static(
          "from_yaml",
          [](const py::object& file, const py::object& name, const py::object& backend, const py::object& set) {
            hs::Changes changes = changes_of(backend, set);
            const fs::path scenario = scenario_of(file, "file", changes);
            const std::string pair = text_or_none(name, "name");
            const py::gil_scoped_release released;
            return hs::Pair::from_yaml(scenario, pair, changes);
          },
          "file"_a, "name"_a = py::none(), "backend"_a = py::none(), "set"_a = py::none(),
          R"(from_yaml(file, name=None, backend=None, set=None)
--

One contact pair of a scenario, with the meshes that it names.

file     scenario (YAML), or a mapping of the same content, see from_dict()
name     of the pair; required when the scenario has several
backend  contact back-end instead of that in the file
set      changes, e.g. {"contact.restitution": 0.6}

Raises InputError with file, line and key of every error.)")
      .def(py::pickle(
          [](const hs::Pair& self) {
            const hs::Changes whole = self.whole();
            py::dict files;
            for (const auto& [name, content] : whole.files) files[py::str(name)] = py::bytes(content);
            return py::make_tuple(self.file(), self.name(), whole.text, files);
          },
          [](const py::tuple& parts) {
            const hs::Changes whole{.text = parts[2].cast<std::string>(),
                                    .files = parts[3].cast<std::map<std::string, std::string>>()};
            return hs::Pair::from_yaml(parts[0].cast<std::string>(), parts[1].cast<std::string>(), whole);
          }))
      .def_property_readonly("name", &hs::Pair::name, "name of the pair")
      .def_property_readonly("backend", &hs::Pair::backend, "name of its contact back-end")
      .def_property_readonly("parameters", &hs::Pair::parameters, "parameters as in the file (SI units)")
      .def("__repr__", [](const hs::Pair& self) { return "Pair('" + self.name() + "', '" + self.backend() + "')"; });
}

std::string member_doc(const char* shape, const hs::ResponseMember& row) {
  return std::string(shape) + row.meaning + " [" + row.unit + "]";
}

/// Properties of the rows of <heelstrike/response_members.h>.
void bind_members(py::class_<PyResponse>& type) {
  hs::for_each_response_member<hs::Response>([&](const hs::ResponseMember& row, auto member) {
    if constexpr (std::is_same_v<decltype(member), hs::Vector3 hs::Response::*>) {
      const auto get = [member](const py::object& self) {
        return view((self.cast<PyResponse&>().response.*member).data(), {3}, self);
      };
      type.def_property_readonly(row.python, get, member_doc("(3,) in A's axes: ", row).c_str());
    } else {
      const auto get = [member](const PyResponse& self) { return self.response.*member; };
      type.def_property_readonly(row.python, get, member_doc("", row).c_str());
    }
  });
}

/// The same for many states, except counts.
void bind_members(py::class_<PyResponses>& type) {
  hs::for_each_response_member<hs::Response>([&](const hs::ResponseMember& row, auto member) {
    if constexpr (std::is_same_v<decltype(member), hs::Vector3 hs::Response::*>) {
      const auto get = [member](const py::object& self) {
        return row_view(
            self, [member](const hs::Response& r) { return (r.*member).data(); }, 3);
      };
      type.def_property_readonly(row.python, get, member_doc("(n, 3) in A's axes: ", row).c_str());
    } else if constexpr (std::is_same_v<decltype(member), double hs::Response::*>) {
      const auto get = [member](const py::object& self) {
        return row_view(
            self, [member](const hs::Response& r) { return &(r.*member); }, 1);
      };
      type.def_property_readonly(row.python, get, member_doc("(n,) ", row).c_str());
    }
  });
}

void bind_response(py::module_& module) {
  py::class_<PyResponse> response(module, "Response", plain_type(),
                                  R"(Answer of a contact; `F, dF_dX, dF_dV = response` unpacks it.

Arrays are views into the response: no copies, and not to be written; `F.copy()` is. Where the gap is positive, wrench and tangents are exactly zero, and `p_cop` is the closest point.)");
  bind_members(response);
  response.def_property_readonly("F", &wrench, "(6,) torque [N m] and force [N] on A about A's origin, in A's axes")
      .def_property_readonly(
          "dF_dX", &tangent<&hs::Response::dF_A_dX>,
          "(6, 6) derivative by a small rotation [rad] of B about its origin and its translation [m], in A's axes")
      .def_property_readonly("dF_dV", &tangent<&hs::Response::dF_A_dV>,
                             "(6, 6) derivative by the twist of B in A [rad/s, m/s]")
      .def_property_readonly("regions", &regions_of,
                             "{name: RegionLoad} of the regions that the pair names (parameter `regions`): force [N], "
                             "area [m^2], mean_pressure and peak_pressure [Pa], p_cop [m]")
      .def("__iter__",
           [](const py::object& self) {
             return py::iter(py::make_tuple(wrench(self), tangent<&hs::Response::dF_A_dX>(self),
                                            tangent<&hs::Response::dF_A_dV>(self)));
           })
      .def("__repr__",
           [](const PyResponse& self) {
             const auto& F = self.response.F_A;
             return py::str("Response(force=({:.6g}, {:.6g}, {:.6g}) N, gap={:.6g} m)")
                 .format(F[3], F[4], F[5], self.response.gap);
           })
      .def(py::pickle(&pickled_response, &unpickled_response));
  py::class_<PyResponses> responses(
      module, "Responses", plain_type(),
      "Responses to many states; arrays are read-only views. NaN where a state was rejected: see `rejected`.");
  bind_members(responses);
  responses.def("__len__", [](const PyResponses& self) { return self.responses.size(); })
      .def("__getitem__", &responses_at, "index"_a,
           "One Response, NaN where the state was rejected; Responses for a range, a list of indices or a mask, as of "
           "numpy.")
      .def("__iter__",
           [](const PyResponses& self) {
             py::list all;
             for (std::size_t i = 0; i < self.responses.size(); ++i) all.append(response_at(self, i));
             return py::iter(all);
           })
      .def("__repr__", &shown)
      .def(py::pickle(&pickled_responses, &unpickled_responses))
      .def_property_readonly(
          "F",
          [](const py::object& self) {
            return row_view(
                self, [](const hs::Response& r) { return r.F_A.data(); }, 6);
          },
          "(n, 6) torque [N m] and force [N] on A")
      .def_property_readonly("dF_dX", &tangent_view<&hs::Response::dF_A_dX>,
                             "(n, 6, 6) derivative by small rotations and translations; with tangents=True only")
      .def_property_readonly("dF_dV", &tangent_view<&hs::Response::dF_A_dV>,
                             "(n, 6, 6) derivative by twists; with tangents=True only")
      .def_property_readonly("regions", &regions_of_all,
                             "{name: RegionLoads} of the regions that the pair names: arrays force [N], area [m^2], "
                             "mean_pressure and peak_pressure [Pa], p_cop [m]")
      .def_property_readonly(
          "rejected",
          [](const PyResponses& self) {
            py::dict rejected;
            for (std::size_t i = 0; i < self.responses.size(); ++i) {
              if (!self.responses[i].ok) rejected[py::int_(i)] = self.responses[i].message;
            }
            return rejected;
          },
          "{index: reason of the refusal}");
}

/// A contact and the data to open it again.
struct PyContact {
  hs::Contact contact;
  py::object open_arguments;  ///< (pair, server, tls, reconnect_timeout)
  int history = 0;            ///< counts changes of the history, so that stored responses can be invalidated
};

hs::OpenOptions open_options(const py::object& server, const py::object& tls, const py::object& reconnect_timeout) {
  hs::OpenOptions options;
  options.server = text_or_none(server, "server");
  options.tls = tls_of(tls);
  options.reconnect_timeout = real_number(reconnect_timeout, "reconnect_timeout");
  return options;
}

void watched_by(hs::OpenOptions& options, std::stop_source& stop, Watch& watch) {
  options.stop = stop.get_token();
  options.on_progress = [&watch](const hs::Progress& progress) { watch.add(progress); };
}

std::unique_ptr<PyContact> open_contact(const py::object& given, const py::object& server, const py::object& progress,
                                        const py::object& tls, const py::object& reconnect_timeout) {
  if (!py::isinstance<hs::Pair>(given)) reject("pair", "a Pair, as Pair.from_yaml(FILE) makes it", type_text(given));
  const auto& pair = given.cast<const hs::Pair&>();
  hs::OpenOptions options = open_options(server, tls, reconnect_timeout);
  const py::object display = py::module_::import("heelstrike._progress").attr("display")(progress, pair.name());
  std::stop_source stop;
  std::unique_ptr<PyContact> opened;
  do_interruptibly(stop, display, py::none(), [&](Watch& watch) {
    watched_by(options, stop, watch);
    opened = std::make_unique<PyContact>(PyContact{.contact = hs::Contact::open(pair, options), .open_arguments = {}});
  });
  if (!display.is_none()) display.attr("close")();
  opened->open_arguments = py::make_tuple(given, server, tls, reconnect_timeout);
  return opened;
}

/// State for a copy or pickle of `self`: the arguments of open(), and the history.
py::tuple contact_state(PyContact& self) {
  std::string bytes;
  {
    const py::gil_scoped_release released;
    bytes = self.contact.save();
  }
  return py::make_tuple(self.open_arguments, py::bytes(bytes));
}

std::unique_ptr<PyContact> contact_again(const py::tuple& state) {
  const auto with = state[0].cast<py::tuple>();
  auto contact = open_contact(with[0], with[1], py::bool_(false), with[2], with[3]);
  const auto bytes = state[1].cast<std::string>();
  const py::gil_scoped_release released;
  contact->contact.restore(bytes);
  return contact;
}

void bind_contact(py::module_& module) {
  py::class_<PyContact>(module, "Contact", plain_type(),
                        R"(One open contact pair with its history, for any multibody code.

evaluate() is pure: it evaluates any state against the committed history, in any order and number.
commit() accepts a state as the end of a step and advances the history (friction, approach velocity, warm start).
One thread at a time; open one contact for each. Usable in a `with` statement, which closes it.)")
      .def_static("open", &open_contact, "pair"_a, py::kw_only(), "server"_a = py::none(), "progress"_a = py::none(),
                  "tls"_a = py::none(), "reconnect_timeout"_a = py::float_(300.0),
                  R"(open(pair, *, server=None, progress=None, tls=None, reconnect_timeout=300.0)
--

Prepares the pair: meshing and condensation take minutes the first time; later they are read from the cache.

server    address of a fem_server, "host:50051" or "unix:/path"; default: computation in this process
progress  True, False, a callable(stage, fraction, time, end_time, wall_time), or None: a bar in a terminal or notebook
tls       {"ca_file": ..., "certificate_file": ..., "key_file": ..., "authority": ...}
reconnect_timeout  time for retries of a lost connection [s]

Raises InputError, Unavailable, VersionMismatch; Ctrl-C ends the preparation.)")
      .def(
          "evaluate",
          [](PyContact& self, const py::object& X_AB, const py::object& V_AB, const py::object& t) {
            const hs::State state = state_of(X_AB, V_AB, t);
            auto answer = std::make_unique<PyResponse>();
            const py::gil_scoped_release released;
            answer->response = self.contact.evaluate(state);
            answer->regions = self.contact.regions();
            return answer;
          },
          "X_AB"_a, "V_AB"_a = py::none(), "t"_a = py::float_(0.0),
          R"(evaluate(self, X_AB, V_AB=None, t=0.0)
--

Wrench and tangents at a state: `F, dF_dX, dF_dV = contact.evaluate(X_AB, V_AB, t)`.

X_AB  (4, 4) pose of the partner B in the main body A: rotation, translation [m]
V_AB  (6,) twist of B in A, in A's axes: angular [rad/s], linear at B's origin [m/s]; None = at rest
t     time [s]

Raises Recoverable when B is too deep or the solver did not converge (a smaller step may succeed), InputError for wrong
shapes, matrices that are not rotations, and numbers that are not finite.)")
      .def(
          "evaluate_many",
          [](PyContact& self, const py::object& X_AB, const py::object& V_AB, const py::object& t, bool tangents) {
            const std::vector<hs::State> states = states_of(X_AB, V_AB, t);
            auto responses = std::make_unique<PyResponses>();
            responses->tangents = tangents;
            responses->regions = self.contact.regions();
            std::stop_source stop;
            do_interruptibly(stop, py::none(), py::none(), [&](Watch& /*watch*/) {
              responses->responses = self.contact.evaluate_many(states, tangents, stop.get_token());
            });
            clear_rejected(responses->responses);
            return responses;
          },
          "X_AB"_a, "V_AB"_a = py::none(), "t"_a = py::float_(0.0), py::kw_only(), "tangents"_a = false,
          R"(evaluate_many(self, X_AB, V_AB=None, t=0.0, *, tangents=False)
--

Evaluates many states against the same history, in parallel on all processors.

X_AB      (n, 4, 4);  V_AB  (n, 6), (6,) or None;  t  (n,) or one number [s]
tangents  also dF_dX and dF_dV, as from evaluate(); without them, finite elements may be several times faster
Returns Responses, a sequence: `.F` (n, 6), `.gap` (n,), `.area`, `.peak_pressure`, `.p_cop`, `.regions`, `.rejected`, and with
tangents `.dF_dX`, `.dF_dV` (n, 6, 6). Ctrl-C ends the call.)")
      .def(
          "commit",
          [](PyContact& self, const py::object& X_AB, const py::object& V_AB, const py::object& t) {
            const hs::State state = state_of(X_AB, V_AB, t);
            auto answer = std::make_unique<PyResponse>();
            const py::gil_scoped_release released;
            ++self.history;
            answer->response = self.contact.commit(state);
            answer->regions = self.contact.regions();
            return answer;
          },
          "X_AB"_a, "V_AB"_a = py::none(), "t"_a = py::float_(0.0),
          "commit(self, X_AB, V_AB=None, t=0.0)\n--\n\nAccepts a state as the end of a step and advances the history. "
          "Arguments as "
          "evaluate().")
      .def(
          "save",
          [](PyContact& self) {
            std::string bytes;
            {
              const py::gil_scoped_release released;
              bytes = self.contact.save();
            }
            return py::bytes(bytes);
          },
          "save(self)\n--\n\nThe history as bytes; restorable by a contact opened from the same pair, in any "
          "process.")
      .def(
          "restore",
          [](PyContact& self, const py::object& state) {
            const std::string bytes = saved_bytes(state, "state");
            const py::gil_scoped_release released;
            ++self.history;
            self.contact.restore(bytes);
          },
          "state"_a,
          "restore(self, state)\n--\n\nRestores the history of save(). Raises InputError for other bytes, without any "
          "change.")
      .def(
          "clone", [](PyContact& self) { return contact_again(contact_state(self)); },
          R"(clone(self)
--

Another contact of the same pair with the same history and preparation; commits to one do not affect the other.)")
      .def(py::pickle(&contact_state, &contact_again))
      .def("_vtu",
           [](PyContact& self, const py::object& X_AB, const py::object& V_AB, const py::object& t, bool volume,
              const std::vector<std::string>& quantities) {
             const hs::State state = state_of(X_AB, V_AB, t);
             std::string vtu;
             {
               const py::gil_scoped_release released;
               vtu = self.contact.fields(state, volume, quantities);
             }
             return py::bytes(vtu);
           })
      .def(
          "close", [](PyContact& self) { self.contact.close(); },
          "close(self)\n--\n\nFrees everything. Later calls raise OutOfOrder.",
          py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("_history", [](const PyContact& self) { return self.history; })
      .def_property_readonly(
          "is_open", [](const PyContact& self) { return self.contact.is_open(); }, "False after close()")
      .def_property_readonly(
          "name", [](const PyContact& self) { return self.contact.name(); }, "name of the pair")
      .def_property_readonly(
          "backend", [](const PyContact& self) { return self.contact.backend(); }, "name of the back-end")
      .def_property_readonly(
          "parameters", [](const PyContact& self) { return self.contact.parameters(); },
          "parameters in force, defaults included (SI units)")
      .def_property_readonly(
          "regions", [](const PyContact& self) { return self.contact.regions(); },
          "names of the regions whose loads every response lists; they may overlap")
      .def("__enter__", [](const py::object& self) { return self; })
      .def("__exit__", [](PyContact& self, const py::args& /*reason*/) { self.contact.close(); })
      .def("__repr__", [](const PyContact& self) {
        return "Contact('" + self.contact.name() + "', '" + self.contact.backend() + "'" +
               (self.contact.is_open() ? ")" : ", closed)");
      });
}

/// A simulation, its stop source, and the data to open it again.
struct PySimulation {
  hs::Simulation simulation;
  std::stop_source stop;
  py::object open_arguments;  ///< (scenario, backend, set, server, tls, reconnect_timeout)
};

std::unique_ptr<PySimulation> open_simulation(const py::object& scenario, const py::object& backend,
                                              const py::object& set, const py::object& server,
                                              const py::object& progress, const py::object& tls,
                                              const py::object& reconnect_timeout) {
  hs::Changes changes = changes_of(backend, set);
  const fs::path file = scenario_of(scenario, "scenario", changes);
  hs::OpenOptions options = open_options(server, tls, reconnect_timeout);
  const py::object display =
      py::module_::import("heelstrike._progress").attr("display")(progress, file.stem().string());
  std::stop_source stop;
  std::unique_ptr<PySimulation> opened;
  do_interruptibly(stop, display, py::none(), [&](Watch& watch) {
    watched_by(options, stop, watch);
    opened = std::make_unique<PySimulation>(
        PySimulation{.simulation = hs::Simulation::open(file, changes, options), .stop = stop, .open_arguments = {}});
  });
  if (!display.is_none()) display.attr("close")();
  const bool is_file = !py::hasattr(scenario, "keys");  // a mapping may change
  opened->open_arguments = py::make_tuple(is_file ? scenario : py::module_::import("copy").attr("deepcopy")(scenario),
                                          backend, py::cast(changes.set), server, tls, reconnect_timeout);
  return opened;
}

/// As contact_state().
py::tuple simulation_state(PySimulation& self) {
  std::string bytes;
  {
    const py::gil_scoped_release released;
    bytes = self.simulation.save();
  }
  return py::make_tuple(self.open_arguments, py::bytes(bytes));
}

std::unique_ptr<PySimulation> simulation_again(const py::tuple& state) {
  const auto with = state[0].cast<py::tuple>();
  auto simulation = open_simulation(with[0], with[1], with[2], with[3], py::bool_(false), with[4], with[5]);
  const auto bytes = state[1].cast<std::string>();
  const py::gil_scoped_release released;
  simulation->simulation.restore(bytes);
  return simulation;
}

py::list names_of(std::span<const hs::Column> columns) {
  py::list names;
  for (const hs::Column& column : columns) names.append(column.name);
  return names;
}

/// Calls `work`. An unknown name of a mapping is also a KeyError.
template <typename Work>
auto with_known_name(std::span<const hs::Column> columns, const std::string& name, Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const hs::Error& error) {
    const bool is_known = std::ranges::find(columns, name, &hs::Column::name) != columns.end();
    if (is_known || error.code() != hs::ErrorCode::invalid_input) throw;
    raise(error, true);
    throw py::error_already_set();
  }
}

/// Sets inputs that belong together.
void set_named(PySimulation& self, const std::vector<std::pair<std::string, double>>& values, double rate = 0.0,
               double acceleration = 0.0) {
  for (const auto& [name, value] : values) {
    with_known_name(self.simulation.inputs(), name, [&, &name = name, &value = value] {
      const py::gil_scoped_release released;
      self.simulation.set(name, value, rate, acceleration);
    });
  }
}

/// Three numbers for BODY.force or BODY.torque, one for everything else.
void set_input(PySimulation& self, const py::object& input, const py::object& value, const py::object& rate_argument,
               const py::object& acceleration_argument) {
  const std::string name = text(input, "name");
  const double rate = real_number(rate_argument, "rate");
  const double acceleration = real_number(acceleration_argument, "acceleration");
  const auto ends_with = [&](const char* end) { return name.ends_with(end); };
  if (!ends_with(".force") && !ends_with(".torque")) {
    // The name first: set_named() rejects an unknown one, of which the value says nothing.
    const auto inputs = self.simulation.inputs();
    const bool known = std::ranges::any_of(inputs, [&](const hs::Column& column) { return column.name == name; });
    return set_named(self, {{name, known ? real_array(value, name.c_str(), {}).data()[0] : 0.0}}, rate, acceleration);
  }
  if (rate != 0.0 || acceleration != 0.0) {
    throw hs::Error(
        hs::ErrorCode::invalid_input,
        name + ": rate and acceleration are for single inputs, e.g. " + name.substr(0, name.rfind('.')) + ".fx_N", {},
        0, name);
  }
  const bool force = ends_with(".force");
  const std::string body = name.substr(0, name.rfind('.'));
  const auto numbers = real_array(value, name.c_str(), {3});
  const double* components = numbers.data();
  // Checked before the first component is set: all three or none.
  const auto* bad = std::find_if_not(components, components + 3, [](double x) { return std::isfinite(x); });
  if (bad != components + 3) reject(name.c_str(), "three finite numbers", std::to_string(*bad));
  std::vector<std::pair<std::string, double>> values;
  for (std::size_t i = 0; i < 3; ++i) {
    values.emplace_back(body + (force ? ".f" : ".t") + "xyz"[i] + (force ? "_N" : "_Nm"), components[i]);
  }
  set_named(self, values);
}

void bind_simulation(py::module_& module) {
  py::class_<PySimulation>(
      module, "Simulation", plain_type(),
      R"(Simulation(scenario, *, backend=None, set=None, server=None, progress=None, tls=None, reconnect_timeout=300.0)
--

A scenario that can be stepped by any master.

    sim = hs.Simulation("gait.yaml")
    while sim.time < sim.end_time:
        sim["ball.fx_N"] = control(sim["ball.x_m"])
        sim.advance_to(sim.time + 0.01)

The integrator chooses its steps freely; values between steps are interpolated, so that a run in many pieces has the
bits of a run in one piece. Only set(), save() and restore() end a step at the current time. One thread at a time.)")
      .def(
          py::init(&open_simulation), "scenario"_a, py::kw_only(), "backend"_a = py::none(), "set"_a = py::none(),
          "server"_a = py::none(), "progress"_a = py::none(), "tls"_a = py::none(),
          "reconnect_timeout"_a = py::float_(300.0),
          // inspect reads the signature of a class from its docstring, since Python 3.13 from that of its constructor.
          R"(__init__(self, scenario, *, backend=None, set=None, server=None, progress=None, tls=None, reconnect_timeout=300.0)
--

Builds the model, prepares its contact, and starts at t = 0.

scenario  file (YAML), or a mapping of the same content;  backend, set  changes as in run()
server    address of a fem_server that computes the contact; default: this process
progress, tls, reconnect_timeout  as Contact.open()

Raises InputError with file, line and key, also for an analysis that is computed only as a whole, such as `static` or
`inverse`: use run().)")
      .def_property_readonly(
          "time", [](const PySimulation& self) { return self.simulation.time(); }, "current time [s]")
      .def_property_readonly(
          "end_time", [](const PySimulation& self) { return self.simulation.end_time(); },
          "end time of the scenario [s]")
      .def(
          "advance_to",
          [](PySimulation& self, const py::object& t) {
            const double goal = real_number(t, "t");
            do_interruptibly(self.stop, py::none(), py::none(),
                             [&](Watch& /*watch*/) { self.simulation.advance_to(goal); });
          },
          "t"_a, R"(advance_to(self, t)
--

Advances to the time t [s], between `time` and `end_time`.

Raises InputError for another time, SolverFailed, LimitReached. After Ctrl-C the simulation can be read but not advanced.)")
      .def("set", &set_input, "name"_a, "value"_a, "rate"_a = py::float_(0.0), "acceleration"_a = py::float_(0.0),
           R"(set(self, name, value, rate=0.0, acceleration=0.0)
--

From now on the input is value + rate (t - now) + acceleration (t - now)^2 / 2.

name   one of `inputs`: "BODY.fx_N" ... "BODY.tz_Nm" (in the world, at the body's origin, added to the loads of the
       scenario) or the function of a driver; "BODY.force" [N] and "BODY.torque" [N m] take three numbers

Raises UnknownName, an InputError and KeyError, for another name.)")
      .def_property_readonly(
          "inputs", [](const PySimulation& self) { return names_of(self.simulation.inputs()); },
          "names of the inputs of set(); units are in the names")
      .def_property_readonly(
          "outputs", [](const PySimulation& self) { return names_of(self.simulation.outputs()); },
          "names of the columns of the time series; units are in the names")
      .def(
          "describe",
          [](const PySimulation& self, const py::object& given) {
            const std::string name = text(given, "name");
            for (const auto columns : {self.simulation.outputs(), self.simulation.inputs()}) {
              for (const hs::Column& column : columns) {
                if (column.name == name) return column.meaning + " [" + column.unit + "]";
              }
            }
            throw hs::Error(hs::ErrorCode::invalid_input, "there is no input or output '" + name + "'", {}, 0, name);
          },
          "name"_a, "describe(self, name)\n--\n\nMeaning and unit of an input or output.")
      .def(
          "state",
          [](PySimulation& self) {
            const std::span<const double> values = self.simulation.values();
            const std::span<const hs::Column> columns = self.simulation.outputs();
            py::dict state;
            for (std::size_t i = 0; i < values.size(); ++i) state[py::str(columns[i].name)] = values[i];
            return state;
          },
          "state(self)\n--\n\nAll outputs at `time` as {name: value}.")
      .def(
          "values",
          [](PySimulation& self) {
            const std::span<const double> values = self.simulation.values();
            return py::array_t<double>(static_cast<py::ssize_t>(values.size()), values.data());
          },
          "values(self)\n--\n\nAll outputs at `time` as an array, in the order of `outputs`.")
      .def(
          "__getitem__",
          [](PySimulation& self, const py::object& given) {
            const std::string name = text(given, "name");
            return with_known_name(self.simulation.outputs(), name, [&] { return self.simulation.get(name); });
          },
          "name"_a, "One output at `time`. Raises UnknownName, a KeyError, for another name.")
      .def(
          "__setitem__",
          [](PySimulation& self, const py::object& name, const py::object& value) {
            set_input(self, name, value, py::float_(0.0), py::float_(0.0));
          },
          "name"_a, "value"_a, "As set(name, value). Raises UnknownName, a KeyError, for another name.")
      .def("__iter__", [](const PySimulation& self) { return py::iter(names_of(self.simulation.outputs())); })
      .def("__len__", [](const PySimulation& self) { return self.simulation.outputs().size(); })
      .def(
          "keys", [](const PySimulation& self) { return names_of(self.simulation.outputs()); },
          "keys(self)\n--\n\nAs `outputs`.")
      .def(
          "clone", [](PySimulation& self) { return simulation_again(simulation_state(self)); },
          R"(clone(self)
--

Another simulation of the same scenario in the same state, which continues with the same bits.)")
      .def(py::pickle(&simulation_state, &simulation_again))
      .def(
          "__contains__",
          [](const PySimulation& self, const py::object& name) {
            return names_of(self.simulation.outputs()).contains(name);
          },
          "name"_a, "True when an output has that name.")
      .def(
          "save",
          [](PySimulation& self) {
            std::string bytes;
            {
              const py::gil_scoped_release released;
              bytes = self.simulation.save();
            }
            return py::bytes(bytes);
          },
          "save(self)\n--\n\nThe full state as bytes.")
      .def(
          "restore",
          [](PySimulation& self, const py::object& state) {
            const std::string bytes = saved_bytes(state, "state");
            const py::gil_scoped_release released;
            self.simulation.restore(bytes);
          },
          "state"_a,
          "restore(self, state)\n--\n\nRestores a state that this scenario has saved, earlier or later than `time`.")
      .def(
          "close", [](PySimulation& self) { self.simulation.close(); },
          "close(self)\n--\n\nFrees everything. Later calls raise OutOfOrder.",
          py::call_guard<py::gil_scoped_release>())
      .def_property_readonly(
          "is_open", [](const PySimulation& self) { return self.simulation.is_open(); }, "False after close()")
      .def("__enter__", [](const py::object& self) { return self; })
      .def("__exit__", [](PySimulation& self, const py::args& /*reason*/) { self.simulation.close(); })
      .def("__repr__", [](const PySimulation& self) {
        return py::str("Simulation(time={:g} s of {:g} s)").format(self.simulation.time(), self.simulation.end_time());
      });
}

py::tuple run(const py::object& scenario, const fs::path& folder, const py::object& backend, const py::object& set,
              bool backend_last, const py::object& server, const py::object& mbs, bool overwrite,
              const std::vector<std::string>& tables, const py::object& tls, const py::object& reconnect_timeout,
              const py::object& on_progress, const py::object& on_message) {
  hs::RunOptions options;
  static_cast<hs::OpenOptions&>(options) = open_options(server, tls, reconnect_timeout);
  options.mbs = text_or_none(mbs, "mbs");
  options.folder = folder;
  options.overwrite = overwrite;
  options.tables = tables;
  hs::Changes changes = changes_of(backend, set, backend_last);
  const fs::path file = scenario_of(scenario, "scenario", changes);
  std::stop_source stop;
  hs::RunOutcome outcome;
  do_interruptibly(stop, on_progress, on_message, [&](Watch& watch) {
    watched_by(options, stop, watch);
    options.on_message = [&watch](const std::string& level, const std::string& text) { watch.add(level, text); };
    outcome = hs::run(file, options, changes);
  });
  return py::make_tuple(outcome.status, outcome.reason, hs::to_string(outcome.code), outcome.retryable);
}

/// Columns and one array of all numbers, (rows, columns), without a copy.
py::tuple read_timeseries(const fs::path& folder) {
  auto series = std::make_unique<hs::TimeSeries>(hs::read_timeseries(folder));
  const auto n_columns = static_cast<py::ssize_t>(series->columns.size());
  const auto n_rows = n_columns == 0 ? 0 : static_cast<py::ssize_t>(series->values.size()) / n_columns;
  const py::list names = py::cast(series->columns);
  const double* numbers = series->values.data();
  const py::capsule owner(series.release(), [](void* kept) { delete static_cast<hs::TimeSeries*>(kept); });
  return py::make_tuple(names, view(numbers, {n_rows, n_columns}, owner));
}

/// [(owner, short name, unit, quantity), ...]
py::list column_names(const std::vector<std::string>& names) {
  py::list read;
  for (const hs::ColumnName& name : hs::read_column_names(names)) {
    read.append(py::make_tuple(name.owner, name.short_name, name.unit, name.quantity));
  }
  return read;
}

}  // namespace
}  // namespace heelstrike::python

PYBIND11_MODULE(_core, module) {
  using namespace heelstrike::python;
  // Docstrings begin with a signature in the form that the interpreter parses, for inspect and editors.
  py::options options;
  options.disable_function_signatures();
  module.doc() = "Calls of the Heelstrike library; use the package heelstrike.";
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const hs::Error& error) {
      raise(error);
    }
  });
  module.attr("__version__") = hs::version();
  bind_pair(module);
  bind_regions(module);
  bind_response(module);
  bind_contact(module);
  bind_simulation(module);
  module.def("run", &run);
  module.def("read_timeseries", &read_timeseries);
  module.def("column_names", &column_names);
  module.def(
      "backends",
      [] {
        py::dict backends;
        for (const hs::Backend& backend : hs::backends()) backends[py::str(backend.name)] = backend.summary;
        return backends;
      },
      "backends()\n--\n\nContact back-ends of this library: {name: summary}.");
  module.def("table_formats", [] {
    py::dict formats;
    for (const hs::Table& format : hs::table_formats()) formats[py::str(format.name)] = format.option;
    return formats;
  });
}
