/// Adds element matrices to a sparse matrix on several threads, with the same bits for any number of them.
///
/// Elements are taken in blocks. Of each block the threads first compute the element matrices, every thread its share,
/// and then add them, every thread to the columns of its own nodes: each entry of the matrix is a sum over the elements
/// in ascending order, whoever adds it.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <functional>

#include "fem_server/fem/body_model.hpp"

namespace heelstrike::fem {

/// Adds the matrix of one element (3 n_nodes square, dof-wise) to one that is zero. Called once for each element, from
/// several threads at once. Must not throw.
using ElementKernel = std::function<void(std::size_t element, Eigen::MatrixXd& element_matrix)>;

/// @param matrix     its pattern holds that of sparsity_pattern(body)
/// @param n_threads  0 = one for each processor, fewer for small bodies
void add_elements(const BodyModel& body, SparseMatrix& matrix, const ElementKernel& kernel, unsigned n_threads = 0);

}  // namespace heelstrike::fem
