/* MPI for FMUs, whose simulation has one process. Debian 13 builds SUNDIALS with Open MPI: its logger, its profiler and
 * its vectors have calls that are made only for a communicator other than MPI_COMM_NULL, and Heelstrike has no other.
 * Without these definitions every FMU would load the forty libraries of Open MPI into its importer. The names are those
 * that libsundials_core refers to, and are local to the FMU (heelstrike_exports). */
#include <stdio.h>
#include <stdlib.h>

/* Only the addresses are used, which identify a communicator and types of data. */
char ompi_mpi_comm_null, ompi_mpi_double, ompi_mpi_long;

#define ABSENT(function)                                                     \
  void function(void);                                                       \
  void function(void) {                                                      \
    fputs("heelstrike: defect, please report it: SUNDIALS called " #function \
          " in an FMU, which has one process and no MPI\n",                  \
          stderr);                                                           \
    abort();                                                                 \
  }
ABSENT(MPI_Abort)
ABSENT(MPI_Comm_dup)
ABSENT(MPI_Comm_free)
ABSENT(MPI_Comm_rank)
ABSENT(MPI_Comm_size)
ABSENT(MPI_Op_create)
ABSENT(MPI_Op_free)
ABSENT(MPI_Reduce)
ABSENT(MPI_Type_commit)
ABSENT(MPI_Type_create_resized)
ABSENT(MPI_Type_create_struct)
ABSENT(MPI_Type_free)
ABSENT(MPI_Type_get_extent)
