// Decoding of packed numbers (report/packing.hpp): doubles, bytes transposed, zlib, base64.

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export function bytesOfBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Bytes of `n` values of `size` bytes each, in memory order. */
async function untransposed(text, n, size) {
  const planes = await inflate(bytesOfBase64(text));
  if (planes.length !== n * size) throw new Error(`expected ${n * size} bytes, found ${planes.length}`);
  const bytes = new Uint8Array(n * size);
  for (let k = 0; k < size; ++k) {
    for (let i = 0; i < n; ++i) bytes[i * size + k] = planes[k * n + i];
  }
  return bytes.buffer;
}

/** @param packed {n, constant} or {n, f64} */
export async function unpackDoubles(packed) {
  if (packed.constant !== undefined) return new Float64Array(packed.n).fill(packed.constant);
  return new Float64Array(await untransposed(packed.f64, packed.n, 8));
}

/** @param packed {n, u16} */
export async function unpackShorts(packed) {
  return new Uint16Array(await untransposed(packed.u16, packed.n, 2));
}

/** @param packed {n, u32} */
export async function unpackIntegers(packed) {
  return new Uint32Array(await untransposed(packed.u32, packed.n, 4));
}
