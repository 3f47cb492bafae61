// Screenshot of a part of a page, from its top or from the first to the last named element:
// node picture.mjs PAGE NPM_FOLDER PICTURE LAST [FIRST]
import path from 'node:path';
import { openBrowser, openPage, untilDrawn } from './browser.mjs';

const [file, npmFolder, picture, last, first] = process.argv.slice(2);
const browser = await openBrowser(npmFolder);
const page = await openPage(browser, path.resolve(file));
await untilDrawn(page);
const end = await page.locator(last).first().boundingBox();
const begin = first ? await page.locator(first).first().boundingBox() : null;
const y = begin ? Math.floor(begin.y) - 8 : 0;
await page.screenshot({ path: picture, clip: { x: 0, y, width: 1280, height: Math.ceil(end.y + end.height) + 16 - y }, fullPage: true });
await browser.close();
