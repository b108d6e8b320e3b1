/**
 * Makes every icon from desktop/assets/culvert.svg, with Chromium. What it makes is committed, so that only who
 * changes the mark needs a browser: `npm run icons`.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { icns, ico, type SizedPng } from './icon-containers.ts';

const ASSETS = join(import.meta.dirname, '../assets');
const ICON_SIZES = [16, 24, 32, 48, 64, 128, 256, 512, 1024];
const WINDOWS_SIZES = new Set([16, 24, 32, 48, 64, 128, 256]);
const LINUX_SIZES = new Set([16, 32, 48, 64, 128, 256, 512]);
const TRAY_SIZE = 16;

/** What is drawn over the mark for each state of the tray: a shape, so that nobody depends on colours. */
const TRAY_STATES: Readonly<Record<string, { cut: string; over: string }>> = {
  idle: { cut: '', over: '' },
  online: { cut: '', over: '<circle cx="10" cy="14.6" r="2.6"/>' },
  trouble: {
    cut: '<path d="M13.6 5.6 20.8 20H6.4z"/>',
    over: '<path d="M13.6 9.4 18.8 19H8.4z"/>',
  },
  offline: {
    cut: '<path d="M1 19 19 1" stroke="#000" stroke-width="5"/>',
    over: '<path d="M2 18 18 2" stroke="currentColor" stroke-width="2" stroke-linecap="round"/>',
  },
};

function appIcon(mark: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100" color="#fff">
    <rect x="4" y="4" width="92" height="92" rx="22" fill="#0b6e6e"/>
    <svg x="17" y="16" width="66" height="66" viewBox="0 0 20 20">${mark}</svg></svg>`;
}

function trayIcon(mark: string, { cut, over }: { cut: string; over: string }, ink: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20" color="${ink}">
    <mask id="m"><rect width="20" height="20" fill="#fff"/><g fill="#000">${cut}</g></mask>
    <g mask="url(#m)">${mark}</g><g fill="currentColor">${over}</g></svg>`;
}

async function render(page: Page, svg: string, size: number): Promise<Buffer> {
  await page.setViewportSize({ width: size, height: size });
  const style = `html,body{margin:0;background:transparent}svg{display:block}body>svg{width:${size}px;height:${size}px}`;
  await page.setContent(`<style>${style}</style>${svg}`);
  return page.screenshot({ omitBackground: true });
}

const source = await readFile(join(ASSETS, 'culvert.svg'), 'utf8');
const mark = /<g id="mark"[\s\S]*<\/g>/.exec(source)?.[0];
if (mark === undefined) throw new Error('culvert.svg has no group "mark"');

const browser = await chromium.launch({
  executablePath: process.env['CULVERT_CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
});
try {
  const page = await browser.newPage({ deviceScaleFactor: 1 });
  const images: SizedPng[] = [];
  for (const size of ICON_SIZES) images.push({ size, png: await render(page, appIcon(mark), size) });

  await rm(join(ASSETS, 'icons'), { recursive: true, force: true });
  await mkdir(join(ASSETS, 'icons'), { recursive: true });
  await mkdir(join(ASSETS, 'tray'), { recursive: true });
  await writeFile(join(ASSETS, 'icon.ico'), ico(images.filter(({ size }) => WINDOWS_SIZES.has(size))));
  await writeFile(join(ASSETS, 'icon.icns'), icns(images));
  for (const { size, png } of images.filter((image) => LINUX_SIZES.has(image.size))) {
    await writeFile(join(ASSETS, 'icons', `${size}x${size}.png`), png);
  }
  for (const [state, shapes] of Object.entries(TRAY_STATES)) {
    for (const [bar, ink] of Object.entries({ light: '#1b1b1b', dark: '#fff' })) {
      const svg = trayIcon(mark, shapes, ink);
      const name = join(ASSETS, 'tray', `tray-${state}-${bar}`);
      await writeFile(`${name}.png`, await render(page, svg, TRAY_SIZE));
      await writeFile(`${name}@2x.png`, await render(page, svg, 2 * TRAY_SIZE));
    }
  }
} finally {
  await browser.close();
}
