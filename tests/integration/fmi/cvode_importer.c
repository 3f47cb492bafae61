/* An importer of model exchange with the integrator CVODE of Debian's libsundials_cvode, for FMI 2.0 and 3.0: events are
 * the roots of the indicators, and CVODE starts anew after one only when the unit says that its states or their nominal
 * values have changed, as the reference importer of the standard does. Prints time and chosen variables at equal intervals
 * and, to stderr, how often CVODE has restarted.
 *
 *     cvode_importer BINARY VERSION TOKEN RESOURCES N_STATES N_INDICATORS TOLERANCE START INTERVAL ROWS REFERENCE...
 */
#include <cvode/cvode.h>
#include <dlfcn.h>
#include <nvector/nvector_serial.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sundials/sundials_context.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

#if SUNDIALS_VERSION_MAJOR < 7
#define SUN_COMM_NULL NULL
#endif

static void* library;
static bool second; /* FMI 2.0 */
static void* unit;
static size_t n_x, n_z;

static void* function(const char* name2, const char* name3) {
  char name[80];
  snprintf(name, sizeof name, "fmi%d%s", second ? 2 : 3, second ? name2 : name3);
  void* found = dlsym(library, name);
  if (found == NULL) exit((fprintf(stderr, "%s\n", dlerror()), 2));
  return found;
}
static void check(int status, const char* call) {
  if (status > 1) exit((fprintf(stderr, "%s: status %d\n", call, status), 1));
}
static void say3(void* environment, int status, const char* category, const char* message) {
  (void)environment;
  fprintf(stderr, "%s (status %d): %s\n", category, status, message);
}
static void say2(void* environment, const char* name, int status, const char* category, const char* message, ...) {
  (void)environment;
  fprintf(stderr, "%s: %s (status %d): ", name, category, status);
  va_list values;
  va_start(values, message);
  vfprintf(stderr, message, values);
  va_end(values);
  fprintf(stderr, "\n");
}

static int (*set_time)(void*, double), (*set_states)(void*, const double*, size_t), (*get_states)(void*, double*, size_t);
static int (*get_rates)(void*, double*, size_t), (*get_indicators)(void*, double*, size_t);

static int rates(sunrealtype t, N_Vector x, N_Vector rate, void* data) {
  (void)data;
  if (set_time(unit, t) > 1 || set_states(unit, NV_DATA_S(x), n_x) > 1) return -1;
  const int status = get_rates(unit, NV_DATA_S(rate), n_x);
  return status == 2 ? 1 : status > 2 ? -1 : 0; /* discard: a smaller step */
}
static int indicators(sunrealtype t, N_Vector x, sunrealtype* z, void* data) {
  (void)data;
  if (set_time(unit, t) > 1 || set_states(unit, NV_DATA_S(x), n_x) > 1) return -1;
  return get_indicators(unit, z, n_z) > 1 ? -1 : 0;
}

/* Returns whether CVODE has to start anew. */
static bool update(void) {
  bool anew = false, again = true;
  while (again) {
    if (second) {
      struct {
        int again, terminate, nominals, values, next_defined;
        double next;
      } info = {0};
      int (*call)(void*, void*) = function("NewDiscreteStates", "");
      check(call(unit, &info), "NewDiscreteStates");
      anew = anew || info.nominals || info.values;
      again = info.again;
    } else {
      bool terminate, nominals, values, next_defined;
      double next;
      int (*call)(void*, bool*, bool*, bool*, bool*, bool*, double*) = function("", "UpdateDiscreteStates");
      check(call(unit, &again, &terminate, &nominals, &values, &next_defined, &next), "UpdateDiscreteStates");
      anew = anew || nominals || values;
    }
  }
  int (*resume)(void*) = function("EnterContinuousTimeMode", "EnterContinuousTimeMode");
  check(resume(unit), "EnterContinuousTimeMode");
  return anew;
}

static void start_unit(const char* token, const char* resources, double start) {
  if (second) {
    static const struct {
      void (*log)(void*, const char*, int, const char*, const char*, ...);
      void* (*allocate)(size_t, size_t);
      void (*release)(void*);
      void *finished, *environment;
    } callbacks = {say2, calloc, free, NULL, NULL};
    char uri[4200];
    snprintf(uri, sizeof uri, "file://%s", resources);
    void* (*instantiate)(const char*, int, const char*, const char*, const void*, int, int) = function("Instantiate", "");
    unit = instantiate("unit", 0, token, uri, &callbacks, 0, 0);
    if (unit == NULL) exit(1);
    int (*setup)(void*, int, double, double, int, double) = function("SetupExperiment", "");
    check(setup(unit, 0, 0, start, 0, 0), "SetupExperiment");
    int (*enter)(void*) = function("EnterInitializationMode", "");
    check(enter(unit), "EnterInitializationMode");
  } else {
    void* (*instantiate)(const char*, const char*, const char*, bool, bool, void*, void*) =
        function("", "InstantiateModelExchange");
    unit = instantiate("unit", token, resources, false, false, NULL, (void*)say3);
    if (unit == NULL) exit(1);
    int (*enter)(void*, bool, double, double, bool, double) = function("", "EnterInitializationMode");
    check(enter(unit, false, 0, start, false, 0), "EnterInitializationMode");
  }
  int (*leave)(void*) = function("ExitInitializationMode", "ExitInitializationMode");
  check(leave(unit), "ExitInitializationMode");
  (void)update();
}

