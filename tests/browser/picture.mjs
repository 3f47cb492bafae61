// The upper part of a page as a picture: node picture.mjs PAGE NPM_FOLDER PICTURE
import { openBrowser, openPage } from './browser.mjs';

const [file, npmFolder, picture] = process.argv.slice(2);
const browser = await openBrowser(npmFolder);
const page = await openPage(browser, file);
await page.screenshot({ path: picture, clip: { x: 0, y: 0, width: 1280, height: 960 }, fullPage: true });
await browser.close();
