/**
 * Makes all icons from desktop/assets/culvert.svg, with Chromium. The results are committed, so that a browser is
 * needed only to change the mark: `npx node desktop/build/icons.ts`.
 */
import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';

/* The icons as SVG, all drawn from the mark of desktop/assets/culvert.svg. */

/** A file of desktop/assets/tray, without its extension. */
interface TrayIcon {
  readonly name: string;
  readonly svg: string;
}

/** Ink colours by the theme of the system bar that shows the icon. */
const INKS: Readonly<Record<string, string>> = { light: '#1b1b1b', dark: '#fff' };

/** What is drawn over the mark for each state of the tray: shapes, so that states do not depend on colours. */
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

interface Drawings {
  readonly app: string;
  readonly tray: readonly TrayIcon[];
  /** checksum of all drawings; a test compares it to see whether the committed icons are current */
  readonly fingerprint: string;
}

/**
 * @param source text of culvert.svg
 * @throws Error if it has no mark
 */
export function drawIcons(source: string): Drawings {
  const mark = /<g id="mark"[\s\S]*<\/g>/.exec(source)?.[0];
  if (mark === undefined) throw new Error('culvert.svg has no group "mark"');
  const app = appIcon(mark);
  const tray = Object.entries(TRAY_STATES).flatMap(([state, shapes]) =>
    Object.entries(INKS).map(([bar, ink]) => ({
      name: `tray-${state}-${bar}`,
      svg: trayIcon(mark, shapes, ink),
    })),
  );
  const hash = createHash('sha256');
  for (const svg of [app, ...tray.map((icon) => icon.svg)]) hash.update(svg.replaceAll(/\s+/g, ' '));
  return { app, tray, fingerprint: hash.digest('hex') };
}

/** Files that contain one icon in several sizes, each as a PNG. */

interface SizedPng {
  /** side length in pixels */
  readonly size: number;
  readonly png: Buffer;
}

/** An `.ico` in the format of Windows since Vista: a directory with 16 bytes per entry, then the PNGs. */
export function ico(images: readonly SizedPng[]): Buffer {
  const head = Buffer.alloc(6 + 16 * images.length);
  head.writeUInt16LE(1, 2);
  head.writeUInt16LE(images.length, 4);
  let offset = head.length;
  images.forEach(({ size, png }, index) => {
    const entry = 6 + 16 * index;
    // One byte for each side; 0 means 256.
    head.writeUInt8(size % 256, entry);
    head.writeUInt8(size % 256, entry + 1);
    head.writeUInt16LE(1, entry + 4);
    head.writeUInt16LE(32, entry + 6);
    head.writeUInt32LE(png.length, entry + 8);
    head.writeUInt32LE(offset, entry + 12);
    offset += png.length;
  });
  return Buffer.concat([head, ...images.map(({ png }) => png)]);
}

/** Size in pixels of each entry type. High-resolution types are listed beside those of the same pixel size. */
const ICNS_TYPES: readonly (readonly [type: string, size: number])[] = [
  ['icp4', 16],
  ['icp5', 32],
  ['ic11', 32],
  ['icp6', 64],
  ['ic12', 64],
  ['ic07', 128],
  ['ic08', 256],
  ['ic13', 256],
  ['ic09', 512],
  ['ic14', 512],
  ['ic10', 1024],
];

/** An `.icns` for macOS. Sizes without an entry type are left out. */
export function icns(images: readonly SizedPng[]): Buffer {
  const entries = ICNS_TYPES.flatMap(([type, size]) => {
    const image = images.find((other) => other.size === size);
    return image === undefined ? [] : [chunk(type, image.png)];
  });
  return chunk('icns', Buffer.concat(entries));
}

function chunk(type: string, data: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.write(type, 'latin1');
  head.writeUInt32BE(head.length + data.length, 4);
  return Buffer.concat([head, data]);
}

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

const iconsSource = await readFile(join(ASSETS, 'culvert.svg'), 'utf8');
const { app: iconsApp, tray: iconsTray, fingerprint } = drawIcons(iconsSource);

const browser = await chromium.launch({
  executablePath: process.env['CULVERT_CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
});
try {
  const page = await browser.newPage({ deviceScaleFactor: 1 });
  const images: SizedPng[] = [];
  for (const size of ICON_SIZES) images.push({ size, png: await render(page, iconsApp, size) });

  await rm(join(ASSETS, 'icons'), { recursive: true, force: true });
  await mkdir(join(ASSETS, 'icons'), { recursive: true });
  await mkdir(join(ASSETS, 'tray'), { recursive: true });
  await writeFile(join(ASSETS, 'icon.ico'), ico(images.filter(({ size }) => WINDOWS_SIZES.has(size))));
  await writeFile(join(ASSETS, 'icon.icns'), icns(images));
  for (const { size, png } of images.filter((image) => LINUX_SIZES.has(image.size))) {
    await writeFile(join(ASSETS, 'icons', `${size}x${size}.png`), png);
  }
  for (const { name, svg } of iconsTray) {
    await writeFile(join(ASSETS, 'tray', `${name}.png`), await render(page, svg, TRAY_SIZE));
    await writeFile(join(ASSETS, 'tray', `${name}@2x.png`), await render(page, svg, 2 * TRAY_SIZE));
  }
  await writeFile(join(ASSETS, 'icons.sha256'), `${fingerprint}\n`);
} finally {
  await browser.close();
}
