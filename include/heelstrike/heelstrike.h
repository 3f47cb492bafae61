/**
 * @file
 * Contact and Simulation for C and for languages that can call C: opaque handles, status codes, error strings.
 *
 *     hs_contact* contact;
 *     const char* set[] = {"contact.element_size=0.005"};
 *     if (hs_contact_open("foot.yaml", NULL, "fem_full", set, 1, NULL, &contact) != HS_OK) puts(hs_error_message());
 *     hs_contact_evaluate(contact, t, R, p, V, &response);
 *     hs_contact_close(contact);
 *
 * SI units. Frames and the meaning of every number: <heelstrike/types.hpp>; of the calls: <heelstrike/contact.hpp>
 * and <heelstrike/simulation.hpp>. Matrices are stored row by row. A handle allows one thread at a time.
 */
#ifndef HEELSTRIKE_H
#define HEELSTRIKE_H

#include <heelstrike/response_members.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HS_API __attribute__((visibility("default")))

/** Outcome of a call. */
typedef enum hs_status {
  HS_OK = 0,
  HS_INVALID_INPUT,    /**< a value, name or size that cannot be accepted */
  HS_OUT_OF_ORDER,     /**< not allowed now: beside another thread, or after a fork */
  HS_NOT_FOUND,        /**< unknown or expired session or file on a server */
  HS_LIMIT,            /**< a configured limit was reached */
  HS_UNAVAILABLE,      /**< server away, connection lost or draining */
  HS_DEADLINE,         /**< no answer in time */
  HS_CANCELLED,        /**< stopped on request */
  HS_VERSION_MISMATCH, /**< the server speaks another contract */
  HS_RECOVERABLE,      /**< too deep, or not converged: a smaller step may succeed */
  HS_SOLVER_FAILED,    /**< the integrator gave up */
  HS_FILE,             /**< a file cannot be read or written */
  HS_UNIMPLEMENTED,    /**< the back-end does not offer this */
  HS_INTERNAL          /**< a defect of the library */
} hs_status;

/** Reason why the last call of this thread failed, a full sentence; "" when it succeeded. Valid until its next call.
 */
HS_API const char* hs_error_message(void);
/** Offending key or argument; "" when none. */
HS_API const char* hs_error_key(void);
/** File of the error; "" when none. */
HS_API const char* hs_error_file(void);
/** Line of the error, from 1; 0 = unknown. */
HS_API int hs_error_line(void);
/** Version of the library, "0.1.0". */
HS_API const char* hs_version(void);
/** Frees bytes that a call returned. */
HS_API void hs_free(void* bytes);

/** An open contact pair. */
typedef struct hs_contact hs_contact;

/** As hs::Response; the members `gap` to `residual` are those of <heelstrike/response_members.h>. */
typedef struct hs_response {
  double F_A[6];      /**< [N m, N] torque, force on A about its origin */
  double dF_A_dX[36]; /**< by small rotation [rad] and translation [m] of B */
  double dF_A_dV[36]; /**< by the twist of B in A */
#define HS_NUMBER(name, ...) double name;
#define HS_VECTOR(name, ...) double name[3];
#define HS_DERIVED(type, name, ...) type name;
  HEELSTRIKE_RESPONSE_MEMBERS(HS_NUMBER, HS_VECTOR, HS_DERIVED)
#undef HS_NUMBER
#undef HS_VECTOR
#undef HS_DERIVED
} hs_response;

/**
 * @param file     scenario with the pair
 * @param pair     its name; NULL = the only one
 * @param backend  contact back-end; NULL = that of the file
 * @param set      n_set texts "KEY=VALUE"; may be NULL when there are none
 * @param server   fem_server, "host:port" or "unix:/path"; NULL = in this process
 */
HS_API hs_status hs_contact_open(const char* file, const char* pair, const char* backend, const char* const* set,
                                 size_t n_set, const char* server, hs_contact** contact);
/**
 * @param t  [s]
 * @param R  9 numbers, rotation of B in A
 * @param p  3 numbers [m], B's origin in A
 * @param V  6 numbers [rad/s, m/s], twist of B in A; NULL = at rest
 */
