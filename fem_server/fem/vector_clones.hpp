/// Loops compiled for wide registers too, chosen when the program starts.
#pragma once

// Wider registers only: with contraction off and the fields as vector lanes, both clones round alike.
#if defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
// The choice between clones is made before the thread sanitizer's run time is there, and crashes when it is
// instrumented.
#define HEELSTRIKE_VECTOR_CLONES
#define HEELSTRIKE_FUSED_CLONES
#else
#define HEELSTRIKE_VECTOR_CLONES __attribute__((target_clones("avx2", "default")))
/// With fused multiplication and addition too, in files compiled with -ffp-contract=fast: the last bits depend on it.
#define HEELSTRIKE_FUSED_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#endif
