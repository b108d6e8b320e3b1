import assert from 'node:assert/strict';
import { exampleSnapshot, exampleTunnel } from '../../../testing/views.ts';
import { DEFAULT_LOCALE } from '../../messages/locale.ts';
import { setLocale } from '../../messages/translate.ts';
import { announcements } from './announce.ts';

describe('announcements', () => {
  afterEach(() => setLocale(DEFAULT_LOCALE));

  const tunnel = exampleTunnel({ slug: 'shop' });
  const before = exampleSnapshot({ tunnels: [tunnel] });
  const after = (changes: Partial<typeof tunnel>) =>
    exampleSnapshot({ tunnels: [{ ...tunnel, ...changes }] });

  it('report changes of state', () => {
    const lost = after({ status: { name: 'reconnecting', retryAt: 0, why: '' } });
    assert.deepEqual(announcements(before, lost), ['shop has lost its connection and is reconnecting.']);
    assert.deepEqual(announcements(lost, before), ['shop is online.']);
    const over = after({ status: { name: 'ended', reason: 'expired', why: 'The tunnel has expired.' } });
    assert.deepEqual(announcements(before, over), ['shop has ended. The tunnel has expired.']);
  });

  it('report a local problem, and its end', () => {
    const trouble = after({ localProblem: { code: 'refused', text: 'Nothing listens on port 3000.' } });
    assert.deepEqual(announcements(before, trouble), ['shop: Nothing listens on port 3000.']);
    assert.deepEqual(announcements(trouble, before), ['shop reaches your server again.']);
  });

  it('ignore numbers, a first snapshot, and tunnels that had ended before', () => {
    assert.deepEqual(announcements(before, after({ requests: 99 })), []);
    assert.deepEqual(announcements(undefined, before), []);
    const over = after({ status: { name: 'ended', reason: 'expired', why: '' } });
    assert.deepEqual(announcements(exampleSnapshot({ tunnels: [] }), over), []);
  });

  it('report an approval request once', () => {
    const knock = { id: 'n1', address: '192.0.2.7', agent: 'curl/8' };
    const one = after({ knocks: [knock] });
    assert.deepEqual(announcements(before, one), ['curl wants to come in to shop.']);
    const two = after({ knocks: [knock, { ...knock, id: 'n2' }] });
    assert.deepEqual(announcements(one, two), ['curl wants to come in to shop.']);
    assert.deepEqual(announcements(two, before), []);
  });

  it('report no more than a person can listen to', () => {
    const many = Array.from({ length: 50 }, (_, n) => exampleTunnel({ key: `k${n}`, slug: `s${n}` }));
    const told = announcements(exampleSnapshot({ tunnels: [] }), exampleSnapshot({ tunnels: many }));
    assert.equal(told.length, 4);
    assert.equal(told[3], 'And 47 more changes.');
  });

  it('are in German if the app is', () => {
    setLocale({ language: 'de', tag: 'de-DE' });
    const knocks = [{ id: 'n1', address: '192.0.2.7', agent: '' }];
    assert.deepEqual(announcements(before, after({ knocks })), [
      'Ein unbekanntes Programm bittet um Zugang zu shop.',
    ]);
    const four = Array.from({ length: 4 }, (_, n) => exampleTunnel({ key: `k${n}`, slug: `s${n}` }));
    const told = announcements(exampleSnapshot({ tunnels: [] }), exampleSnapshot({ tunnels: four }));
    assert.equal(told[3], 'Und eine weitere Änderung.');
  });
});
