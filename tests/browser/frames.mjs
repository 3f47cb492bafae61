// Frames of the motion of a report page: node frames.mjs PAGE NPM_FOLDER FOLDER COUNT
// Writes FOLDER/000.png, 001.png, ... of COUNT times that divide the run evenly.
import path from 'node:path';
import { openBrowser, openPage, untilDrawn } from './browser.mjs';

const [file, npmFolder, folder, count] = process.argv.slice(2);
const browser = await openBrowser(npmFolder);
const page = await openPage(browser, path.resolve(file));
await untilDrawn(page);
const slider = page.locator('#field-view input[aria-label=Time]').first();
const view = page.locator('#field-view canvas').first();
for (let i = 0; i < Number(count); ++i) {
  await slider.evaluate((range, part) => {
    range.value = String(Math.round(part * Number(range.max)));
    range.dispatchEvent(new Event('input'));
  }, i / (Number(count) - 1));
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  await view.screenshot({ path: path.join(folder, `${String(i).padStart(3, '0')}.png`) });
}
await browser.close();
