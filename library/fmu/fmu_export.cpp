#include "library/fmu/fmu_export.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <variant>
#include <vector>

#include "common/contact/require_forces.hpp"
#include "common/errors/error.hpp"
#include "common/files/digest.hpp"
#include "common/files/output_file.hpp"
#include "common/files/read_file.hpp"
#include "fem_server/sessions/local_contact.hpp"
#include "fmi/fmi_platform.hpp"
#include "library/fmu/fmu_model.hpp"
#include "library/fmu/model_description.hpp"
#include "library/fmu/scenario_numbers.hpp"
#include "library/registries/catalog.hpp"
#include "mbs_server/service/run_input.hpp"
#include "mbs_server/simulation/fmu_elements.hpp"
#include "mbs_server/simulation/free_motion.hpp"
#include "mbs_server/simulation/simulation.hpp"
#include "rpc/remote_library.hpp"
#include "scenario/catalog.hpp"
#include "scenario/shared_bodies.hpp"

namespace heelstrike::fmu {
namespace {

namespace fs = std::filesystem;

/// A folder that is removed with this object.
class Scratch {
 public:
  explicit Scratch(const fs::path& beside) {
    std::string name = (beside.parent_path() / ".heelstrike-unit-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw file_error(beside.string(), fmt::format("{}: expected a writable folder, found none ({}); "
                                                    "choose another one with -o",
                                                    beside.string(), std::strerror(errno)));
    }
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void add(FmuVariable variable, std::vector<FmuVariable>& variables) {
  variable.reference = static_cast<std::uint32_t>(variables.size());
  variables.push_back(std::move(variable));
}

/// Numeric parameters of the pairs, set by `--set contact.PAIR.PARAMETER`. Derived parameters are excluded because they
/// follow from others.
void add_parameters(const Contact* contact, const Scenario& scenario, std::vector<FmuVariable>& variables) {
  if (contact == nullptr) return;
  const BackendSchemas schemas = schemas_of(embedded_backends());
  for (const PairDescription& pair : contact->pairs()) {
    const auto model = std::ranges::find(scenario.pairs, pair.name, [](const PairModel& p) { return p.spec.name; });
    const auto tunable = fem::tunable_parameters(pair.backend);
    for (const ParameterSchema& parameter : schemas.at(pair.backend)) {
      const auto found = pair.parameters.find(parameter.name);
      const bool derived = !parameter.fallback && !model->spec.parameters.contains(parameter.name);
      if (found == pair.parameters.end() || derived) continue;
      const double* number = std::get_if<double>(&found->second);
      if (number == nullptr) continue;
      add({.causality = Causality::parameter,
           .name = fmt::format("contact.{}.{}", pair.name, parameter.name),
           .unit = parameter.unit,
           .meaning = parameter.meaning,
           .start = *number,
           .tunable = std::ranges::find(tunable, parameter.name) != tunable.end(),
           .min = parameter.range.min,
           .max = parameter.range.max},
          variables);
    }
  }
}

bool has_force_elements(const Contact* contact) {
  const BackendSchemas schemas = schemas_of(embedded_backends());
  return contact != nullptr && std::ranges::any_of(contact->pairs(), [&](const PairDescription& pair) {
           return has_elastic_bodies(schemas.at(pair.backend));
         });
}

/// Numeric parameters of the force elements. They are tunable because no state depends on them, unless the element
/// steps an FMU.
void add_element_numbers(const Scenario& scenario, std::vector<FmuVariable>& variables) {
  const Catalog catalog = scenario_catalog();
  const std::vector<std::string> fmus = mbs::fmu_elements(scenario);
  for (const ElementSpec& force : scenario.forces) {
    const auto type = std::ranges::find(catalog.forces, force.type, &ElementType::name);
    for (const config::KeySchema& key : type->keys) {
      if (key.kind != config::KeyKind::number || !force.keys.has(key.name)) continue;
      const config::Field value = force.keys[key.name];
      add({.causality = Causality::parameter,
           .name = value.path(),
           .unit = key.unit,
           .meaning = key.meaning,
           .start = value.number(),
           .tunable = std::ranges::find(fmus, force.where) == fmus.end(),
           .min = key.range.min,
           .max = key.range.max},
          variables);
    }
  }
}

void add_scenario_numbers(const FmuContent& content, std::vector<FmuVariable>& variables) {
  const std::string below = content.pair.empty() ? std::string() : fmt::format("contact.{}.", content.pair);
  for (FmuVariable& number : scenario_numbers(content.yaml, content.file_name, scenario_catalog(), below)) {
    add(std::move(number), variables);
  }
}

/// @param n_outputs  number of columns that are outputs; the others are local
std::vector<FmuVariable> table_of(std::span<const Column> inputs, std::span<const Column> columns,
                                  std::size_t n_outputs) {
  std::vector<FmuVariable> variables;
  const auto add_column = [&](const Column& column, Causality causality) {
    add({.causality = causality, .name = column.name, .unit = column.unit, .meaning = column.meaning}, variables);
  };
  add_column({.name = "time", .unit = "s", .meaning = "simulated time"}, Causality::independent);
  for (const Column& input : inputs) add_column(input, Causality::input);
  for (std::size_t i = 1; i < columns.size(); ++i) {
    add_column(columns[i], i < n_outputs ? Causality::output : Causality::local);
  }
  return variables;
}

std::vector<FmuVariable> variables_of(mbs::Simulation& simulation) {
  auto variables = table_of(simulation.inputs(), simulation.outputs(), simulation.outputs().size());
  // After time: start values of drivers, so that an importer that writes back what it reads changes nothing.
  for (std::size_t i = 0; i < simulation.inputs().size(); ++i) variables[1 + i].start = simulation.input_value(i);
  return variables;
}

std::vector<FmuVariable> variables_of(const mbs::FreeMotion& motion) {
  std::vector<FmuVariable> variables = table_of(motion.inputs(), motion.outputs(), motion.n_table_columns());
  const std::size_t before = motion.inputs().size();  // column 0 is time, which precedes the inputs
  std::size_t rate = motion.first_rate_column();
  for (const std::size_t state : motion.state_columns()) {
    variables[before + rate++].derivative_of = static_cast<std::uint32_t>(before + state);
  }
  for (std::size_t i = motion.first_indicator_column(); i < motion.outputs().size(); ++i) {
    variables[before + i].is_indicator = true;
  }
  return variables;
}

/// An archive during writing. @throws Error{file}
class Archive {
 public:
  explicit Archive(const fs::path& file) : file_(file) {
    int code = 0;
    archive_ = ::zip_open(file.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
    if (archive_ == nullptr)
      throw file_error(
          file.string(),
          fmt::format("{}: it cannot be written (libzip error {}); choose another one with -o", file.string(), code));
  }
  ~Archive() {
    if (archive_ != nullptr) ::zip_discard(archive_);
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  void add_file(const std::string& name, const fs::path& content) {
    add(name, ::zip_source_file(archive_, content.c_str(), 0, -1));
  }
  /// Adds every file below `folder`.
  void add_folder(const std::string& name, const fs::path& folder) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) add_file(name + "/" + fs::relative(entry.path(), folder).string(), entry.path());
    }
  }
  void close() {
    if (::zip_close(archive_) != 0) {
      throw file_error(file_.string(), fmt::format("{}: {}", file_.string(), ::zip_strerror(archive_)));
    }
    archive_ = nullptr;
  }

