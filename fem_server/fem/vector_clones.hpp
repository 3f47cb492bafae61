/// Function multiversioning of loops for wide registers, resolved at program start.
#pragma once

// Wider registers only: with contraction off and fields as vector lanes, both clones give identical bits.
#if defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
// The clone resolver runs before the thread sanitizer runtime is initialised and crashes when instrumented.
#define HEELSTRIKE_VECTOR_CLONES
#define HEELSTRIKE_FUSED_CLONES
#else
#define HEELSTRIKE_VECTOR_CLONES __attribute__((target_clones("avx2", "default")))
/// Also with fused multiply-add, in files compiled with -ffp-contract=fast: the last bits depend on it.
#define HEELSTRIKE_FUSED_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#endif
