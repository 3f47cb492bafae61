#include "report/hdf5/run_hdf5.hpp"

#include <fmt/format.h>
#include <hdf5.h>
#include <hdf5_hl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "common/errors/error.hpp"
#include "common/files/output_file.hpp"
#include "common/process/version.hpp"
#include "common/results/run_folder.hpp"
#include "report/fields_data.hpp"
#include "report/tables.hpp"
#include "report/write_report.hpp"

namespace heelstrike {
namespace {

namespace fs = std::filesystem;
using Extents = std::vector<hsize_t>;
using Json = nlohmann::ordered_json;

/// An open HDF5 object.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {
    if (id_ < 0) throw Error(ErrorCode::file, "HDF5 could not create an object of the file; check the free disk space");
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { close_(id_); }
  [[nodiscard]] hid_t id() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

void require(herr_t outcome) {
  if (outcome < 0)
    throw Error(ErrorCode::file, "HDF5 could not write an object of the file; check the free disk space");
}

/// Chunks of whole rows, about 1 MB each, are compressed separately.
Extents chunk_of(Extents extents) {
  constexpr hsize_t numbers_per_chunk = 128 * 1024;
  hsize_t per_row = 1;
  for (std::size_t i = 1; i < extents.size(); ++i) per_row *= std::max<hsize_t>(extents[i], 1);
  extents.front() = std::clamp<hsize_t>(numbers_per_chunk / per_row, 1, std::max<hsize_t>(extents.front(), 1));
  for (hsize_t& extent : extents) extent = std::max<hsize_t>(extent, 1);
  return extents;
}

/// An empty dataset with byte shuffle and lossless compression.
hid_t create(hid_t where, const std::string& name, hid_t type, const Extents& extents) {
  const Handle space(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose);
  const Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const Extents chunk = chunk_of(extents);
  require(H5Pset_chunk(properties.id(), static_cast<int>(chunk.size()), chunk.data()));
  require(H5Pset_shuffle(properties.id()));
  require(H5Pset_deflate(properties.id(), 4));
  return H5Dcreate2(where, name.c_str(), type, space.id(), H5P_DEFAULT, properties.id(), H5P_DEFAULT);
}

void put(hid_t where, const std::string& name, const std::vector<double>& values, const Extents& extents) {
  const Handle dataset(create(where, name, H5T_IEEE_F64LE, extents), H5Dclose);
  if (!values.empty()) {
    require(H5Dwrite(dataset.id(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()));
  }
}

template <typename Whole>
void put_whole(hid_t where, const std::string& name, const std::vector<Whole>& values, const Extents& extents) {
  const std::vector<std::int64_t> wide(values.begin(), values.end());
  const Handle dataset(create(where, name, H5T_STD_I64LE, extents), H5Dclose);
  if (!wide.empty()) {
    require(H5Dwrite(dataset.id(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, wide.data()));
  }
}

/// Fixed-length text attributes are limited to 64 kB; these have variable length.
void put_texts(hid_t object, const std::string& name, const std::vector<std::string>& texts, bool one) {
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  require(H5Tset_size(type.id(), H5T_VARIABLE));
  require(H5Tset_cset(type.id(), H5T_CSET_UTF8));
  const hsize_t n = texts.size();
  const Handle space(one ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &n, nullptr), H5Sclose);
  const Handle attribute(H5Acreate2(object, name.c_str(), type.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  require(H5Awrite(attribute.id(), type.id(), pointers.data()));
}

void put_text(hid_t object, const std::string& name, const std::string& text) {
  put_texts(object, name, {text}, true);
}

std::string text_of(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored) ? read_whole_file(file) : std::string();
}

void put_timeseries(hid_t file, const fs::path& run) {
  const TimeSeries series = read_timeseries(run);
  put(file, "timeseries", series.values, {series.rows(), series.columns.size()});
  const Handle dataset(H5Dopen2(file, "timeseries", H5P_DEFAULT), H5Dclose);
  put_texts(dataset.id(), "columns", series.columns, false);
}

/// One body of one pair over time.
struct Series {
  std::vector<double> times;
  std::vector<std::int64_t> frames;  ///< per time
  std::vector<std::string> files;    ///< per stored frame
};

std::map<std::string, Series> series_of(const fs::path& run) {
  std::map<std::string, Series> all;
  for (const report::FieldFile& entry : report::read_field_index(run)) {
    Series& series = all[entry.name];
    if (series.files.empty() || series.files.back() != entry.file) series.files.push_back(entry.file);
    series.times.push_back(entry.time);
    series.frames.push_back(static_cast<std::int64_t>(series.files.size()) - 1);
  }
  return all;
}

/// Appends a frame to a dataset, so that only one frame is in memory.
void put_frame(hid_t where, const std::string& name, const report::PointArray& array, hsize_t frame, hsize_t n_frames) {
  const hsize_t n = array.values.size() / array.n_components;
  Extents extents = {n_frames, n};
  if (array.n_components > 1) extents.push_back(array.n_components);
  const bool first = H5Lexists(where, name.c_str(), H5P_DEFAULT) <= 0;
  const Handle dataset(
      first ? create(where, name, H5T_IEEE_F64LE, extents) : H5Dopen2(where, name.c_str(), H5P_DEFAULT), H5Dclose);
  if (first && !array.unit.empty()) put_text(dataset.id(), "unit", array.unit);
  Extents start(extents.size(), 0), count = extents;
  start.front() = frame;
  count.front() = 1;
  const Handle file_space(H5Dget_space(dataset.id()), H5Sclose);
  const Handle memory_space(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose);
  require(H5Sselect_hyperslab(file_space.id(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr));
  if (!array.values.empty()) {
    require(H5Dwrite(dataset.id(), H5T_NATIVE_DOUBLE, memory_space.id(), file_space.id(), H5P_DEFAULT,
                     array.values.data()));
  }
}

void put_series(hid_t fields, const fs::path& run, const std::string& name, const Series& series) {
  const Handle group(H5Gcreate2(fields, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  put(group.id(), "time", series.times, {series.times.size()});
  put_whole(group.id(), "frame", series.frames, {series.frames.size()});
  const hsize_t n_frames = series.files.size();
  std::vector<std::uint32_t> triangles;
  for (hsize_t frame = 0; frame < n_frames; ++frame) {
    const std::string& file = series.files[frame];
    const report::FieldGrid grid = report::parse_vtu(read_whole_file(run / file), file);
    if (frame == 0) {
      triangles = grid.triangles;
      put_whole(group.id(), "triangles", triangles, {triangles.size() / 3, 3});
      if (!grid.tetrahedra.empty()) {
        put_whole(group.id(), "tetrahedra", grid.tetrahedra, {grid.tetrahedra.size() / 4, 4});
      }
      if (!grid.of_triangles.empty()) {
        (void)Handle(H5Gcreate2(group.id(), "of_triangles", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
      }
    } else if (grid.triangles != triangles) {
      throw input_error(file, fmt::format("{}: expected the same cells as in the previous frames, found others", file));
    }
    put_frame(group.id(), "points", {.name = "points", .unit = "m", .n_components = 3, .values = grid.points}, frame,
              n_frames);
    for (const report::PointArray& array : grid.arrays) put_frame(group.id(), array.name, array, frame, n_frames);
    for (const report::PointArray& array : grid.of_triangles) {
      put_frame(group.id(), "of_triangles/" + array.name, array, frame, n_frames);
    }
  }
}

void put_text_column(hid_t where, const std::string& name, const std::vector<std::string>& texts) {
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  require(H5Tset_size(type.id(), H5T_VARIABLE));
  require(H5Tset_cset(type.id(), H5T_CSET_UTF8));
  const hsize_t n = texts.size();
  const Handle space(H5Screate_simple(1, &n, nullptr), H5Sclose);
  const Handle dataset(H5Dcreate2(where, name.c_str(), type.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                       H5Dclose);
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  if (n > 0) require(H5Dwrite(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, pointers.data()));
}

/// A column of the table: numbers where all values are numbers or missing (NaN), else texts.
void put_column(hid_t where, const std::string& name, const std::vector<Json>& values) {
  const auto is_number = [](const Json& value) { return value.is_number() || value.is_null(); };
  if (std::ranges::all_of(values, is_number) && !std::ranges::all_of(values, &Json::is_null)) {
    std::vector<double> numbers;
    for (const Json& value : values) {
      numbers.push_back(value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>());
    }
    put(where, name, numbers, {numbers.size()});
    return;
  }
  std::vector<std::string> texts;
  for (const Json& value : values) {
    texts.push_back(value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump());
  }
  put_text_column(where, name, texts);
}

void put_comparison(hid_t root, const fs::path& file) {
  std::vector<std::string> names;
  std::map<std::string, std::vector<Json>> columns;
  try {
    const Json comparison = Json::parse(read_whole_file(file));
    const Json& rows = comparison.at("rows");
    const auto add = [&](const std::string& name, const Json& value, std::size_t row) {
      const auto [column, is_new] = columns.try_emplace(name, rows.size());
      if (is_new) names.push_back(name);
      column->second[row] = value;
    };
    for (std::size_t row = 0; row < rows.size(); ++row) {
      for (const auto& [name, value] : rows[row].items()) {
        if (name != "parameters") {
          add(name, value, row);
        } else {
          for (const auto& [key, parameter] : value.items()) add(key, parameter, row);
        }
      }
    }
  } catch (const Json::exception& error) {
    throw file_error(file.string(), fmt::format("{}: expected the table of a sweep or comparison, found: {}",
                                                file.string(), error.what()));
  }
  const Handle table(H5Gcreate2(root, "table", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  put_texts(table.id(), "columns", names, false);
  for (const std::string& name : names) put_column(table.id(), name, columns.at(name));
}

void write_parts(const fs::path& run, const fs::path& path, bool with_fields) {
  const Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  const Handle root(H5Gopen2(file.id(), "/", H5P_DEFAULT), H5Gclose);
  const int format_version = 1;
  const bool is_table = report::is_comparison(run);
  put_text(root.id(), "format", is_table ? "heelstrike comparison" : "heelstrike run");
  require(H5LTset_attribute_int(root.id(), ".", "format_version", &format_version, 1));
  put_text(root.id(), "heelstrike", std::string(program_version));
  if (is_table) {
    put_comparison(root.id(), run / "comparison.json");
    require(H5Fflush(file.id(), H5F_SCOPE_GLOBAL));
    return;
  }
  put_text(root.id(), "summary", text_of(run / "summary.json"));
  put_text(root.id(), "scenario", text_of(run / "scenario.yaml"));
  put_timeseries(root.id(), run);
  if (with_fields && fs::exists(run / "fields.pvd")) {
    const Handle fields(H5Gcreate2(root.id(), "fields", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    for (const auto& [name, series] : series_of(run)) put_series(fields.id(), run, name, series);
  }
  require(H5Fflush(file.id(), H5F_SCOPE_GLOBAL));
}

void write_whole(const fs::path& run, const fs::path& file, bool with_fields) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // suppresses HDF5 error traces on stderr
  std::error_code failure;
  const fs::path temporary = fmt::format("{}.{}.tmp", file.string(), ::getpid());
  try {
    write_parts(run, temporary, with_fields);
    fs::rename(temporary, file);
  } catch (const fs::filesystem_error& error) {
    fs::remove(temporary, failure);
    throw file_error(file.string(), fmt::format("{} cannot be written: {}", file.string(), error.code().message()));
  } catch (const Error& error) {
    fs::remove(temporary, failure);
    if (error.code() != ErrorCode::file || !error.field().empty()) throw;
    throw file_error(file.string(), fmt::format("{} cannot be written: {}", file.string(), error.what()));
  }
}

}  // namespace

void write_hdf5(const fs::path& run, const fs::path& file, bool force) {
  std::error_code failure;
  if (!force && fs::exists(file, failure)) {
    throw file_error(file.string(),
                     fmt::format("{} exists; choose another name with -o, or replace it with --force", file.string()));
  }
  if (!fs::exists(run / "timeseries.csv", failure) && !report::is_comparison(run)) {
    throw file_error(run.string(),
                     fmt::format("{}: expected the folder of a run or sweep, found neither timeseries.csv nor "
                                 "comparison.json in it",
                                 run.string()));
  }
  write_whole(run, file, true);
}

namespace report {

/// With the attributes of the root, without the fields, which are separate files in the folder of a large run.
TableFormat hdf5_table() {
  return {.name = "hdf5",
          .file = "timeseries.h5",
          .description = "Write the rows to timeseries.h5, compressed, instead of timeseries.csv",
          .replaces_csv = true,
          .write = [](const fs::path& run) { write_whole(run, run / "timeseries.h5", false); }};
}

}  // namespace report

}  // namespace heelstrike
