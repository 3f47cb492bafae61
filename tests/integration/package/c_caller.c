/* A caller in C: everything goes through handles and status codes. Prints one line for each check that fails. */
#include <heelstrike/heelstrike.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void check(int holds, const char* what) {
  if (holds) return;
  printf("failed: %s (\"%s\", key \"%s\", %s:%d)\n", what, hs_error_message(), hs_error_key(), hs_error_file(),
         hs_error_line());
  ++failures;
}

static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
static const double touching[3] = {0, 0, -0.0999};

static void use_contact(const char* file) {
  hs_contact* contact = NULL;
  hs_response first, second;
  void* saved = NULL;
  size_t size = 0;
  double no_rotation[9] = {0};
  check(hs_contact_open(file, NULL, NULL, NULL, 0, NULL, &contact) == HS_OK, "a contact opens");
  check(hs_contact_evaluate(contact, 0.0, identity, touching, NULL, &first) == HS_OK, "it responds");
  check(fabs(first.F_A[5] - 140.0) < 1e-6, "the law of Hertz: 1.4e8 N/m^1.5 (1e-4 m)^1.5 = 140 N");
  check(fabs(first.mean_pressure * first.area - 140.0) < 1e-6, "its mean pressure times the area");
  check(first.active_points == 1, "one point carries it");
  check(strcmp(hs_error_message(), "") == 0, "success leaves no message");
  check(hs_contact_save(contact, &saved, &size) == HS_OK && size > 0, "it is saved");
  check(hs_contact_commit(contact, 0.0, identity, touching, NULL, &second) == HS_OK, "it commits");
  check(hs_contact_commit(contact, 0.1, identity, touching, NULL, NULL) == HS_OK, "the response is optional");
  check(hs_contact_restore(contact, saved, size) == HS_OK, "it is restored");
  check(hs_contact_restore(contact, saved, size / 2) == HS_INVALID_INPUT, "half a state is none");
  hs_free(saved);
  check(hs_contact_evaluate(contact, 0.0, no_rotation, touching, NULL, &first) == HS_INVALID_INPUT, "no rotation");
  check(strcmp(hs_error_key(), "X_AB") == 0, "the key says which argument");
  check(hs_contact_evaluate(contact, 0.0, NULL, touching, NULL, &first) == HS_INVALID_INPUT, "no pointer");
  check(hs_contact_evaluate(NULL, 0.0, identity, touching, NULL, &first) == HS_INVALID_INPUT, "no contact");
  hs_contact_close(contact);
  hs_contact_close(NULL);
}

/* Options, many states at once, fields. */
static void use_many(const char* file) {
  hs_contact* contact = NULL;
  hs_response one, many[3];
  hs_status statuses[3];
  const char* set[] = {"contact.parameters={stiffness: 1.0e6, damping: 100}"};
  const char* wrong[] = {"contact.stifness=1"};
  double t[3] = {0, 0, 0}, R[27], p[9] = {0, 0, -0.0999, 0, 0, -0.2, 0, 0, -0.0999}, V[18] = {0};
  void* vtu = NULL;
  size_t size = 0;
  int i;
  for (i = 0; i < 27; ++i) R[i] = identity[i % 9];
  R[18] = 2.0; /* the third is no rotation */
  V[5] = 0.1;
  check(hs_contact_open(file, NULL, NULL, wrong, 1, NULL, &contact) == HS_INVALID_INPUT, "an unknown key");
  check(contact == NULL && strstr(hs_error_key(), "stifness") != NULL, "no handle, and the key");
  check(hs_contact_open(file, NULL, NULL, NULL, 1, NULL, &contact) == HS_INVALID_INPUT, "one change, and none is given");
  check(hs_contact_open(file, NULL, "kelvin_voigt", set, 1, NULL, &contact) == HS_OK, "another back-end opens");
  check(hs_contact_evaluate(contact, 0.0, identity, touching, V, &one) == HS_OK, "it responds");
  check(fabs(one.F_A[5] - (1.0e6 * 1e-4 + 100 * 0.1)) < 1e-6, "its law: K d + D v = 110 N");
  check(hs_contact_evaluate_many(contact, 3, t, R, p, V, 1, many, statuses) == HS_INVALID_INPUT, "no rotation");
  R[18] = 1.0;
  check(hs_contact_evaluate_many(contact, 3, t, R, p, V, 1, many, statuses) == HS_OK, "many at once");
  check(statuses[0] == HS_OK && memcmp(many[0].F_A, one.F_A, sizeof one.F_A) == 0, "the same bits as one");
  check(many[0].dF_A_dX[35] == one.dF_A_dX[35] && many[0].dF_A_dX[35] != 0.0, "with the same tangent");
  check(statuses[1] == HS_OK && many[1].F_A[5] == 0.0 && many[1].gap > 0.0, "apart");
  check(statuses[2] == HS_OK && fabs(many[2].F_A[5] - 100.0) < 1e-6, "the third is at rest");
  p[5] = 10.0; /* the ground far above: the ball is all below it */
  check(hs_contact_evaluate_many(contact, 3, t, R, p, NULL, 0, many, statuses) == HS_OK, "one of them is rejected");
  check(statuses[0] == HS_OK && statuses[1] == HS_RECOVERABLE && isnan(many[1].F_A[5]) && isnan(many[1].gap) &&
            isnan(many[1].mean_pressure),
        "the penetration is excessive, and no number is returned");
  check(hs_contact_evaluate_many(contact, 3, t, R, p, NULL, 0, NULL, statuses) == HS_INVALID_INPUT, "no room");
  check(hs_contact_evaluate_many(contact, 0, NULL, NULL, NULL, NULL, 0, NULL, NULL) == HS_OK, "none is none");
  check(hs_contact_fields(contact, 0.0, identity, touching, NULL, 0, &vtu, &size) == HS_UNIMPLEMENTED && vtu == NULL,
        "a point law has no fields");
  hs_contact_close(contact);
}

