/* A controller FMU for co-simulation (FMI 3): force = -(k x + c v + ki integral of x dt). examples/fmi/lift.yaml
 * drives a body with it; docs/guide/fmi.md describes the build. Value references are positions in `value`. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { x, v, k, c, ki, force, integral, n_values };
typedef struct {
  double value[n_values];
} Unit;
typedef void (*Log)(void*, int, const char*, const char*);
enum { ok = 0, error = 3 };

void* fmi3InstantiateCoSimulation(const char* name, const char* token, const char* resources, bool visible, bool logging,
                                  bool events, bool early, const uint32_t* intermediate, size_t n, void* environment,
                                  Log log, void (*update)(void)) {
  (void)name, (void)resources, (void)visible, (void)logging, (void)events, (void)early, (void)intermediate, (void)n;
  (void)update;
  if (strcmp(token, "{heelstrike-example-controller}") == 0) return calloc(1, sizeof(Unit));
  log(environment, error, "logStatusError", "modelDescription.xml belongs to another FMU");
  return NULL;
}
void fmi3FreeInstance(void* unit) { free(unit); }
int fmi3EnterInitializationMode(void* unit, bool d, double tolerance, double start, bool s, double stop) {
  (void)d, (void)tolerance, (void)s, (void)stop;
  return unit != NULL && start == 0.0 ? ok : error;
}
int fmi3ExitInitializationMode(void* unit) { return unit != NULL ? ok : error; }
int fmi3Terminate(void* unit) { return unit != NULL ? ok : error; }

int fmi3SetFloat64(void* unit, const uint32_t* references, size_t n, const double* values, size_t n_given) {
  for (size_t i = 0; i < n; ++i) {
    if (n_given != n || references[i] >= force) return error;
    ((Unit*)unit)->value[references[i]] = values[i];
  }
  return ok;
}
int fmi3GetFloat64(void* unit, const uint32_t* references, size_t n, double* values, size_t n_given) {
  for (size_t i = 0; i < n; ++i) {
    if (n_given != n || references[i] >= n_values) return error;
    values[i] = ((Unit*)unit)->value[references[i]];
  }
  return ok;
}
int fmi3DoStep(void* unit, double t, double h, bool final, bool* event, bool* terminate, bool* early, double* last) {
  (void)final;
  double* u = ((Unit*)unit)->value;
  u[integral] += h * u[x];
  u[force] = -(u[k] * u[x] + u[c] * u[v] + u[ki] * u[integral]);
  *event = *terminate = *early = false;
  *last = t + h;
  return ok;
}

/* The state, so that runs can be interrupted and resumed. */
int fmi3GetFMUState(void* unit, void** state) {
  if (*state == NULL) *state = malloc(sizeof(Unit));
  memcpy(*state, unit, sizeof(Unit));
  return ok;
}
int fmi3SetFMUState(void* unit, void* state) {
  memcpy(unit, state, sizeof(Unit));
  return ok;
}
int fmi3FreeFMUState(void* unit, void** state) {
  (void)unit;
  free(*state);
  *state = NULL;
  return ok;
}
int fmi3SerializedFMUStateSize(void* unit, void* state, size_t* size) {
  *size = sizeof(Unit);
  return unit != NULL && state != NULL ? ok : error;
}
int fmi3SerializeFMUState(void* unit, void* state, uint8_t* bytes, size_t size) {
  (void)unit;
  memcpy(bytes, state, size);
  return ok;
}
int fmi3DeserializeFMUState(void* unit, const uint8_t* bytes, size_t size, void** state) {
  (void)unit;
  if (size != sizeof(Unit)) return error;
  *state = malloc(size);
  memcpy(*state, bytes, size);
  return ok;
}
