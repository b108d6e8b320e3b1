import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { drawIcons } from './icon-drawings.ts';

const ASSETS = join(import.meta.dirname, '../assets');

describe('icons', () => {
  const source = readFileSync(join(ASSETS, 'culvert.svg'), 'utf8');

  it('that are committed were made from the current mark: otherwise run npm run icons', () => {
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
