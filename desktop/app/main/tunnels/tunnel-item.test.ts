import assert from 'node:assert/strict';
import { toMessage } from '../../../client/messages.ts';
import { fakeServed } from '../../../testing/served.ts';
import { SPEC } from '../../../testing/tunnel-spec.ts';
import { DEFAULT_LOCALE, setLocale, t } from '../../messages/translate.ts';
import { localPort } from '../../../client/local/local-service.ts';
import { savedTunnelSchema } from './create-form-schema.ts';
import { TunnelItem } from './tunnel-item.ts';

const { access: _access, madePassword: _made, ...SPEC_SETTINGS } = SPEC;

describe('a tunnel of the list', () => {
  afterEach(() => setLocale(DEFAULT_LOCALE));

  it('explains its end in the language that the app has by then', () => {
    const { served } = fakeServed();
    const item = new TunnelItem(served);
    served.end('stopped', toMessage('ended.youStopped'));
    const english = item.status;
    setLocale({ language: 'de', tag: 'de-DE' });
    assert.notDeepEqual(item.status, english);
    assert.deepEqual(item.status, { name: 'ended', reason: 'stopped', why: t('ended.youStopped') });
    assert.equal(item.saved.ended?.why, t('ended.youStopped'));
  });

  it('is remembered with the name and the message that its project keeps', () => {
    for (const keep of [undefined, { away: undefined }, { away: 'Later.' }]) {
      const { saved } = new TunnelItem(fakeServed({ settings: { ...SPEC_SETTINGS, keep } }).served);
      const again = savedTunnelSchema.validateSync(JSON.parse(JSON.stringify(saved)), { strict: true });
      assert.deepEqual(again.settings.keep?.away, keep?.away);
      assert.equal(again.settings.keep === undefined, keep === undefined);
    }
  });

  it('is remembered with how it carries bytes, of which nothing else is accepted', () => {
    const raw = { protocol: 'tcp', remotePort: 10_022, proxyProtocol: true } as const;
    const target = { ...localPort(22), raw };
    const { saved } = new TunnelItem(fakeServed({ settings: { ...SPEC_SETTINGS, target } }).served);
    const stored = JSON.parse(JSON.stringify(saved)) as typeof saved;
    const again = savedTunnelSchema.validateSync(stored, { strict: true });
    assert.deepEqual(again.settings.target, target);
    const other = { ...target, raw: { ...raw, protocol: 'udp' } };
    const wrong = { ...stored, settings: { ...stored.settings, target: other } };
    assert.throws(() => savedTunnelSchema.validateSync(wrong, { strict: true }));
  });
});
