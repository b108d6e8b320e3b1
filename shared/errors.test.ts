import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { ALL_API_ERRORS, VISITOR_ERRORS } from './errors.ts';

const protocol = readFileSync(new URL('../docs/reference/protocol.md', import.meta.url), 'utf8');

/** Compares a text with a documented one, in which `…` stands for variable parts, and for the end of a long one. */
function matches(text: string, documented: string): boolean {
  const parts = documented.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('.*')}$`).test(text);
}

describe('the error catalogue', () => {
  it('equals the table of protocol.md section 2.2: every status, code and text', () => {
    const rows = [...protocol.matchAll(/^\| (\d{3}) +\| `([\w-]+)` +\| `([^`]+)` +\|/gm)];
    assert.equal(rows.length, ALL_API_ERRORS.length);
    for (const { status, code, text } of ALL_API_ERRORS) {
      const [, itsStatus, , documented = ''] = rows.find((row) => row[2] === code) ?? [];
      assert.equal(itsStatus, String(status), code);
      assert.ok(matches(text, documented), `${text} is documented as ${documented}`);
    }
  });

  it('equals the table of protocol.md section 4.5 for visitors', () => {
    const start = protocol.indexOf('### 4.5 ');
    const rows = [
      ...protocol.slice(start, protocol.indexOf('### 4.6 ')).matchAll(/^\| (\d{3}) +\| `([\w-]+)`/gm),
    ];
    assert.deepEqual(
      new Map(rows.map(([, status, code]) => [code, Number(status)])),
      new Map(Object.entries(VISITOR_ERRORS).map(([code, { status }]) => [code, status])),
    );
  });

  it('has unique codes', () => {
    const codes = ALL_API_ERRORS.map(({ code }) => code);
    assert.equal(new Set(codes).size, codes.length);
  });
});
