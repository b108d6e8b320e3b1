import assert from 'node:assert/strict';
import { DEFAULT_LOCALE, setLocale } from '../../messages/translate.ts';
import { exampleSnapshot, tunnelView } from '../../../testing/views.ts';
import { keptNames, type Settings } from '../../ipc/snapshot.ts';
import type { KeptNameView } from '../../ipc/tunnel-views.ts';
import { backChoices, backTime, keptWord, nameToAskAbout } from './kept-names.ts';

const NOON = new Date(2026, 6, 10, 12).getTime();
const HOUR = 3_600_000;
const kept = (away?: string, until?: number) => ({ key: 'shop', isLive: false, away, until });

describe('a kept name', () => {
  afterEach(() => setLocale(DEFAULT_LOCALE));

  it('has a word that tells when its owner is back', () => {
    for (const [name, canResume, word] of [
      [kept(), true, 'Paused'],
      [kept(), false, 'No tunnel'],
      [kept('Later.'), true, 'Away'],
      [kept('Later.', NOON - 1), true, 'Away'],
    ] as const)
      assert.equal(keptWord(name, canResume, NOON), word);
    assert.match(keptWord(kept('Later.', NOON + 2 * HOUR), false, NOON), /^Away until 2:00\sPM$/);
    assert.match(
      keptWord(kept('Later.', NOON + 21 * HOUR), false, NOON),
      /^Away until Sat, Jul 11, 9:00\sAM$/,
    );
    setLocale({ language: 'de', tag: 'de-DE' });
    assert.equal(keptWord(kept('Later.', NOON + 2 * HOUR), false, NOON), 'Abwesend bis 14:00');
  });

  it('belongs to the newest tunnel that ended with it', () => {
    const ended = { name: 'ended', reason: 'stopped', why: '' } as const;
    const tunnels = [
      { key: 'live', name: 'other', status: { name: 'online' } },
      { key: 'new', name: 'shop', status: ended },
      { key: 'old', name: 'shop', status: ended },
    ] as const;
    const name = kept();
    assert.deepEqual([...keptNames(tunnels, [name, { ...name, key: 'other' }])], [['new', name]]);
    // Another client serves it.
    assert.deepEqual([...keptNames(tunnels, [{ ...name, isLive: true }])], []);
    const live = { ...name, key: 'other', isLive: true };
    assert.deepEqual([...keptNames(tunnels, [live])], [['live', live]]);
  });

  it('is asked about while this app serves it without a message, until the user has decided', () => {
    const { settings } = exampleSnapshot();
    const live = { ...kept(), isLive: true };
    const asks = (
      name: KeptNameView,
      saysAsleep: Settings['saysAsleep'],
      tunnels = [tunnelView({ name: 'shop' })],
    ) => nameToAskAbout({ tunnels, names: [name], settings: { ...settings, saysAsleep } });
    assert.equal(asks(live, 'ask'), 'shop');
    assert.equal(asks(live, 'no'), undefined);
    assert.equal(asks({ ...live, away: 'Later.' }, 'ask'), undefined);
    assert.equal(asks(live, 'ask', []), undefined);
  });

  it('offers times to be back at, and the one that is set', () => {
    const values = (until?: number) => backChoices(until, NOON).map(([value]) => value);
    assert.deepEqual(values(), ['open', 'hour', 'hours', 'tomorrow']);
    assert.deepEqual(values(NOON + 1), ['same', 'open', 'hour', 'hours', 'tomorrow']);
    const morning = new Date(2026, 6, 11, 9).getTime();
    for (const [choice, time] of [
      ['open', null],
      ['hour', NOON + HOUR],
      ['hours', NOON + 4 * HOUR],
      ['tomorrow', morning],
      ['same', NOON + 1],
    ] as const)
      assert.equal(backTime(choice, NOON + 1, NOON), time);
  });
});
