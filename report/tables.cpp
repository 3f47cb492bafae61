#include "report/tables.hpp"

#include <algorithm>

#include "common/errors/error.hpp"
#include "common/files/file_digests.hpp"
#include "common/text/suggestion.hpp"
#include "report/write_report.hpp"

namespace heelstrike::report {

std::span<const TableFormat> table_formats() {
// The function of one format.
#define TABLE(NAME)                    \
  [] {                                 \
    extern TableFormat NAME##_table(); \
    return NAME##_table();             \
  }()
  static const std::vector<TableFormat> formats = {TABLE(hdf5)};
#undef TABLE
  return formats;
}

std::string TableFormat::option() const {
  std::string text = "--" + name;
  std::ranges::replace(text, '_', '-');
  return text;
}

std::vector<std::string> table_files(bool only_replacing) {
  std::vector<std::string> files;
  for (const TableFormat& format : table_formats()) {
    if (format.replaces_csv || !only_replacing) files.push_back(format.file);
  }
  return files;
}

namespace {

const TableFormat& table_format(const std::string& name) {
  std::vector<std::string> names;
  for (const TableFormat& format : table_formats()) {
    if (format.name == name) return format;
    names.push_back(format.name);
  }
  throw input_error("tables", unknown_name_message("table format", name, names));
}

}  // namespace

void check_table_formats(const std::vector<std::string>& names) {
  for (const std::string& name : names) (void)table_format(name);
}

void write_results(const std::filesystem::path& run, const std::vector<std::string>& formats, const Catalog& catalog) {
  bool is_replaced = false;
  for (const std::string& name : formats) {
    const TableFormat& format = table_format(name);
    format.write(run);
    record_file_digests(run, std::span(&format.file, 1));
    is_replaced = is_replaced || format.replaces_csv;
  }
  (void)write_report(run, catalog);
  // Last: a process that ends before this line leaves one table too many, not one too few.
  if (is_replaced) std::filesystem::remove(run / "timeseries.csv");
}

}  // namespace heelstrike::report
