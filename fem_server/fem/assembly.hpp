/// Adds element matrices to a sparse matrix on several threads, with the same bits for any number of them.
///
/// Elements are taken in blocks. Of each block the threads first compute the element matrices, every thread its share,
/// and then add them, every thread to the columns of its own nodes: each entry of the matrix is a sum over the elements
/// in ascending order, whoever adds it.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <functional>
#include <span>

#include "fem_server/fem/body_model.hpp"

namespace heelstrike::fem {

/// Adds the matrix of one element (3 n_nodes square, dof-wise) to one that is zero. Called once for each element, from
/// several threads at once. Must not throw.
using ElementKernel = std::function<void(std::size_t element, Eigen::MatrixXd& element_matrix)>;

/// @param matrix     its pattern holds that of sparsity_pattern(body)
/// @param n_threads  0 = one for each processor, fewer for small bodies
void add_elements(const BodyModel& body, SparseMatrix& matrix, const ElementKernel& kernel, unsigned n_threads = 0);

/// Adds stiffness b b^T of each pressure of a mixed body: what its elimination leaves. Same bits for any number of
/// threads.
/// @param couplings  [m^2] per pressure: 3 x its nodes, derivative of the volume that it sees (V_a theta_a)
/// @param stiffness  [Pa/m^3] per pressure: lambda / V_a
void add_pressures(const BodyModel& body, SparseMatrix& matrix, std::span<const Eigen::Matrix3Xd> couplings,
                   std::span<const double> stiffness, unsigned n_threads = 0);

/// Calls work(begin, end) for parts of 0 to n from several threads at once.
/// @throws what `work` throws first in the order of the parts, when all have ended
void share_out(std::size_t n, unsigned n_threads, const std::function<void(std::size_t, std::size_t)>& work);

}  // namespace heelstrike::fem
