/* The binary of an FMU. It needs libheelstrike_fmu, which has the functions of FMI, so that a search in this binary finds
 * them. All FMUs of one build share that library in a process. */
extern int heelstrike_fmu_binary;
int heelstrike_fmu_binary = 1;
