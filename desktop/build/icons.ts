/**
 * Makes every icon from desktop/assets/culvert.svg, with Chromium. The results are committed, so that only those who change
 * the mark need a browser: `npm run icons`.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { drawIcons } from './icon-drawings.ts';
import { icns, ico, type SizedPng } from './icon-containers.ts';

const ASSETS = join(import.meta.dirname, '../assets');
const ICON_SIZES = [16, 24, 32, 48, 64, 128, 256, 512, 1024];
const WINDOWS_SIZES = new Set([16, 24, 32, 48, 64, 128, 256]);
const LINUX_SIZES = new Set([16, 32, 48, 64, 128, 256, 512]);
const TRAY_SIZE = 16;

async function render(page: Page, svg: string, size: number): Promise<Buffer> {
  await page.setViewportSize({ width: size, height: size });
  const style = `html,body{margin:0;background:transparent}svg{display:block}body>svg{width:${size}px;height:${size}px}`;
  await page.setContent(`<style>${style}</style>${svg}`);
  return page.screenshot({ omitBackground: true });
}

const source = await readFile(join(ASSETS, 'culvert.svg'), 'utf8');
const { app, tray, fingerprint } = drawIcons(source);

const browser = await chromium.launch({
  executablePath: process.env['CULVERT_CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
});
try {
  const page = await browser.newPage({ deviceScaleFactor: 1 });
  const images: SizedPng[] = [];
  for (const size of ICON_SIZES) images.push({ size, png: await render(page, app, size) });

  await rm(join(ASSETS, 'icons'), { recursive: true, force: true });
  await mkdir(join(ASSETS, 'icons'), { recursive: true });
  await mkdir(join(ASSETS, 'tray'), { recursive: true });
  await writeFile(join(ASSETS, 'icon.ico'), ico(images.filter(({ size }) => WINDOWS_SIZES.has(size))));
  await writeFile(join(ASSETS, 'icon.icns'), icns(images));
  for (const { size, png } of images.filter((image) => LINUX_SIZES.has(image.size))) {
    await writeFile(join(ASSETS, 'icons', `${size}x${size}.png`), png);
  }
  for (const { name, svg } of tray) {
    await writeFile(join(ASSETS, 'tray', `${name}.png`), await render(page, svg, TRAY_SIZE));
    await writeFile(join(ASSETS, 'tray', `${name}@2x.png`), await render(page, svg, 2 * TRAY_SIZE));
  }
  await writeFile(join(ASSETS, 'icons.sha256'), `${fingerprint}\n`);
} finally {
  await browser.close();
}
