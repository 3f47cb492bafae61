/* An importer for one co-simulation FMU (FMI 3.0): prints time and chosen outputs at equal steps.
 *
 *     heelstrike fmu examples/bouncing_ball.yaml && unzip -d ball bouncing_ball.fmu
 *     cc -o master examples/fmi/master.c -ldl
 *     ./master $PWD/ball bouncing_ball '{TOKEN}' 0.001 2000 9      # 9 is ball.z_m in ball/modelDescription.xml
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

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

int main(int argc, char** argv) {
  if (argc < 7) return fprintf(stderr, "usage: %s FMU_FOLDER MODEL_IDENTIFIER TOKEN STEP N REFERENCE...\n", argv[0]), 2;
  char binary[4096], resources[4096];
  snprintf(binary, sizeof binary, "%s/binaries/" PLATFORM "/%s.so", argv[1], argv[2]);
  snprintf(resources, sizeof resources, "%s/resources/", argv[1]);
  if ((library = dlopen(binary, RTLD_NOW | RTLD_LOCAL)) == NULL) return fprintf(stderr, "%s\n", dlerror()), 2;
  void* (*instantiate)(const char*, const char*, const char*, bool, bool, bool, bool, const uint32_t*, size_t, void*, Log,
                       void*) = function("fmi3InstantiateCoSimulation");
  int (*enter)(void*, bool, double, double, bool, double) = function("fmi3EnterInitializationMode");
  int (*leave)(void*) = function("fmi3ExitInitializationMode");
  int (*get)(void*, const uint32_t*, size_t, double*, size_t) = function("fmi3GetFloat64");
  int (*step)(void*, double, double, bool, bool*, bool*, bool*, double*) = function("fmi3DoStep");
  void (*release)(void*) = function("fmi3FreeInstance");

  const double h = atof(argv[4]);
  const int n = atoi(argv[5]), n_values = argc - 6;
  uint32_t references[64];
  double values[64];
  for (int i = 0; i < n_values; ++i) references[i] = (uint32_t)atoi(argv[6 + i]);
  void* unit = instantiate("unit", argv[3], resources, false, true, false, false, NULL, 0, NULL, say, NULL);
  if (unit == NULL || enter(unit, false, 0, 0, true, n * h) > 1 || leave(unit) > 1) return 1;
  for (int k = 0;; ++k) {
    if (get(unit, references, (size_t)n_values, values, (size_t)n_values) > 1) return 1;
    printf("%.17g", k * h);
    for (int i = 0; i < n_values; ++i) printf(",%.17g", values[i]);
    printf("\n");
    bool event, end, early;
    double reached;
    if (k == n) break;
    if (step(unit, k * h, (k + 1) * h - k * h, true, &event, &end, &early, &reached) > 1) return 1;
  }
  release(unit);
  return 0;
}
