/* An importer with an integrator for one FMU for model exchange (FMI 3.0): the classical Runge-Kutta method with
 * equal steps, which locates the begin and end of contacts by bisection of a step. Prints time and
 * chosen variables at equal intervals.
 *
 *     heelstrike fmu examples/bouncing_ball.yaml --model-exchange -o equations.fmu && unzip -d equations equations.fmu
 *     cc -o integrator examples/fmi/integrator.c -ldl
 *     ./integrator $PWD/equations bouncing_ball '{TOKEN}' 1e-5 1000 20 9      # 1000 steps per row, 20 rows
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __aarch64__
#define PLATFORM "aarch64-linux"
#else
#define PLATFORM "x86_64-linux"
#endif

typedef void (*Log)(void*, int, const char*, const char*);
static void say(void* environment, int status, const char* category, const char* message) {
  (void)environment;
  fprintf(stderr, "%s (status %d): %s\n", category, status, message);
}
static void* library;
static void* function(const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) exit((fprintf(stderr, "%s\n", dlerror()), 2));
  return found;
}

enum { most = 1000 };
static void* unit;
static size_t n_x, n_z;
static int (*set_time)(void*, double), (*set_states)(void*, const double*, size_t);
static int (*get_rates)(void*, double*, size_t), (*get_indicators)(void*, double*, size_t);

static void check(int status) {
  if (status > 1) exit(1);
}
static void rates(double t, const double* x, double* rate) {
  check(set_time(unit, t));
  check(set_states(unit, x, n_x));
  check(get_rates(unit, rate, n_x));
}
/* From x at t to `next` at t + h, the new state of the FMU, with its event indicators. */
static void step(double t, const double* x, double h, double* next, double* z) {
  static double k[4][most], y[most];
  rates(t, x, k[0]);
  for (int stage = 1; stage < 4; ++stage) {
    const double c = stage == 3 ? h : 0.5 * h;
    for (size_t i = 0; i < n_x; ++i) y[i] = x[i] + c * k[stage - 1][i];
    rates(t + c, y, k[stage]);
  }
  for (size_t i = 0; i < n_x; ++i) next[i] = x[i] + h / 6.0 * (k[0][i] + 2.0 * k[1][i] + 2.0 * k[2][i] + k[3][i]);
  check(set_time(unit, t + h));
  check(set_states(unit, next, n_x));
  check(get_indicators(unit, z, n_z));
}
static bool differ(const double* a, const double* b) {
  for (size_t i = 0; i < n_z; ++i) {
    if ((a[i] > 0.0) != (b[i] > 0.0)) return true;
  }
  return false;
}

int main(int argc, char** argv) {
  if (argc < 8) {
    return fprintf(stderr, "usage: %s FMU_FOLDER MODEL_IDENTIFIER TOKEN STEP STEPS_PER_ROW ROWS REFERENCE...\n", argv[0]), 2;
  }
  char binary[4096], resources[4096];
  snprintf(binary, sizeof binary, "%s/binaries/" PLATFORM "/%s.so", argv[1], argv[2]);
  snprintf(resources, sizeof resources, "%s/resources/", argv[1]);
  if ((library = dlopen(binary, RTLD_NOW | RTLD_LOCAL)) == NULL) return fprintf(stderr, "%s\n", dlerror()), 2;
  void* (*instantiate)(const char*, const char*, const char*, bool, bool, void*, Log) =
      function("fmi3InstantiateModelExchange");
  int (*enter)(void*, bool, double, double, bool, double) = function("fmi3EnterInitializationMode");
  int (*leave)(void*) = function("fmi3ExitInitializationMode");
  int (*update)(void*, bool*, bool*, bool*, bool*, bool*, double*) = function("fmi3UpdateDiscreteStates");
  int (*resume)(void*) = function("fmi3EnterContinuousTimeMode");
  int (*enter_event)(void*) = function("fmi3EnterEventMode");
  int (*completed)(void*, bool, bool*, bool*) = function("fmi3CompletedIntegratorStep");
  int (*count_states)(void*, size_t*) = function("fmi3GetNumberOfContinuousStates");
  int (*count_indicators)(void*, size_t*) = function("fmi3GetNumberOfEventIndicators");
  int (*get_states)(void*, double*, size_t) = function("fmi3GetContinuousStates");
  int (*get)(void*, const uint32_t*, size_t, double*, size_t) = function("fmi3GetFloat64");
  set_time = function("fmi3SetTime");
  set_states = function("fmi3SetContinuousStates");
  get_rates = function("fmi3GetContinuousStateDerivatives");
  get_indicators = function("fmi3GetEventIndicators");

  const double h = atof(argv[4]);
  const long per_row = atol(argv[5]), n_rows = atol(argv[6]);
  const size_t n_values = (size_t)(argc - 7);
  uint32_t references[64];
  double values[64], x[most], next[most], z[most], z_next[most];
  for (size_t i = 0; i < n_values; ++i) references[i] = (uint32_t)atoi(argv[7 + i]);
  bool flags[5];
  double next_event;
  unit = instantiate("unit", argv[3], resources, false, true, NULL, say);
  if (unit == NULL) return 1;
  check(enter(unit, false, 0, 0, true, h * (double)(per_row * n_rows)));
  check(leave(unit));
  check(update(unit, &flags[0], &flags[1], &flags[2], &flags[3], &flags[4], &next_event));
  check(resume(unit));
  check(count_states(unit, &n_x));
  check(count_indicators(unit, &n_z));
  if (n_x > most || n_z > most) return 2;
  check(get_states(unit, x, n_x));
  check(get_indicators(unit, z, n_z));
  double t = 0.0;
  for (long k = 0;; ++k) {
    if (k % per_row == 0) {
      check(get(unit, references, n_values, values, n_values));
      printf("%.17g", t);
      for (size_t i = 0; i < n_values; ++i) printf(",%.17g", values[i]);
      printf("\n");
    }
    if (k == per_row * n_rows) break;
    const double end = (double)(k + 1) * h;
    while (t < end) {
      double length = end - t;
      step(t, x, length, next, z_next);
      const bool event = differ(z, z_next);
      if (event) { /* the shortest step after the event */
        double before = 0.0;
        while (length - before > 1e-14 * (1.0 + t)) {
          const double middle = 0.5 * (before + length);
          step(t, x, middle, next, z_next);
          if (differ(z, z_next)) {
            length = middle;
          } else {
            before = middle;
          }
        }
        step(t, x, length, next, z_next);
      }
      bool wants_event, ends;
      check(completed(unit, true, &wants_event, &ends));
      t = event ? t + length : end;
      memcpy(x, next, n_x * sizeof *x);
      if (event) {
        check(enter_event(unit));
        check(update(unit, &flags[0], &flags[1], &flags[2], &flags[3], &flags[4], &next_event));
        check(resume(unit));
        check(get_indicators(unit, z_next, n_z));
      }
      memcpy(z, z_next, n_z * sizeof *z);
    }
  }
  void (*release)(void*) = function("fmi3FreeInstance");
  release(unit);
  return 0;
}
