import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount, withNewKey } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { spawnCulvert, spawnRelay, temporaryDirectory } from '../support/programs.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';

/** A person who was invited, and the address that they got. */
interface Invited {
  readonly name: string;
  readonly url: string;
}

const PEOPLE = Array.from({ length: 20 }, (_, index) => `person-${index + 1}`);
/** What one person may create in a burst. */
const TUNNELS = 5;

function assertNobodyLimited(tunnels: readonly Tunnel[]): void {
  assert.equal(tunnels.length, PEOPLE.length * TUNNELS);
  for (const { name, created_by: by } of tunnels) assert.ok(name.includes(`-${by}-`), `${name} by ${by}`);
}

describe('teams', () => {
  const { scope, relay } = sharedRelaySuite();

  /** Runs `culvert` with a key. */
  async function culvert(key: string, ...args: string[]) {
    const child = spawnCulvert(scope, args, { CULVERT_RELAY: relay.url, CULVERT_API_KEY: key });
    const { code } = await child.exit();
    return { code, lines: child.lines, stderr: child.stderr };
  }

  async function accept({ url }: Invited): Promise<Api> {
    const { pathname } = new URL(url);
    const body = JSON.stringify({ machine: 'laptop' });
    const response = await fetch(`${relay.url}/v1/invites/${pathname.split('/').at(-1)}`, {
      method: 'POST',
      body,
    });
    const text = await response.text();
    assert.equal(response.status, 201, text);
    return new Api(relay, (JSON.parse(text) as { key: string }).key);
  }

  /** Everybody joins and opens tunnels at the same time. */
  async function workTogether(invited: readonly Invited[], prefix: string): Promise<Tunnel[]> {
    return (
      await Promise.all(
        invited.map(async (person) => {
          const api = await accept(person);
          const names = Array.from({ length: TUNNELS }, (_, index) => `${prefix}-${person.name}-${index}`);
          return await Promise.all(names.map((name) => api.create({ local_port: 3000, name })));
        }),
      )
    ).flat();
  }

  it('give twenty people with an account each their address with one command, and limit nobody by the others', async () => {
    const file = join(temporaryDirectory(scope), 'people.txt');
    writeFileSync(file, `${PEOPLE.join('\n')}\n`);
    const child = spawnRelay(scope, ['invite', 'create', '--from', file], relay.databaseSettings);
    assert.equal((await child.exit()).code, 0, child.stderr);
    const invited = child.lines.map((line) => {
      const [name = '', url = ''] = line.split('\t');
      return { name, url };
    });
    assert.deepEqual(
      invited.map(({ name }) => name),
      PEOPLE,
    );
    assertNobodyLimited(await workTogether(invited, 'own'));
  }).timeout(180_000);

  it('do the same for twenty people in one account, without an administrator', async () => {
    const account = await createAccount(relay, { plan: 'team' });
    const owner = await withNewKey(relay, account, '--owner', '--label', 'olga');
    const { code, lines, stderr } = await culvert(owner.key, 'team', 'invite', ...PEOPLE, '--ttl', '1h');
    assert.equal(code, 0, stderr);
    const invited = lines.map((line) => {
      const [name = '', url = ''] = line.split('\t');
      return { name, url };
    });
    assertNobodyLimited(await workTogether(invited, 'team'));
  }).timeout(180_000);

  it('show an owner who is in the account and who did what, and revoke people', async () => {
    const account = await createAccount(relay, { plan: 'team' });
    const owner = await withNewKey(relay, account, '--owner', '--label', 'olga');
    const made = await culvert(owner.key, 'team', 'invite', 'ann', 'bob', 'eve', '--json');
    const { invites } = JSON.parse(made.lines.join('')) as { invites: { label: string; url: string }[] };
    const [ann, bob] = await Promise.all(
      invites.slice(0, 2).map(({ label, url }) => accept({ name: label, url })),
    );
    const tunnel = await ann?.create({ local_port: 3000, name: `web-${account.name}` });
    await bob?.close(tunnel?.id ?? '');
    const list = await culvert(owner.key, 'team', 'list');
    for (const row of [/^ann +member +/m, /^bob +member +/m, /^olga +owner +/m, /^eve +invited +until /m])
      assert.match(list.lines.join('\n'), row);
    const audit = (await culvert(owner.key, 'team', 'audit')).lines.join('\n');
    assert.match(audit, /team\.close +web-\S+ +of "ann", by "bob"/);
    assert.match(audit, /invite\.take/);
    for (const who of ['bob', 'eve']) {
      const { lines } = await culvert(owner.key, 'team', 'revoke', who);
      assert.deepEqual(lines, [`Revoked "${who}".`]);
    }
    assert.equal((await bob?.send('GET', '/v1/tunnels'))?.status, 401);
    const again = await culvert(owner.key, 'team', 'revoke', 'bob');
    assert.equal(again.code, 1);
    assert.match(again.stderr, /No key or invitation has the id or label "bob"/);
  });

  it('refuse a member who invites', async () => {
    const account = await createAccount(relay, { plan: 'team' });
    const { code, stderr } = await culvert(account.key, 'team', 'invite', 'eve');
    assert.equal(code, 1);
    assert.match(stderr, /this api key is valid for tunnels only/);
  });
});
