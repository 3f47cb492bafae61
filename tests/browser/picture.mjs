// A comparison's page down to its scatter plot as a picture: node picture.mjs PAGE NPM_FOLDER PICTURE
import path from 'node:path';
import { openBrowser, openPage } from './browser.mjs';

const [file, npmFolder, picture] = process.argv.slice(2);
const browser = await openBrowser(npmFolder);
const page = await openPage(browser, path.resolve(file));
const end = await page.locator('#scatter-chart figure').boundingBox();
await page.screenshot({ path: picture, clip: { x: 0, y: 0, width: 1280, height: Math.ceil(end.y + end.height) + 16 }, fullPage: true });
await browser.close();