HS_API hs_status hs_contact_evaluate(hs_contact* contact, double t, const double* R, const double* p, const double* V,
                                     hs_response* response);
/**
 * Many states against the same history, in parallel on all processors.
 * @param n          states
 * @param t          n numbers
 * @param R          n times 9 numbers
 * @param p          n times 3 numbers
 * @param V          n times 6 numbers; NULL = all at rest
 * @param tangents   0: they may be zero, which can be several times faster
 * @param responses  array of n
 * @param statuses   array of n: HS_OK, or the reason of a failure (HS_RECOVERABLE: too deep, or not converged); the
 *                   response is then NaN, and hs_contact_evaluate() at the state reports the details
 * @returns HS_OK also when single states failed
 */
HS_API hs_status hs_contact_evaluate_many(hs_contact* contact, size_t n, const double* t, const double* R,
                                          const double* p, const double* V, int tangents, hs_response* responses,
                                          hs_status* statuses);
/** The same, and the state is accepted as the end of a step. @param response  may be NULL */
HS_API hs_status hs_contact_commit(hs_contact* contact, double t, const double* R, const double* p, const double* V,
                                   hs_response* response);
/** The history as bytes, to be freed with hs_free(). */
HS_API hs_status hs_contact_save(hs_contact* contact, void** bytes, size_t* size);
HS_API hs_status hs_contact_restore(hs_contact* contact, const void* bytes, size_t size);
/**
 * Pressure, traction, displacement and stress at a state as the bytes of a VTU file in A's frame, to be freed with
 * hs_free(). HS_UNIMPLEMENTED where the back-end has none.
 * @param volume  0: the surface, else its tetrahedra
 */
HS_API hs_status hs_contact_fields(hs_contact* contact, double t, const double* R, const double* p, const double* V,
                                   int volume, void** vtu, size_t* size);
/** NULL is allowed. */
HS_API void hs_contact_close(hs_contact* contact);

/** A scenario that can be stepped. */
typedef struct hs_simulation hs_simulation;

/**
 * HS_INVALID_INPUT also for an analysis that is computed only as a whole, such as static or inverse: use the command
 * `heelstrike run`.
 *
 * @param backend  contact back-end of all pairs; NULL = that of the file
 * @param set      n_set texts "KEY=VALUE"
 * @param server   fem_server; NULL = in this process
 */
HS_API hs_status hs_simulation_open(const char* file, const char* backend, const char* const* set, size_t n_set,
                                    const char* server, hs_simulation** simulation);
/** [s] current time; NaN for NULL, which has no inputs or outputs */
HS_API double hs_simulation_time(const hs_simulation* simulation);
/** [s] end time of the scenario */
HS_API double hs_simulation_end_time(const hs_simulation* simulation);
HS_API hs_status hs_simulation_advance_to(hs_simulation* simulation, double t);
HS_API size_t hs_simulation_n_inputs(const hs_simulation* simulation);
/** "ball.fx_N"; NULL for an index beyond the last one. */
HS_API const char* hs_simulation_input_name(const hs_simulation* simulation, size_t index);
HS_API size_t hs_simulation_n_outputs(const hs_simulation* simulation);
/** "ball.z_m"; NULL for an index beyond the last one. */
HS_API const char* hs_simulation_output_name(const hs_simulation* simulation, size_t index);
/** From now on the input is value + rate (t - now) + acceleration (t - now)^2 / 2. */
HS_API hs_status hs_simulation_set(hs_simulation* simulation, const char* name, double value, double rate,
                                   double acceleration);
HS_API hs_status hs_simulation_get(hs_simulation* simulation, const char* name, double* value);
/** @param values  array of hs_simulation_n_outputs() numbers */
HS_API hs_status hs_simulation_values(hs_simulation* simulation, double* values);
/** The full state as bytes, to be freed with hs_free(). */
HS_API hs_status hs_simulation_save(hs_simulation* simulation, void** bytes, size_t* size);
HS_API hs_status hs_simulation_restore(hs_simulation* simulation, const void* bytes, size_t size);
/** NULL is allowed. */
HS_API void hs_simulation_close(hs_simulation* simulation);

#ifdef __cplusplus
}
#endif

#endif
