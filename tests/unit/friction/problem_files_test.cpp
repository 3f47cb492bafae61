// Files of frictional contact problems: exact round trips, storage formats of other programs, reported damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <hdf5_hl.h>

#include <Eigen/LU>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "benchmarks/friction_problems/fclib_file.hpp"
#include "benchmarks/friction_problems/siconos_text.hpp"
#include "common/errors/error.hpp"

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

std::string rejection_error(const std::string& text) {
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

TEST(SiconosText, TruncationIsReported) {
  std::ostringstream out;
  write_siconos_text(small_problem(), out);
  const std::string text = out.str();
  // The last number that is read is the last of mu; truncation within it gives another number, which is undetectable.
  const std::size_t last = text.rfind("0.3");
  for (std::size_t length = 0; length < last; ++length) {
    EXPECT_THAT(rejection_error(text.substr(0, length)), testing::HasSubstr("problem.dat: expected")) << length;
  }
}

TEST(SiconosText, InvalidNumbersAreReported) {
  const std::string rest = "\n0\n3\n3\n3 3\n1 0 0 0 1 0 0 0 1\n-1 0 0\n";
  EXPECT_THAT(rejection_error("4\n1" + rest + "0.3"), testing::HasSubstr("dimension from 2 to 3, found 4"));
  EXPECT_THAT(rejection_error("3\n0" + rest + "0.3"), testing::HasSubstr("number of contacts from 1"));
  EXPECT_THAT(rejection_error("3\n999999999999" + rest + "0.3"), testing::HasSubstr("number of contacts from 1"));
  EXPECT_THAT(rejection_error("3\n1\n0\n6\n3\n"), testing::HasSubstr("rows of W from 3 to 3, found 6"));
  EXPECT_THAT(rejection_error("3\n1\n7\n3\n3\n"), testing::HasSubstr("storage of W"));
  EXPECT_THAT(rejection_error("3\n1" + rest + "-0.3"), testing::HasSubstr("coefficients of friction >= 0, found -0.3"));
  EXPECT_THAT(rejection_error("3\n1\n0\n3\n3\n3 3\n0 0 0 0 1 0 0 0 1\n-1 0 0\n0.3"),
              testing::HasSubstr("positive normal entry of W at each contact, found 0 at contact 0"));
  EXPECT_THAT(rejection_error("#!/bin/sh"), testing::HasSubstr("found other text"));
}

TEST(FclibFile, RoundTripIsExact) {
  const FclibFile file;
  write_fclib(small_problem(), {.title = "three", .description = "made up", .math_info = "none"}, file.path);
  expect_same(read_fclib(file.path), small_problem());
}

/// Adds a full matrix in triplets. @pre its parent group exists
void add_matrix(const std::filesystem::path& path, const std::string& name, const Eigen::MatrixXd& matrix) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Gclose(H5Gcreate2(file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  std::vector<int> rows, columns;
  std::vector<double> values;
  for (int i = 0; i < matrix.rows(); ++i) {
    for (int j = 0; j < matrix.cols(); ++j) {
      rows.push_back(i);
      columns.push_back(j);
      values.push_back(matrix(i, j));
    }
  }
  const hsize_t one = 1, n = values.size();
  const auto number = [&](const char* key, int value) {
    H5LTmake_dataset_int(file, (name + "/" + key).c_str(), 1, &one, &value);
  };
  number("m", static_cast<int>(matrix.rows()));
  number("n", static_cast<int>(matrix.cols()));
  number("nz", static_cast<int>(n));
  H5LTmake_dataset_int(file, (name + "/i").c_str(), 1, &n, rows.data());
  H5LTmake_dataset_int(file, (name + "/p").c_str(), 1, &n, columns.data());
  H5LTmake_dataset_double(file, (name + "/x").c_str(), 1, &n, values.data());
  H5Fclose(file);
}

void add_vector(const std::filesystem::path& path, const std::string& name, const Eigen::VectorXd& vector) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const auto n = static_cast<hsize_t>(vector.size());
  H5LTmake_dataset_double(file, name.c_str(), 1, &n, vector.data());
  H5Fclose(file);
}

// Without its equality constraints it would be another problem.
TEST(FclibFile, EqualityConstraintsOfALocalProblemAreEliminated) {
  const FclibFile file;
  const LocalProblem whole = small_problem();
  write_fclib(whole, {}, file.path);
  const auto n = whole.W.rows();
  const Eigen::MatrixXd V = Eigen::MatrixXd::NullaryExpr(n, 2, [](Eigen::Index i, Eigen::Index j) {
    return 0.03 * static_cast<double>(1 + i) - 0.02 * static_cast<double>(j * i);
  });
  const Eigen::MatrixXd R = (Eigen::MatrixXd(2, 2) << 2.0, 0.5, 0.5, 3.0).finished();
  const Eigen::VectorXd s = Eigen::Vector2d(0.7, -0.4);
  add_matrix(file.path, "/fclib_local/V", V);
  EXPECT_THROW((void)read_fclib(file.path), Error) << "V without R";
  add_matrix(file.path, "/fclib_local/R", R);
  add_vector(file.path, "/fclib_local/vectors/s", s);
  const LocalProblem read = read_fclib(file.path);
  // u = W r + V lambda + q with V' r + R lambda + s = 0, for any r.
  const Eigen::VectorXd r = Eigen::VectorXd::LinSpaced(n, -1.0, 2.0);
  const Eigen::VectorXd lambda = -R.inverse() * (V.transpose() * r + s);
  const Eigen::VectorXd u = whole.W * r + V * lambda + whole.q;
  EXPECT_LT((read.W * r + read.q - u).norm(), 1e-13 * u.norm());
}

TEST(FclibFile, EqualityConstraintsOfAGlobalProblemAreEliminated) {
  const FclibFile file;
  const hid_t made = H5Fcreate(file.path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  for (const char* group : {"/fclib_global", "/fclib_global/vectors"}) {
    H5Gclose(H5Gcreate2(made, group, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  }
  const hsize_t one = 1;
  const int dimension = 3;
  H5LTmake_dataset_int(made, "/fclib_global/spacedim", 1, &one, &dimension);
  H5Fclose(made);
  const Eigen::MatrixXd M = Eigen::Vector4d(1.0, 2.0, 3.0, 4.0).asDiagonal();
  const Eigen::MatrixXd H = Eigen::MatrixXd::NullaryExpr(
      4, 3, [](Eigen::Index i, Eigen::Index j) { return i == j ? 1.0 : 0.1 * static_cast<double>(i + j); });
  const Eigen::VectorXd f = Eigen::Vector4d(1.0, -1.0, 0.5, 2.0), w = Eigen::Vector3d(0.1, 0.2, 0.3);
  const Eigen::VectorXd G = Eigen::Vector4d(1.0, 0.5, -1.0, 2.0);
  const double b = 0.6;
  add_matrix(file.path, "/fclib_global/M", M);
  add_matrix(file.path, "/fclib_global/H", H);
  add_matrix(file.path, "/fclib_global/G", G);
  add_vector(file.path, "/fclib_global/vectors/f", f);
  add_vector(file.path, "/fclib_global/vectors/w", w);
  add_vector(file.path, "/fclib_global/vectors/b", Eigen::VectorXd::Constant(1, b));
  add_vector(file.path, "/fclib_global/vectors/mu", Eigen::VectorXd::Constant(1, 0.4));
  const LocalProblem read = read_fclib(file.path);
  // M v = H r + G lambda + f and G' v + b = 0, u = H' v + w, for any r.
  const Eigen::Vector3d r(0.4, -0.3, 1.1);
  const Eigen::VectorXd free = M.inverse() * (H * r + f), yields = M.inverse() * G;
  const double lambda = -(G.dot(free) + b) / G.dot(yields);
  const Eigen::VectorXd u = H.transpose() * (free + lambda * yields) + w;
  EXPECT_LT((read.W * r + read.q - u).norm(), 1e-13 * u.norm());
}

TEST(FclibFile, InvalidFileIsReported) {
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

TEST(FclibFile, TruncationIsReported) {
  const FclibFile file;
  write_fclib(small_problem(), {}, file.path);
  const auto size = std::filesystem::file_size(file.path);
  for (std::uintmax_t keep = 0; keep < size; keep += 97) {
    std::filesystem::resize_file(file.path, keep);
    EXPECT_THROW((void)read_fclib(file.path), Error) << keep << " of " << size << " bytes";
    write_fclib(small_problem(), {}, file.path);
  }
}

TEST(FclibFile, WrongDimensionsAreReported) {
  const FclibFile file;
  const auto rejected = [&](int dimension) -> std::string {
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
  EXPECT_THAT(rejected(4), testing::HasSubstr("expected contacts of dimension 2 or 3, found 4"));
  EXPECT_THAT(rejected(2), testing::HasSubstr("for 3 contacts of dimension 2, found 9 x 9"));
}

TEST(FclibFile, MissingFolderIsReported) {
  EXPECT_THROW(write_fclib(small_problem(), {}, "/nonexistent/folder/problem.hdf5"), Error);
}

}  // namespace
}  // namespace heelstrike::friction
