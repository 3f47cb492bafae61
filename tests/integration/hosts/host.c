/* A host that has libraries of its own in the scope that all others look into first, and then loads ours:
 *
 *     host LIBRARY... -- LIBHEELSTRIKE SCENARIO TIME OUTPUT [SERVER]
 *
 * steps the scenario to TIME [s] and prints OUTPUT there. Nothing
 * is linked: what the libraries in front have in common with ours is called from within ours unless it is hidden. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <heelstrike/heelstrike.h>

static void* ours;
static void* function(const char* name) {
  void* found = dlsym(ours, name);
  if (found == NULL) exit((fprintf(stderr, "%s\n", dlerror()), 2));
  return found;
}
static void check(hs_status status) {
  const char* (*message)(void) = (const char* (*)(void))function("hs_error_message");
  if (status != HS_OK) exit((fprintf(stderr, "%s\n", message()), 1));
}

int main(int argc, char** argv) {
  int i = 1;
  for (; i < argc && strcmp(argv[i], "--") != 0; ++i) {
    if (dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL) == NULL) return fprintf(stderr, "%s\n", dlerror()), 77;
  }
  char** given = argv + i + 1;
  const int n = argc - i - 1;
  if (n < 4) return fprintf(stderr, "see the beginning of the source\n"), 2;
  if ((ours = dlopen(given[0], RTLD_NOW | RTLD_LOCAL)) == NULL) return fprintf(stderr, "%s\n", dlerror()), 2;
  const char* server = n > 4 && *given[4] != '\0' ? given[4] : NULL;

  hs_status (*open)(const char*, const char*, const char* const*, size_t, const char*, hs_simulation**) =
      (hs_status(*)(const char*, const char*, const char* const*, size_t, const char*, hs_simulation**))function(
          "hs_simulation_open");
  hs_status (*advance)(hs_simulation*, double) =
      (hs_status(*)(hs_simulation*, double))function("hs_simulation_advance_to");
  hs_status (*get)(hs_simulation*, const char*, double*) =
      (hs_status(*)(hs_simulation*, const char*, double*))function("hs_simulation_get");
  void (*close_it)(hs_simulation*) = (void (*)(hs_simulation*))function("hs_simulation_close");
  hs_simulation* simulation = NULL;
  double value = 0.0;
  check(open(given[1], NULL, NULL, 0, server, &simulation));
  check(advance(simulation, atof(given[2])));
  check(get(simulation, given[3], &value));
  close_it(simulation);
  printf("%.9g\n", value);
  return 0;
}
