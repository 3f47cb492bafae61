#include "report/tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "common/errors/error.hpp"

namespace heelstrike::report {
namespace {

TEST(TableFormats, HaveTheirOwnFilesAndOptions) {
  std::set<std::string> names = {"timeseries.csv"};
  for (const TableFormat& format : table_formats()) {
    EXPECT_TRUE(names.insert(format.file).second) << format.name;
    EXPECT_TRUE(names.insert(format.option()).second) << format.name;
    EXPECT_NE(format.write, nullptr) << format.name;
  }
  EXPECT_THAT(table_files(), testing::Contains("timeseries.h5"));
  EXPECT_THAT(table_files(true), testing::Contains("timeseries.h5"));
}

TEST(TableFormats, UnknownNamesAreReportedWithTheNearest) {
  EXPECT_NO_THROW(check_table_formats({"hdf5"}));
  try {
    check_table_formats({"hdf6"});
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("did you mean 'hdf5'"));
  }
}

}  // namespace
}  // namespace heelstrike::report
