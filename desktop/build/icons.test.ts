import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { drawIcons, icns, ico } from './icons.ts';

const IMAGES = [
  { size: 16, png: Buffer.from('small') },
  { size: 256, png: Buffer.from('large one') },
];

describe('icon files', () => {
  it('store the position of each image in an .ico', () => {
    const file = ico(IMAGES);
    assert.equal(file.readUInt16LE(4), 2);
    IMAGES.forEach(({ size, png }, index) => {
      const entry = 6 + 16 * index;
      assert.equal(file.readUInt8(entry), size % 256);
      const [length, offset] = [file.readUInt32LE(entry + 8), file.readUInt32LE(entry + 12)];
      assert.deepEqual(file.subarray(offset, offset + length), png);
    });
  });

  it('store each image in an .icns under the types of its size', () => {
    const file = icns(IMAGES);
    const found: [string, string][] = [];
    for (let at = 8; at < file.length; at += file.readUInt32BE(at + 4)) {
      found.push([
        file.toString('latin1', at, at + 4),
        file.toString('latin1', at + 8, at + file.readUInt32BE(at + 4)),
      ]);
    }
    assert.deepEqual(found, [
      ['icp4', 'small'],
      ['ic08', 'large one'],
      ['ic13', 'large one'],
    ]);
    assert.equal(file.readUInt32BE(4), file.length);
  });
});

const ASSETS = join(import.meta.dirname, '../assets');

describe('icons', () => {
  const source = readFileSync(join(ASSETS, 'culvert.svg'), 'utf8');

  it('were made from the current mark; if not, run npx node desktop/build/icons.ts', () => {
    const made = readFileSync(join(ASSETS, 'icons.sha256'), 'utf8').trim();
    const { fingerprint, tray } = drawIcons(source);
    assert.equal(made, fingerprint);
    for (const { name } of tray) assert.ok(existsSync(join(ASSETS, 'tray', `${name}.png`)), name);
  });

  it('change with the mark', () => {
    const other = source.replace('id="mark"', 'id="mark" opacity="0.5"');
    assert.notEqual(drawIcons(other).fingerprint, drawIcons(source).fingerprint);
    assert.throws(() => drawIcons('<svg/>'), /culvert\.svg has no group "mark"/);
  });
});
