/// Export of a run folder to one HDF5 file, for programs that read large tables and fields.
///
///     /                      attributes: format = "heelstrike run", format_version = 1, heelstrike (version), summary
///                            (the text of summary.json), scenario (the text of scenario.yaml)
///     /timeseries            float64 (rows, columns), attribute columns (texts; units in the names)
///     /fields/SERIES/        PAIR_BODY, or PAIR_BODY_partner
///         time               float64 (frames) [s]
///         frame              int64 (frames) index of the stored frame at that time: an unchanged body is stored once
///         triangles          int64 (m, 3) points of each triangle; of tetrahedra those of the boundary
///         tetrahedra         int64 (m, 4), when there are any
///         points             float64 (stored, n, 3) [m] in the world
///         QUANTITY           float64 (stored, n) or (stored, n, 3), attribute unit
///         of_triangles/      float64 (stored, m): quantities of the triangles, where there are any
///
/// Of a sweep or comparison its table: format = "heelstrike comparison", and
///
///     /table/COLUMN          float64 (runs), NaN = missing, or text (runs); attribute columns of the group: their
///     order
#pragma once

#include <filesystem>

namespace heelstrike {

/// @param run    complete or not; or the folder of a sweep or comparison
/// @param file   written completely or not at all
/// @param force  replaces an existing file
/// @throws Error{file} for a folder without a time series, for fields that cannot be read, when `file` exists and
/// `force` is false, and when it cannot be written; Error{invalid_input} for fields whose cells change with time
void write_hdf5(const std::filesystem::path& run, const std::filesystem::path& file, bool force);

}  // namespace heelstrike
