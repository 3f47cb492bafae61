#include "fem_server/fem/mpi/mpi_group.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "common/errors/error.hpp"
#include "fem_server/fem/mpi/mumps_factor.hpp"

namespace heelstrike::fem {

namespace {

/// MPI counts bytes in an int.
constexpr std::size_t max_piece = std::size_t{1} << 30U;

/// Calls visit(offset, count) for the pieces of n bytes.
template <class Visit>
void for_each_piece(std::size_t n, Visit visit) {
  for (std::size_t first = 0; first < n; first += max_piece)
    visit(first, static_cast<int>(std::min(max_piece, n - first)));
}

/// Ranks wait for commands while rank 0 meshes or compresses: MPI's own waiting would take a processor each.
void wait_idle(MPI_Request& request) {
  constexpr std::chrono::microseconds interval{200};
  for (;;) {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    std::this_thread::sleep_for(interval);
  }
}

class MpiGroup final : public RankGroup {
 public:
  MpiGroup(int rank, int size) : rank_(rank), size_(size) {}
  MpiGroup(const MpiGroup&) = delete;
  MpiGroup& operator=(const MpiGroup&) = delete;
  ~MpiGroup() override { MPI_Finalize(); }

  [[nodiscard]] std::size_t rank() const override { return static_cast<std::size_t>(rank_); }
  [[nodiscard]] std::size_t size() const override { return static_cast<std::size_t>(size_); }

  void broadcast(std::string& bytes) override {
    std::uint64_t n = bytes.size();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibcast(&n, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD, &request);
    wait_idle(request);
    bytes.resize(n);
    for_each_piece(
        n, [&](std::size_t first, int count) { MPI_Bcast(bytes.data() + first, count, MPI_BYTE, 0, MPI_COMM_WORLD); });
  }

  [[nodiscard]] std::vector<std::string> all_gather(std::string_view bytes) override {
    std::vector<int> sizes(size());
    const int own = static_cast<int>(bytes.size());
    MPI_Allgather(&own, 1, MPI_INT, sizes.data(), 1, MPI_INT, MPI_COMM_WORLD);
    std::vector<int> places;
    int n = 0;
    for (const int length : sizes) {
      places.push_back(n);
      n += length;
    }
    std::string all(static_cast<std::size_t>(n), '\0');
    MPI_Allgatherv(bytes.data(), own, MPI_BYTE, all.data(), sizes.data(), places.data(), MPI_BYTE, MPI_COMM_WORLD);
    std::vector<std::string> result;
    for (std::size_t k = 0; k < size(); ++k) {
      result.push_back(all.substr(static_cast<std::size_t>(places[k]), static_cast<std::size_t>(sizes[k])));
    }
    return result;
  }

  void send(std::size_t to, std::string_view bytes) override {
    const std::uint64_t n = bytes.size();
    MPI_Send(&n, 1, MPI_UINT64_T, static_cast<int>(to), 0, MPI_COMM_WORLD);
    for_each_piece(n, [&](std::size_t first, int count) {
      MPI_Send(bytes.data() + first, count, MPI_BYTE, static_cast<int>(to), 0, MPI_COMM_WORLD);
    });
  }

  [[nodiscard]] std::string receive(std::size_t from) override {
    std::uint64_t n = 0;
    MPI_Recv(&n, 1, MPI_UINT64_T, static_cast<int>(from), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::string bytes(n, '\0');
    for_each_piece(n, [&](std::size_t first, int count) {
      MPI_Recv(bytes.data() + first, count, MPI_BYTE, static_cast<int>(from), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    });
    return bytes;
  }

  [[nodiscard]] std::unique_ptr<DistributedCholesky> make_factor() override { return make_mumps_factor(); }

 private:
  int rank_;
  int size_;
};

}  // namespace

std::unique_ptr<RankGroup> join_mpi_ranks() {
  int given = MPI_THREAD_SINGLE;
  // Pairs may be prepared by different threads, one factorisation after the other.
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given) != MPI_SUCCESS ||
      given < MPI_THREAD_SERIALIZED) {
    throw Error(
        ErrorCode::unavailable,
        fmt::format("MPI cannot start with threads (expected level {}, found {}); use the mpirun of the MPI with "
                    "which deal.II was built (Debian: openmpi-bin)",
                    static_cast<int>(MPI_THREAD_SERIALIZED), given));
  }
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  auto group = std::make_unique<MpiGroup>(rank, size);
  if (size > 1) return group;
  return nullptr;
}

}  // namespace heelstrike::fem