 private:
  void add(const std::string& name, zip_source_t* source) {
    // The lowest compression level takes a fifth of the time of the default and produces a tenth more bytes.
    const zip_int64_t index = source == nullptr ? -1 : ::zip_file_add(archive_, name.c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index >= 0 && ::zip_set_file_compression(archive_, static_cast<zip_uint64_t>(index), ZIP_CM_DEFLATE, 1) == 0) {
      return;
    }
    throw file_error(file_.string(),
                     fmt::format("{}: '{}' cannot be added: {}", file_.string(), name, ::zip_strerror(archive_)));
  }

  fs::path file_;
  zip_t* archive_ = nullptr;
};

/// `bytes` of a binary in which the name of a shared library is replaced by one of the same length in the string table.
std::string renamed(std::string bytes, const std::string& from, const std::string& to, const fs::path& file) {
  const std::string entry = '\0' + from + '\0';
  std::size_t place = bytes.find(entry);
  if (place == std::string::npos) {
    throw file_error(file.string(), fmt::format("{}: expected a binary that names {}, found none; install heelstrike "
                                                "again",
                                                file.string(), from));
  }
  for (; place != std::string::npos; place = bytes.find(entry, place)) bytes.replace(place + 1, to.size(), to);
  return bytes;
}

/// Binaries of an FMU, as names among the parts.
struct Binaries {
  std::string library = "libheelstrike_fmu.so";
  std::vector<std::string> modules;   ///< loaded by the library, located beside it
  std::vector<std::string> optional;  ///< those of them whose packages are needed only with a contact server
};

/// The name by which the binary requests the library, whichever library it is.
constexpr const char* library_name = "libheelstrike_fmu.so";

/// The libraries for the pairs of a scenario that the FMU computes itself.
Binaries binaries_for(const Scenario& scenario, const Contact* contact, bool has_contacts) {
  Binaries binaries;
  const BackendSchemas schemas = schemas_of(embedded_backends());
  // Reading a scenario needs the back-ends of all its pairs, even if the FMU contains only one of them.
  const bool needs_element_library = std::ranges::any_of(scenario.pairs, [&](const PairModel& pair) {
    const auto schema = schemas.find(pair.spec.backend);
    return schema != schemas.end() && has_elastic_bodies(schema->second);
  });
  if (needs_element_library) binaries.library = "libheelstrike_fmu_elements.so";
  if (has_force_elements(contact)) binaries.modules.emplace_back("libheelstrike_elements.so");
  if (has_contacts) binaries.optional.emplace_back(rpc::remote_library_file);
  return binaries;
}

/// Adds the binaries. The loader keeps one library of each name per process: the library of an FMU therefore has a
/// unique name, a digest of its content and of its modules, so that FMUs of different builds do not share a library and
/// FMUs of one build do.
void add_binaries(const Binaries& binaries, const fs::path& parts, const fs::path& scratch, const std::string& folder,
                  const std::string& model_identifier, Archive& archive) {
  const std::string what = "part of units";
  std::string library = read_file(parts / binaries.library, what);
  std::string all = library;
  for (const auto* modules : {&binaries.modules, &binaries.optional}) {
    for (const std::string& module : *modules) {
      all += read_file(parts / module, what);
      archive.add_file(folder + "/" + module, parts / module);
    }
  }
  const std::string name = library_name, prefix = "libhs_", suffix = ".so";
  const std::string own_name = prefix + sha256_hex(all).substr(0, name.size() - prefix.size() - suffix.size()) + suffix;
  const fs::path binary = parts / fmu_binary_file;
  write_whole_file(scratch / own_name, renamed(std::move(library), name, own_name, parts / binaries.library));
  write_whole_file(scratch / "binary", renamed(read_file(binary, what), name, own_name, binary));
  archive.add_file(folder + "/" + own_name, scratch / own_name);
  archive.add_file(folder + "/" + model_identifier + ".so", scratch / "binary");
}

std::set<std::string> words_of(const std::vector<std::string>& libraries, const std::string& suffix,
                               const fs::path& parts) {
  std::set<std::string> words;
  for (const std::string& library : libraries) {
    std::istringstream list(read_file(parts / (library + suffix), "part of units"));
    words.insert(std::istream_iterator<std::string>(list), {});
  }
  return words;
}

/// Text of the packages that an installation from packages needs for its libraries.
std::string packages_text(const std::vector<std::string>& always, const Binaries& binaries, const fs::path& parts) {
  const std::set<std::string> names = words_of(always, ".packages", parts);
  std::string text = fmt::format(
      "This FMU needs shared libraries of these packages of the Debian release that exported it:\nsudo apt install "
      "{}\n",
      fmt::join(names, " "));
  std::set<std::string> more = words_of(binaries.optional, ".packages", parts);
  std::erase_if(more, [&](const std::string& package) { return names.contains(package); });
  if (!more.empty()) {
    text += fmt::format("If its parameter `server` is set it also needs:\nsudo apt install {}\n", fmt::join(more, " "));
  }
  return text;
}

/// The libraries that the binaries load: those of a bundle, which lie beside the parts, are copied beside the binaries;
/// those of packages are named, at the location that the standard defines for external dependencies.
void add_dependencies(const Binaries& binaries, const fs::path& parts, const fs::path& scratch,
                      const std::string& folder, Archive& archive) {
  std::vector<std::string> always = binaries.modules;
  always.push_back(binaries.library);
  std::string text;
  if (fs::exists(parts / (binaries.library + ".libraries"))) {
    std::set<std::string> libraries = words_of(always, ".libraries", parts);
    libraries.merge(words_of(binaries.optional, ".libraries", parts));
    for (const std::string& library : libraries) archive.add_file(folder + "/" + library, parts / library);
    archive.add_folder("documentation/licenses", parts / "licences");
    text = fmt::format("This FMU contains the shared libraries that it needs, except those of glibc {}.{} or newer.\n",
                       __GLIBC__, __GLIBC_MINOR__);
  } else {
    text = packages_text(always, binaries, parts);
  }
  write_whole_file(scratch / "dependencies", text);
  archive.add_file("documentation/externalDependencies.txt", scratch / "dependencies");
}

/// FMI 3.0 has a folder for the terminals with their icon; importers of FMI 2.0 use a picture beside the description.
void add_pictures(FmiVersion version, const FmuContent& content, const fs::path& parts, const fs::path& scratch,
                  Archive& archive) {
  if (version == FmiVersion::v2) return archive.add_file("model.png", parts / "fmu_icon.png");
  write_whole_file(scratch / "terminals", terminals(content));
  archive.add_file("terminalsAndIcons/terminalsAndIcons.xml", scratch / "terminals");
  archive.add_file("terminalsAndIcons/icon.png", parts / "fmu_icon.png");
  archive.add_file("terminalsAndIcons/icon.svg", parts / "fmu_icon.svg");
}

}  // namespace