int main(int argc, char** argv) {
  if (argc < 12) return fprintf(stderr, "see the beginning of the source\n"), 2;
  second = atoi(argv[2]) == 2;
  if ((library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)) == NULL) return fprintf(stderr, "%s\n", dlerror()), 2;
  set_time = function("SetTime", "SetTime");
  set_states = function("SetContinuousStates", "SetContinuousStates");
  get_states = function("GetContinuousStates", "GetContinuousStates");
  get_rates = function("GetDerivatives", "GetContinuousStateDerivatives");
  get_indicators = function("GetEventIndicators", "GetEventIndicators");
  int (*completed2)(void*, int, int*, int*) = function("CompletedIntegratorStep", "CompletedIntegratorStep");
  int (*completed3)(void*, bool, bool*, bool*) = function("CompletedIntegratorStep", "CompletedIntegratorStep");
  int (*enter_event)(void*) = function("EnterEventMode", "EnterEventMode");
  n_x = (size_t)atoi(argv[5]);
  n_z = (size_t)atoi(argv[6]);
  const double tolerance = atof(argv[7]), start = atof(argv[8]), interval = atof(argv[9]);
  const int rows = atoi(argv[10]);
  const size_t n_values = (size_t)(argc - 11);
  uint32_t references[64];
  for (size_t i = 0; i < n_values; ++i) references[i] = (uint32_t)atoi(argv[11 + i]);
  start_unit(argv[3], argv[4], start);

  SUNContext context;
  if (SUNContext_Create(SUN_COMM_NULL, &context) != 0) return 2;
  N_Vector x = N_VNew_Serial((sunindextype)n_x, context);
  check(get_states(unit, NV_DATA_S(x), n_x), "GetContinuousStates");
  void* cvode = CVodeCreate(CV_BDF, context);
  CVodeInit(cvode, rates, start, x);
  CVodeSStolerances(cvode, tolerance, tolerance);
  CVodeRootInit(cvode, (int)n_z, indicators);
  SUNMatrix A = SUNDenseMatrix((sunindextype)n_x, (sunindextype)n_x, context);
  SUNLinearSolver solver = SUNLinSol_Dense(x, A, context);
  CVodeSetLinearSolver(cvode, solver, A);

  double t = start;
  int anew = 0;
  for (int row = 0; row <= rows;) {
    const double next = start + row * interval;
    bool event = false;
    if (t < next) {
      const int flag = CVode(cvode, next, x, &t, CV_NORMAL);
      if (flag < 0) return fprintf(stderr, "CVode: %d at %g s\n", flag, t), 1;
      event = flag == CV_ROOT_RETURN;
      check(set_time(unit, t), "SetTime");
      check(set_states(unit, NV_DATA_S(x), n_x), "SetContinuousStates");
      int flags[2] = {0, 0};
      bool flags3[2] = {false, false};
      check(second ? completed2(unit, 1, &flags[0], &flags[1]) : completed3(unit, true, &flags3[0], &flags3[1]),
            "CompletedIntegratorStep");
      event = event || flags[0] || flags3[0];
    }
    if (event) {
      check(enter_event(unit), "EnterEventMode");
      if (update()) {
        check(get_states(unit, NV_DATA_S(x), n_x), "GetContinuousStates");
        CVodeReInit(cvode, t, x);
        ++anew;
      }
      if (t < next) continue;
    }
    double values[64];
    if (second) {
      int (*get)(void*, const uint32_t*, size_t, double*) = function("GetReal", "");
      check(get(unit, references, n_values, values), "GetReal");
    } else {
      int (*get)(void*, const uint32_t*, size_t, double*, size_t) = function("", "GetFloat64");
      check(get(unit, references, n_values, values, n_values), "GetFloat64");
    }
    printf("%.17g", t);
    for (size_t i = 0; i < n_values; ++i) printf(",%.17g", values[i]);
    printf("\n");
    ++row;
  }
  fprintf(stderr, "restarted %d times\n", anew);
  void (*release)(void*) = function("FreeInstance", "FreeInstance");
  release(unit);
  CVodeFree(&cvode);
  SUNLinSolFree(solver);
  SUNMatDestroy(A);
  N_VDestroy(x);
  SUNContext_Free(&context);
  return 0;
}