/* Of finite elements, where the build has them. */
static void use_fields(const char* file) {
  hs_contact* contact = NULL;
  const char* set[] = {"contact.element_size=0.03"};
  void* vtu = NULL;
  size_t size = 0;
  check(hs_contact_open(file, NULL, NULL, set, 1, NULL, &contact) == HS_OK, "a body of finite elements");
  check(hs_contact_fields(contact, 0.0, identity, touching, NULL, 0, &vtu, &size) == HS_OK && size > 1000, "its fields");
  check(vtu != NULL && memcmp(vtu, "<?xml", 5) == 0, "are a VTU file");
  hs_free(vtu);
  hs_contact_close(contact);
}

static void use_simulation(const char* file) {
  hs_simulation* simulation = NULL;
  const char* set[] = {"analysis.end_time=0.5"};
  const char* wrong[] = {"bodies.ball.mass=-1"};
  const char* whole[] = {"analysis={type: static, end_time: 1}"};
  double before = 0.0, after = 0.0, values[200];
  void* saved = NULL;
  size_t size = 0;
  check(hs_simulation_open(file, NULL, wrong, 1, NULL, &simulation) == HS_INVALID_INPUT, "a negative mass");
  check(strcmp(hs_error_key(), "bodies.ball.mass") == 0, "the key of the mistake");
  check(simulation == NULL, "no handle after an error");
  check(hs_simulation_open(file, NULL, whole, 1, NULL, &simulation) == HS_INVALID_INPUT && simulation == NULL,
        "an equilibrium does not advance in time");
  check(strcmp(hs_error_key(), "analysis.type") == 0, "the key of the analysis");
  check(strstr(hs_error_message(), "`heelstrike run`") != NULL, "the message names what computes it");
  check(isnan(hs_simulation_time(NULL)) && isnan(hs_simulation_end_time(NULL)), "nothing has no time");
  check(hs_simulation_n_inputs(NULL) == 0 && hs_simulation_output_name(NULL, 0) == NULL, "and no names");
  check(hs_simulation_open("nowhere.yaml", NULL, NULL, 0, NULL, &simulation) == HS_INVALID_INPUT, "no such file");
  check(hs_simulation_open(file, "hertz", set, 1, NULL, &simulation) == HS_OK, "a simulation opens");
  check(hs_simulation_end_time(simulation) == 0.5, "changes are accepted");
  check(hs_simulation_set(simulation, "ball.fz_N", 9.81, 0.0, 0.0) == HS_OK, "gravity is held");
  check(hs_simulation_advance_to(simulation, 0.1) == HS_OK, "it advances");
  check(hs_simulation_get(simulation, "ball.z_m", &before) == HS_OK && fabs(before - 1.0) < 1e-9, "nothing falls");
  check(hs_simulation_save(simulation, &saved, &size) == HS_OK, "it is saved");
  check(hs_simulation_set(simulation, "ball.fz_N", 0.0, 0.0, 0.0) == HS_OK, "gravity is let go");
  check(hs_simulation_advance_to(simulation, 0.2) == HS_OK, "it advances");
  check(hs_simulation_get(simulation, "ball.z_m", &after) == HS_OK && after < before, "it falls");
  check(hs_simulation_restore(simulation, saved, size) == HS_OK && hs_simulation_time(simulation) == 0.1, "it goes back");
  hs_free(saved);
  check(hs_simulation_n_outputs(simulation) < 200, "room for the outputs");
  check(hs_simulation_values(simulation, values) == HS_OK && values[0] == 0.1, "the first output is the time");
  check(strcmp(hs_simulation_output_name(simulation, 0), "time_s") == 0, "outputs have names");
  check(hs_simulation_input_name(simulation, hs_simulation_n_inputs(simulation)) == NULL, "no name beyond the last");
  check(hs_simulation_set(simulation, "ball.f", 0.0, 0.0, 0.0) == HS_INVALID_INPUT, "an unknown input");
  check(strstr(hs_error_message(), "did you mean 'ball.fx_N'") != NULL, "the message has the nearest name");
  check(strstr(hs_error_message(), "::") == NULL, "and no words of C++");
  check(hs_simulation_advance_to(simulation, 7.0) == HS_INVALID_INPUT, "a time beyond the end");
  hs_simulation_close(simulation);
}

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) return 2;
  check(strlen(hs_version()) > 0, "a version");
  use_contact(argv[1]);
  use_many(argv[1]);
  use_simulation(argv[1]);
  if (argc == 3) use_fields(argv[2]);
  return failures == 0 ? 0 : 1;
}
