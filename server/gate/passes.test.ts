import assert from 'node:assert/strict';
import { KNOWN_PASSES_MAX } from '../limits.ts';
import { Passes, type PassKeys, type PassScope } from './passes.ts';

const NOW = Date.UTC(2026, 10, 1);
const END = NOW / 1000 + 60;
const SCOPE: PassScope = { tunnelId: 'one', version: 'v1', form: 'host' };

describe('Passes', () => {
  let keys: PassKeys;
  let passes: Passes;

  beforeEach(() => {
    keys = { current: 'key', others: [] };
    passes = new Passes('visit', () => keys);
  });

  it('say who has one, whatever he is called, until its end', () => {
    for (const who of ['basic:ann', 'link:for the review', 'password', 'link:Ünïcode 🦊', '']) {
      const value = passes.make(SCOPE, who, END);
      assert.match(value, /^[\w.-]+$/);
      assert.equal(passes.read(value, SCOPE, NOW, 'acme')?.who, who);
      assert.equal(passes.read(value, SCOPE, END * 1000 - 1, 'acme')?.who, who);
      assert.deepEqual(passes.read(value, SCOPE, NOW, 'acme')?.end, END * 1000);
      assert.equal(passes.read(value, SCOPE, END * 1000, 'acme'), undefined);
    }
  });

  it('are good for one tunnel, one access and one form of the address', () => {
    const value = passes.make(SCOPE, 'password', END);
    assert.equal(passes.read(value, SCOPE, NOW, 'acme')?.who, 'password');
    for (const other of [{ tunnelId: 'two' }, { version: 'v2' }, { form: 'path' as const }])
      assert.equal(passes.read(value, { ...SCOPE, ...other }, NOW, 'acme'), undefined);
  });

  it('cannot be made up, or changed', () => {
    const [kind = '', end = '', who = '', mac = ''] = passes.make(SCOPE, 'basic:ann', END).split('.');
    const other = Buffer.from('basic:bob').toString('base64url');
    const forged = [
      '',
      '...',
      `${kind}.${end}.${who}.`,
      `${kind}.${end}.${who}.${'A'.repeat(43)}`,
      `link.${end}.${who}.${mac}`,
      `${kind}.${Number(end) + 1}.${who}.${mac}`,
      `${kind}.0${end}.${who}.${mac}`,
      `${kind}.${end}.${other}.${mac}`,
      `${kind}.${end}.${who}.${mac}.`,
      `${kind}.${end}.${'A'.repeat(401)}.${mac}`,
    ];
    for (const value of forged) assert.equal(passes.read(value, SCOPE, NOW, 'acme'), undefined, value);
  });

  it('of one kind are none of the other, under the same key', () => {
    const links = new Passes('lasting', () => keys);
    assert.equal(links.read(passes.make(SCOPE, 'password', END), SCOPE, NOW, 'acme'), undefined);
    assert.equal(passes.read(links.make(SCOPE, 'link', END), SCOPE, NOW, 'acme'), undefined);
    assert.equal(links.read(links.make(SCOPE, 'link', END), SCOPE, NOW, 'acme')?.who, 'link');
  });

  it('of the key before are good as long as that is', () => {
    const value = passes.make(SCOPE, 'password', END);
    keys = { current: 'new', others: ['old', 'key'] };
    passes.forget();
    assert.equal(passes.read(value, SCOPE, NOW, 'acme')?.who, 'password');
    keys = { current: 'new', others: ['old'] };
    passes.forget();
    assert.equal(passes.read(value, SCOPE, NOW, 'acme'), undefined);
  });

  it('are remembered up to a number, and are good beyond it', () => {
    const first = passes.make(SCOPE, 'first', END);
    assert.equal(passes.read(first, SCOPE, NOW, 'acme')?.who, 'first');
    for (let index = 0; index < KNOWN_PASSES_MAX; index += 1)
      passes.read(passes.make(SCOPE, String(index), END), SCOPE, NOW, 'acme');
    assert.equal(passes.known, KNOWN_PASSES_MAX);
    assert.equal(passes.read(first, SCOPE, NOW, 'acme')?.who, 'first');
  });

  it('of an account stay remembered when another one fills what there is', () => {
    const first = passes.make(SCOPE, 'first', END);
    passes.read(first, SCOPE, NOW, 'other');
    for (let index = 0; index <= KNOWN_PASSES_MAX; index += 1)
      passes.read(passes.make(SCOPE, String(index), END), SCOPE, NOW, 'acme');
    keys = { current: 'new', others: [] };
    assert.equal(passes.read(first, SCOPE, NOW, 'other')?.who, 'first');
  });
});
