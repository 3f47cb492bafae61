// Bundles the browser side: node build.mjs OUTPUT_FOLDER. Run by CMake through bundle.sh.
import * as esbuild from 'esbuild';

const folder = process.argv[2];
if (!folder) {
  console.error('build.mjs: expected the output folder as the only argument');
  process.exit(2);
}
await esbuild.build({
  entryPoints: ['src/report.js', 'src/fields.js', 'src/live.js', 'src/report.css'],
  bundle: true,
  minify: true,
  // Licence texts of the bundled libraries are included in the page.
  legalComments: 'inline',
  format: 'iife',
  target: ['chrome100', 'firefox113', 'safari16.4'],
  outdir: folder,
  logLevel: 'warning',
});
