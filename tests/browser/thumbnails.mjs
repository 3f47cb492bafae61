// Screenshots of the pressure map of report pages, or of the middle of their motion:
// node thumbnails.mjs NPM_FOLDER [PAGE PICTURE]...
import path from 'node:path';
import { openBrowser, openPage, untilDrawn } from './browser.mjs';

const [npmFolder, ...files] = process.argv.slice(2);
const browser = await openBrowser(npmFolder);
for (let i = 0; i + 1 < files.length; i += 2) {
  const page = await openPage(browser, path.resolve(files[i]));
  await untilDrawn(page);
  const slider = page.locator('#field-view input[aria-label=Time]').first();
  if (await slider.count() > 0) {
    await slider.evaluate((range) => {
      range.value = String(Math.round(0.4 * Number(range.max)));
      range.dispatchEvent(new Event('input'));
    });
  }
  for (const part of ['#pressure-maps', '#field-view canvas', '#time-charts figure']) {
    const element = page.locator(part).first();
    const box = await element.count() > 0 ? await element.boundingBox() : null;
    if (!box || box.height < 50) continue;
    const clip = { ...box, height: Math.min(box.height, 0.75 * box.width) };
    await page.screenshot({ path: files[i + 1], fullPage: true, clip });
    break;
  }
  await page.context().close();
}
await browser.close();
