// Anatomical sides of bodies.

const agreement = 0.5;  // cosine; the toes of a foot bend by less, a left and a right foot are opposite

const dot = (a, b) => a.reduce((sum, v, k) => sum + v * b[k], 0);

/** The axes of the first body with whose sides those of all others agree: the lateral side of one foot is the medial side
 *  of the other. @param bodies  axes of each: [{direction: [x, y, z], ahead, behind}] in one frame */
export function agreedAxes(bodies) {
  const [first, ...others] = bodies;
  const agree = (axis) => others.every((axes) => axes.every(({ direction, ahead, behind }) => {
    if (ahead === axis.ahead && behind === axis.behind) return dot(direction, axis.direction) > agreement;
    if (ahead === axis.behind && behind === axis.ahead) return dot(direction, axis.direction) < -agreement;
    return true;
  }));
  return (first ?? []).filter(agree);
}
