import assert from 'node:assert/strict';
import { signInLink } from '../../../shared/team.ts';
import { findDeepLink, readDeepLink } from './deep-link.ts';

const form = (filled: object) => ({ opens: 'form', form: filled });

describe('readDeepLink', () => {
  const invitation = `https://relay.example.com/invite/${'t'.repeat(32)}`;
  const links: [string, object | undefined][] = [
    ['culvert://new?port=3000&name=my-app', form({ port: 3000, name: 'my-app' })],
    ['culvert://new', form({})],
    ['culvert://new/?port=8080', form({ port: 8080 })],
    ['culvert://new?port=0&name=No', form({})],
    ['culvert://new?port=3000&key=cvt_secret&relay=https://evil.example', form({ port: 3000 })],
    ['culvert://new/tunnel?port=3000', undefined],
    ['https://new?port=3000', undefined],
    ['culvert', undefined],
    [`culvert://new?port=3000&x=${'y'.repeat(2000)}`, undefined],
    [signInLink(invitation), { opens: 'invitation', address: invitation }],
    ['culvert://sign-in?key=cvt_secret', undefined],
    ['culvert://sign-in', undefined],
    [signInLink('https://relay.example.com/'), undefined],
    [signInLink(`${invitation}x`), undefined],
    [signInLink(invitation.replace('https', 'file')), undefined],
    [signInLink(invitation).replace('sign-in?', 'sign-in/now?'), undefined],
  ];
  for (const [link, shown] of links) {
    it(`reads ${link.slice(0, 100)} as ${JSON.stringify(shown)}`, () => {
      assert.deepEqual(readDeepLink(link), shown);
    });
  }

  it('finds the link among the arguments', () => {
    assert.equal(findDeepLink(['culvert', '--hidden', 'culvert://new']), 'culvert://new');
    assert.equal(findDeepLink(['culvert']), undefined);
  });
});
