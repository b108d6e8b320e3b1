import assert from 'node:assert/strict';
import { signInLink } from '../../../../shared/team.ts';
import { RelayRefusal, RelayUnreachable } from '../../../client/relay/errors.ts';
import { type App, failsWith, FORM, signedIn, start, until } from '../../../testing/core-app.ts';
import { ACCOUNT } from '../../../testing/fake-platform.ts';
import { readDeepLink } from '../deep-link.ts';
import { INVITATION_LOOKS_MAX } from './invitations.ts';

const TOKEN = 't'.repeat(32);
const ADDRESS = `https://other.example.com/invite/${TOKEN}`;

function shown(app: App) {
  return app.core.snapshots.make();
}

/** Opens the invitation as a link does. @returns what the user is asked about */
async function opened(app: App, address = ADDRESS) {
  const link = readDeepLink(signInLink(address));
  assert.ok(link?.opens === 'invitation');
  app.core.openInvitation(link.address);
  return await until(() => {
    const { invitation } = shown(app);
    return invitation?.state === 'looking' ? undefined : invitation;
  });
}

async function accept(app: App, address?: string): Promise<void> {
  const { id } = await opened(app, address);
  await app.call('invitation:accept', { id, keep: 'system' });
}

/** The relay of the invitation knows the user as somebody else. */
function asOther(app: App): void {
  app.api.getAccount = () => Promise.resolve({ ...ACCOUNT, client_id: 'other', name: 'other' });
}

describe('an invitation opened in the app', () => {
  it('is accepted only when the user confirms, keeps its address from the page, and signs in with its key', async () => {
    const app = await start();
    const view = await opened(app);
    assert.deepEqual(view, {
      id: view.id,
      relay: 'https://other.example.com',
      state: 'open',
      account: 'default',
      endsAt: Date.UTC(2026, 6, 11, 12),
      keeps: ['system', 'session', 'file'],
    });
    assert.deepEqual([app.api.calls, shown(app).session.state], [['look at t'], 'signed-out']);
    assert.ok(!JSON.stringify(shown(app)).includes(TOKEN));
    await app.call('invitation:accept', { id: view.id, keep: 'system' });
    const { session, invitation } = shown(app);
    assert.ok(session.state === 'signed-in');
    assert.deepEqual(
      [session.relay, session.keyKept, invitation],
      ['https://other.example.com', 'system', undefined],
    );
    assert.deepEqual(app.api.calls.slice(0, 3), ['look at t', 'take t', 'account']);
  });

  it('is used once, however often it is accepted', async () => {
    const app = await start();
    const { id } = await opened(app);
    const keep = 'system';
    await Promise.all([
      app.call('invitation:accept', { id, keep }),
      app.call('invitation:accept', { id, keep }),
    ]);
    assert.equal(app.api.calls.filter((call) => call === 'take t').length, 1);
    await assert.rejects(app.call('invitation:accept', { id, keep }), failsWith('no-invitation'));
  });

  it('is limited in number: opening links without end asks no further relays', async () => {
    const app = await start();
    let asked = 0;
    app.api.lookAtInvitation = () => {
      asked += 1;
      return new Promise(() => {});
    };
    for (let count = 0; count < 10; count += 1) app.core.openInvitation(ADDRESS);
    await assert.rejects(app.call('invitation:open', { address: ADDRESS }), failsWith('busy'));
    assert.equal(asked, INVITATION_LOOKS_MAX);
  });

  it('is accepted only if it is the one that the user has seen, and stays valid when it is dismissed', async () => {
    const app = await start();
    const { id } = await opened(app);
    const other = await opened(app, ADDRESS.replace(TOKEN, 'u'.repeat(32)));
    await assert.rejects(app.call('invitation:accept', { id, keep: 'system' }), failsWith('no-invitation'));
    assert.ok(!app.api.calls.some((call) => call.startsWith('take')));
    await app.call('invitation:dismiss', { id: other.id });
    assert.equal(shown(app).invitation, undefined);
    await accept(app);
    assert.equal(shown(app).session.state, 'signed-in');
  });

  it('is accepted when pasted without its scheme, unlike other text', async () => {
    const app = await start();
    await app.call('invitation:open', { address: ` ${ADDRESS.replace('https://', '')} ` });
    assert.equal(shown(app).invitation?.state, 'open');
    await assert.rejects(
      app.call('invitation:open', { address: 'relay.example.com' }),
      failsWith('no-invitation'),
    );
  });

  it('is never looked up over an unencrypted connection, and reports that it has expired', async () => {
    const app = await start();
    const problem = async (address: string) => {
      const view = await opened(app, address);
      return view.state === 'failed' ? view.problem.code : view.state;
    };
    assert.equal(await problem(ADDRESS.replace('https', 'http')), 'not-encrypted');
    assert.deepEqual(app.api.calls, []);
    app.api.failure = new RelayRefusal(404, 'this invitation was already used', {
      code: 'invitation-not-found',
    });
    assert.equal(await problem(ADDRESS), 'invitation-not-found');
  });

  it('keeps the current session until it has yielded a key that works', async () => {
    const app = await signedIn();
    await app.call('tunnel:create', FORM);
    const { id } = await opened(app);
    const before = shown(app).session;
    const unreachable = new RelayUnreachable('The relay cannot be reached: nothing listens');
    const account = app.api.getAccount.bind(app.api);
    const failures = [
      () => (app.api.failure = unreachable),
      () => {
        app.api.failure = undefined;
        app.api.getAccount = () => Promise.reject(unreachable);
      },
    ];
    for (const fail of failures) {
      fail();
      await assert.rejects(app.call('invitation:accept', { id, keep: 'system' }), RelayUnreachable);
      assert.deepEqual([shown(app).session, app.serve.last.isStopped], [before, false]);
    }
    app.api.getAccount = account;
    // It is used by now; what it gave is not lost.
    await app.call('invitation:accept', { id, keep: 'system' });
    assert.equal(app.api.calls.filter((call) => call === 'take t').length, 2);
    const { session } = shown(app);
    assert.equal(session.state === 'signed-in' && session.relay, 'https://other.example.com');
  });

  it('signs in beside another account, whose tunnels keep running', async () => {
    const app = await signedIn();
    await app.call('tunnel:create', { ...FORM, name: 'shop' });
    asOther(app);
    await accept(app);
    const { session, tunnels, signIns, undos } = shown(app);
    assert.equal(session.state === 'signed-in' && session.relay, 'https://other.example.com');
    assert.deepEqual([tunnels, undos, app.serve.last.isStopped], [[], [], false]);
    assert.deepEqual(
      signIns.map(({ account, running, isChosen }) => [account, running, isChosen]),
      [
        ['default', 1, false],
        ['other', 0, true],
      ],
    );
  });

  it('for the current account continues with the new key', async () => {
    const app = await signedIn();
    await app.call('tunnel:create', FORM);
    const served = app.serve.last.key;
    await accept(app, ADDRESS.replace('other', 'relay'));
    assert.deepEqual([shown(app).tunnels.length, shown(app).undos], [1, []]);
    assert.notEqual(app.serve.last.key, served);
  });
});
