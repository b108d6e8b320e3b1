import assert from 'node:assert/strict';
import { toMessage } from '../../../client/messages.ts';
import { fakeServed } from '../../../testing/served.ts';
import { DEFAULT_LOCALE, setLocale, t } from '../../messages/translate.ts';
import { TunnelItem } from './tunnel-item.ts';

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
});
