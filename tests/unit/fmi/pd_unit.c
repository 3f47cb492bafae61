/* A controller as a unit for co-simulation: force = -(k x + c v + ki integral of x dt), or the opposite when the text LAW
 * is "reversed" and not "normal". It has a state of its own, counts
 * its steps, fails on request, and discards steps that are longer than the longest one, spoiling its state. Its
 * variables can be asked for as any type. FMI is 2 or 3. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { X, V, K, C, KI, FORCE, STEPS, FAIL_AT, FAIL_WITH, ANGLE, RATE, LONGEST, LAW, INTEGRAL, N };
typedef struct {
  double value[N];
} Unit;

#define PUBLIC __attribute__((visibility("default")))

static int get(const Unit* unit, const uint32_t* references, size_t n, double* values) {
  for (size_t i = 0; i < n; ++i) {
    if (references[i] >= N) return 3;
    values[i] = unit->value[references[i]];
  }
  return 0;
}

static int set(Unit* unit, const uint32_t* references, size_t n, const double* values) {
  for (size_t i = 0; i < n; ++i) {
    if (references[i] >= N) return 3;
    unit->value[references[i]] = values[i];
  }
  return 0;
}

static int set_text(Unit* unit, const uint32_t* references, size_t n, const char* const* values) {
  for (size_t i = 0; i < n; ++i) {
    const int reversed = strcmp(values[i], "reversed") == 0;
    if (references[i] != LAW || (!reversed && strcmp(values[i], "normal") != 0)) return 3;
    unit->value[LAW] = reversed;
  }
  return 0;
}

static int step(Unit* unit, double t, double h, bool no_set) {
  double* u = unit->value;
  if (!no_set) return 0;
  if (u[FAIL_WITH] != 0.0 && t >= u[FAIL_AT]) {
    if (u[FAIL_WITH] > 4.0) {
      u[FORCE] = NAN;
      return 0;
    }
    return (int)u[FAIL_WITH];
  }
  if (u[LONGEST] > 0.0 && h > 1.000001 * u[LONGEST]) {
    u[STEPS] += 1000.0;
    return 2;
  }
  u[INTEGRAL] += h * u[X];
  u[STEPS] += 1.0;
  u[ANGLE] = sin(t + h);
  u[RATE] = cos(t + h);
  u[FORCE] = (u[LAW] != 0.0 ? 1.0 : -1.0) * (u[K] * u[X] + u[C] * u[V] + u[KI] * u[INTEGRAL]);
  return 0;
}

static Unit* make(const char* token) {
  return token != NULL && strcmp(token, "{pd}") == 0 ? calloc(1, sizeof(Unit)) : NULL;
}
static int get_state(const Unit* unit, void** state) {
  if (*state == NULL) *state = malloc(sizeof(Unit));
  memcpy(*state, unit, sizeof(Unit));
  return 0;
}
static int set_state(Unit* unit, const void* state) {
  memcpy(unit, state, sizeof(Unit));
  return 0;
}
static int free_state(void** state) {
  free(*state);
  *state = NULL;
  return 0;
}
static int read_bytes(const char* bytes, size_t n, void** state) {
  if (n != sizeof(Unit)) return 3;
  *state = malloc(n);
  memcpy(*state, bytes, n);
  return 0;
}

#if FMI == 3
typedef void (*Log)(void*, int, const char*, const char*);
void* fmi3InstantiateCoSimulation(const char*, const char*, const char*, bool, bool, bool, bool, const uint32_t*, size_t,
                                  void*, Log, void (*)(void));
PUBLIC void* fmi3InstantiateCoSimulation(const char* name, const char* token, const char* resources, bool visible,
                                         bool logging, bool events, bool early, const uint32_t* intermediate, size_t n,
                                         void* environment, Log log, void (*update)(void)) {
  (void)name, (void)resources, (void)visible, (void)logging, (void)events, (void)early, (void)intermediate, (void)n;
  (void)update;
  Unit* unit = make(token);
  if (unit == NULL) log(environment, 3, "logStatusError", "the token is not mine");
  return unit;
}
#define FUNCTION(TYPE, NAME, ...) \
  TYPE NAME(__VA_ARGS__);         \
  PUBLIC TYPE NAME(__VA_ARGS__)
FUNCTION(int, fmi3EnterInitializationMode, void* u, bool d, double tolerance, double start, bool s, double stop) {
  (void)u, (void)d, (void)tolerance, (void)start, (void)s, (void)stop;
  return 0;
}
FUNCTION(int, fmi3ExitInitializationMode, void* u) { return u == NULL; }
FUNCTION(int, fmi3Terminate, void* u) { return u == NULL; }
FUNCTION(void, fmi3FreeInstance, void* u) { free(u); }
FUNCTION(int, fmi3GetFloat64, void* u, const uint32_t* r, size_t n, double* v, size_t m) { return n == m ? get(u, r, n, v) : 3; }
FUNCTION(int, fmi3SetFloat64, void* u, const uint32_t* r, size_t n, const double* v, size_t m) {
  return n == m ? set(u, r, n, v) : 3;
}
FUNCTION(int, fmi3SetString, void* u, const uint32_t* r, size_t n, const char* const* v, size_t m) {
  return n == m ? set_text(u, r, n, v) : 3;
}
#define TYPE_OF_FMI(NAME, TYPE)                                                                   \
  FUNCTION(int, fmi3Get##NAME, void* u, const uint32_t* r, size_t n, TYPE* v, size_t m) {         \
    double value = 0.0;                                                                           \
    int status = n == m ? 0 : 3;                                                                  \
    for (size_t i = 0; i < n && status == 0; ++i) status = get(u, r + i, 1, &value), v[i] = (TYPE)value;  \
    return status;                                                                                \
  }                                                                                               \
  FUNCTION(int, fmi3Set##NAME, void* u, const uint32_t* r, size_t n, const TYPE* v, size_t m) {   \
    int status = n == m ? 0 : 3;                                                                  \
    for (size_t i = 0; i < n && status == 0; ++i) {                                               \
      const double value = (double)v[i];                                                          \
      status = set(u, r + i, 1, &value);                                                          \
    }                                                                                             \
    return status;                                                                                \
  }
TYPE_OF_FMI(Float32, float)
TYPE_OF_FMI(Int8, int8_t)
TYPE_OF_FMI(UInt8, uint8_t)
TYPE_OF_FMI(Int32, int32_t)
TYPE_OF_FMI(Int64, int64_t)
TYPE_OF_FMI(Boolean, bool)
FUNCTION(int, fmi3DoStep, void* u, double t, double h, bool no_set, bool* event, bool* terminate, bool* early, double* last) {
  *event = *terminate = *early = false;
  *last = t + h;
  return step(u, t, h, no_set);
}
FUNCTION(int, fmi3GetFMUState, void* u, void** s) { return get_state(u, s); }
FUNCTION(int, fmi3SetFMUState, void* u, void* s) { return set_state(u, s); }
FUNCTION(int, fmi3FreeFMUState, void* u, void** s) { return u == NULL ? 3 : free_state(s); }
FUNCTION(int, fmi3SerializedFMUStateSize, void* u, void* s, size_t* n) {
  *n = sizeof(Unit);
  return u == NULL || s == NULL ? 3 : 0;
}
FUNCTION(int, fmi3SerializeFMUState, void* u, void* s, char* bytes, size_t n) {
  memcpy(bytes, s, n);
  return u == NULL ? 3 : 0;
}
FUNCTION(int, fmi3DeserializeFMUState, void* u, const char* bytes, size_t n, void** s) {
  return u == NULL ? 3 : read_bytes(bytes, n, s);
}
#else
typedef struct {
  void (*log)(void*, const char*, int, const char*, const char*, ...);
  void* (*allocate)(size_t, size_t);
  void (*free)(void*);
  void (*finished)(void*, int);
  void* environment;
} Callbacks;
#define FUNCTION(TYPE, NAME, ...) \
  TYPE NAME(__VA_ARGS__);         \
  PUBLIC TYPE NAME(__VA_ARGS__)
FUNCTION(void*, fmi2Instantiate, const char* name, int type, const char* guid, const char* resources, const Callbacks* callbacks,
         int visible, int logging) {
  (void)visible, (void)logging;
  Unit* unit = type == 1 && strncmp(resources, "file:///", 8) == 0 ? make(guid) : NULL;
  if (unit == NULL) callbacks->log(callbacks->environment, name, 3, "error", "the token %s is not mine", guid);
  return unit;
}
FUNCTION(int, fmi2SetupExperiment, void* u, int d, double tolerance, double start, int s, double stop) {
  (void)d, (void)tolerance, (void)start, (void)s, (void)stop;
  return u == NULL;
}
FUNCTION(int, fmi2EnterInitializationMode, void* u) { return u == NULL; }
FUNCTION(int, fmi2ExitInitializationMode, void* u) { return u == NULL; }
FUNCTION(int, fmi2Terminate, void* u) { return u == NULL; }
FUNCTION(void, fmi2FreeInstance, void* u) { free(u); }
FUNCTION(int, fmi2GetReal, void* u, const unsigned* r, size_t n, double* v) { return get(u, r, n, v); }
FUNCTION(int, fmi2SetReal, void* u, const unsigned* r, size_t n, const double* v) { return set(u, r, n, v); }
FUNCTION(int, fmi2SetString, void* u, const unsigned* r, size_t n, const char* const* v) { return set_text(u, r, n, v); }
#define TYPE_OF_FMI(NAME)                                                                   \
  FUNCTION(int, fmi2Get##NAME, void* u, const unsigned* r, size_t n, int* v) {              \
    double value = 0.0;                                                                     \
    int status = 0;                                                                         \
    for (size_t i = 0; i < n && status == 0; ++i) status = get(u, r + i, 1, &value), v[i] = (int)value;  \
    return status;                                                                          \
  }                                                                                         \
  FUNCTION(int, fmi2Set##NAME, void* u, const unsigned* r, size_t n, const int* v) {        \
    int status = 0;                                                                         \
    for (size_t i = 0; i < n && status == 0; ++i) {                                         \
      const double value = v[i];                                                            \
      status = set(u, r + i, 1, &value);                                                    \
    }                                                                                       \
    return status;                                                                          \
  }
TYPE_OF_FMI(Integer)
TYPE_OF_FMI(Boolean)
FUNCTION(int, fmi2DoStep, void* u, double t, double h, int no_set) {
  return step(u, t, h, no_set != 0);
}
FUNCTION(int, fmi2GetFMUstate, void* u, void** s) { return get_state(u, s); }
FUNCTION(int, fmi2SetFMUstate, void* u, void* s) { return set_state(u, s); }
FUNCTION(int, fmi2FreeFMUstate, void* u, void** s) { return u == NULL ? 3 : free_state(s); }
FUNCTION(int, fmi2SerializedFMUstateSize, void* u, void* s, size_t* n) {
  *n = sizeof(Unit);
  return u == NULL || s == NULL ? 3 : 0;
}
FUNCTION(int, fmi2SerializeFMUstate, void* u, void* s, char* bytes, size_t n) {
  memcpy(bytes, s, n);
  return u == NULL ? 3 : 0;
}
FUNCTION(int, fmi2DeSerializeFMUstate, void* u, const char* bytes, size_t n, void** s) {
  return u == NULL ? 3 : read_bytes(bytes, n, s);
}
#endif
