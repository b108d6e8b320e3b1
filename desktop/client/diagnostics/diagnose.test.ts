import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { textOf } from '../messages.ts';
import { localHop } from './diagnose.ts';
import { HopFailure } from './hop.ts';

const REMEDIES = { noKey: '', badKey: '', certificate: '', noLocal: '', local: '' };

describe('the last hop, to a folder', () => {
  it('reports whether the folder can be read, and what to do if not', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'culvert-hop-'));
    const hop = localHop({ local: { folder }, remedies: REMEDIES });
    try {
      assert.match(textOf(await hop.check()), /^the folder .*culvert-hop-\w+ can be read$/);
    } finally {
      rmSync(folder, { recursive: true });
    }
    await assert.rejects(hop.check(), (error) => {
      assert.ok(error instanceof HopFailure);
      assert.match(error.message, /cannot be read \(ENOENT\)/);
      assert.match(textOf(error.fix), /Restore the folder/);
      return true;
    });
  });
});
