// Sides of bodies, without a browser. Usage: node sides_test.mjs SOURCES
import assert from 'node:assert/strict';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const { agreedAxes } = await import(pathToFileURL(path.join(process.argv[2], 'sides.js')));
const anterior = { direction: [1, 0, 0], ahead: 'anterior', behind: 'posterior' };
const right = [anterior, { direction: [0, 1, 0], ahead: 'medial', behind: 'lateral' }];
const left = [anterior, { direction: [0, 1, 0], ahead: 'lateral', behind: 'medial' }];
const toes = [{ ...anterior, direction: [0.8, 0, 0.6] }, right[1]];

assert.deepEqual(agreedAxes([]), []);
assert.deepEqual(agreedAxes([right]), right);
assert.deepEqual(agreedAxes([right, left]), [anterior], 'left of one foot is right of the other');
assert.deepEqual(agreedAxes([right, toes]), right, 'bent toes are of the same foot');
assert.deepEqual(agreedAxes([right, [{ ...right[1], direction: [0, -1, 0], ahead: 'lateral', behind: 'medial' }]]), right, 'the same axis with the other sense');
assert.deepEqual(agreedAxes([left, [{ ...anterior, direction: [-1, 0, 0] }]]), [left[1]], 'feet in opposite directions');