void export_fmu(const RunRequest& request, const FmuExportOptions& kind, const fs::path& parts, const fs::path& file,
                const std::function<void(std::string_view stage, double fraction)>& on_progress) {
  const std::string& pair = kind.pair;
  const FmiVersion version = kind.version;
  const Scratch scratch(fs::absolute(file));
  const fs::path resources = scratch.path() / "resources";
  FmuContent content{.yaml = request.yaml,
                     .file_name = fs::path(request.file_name).filename().string(),
                     .pair = pair,
                     .model_exchange = kind.model_exchange,
                     .has_contacts = !request.scenario.pairs.empty(),
                     .files = request.files,
                     .token = {},
                     .variables = {},
                     .cache = resources / "cache"};
  fs::create_directories(content.cache);
  mbs::RunInput input =
      mbs::make_run_input(request.scenario, request.yaml, request.files, schemas_of(embedded_backends()));
  input.run_id = "unit";
  input.allow_fmus = true;  // the user's own scenario, in the user's own process
  const ContactFactory open = [&](auto pairs, auto assets, const OpenContext& context) {
    OpenContext watched = context;
    watched.on_progress = on_progress;
    return fem::local_contact_factory(content.cache.string())(pairs, assets, watched);
  };
  bool has_derivatives = true;
  Binaries binaries;
  const auto add_contact_parameters = [&](const Contact* contact) {
    add_parameters(contact, input.scenario, content.variables);
    binaries = binaries_for(input.scenario, contact, content.has_contacts);
  };
  if (pair.empty() && kind.model_exchange) {
    mbs::FreeMotion motion(input);
    motion.initialise(open);
    content.variables = variables_of(motion);
    add_contact_parameters(motion.contact());
    add_element_numbers(input.scenario, content.variables);
  } else if (pair.empty()) {
    mbs::Simulation simulation(input);
    simulation.initialise(open);
    has_derivatives = simulation.no_derivatives().empty();
    content.variables = variables_of(simulation);
    add_contact_parameters(simulation.model().contact());
    add_element_numbers(input.scenario, content.variables);
  } else {
    content.variables = contact_variables(input.scenario, pair);
    const auto spec =
        std::ranges::find(input.scenario.pairs, pair, [](const PairModel& p) { return p.spec.name; })->spec;
    // The gap changes its sign where the contact begins and ends.
    std::ranges::find(content.variables, "gap_m", &FmuVariable::name)->is_indicator = kind.model_exchange;
    const auto contact = open({&spec, 1}, input.assets, {.run_id = input.run_id, .on_progress = {}, .stop = {}});
    require_forces(contact->pairs().front());
    add_contact_parameters(contact.get());
  }
  add_scenario_numbers(content, content.variables);
  const Scenario& scenario = request.scenario;
  const std::string stem = fs::path(content.file_name).stem().string();
  const FmuModelDescription description{.name = stem,
                                        .model_identifier = identifier_of(stem),
                                        .meaning = scenario.description,
                                        .stop_time = scenario.analysis.end_time,
                                        .step_size = scenario.output.interval,
                                        .has_derivatives = has_derivatives};
  write_content(content, resources);
  write_whole_file(scratch.path() / "modelDescription.xml", model_description(version, description, content));
  Archive archive(file);
  archive.add_file("modelDescription.xml", scratch.path() / "modelDescription.xml");
  const char* platform = version == FmiVersion::v2 ? fmi2_binaries : fmi3_binaries;
  add_binaries(binaries, parts, scratch.path(), platform, description.model_identifier, archive);
  add_dependencies(binaries, parts, scratch.path(), platform, archive);
  add_pictures(version, content, parts, scratch.path(), archive);
  archive.add_folder("resources", resources);
  archive.close();
}

}  // namespace heelstrike::fmu
