/* The binary of a unit: it needs libheelstrike, which has the functions of FMI, and whoever looks for them in this one
 * finds them there. All units of one build share that library in a process. */
extern int heelstrike_fmu_binary;
int heelstrike_fmu_binary = 1;
