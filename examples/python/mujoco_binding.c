/* The functions of MuJoCo 2.2 used by mujoco_foot.py: Debian provides its C library without a Python package. One model at a time. */
#include <mujoco/mujoco.h>
#include <stddef.h>

static mjModel* model;
static mjData* data;
static void (*passive)(void);

static void call_passive(const mjModel* m, mjData* d) {
  (void)m;
  /* RK4 evaluates its stages in the same data. */
  if (passive && d == data) passive();
}

/* Returns 0, or 1 with a message in `complaint`. */
int open_model(const char* file, char* complaint, int size) {
  model = mj_loadXML(file, NULL, complaint, size);
  if (!model) return 1;
  data = mj_makeData(model);
  return 0;
}
void set_passive(void (*callback)(void)) {
  passive = callback;
  mjcb_passive = call_passive;
}
void step(void) { mj_step(model, data); }
double* qpos(int* n) { *n = model->nq; return data->qpos; }
double* qvel(int* n) { *n = model->nv; return data->qvel; }
double* qfrc_passive(int* n) { *n = model->nv; return data->qfrc_passive; }
double time_now(void) { return data->time; }
