// Files of frictional contact problems: exact round trips, other people's storage, damage that is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/errors/error.hpp"
#include "common/friction/fclib/fclib_file.hpp"
#include "common/friction/siconos_text.hpp"

namespace heelstrike::friction {
namespace {

LocalProblem small_problem() {
  LocalProblem problem;
  Eigen::MatrixXd W = Eigen::MatrixXd::Zero(9, 9);
  W.diagonal() << 1.0, 2.0, 3.0, 1.0 / 3.0, 2.0, 2.0, 5.0, 1.0, 1.0;
  W(0, 3) = W(3, 0) = 0.1;
  W(1, 5) = W(5, 1) = -0.7;  // within the block of contacts 0 and 1, not on its diagonal
  problem.W = W.sparseView();
  problem.q = Eigen::VectorXd::LinSpaced(9, -1.0, 1.0);
  problem.mu = Eigen::Vector3d(0.1, 0.2, 0.3);
  return problem;
}

void expect_same(const LocalProblem& a, const LocalProblem& b) {
  EXPECT_EQ(a.dimension, b.dimension);
  EXPECT_EQ(Eigen::MatrixXd(a.W), Eigen::MatrixXd(b.W));
  EXPECT_EQ(a.q, b.q);
  EXPECT_EQ(a.mu, b.mu);
}

LocalProblem read_text(const std::string& text) {
  std::istringstream in(text);
  return read_siconos_text(in, "problem.dat");
}

std::string refusal(const std::string& text) {
  try {
    (void)read_text(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

struct FclibFile {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() /
      ("heelstrike_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + ".hdf5");
  ~FclibFile() { std::filesystem::remove(path); }
};

TEST(SiconosText, RoundTripIsExact) {
  std::ostringstream out;
  write_siconos_text(small_problem(), out);
  expect_same(read_text(out.str()), small_problem());
}

TEST(SiconosText, ReadsDenseAndSparseStorage) {
  const std::string q_and_mu = "-1 0.5 0\n0.3\n";
  Eigen::Matrix3d W;
  W << 1.5, 0.0, 0.0, 0.0, 3.0, 2.5, 0.0, 2.5, 4.0;
  const std::string dense = "3\n1\n0\n3\n3\n3\t3\n 1.5 0 0\n 0 3 2.5\n 0 2.5 4\n" + q_and_mu;
  const std::string triplets =
      "3\n1\n2\n3\n3\n1\nCSparse Version 3.2.0, Sept 12, 2017.  Copyright (c) Timothy A. Davis, 2006-2016\n"
      "triplet: 3-by-3, nzmax: 8 nnz: 5\n    0 0 : 1.5\n    1 1 : 3\n    1 2 : 2.5\n    2 1 : 2.5\n    2 2 : 4\n" +
      q_and_mu;
  const std::string columns =
      "3\n1\n2\n3\n3\n2\nCSparse Version 3.2.0, Sept 12, 2017.  Copyright (c) Timothy A. Davis, 2006-2016\n"
      "3-by-3, nzmax: 5 nnz: 5, 1-norm: 6.5\n    col 0 : locations 0 to 0\n      0 : 1.5\n"
      "    col 1 : locations 1 to 2\n      1 : 3\n      2 : 2.5\n    col 2 : locations 3 to 4\n      1 : 2.5\n      2 "
      ": 4\n" +
      q_and_mu;
  for (const std::string& text : {dense, triplets, columns}) {
    const LocalProblem problem = read_text(text);
    EXPECT_EQ(Eigen::MatrixXd(problem.W), Eigen::MatrixXd(W)) << text;
    EXPECT_EQ(problem.q, Eigen::Vector3d(-1, 0.5, 0));
    EXPECT_EQ(problem.mu[0], 0.3);
  }
}

TEST(SiconosText, TruncatedAnywhereIsNamed) {
  std::ostringstream out;
  write_siconos_text(small_problem(), out);
  const std::string text = out.str();
  // The last number that is read is the last of mu; what is cut inside it is another number, and cannot be noticed.
  const std::size_t last = text.rfind("0.3");
  for (std::size_t length = 0; length < last; ++length) {
    EXPECT_THAT(refusal(text.substr(0, length)), testing::HasSubstr("problem.dat: expected")) << length;
  }
}

TEST(SiconosText, BadNumbersAreNamed) {
  const std::string rest = "\n0\n3\n3\n3 3\n1 0 0 0 1 0 0 0 1\n-1 0 0\n";
  EXPECT_THAT(refusal("4\n1" + rest + "0.3"), testing::HasSubstr("dimension from 2 to 3, found 4"));
  EXPECT_THAT(refusal("3\n0" + rest + "0.3"), testing::HasSubstr("number of contacts from 1"));
  EXPECT_THAT(refusal("3\n999999999999" + rest + "0.3"), testing::HasSubstr("number of contacts from 1"));
  EXPECT_THAT(refusal("3\n1\n0\n6\n3\n"), testing::HasSubstr("rows of W from 3 to 3, found 6"));
  EXPECT_THAT(refusal("3\n1\n7\n3\n3\n"), testing::HasSubstr("storage of W"));
  EXPECT_THAT(refusal("3\n1" + rest + "-0.3"), testing::HasSubstr("coefficients of friction >= 0, found -0.3"));
  EXPECT_THAT(refusal("3\n1\n0\n3\n3\n3 3\n0 0 0 0 1 0 0 0 1\n-1 0 0\n0.3"),
              testing::HasSubstr("positive normal entry of W at each contact, found 0 at contact 0"));
  EXPECT_THAT(refusal("#!/bin/sh"), testing::HasSubstr("found something else"));
}

TEST(FclibFile, RoundTripIsExact) {
  const FclibFile file;
  write_fclib(small_problem(), {.title = "three", .description = "made up", .math_info = "none"}, file.path);
  expect_same(read_fclib(file.path), small_problem());
}

TEST(FclibFile, WhatIsNoneIsNamed) {
  const FclibFile file;
  EXPECT_THROW((void)read_fclib(file.path), Error);
  std::ofstream(file.path) << "no HDF5";
  try {
    (void)read_fclib(file.path);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::file);
    EXPECT_THAT(error.what(), testing::HasSubstr("expected an HDF5 file of FCLIB"));
  }
}

TEST(FclibFile, TruncatedAnywhereIsNamed) {
  const FclibFile file;
  write_fclib(small_problem(), {}, file.path);
  const auto size = std::filesystem::file_size(file.path);
  for (std::uintmax_t keep = 0; keep < size; keep += 97) {
    std::filesystem::resize_file(file.path, keep);
    EXPECT_THROW((void)read_fclib(file.path), Error) << keep << " of " << size << " bytes";
    write_fclib(small_problem(), {}, file.path);
  }
}

TEST(FclibFile, OtherDimensionsAreNamed) {
  const FclibFile file;
  const auto refused = [&](int dimension) -> std::string {
    LocalProblem problem = small_problem();
    problem.dimension = dimension;
    write_fclib(problem, {}, file.path);
    try {
      (void)read_fclib(file.path);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refused(4), testing::HasSubstr("expected contacts of dimension 2 or 3, found 4"));
  EXPECT_THAT(refused(2), testing::HasSubstr("for 3 contacts of dimension 2, found 9 x 9"));
}

TEST(FclibFile, CannotBeWrittenWhereThereIsNoFolder) {
  EXPECT_THROW(write_fclib(small_problem(), {}, "/nonexistent/folder/problem.hdf5"), Error);
}

}  // namespace
}  // namespace heelstrike::friction
