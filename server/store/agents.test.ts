import assert from 'node:assert/strict';
import { aKeptName, anAccess, anAccount, anAgent, aTunnel, theTerms, useStore } from '../testing/fixtures.ts';
import {
  ACCESS_TOKENS_MAX,
  type Grant,
  REFRESH_GRACE_MS,
  REFRESH_TOKEN_MS,
} from './queries/agent-queries.ts';
import { ACCESS_TOKEN_MS, type AgentRecord, type TunnelRecord } from './records.ts';

const OAUTH = anAccess({ oauth: true });
const DAY = 24 * 3_600_000;

describe('agents in the store', () => {
  const owner = anAccount();
  const other = anAccount({ name: 'other' });
  const store = useStore(owner, other);
  let tunnel: TunnelRecord;
  let agent: AgentRecord;

  beforeEach(async () => {
    tunnel = aTunnel(owner.id, { slug: 'mcp', access: OAUTH });
    await store.insertTunnel(tunnel);
    agent = anAgent(tunnel);
    assert.equal(await store.insertAgent(agent, 2), 'stored');
  });

  function presented(hash: string) {
    return { id: agent.id, hash, clientHash: 'client', resource: 'https://mcp.test/' };
  }

  function redeem(fields: object = {}, now = 2000): Promise<Grant> {
    const given = { ...presented('code'), challenge: 'challenge', redirectUri: 'https://app.test/back' };
    return store.redeemCode({ ...given, ...fields }, { access: 'a1', refresh: 'r1' }, now);
  }

  function rotate(hash: string, next: string, now = 3000, fields: object = {}): Promise<Grant> {
    const tokens = { access: `a-${next}`, refresh: next };
    return store.rotateRefresh({ ...presented(hash), ...fields }, tokens, now);
  }

  async function revoked(): Promise<unknown> {
    return (await store.findTunnel(tunnel.id))?.tunnel.revokedLinks;
  }

  async function isThere(): Promise<boolean> {
    return (await store.findAgent(agent.id)) !== undefined;
  }

  function release(heldUntil: number): Promise<unknown> {
    return store.releaseTunnels([{ ...tunnel, heldUntil }], 2000);
  }

  async function keep(createdAt: number): Promise<void> {
    const kept = aKeptName(owner.id, 'mcp', { createdAt });
    assert.ok(await store.keepName(kept, { maxNames: 1, nameHold: 0 }));
  }

  async function letGo(now: number): Promise<void> {
    assert.ok(await store.act('releaseName', [{ name: 'mcp', accountId: owner.id }, now], []));
  }

  /** The next tunnel of the name. */
  function again(fields: object): Promise<unknown> {
    const next = aTunnel(owner.id, { slug: 'mcp', access: OAUTH, createdAt: 3000, ...fields });
    return store.insertTunnel(next, { maxTunnels: null, nameHold: 5000 });
  }

  it('are listed once they have tokens, oldest first, for their tunnel', async () => {
    assert.deepEqual(await store.agentsOf(owner.id, 'mcp', 2000), []);
    await redeem();
    const [listed] = await store.agentsOf(owner.id, 'mcp', 2000);
    assert.deepEqual(listed, {
      ...agent,
      code: { ...agent.code, isUsed: true },
      refresh: { hashes: ['r1'], endsAt: 2000 + REFRESH_TOKEN_MS, previous: null },
      accessTokens: [['a1', 2000 + ACCESS_TOKEN_MS]],
      endsAt: 2000 + REFRESH_TOKEN_MS,
    });
    assert.deepEqual(await store.agentsOf(other.id, 'mcp', 2000), []);
    assert.deepEqual(await store.agentsOf(owner.id, 'web', 2000), []);
    assert.deepEqual(await store.agentsOf(owner.id, 'mcp', 2000 + REFRESH_TOKEN_MS), []);
  });

  it('need a tunnel that takes them and has room; those that are over are removed', async () => {
    assert.equal(await store.insertAgent(anAgent({ accountId: owner.id, slug: 'web' }), 2), undefined);
    assert.equal(await store.insertAgent(anAgent({ accountId: other.id, slug: 'mcp' }), 2), undefined);
    const closed = aTunnel(owner.id, { slug: 'shut', access: anAccess({ knock: true }) });
    await store.insertTunnel(closed);
    assert.equal(await store.insertAgent(anAgent(closed), 2), undefined);
    assert.equal(await store.insertAgent(anAgent(tunnel), 2), 'stored');
    assert.equal(await store.insertAgent(anAgent(tunnel), 2), 'full');
    const late = anAgent(tunnel, { createdAt: 61_000, endsAt: 70_000 });
    assert.equal(await store.insertAgent(late, 2), 'stored');
    assert.equal(await store.findAgent(agent.id), undefined);
  });

  it('get tokens for their code alone, and keep it after a wrong try', async () => {
    for (const [fields, kind] of [
      [{ hash: 'other' }, 'wrong'],
      [{ id: 'other' }, 'wrong'],
      [{ clientHash: 'other' }, 'wrong'],
      [{ redirectUri: 'https://app.test/other' }, 'wrong'],
      [{ challenge: 'other' }, 'wrong'],
      [{ resource: 'https://other.test/' }, 'resource'],
    ] as const)
      assert.deepEqual(await redeem(fields), { kind }, JSON.stringify(fields));
    assert.deepEqual(await redeem({}, 61_000), { kind: 'wrong' });
    assert.equal((await redeem({ resource: undefined }, 60_999)).kind, 'granted');
  });

  it('end when their code is used again, whenever and by whomever', async () => {
    await redeem();
    const now = 2000 + DAY;
    const grant = await redeem({ clientHash: 'other' }, now);
    assert.ok(grant.kind === 'ended');
    assert.equal(grant.ended.tunnel?.id, tunnel.id);
    assert.deepEqual(await revoked(), [[agent.id, now + ACCESS_TOKEN_MS]]);
    assert.equal(await store.findAgent(agent.id), undefined);
    assert.deepEqual(await rotate('r1', 'r2'), { kind: 'wrong' });
  });

  it('replace their refresh token, and end with one that is used again', async () => {
    await redeem();
    assert.deepEqual(await rotate('r1', 'r2', 3000, { clientHash: 'other' }), { kind: 'wrong' });
    assert.deepEqual(await rotate('r1', 'r2', 3000, { resource: 'https://x.test/' }), { kind: 'resource' });
    const grant = await rotate('r1', 'r2');
    assert.ok(grant.kind === 'granted');
    assert.deepEqual(
      grant.agent.accessTokens.map(([hash]) => hash),
      ['a1', 'a-r2'],
    );
    assert.equal((await rotate('r2', 'r3')).kind, 'granted');
    assert.equal((await rotate('r1', 'r4')).kind, 'ended');
    assert.deepEqual(await rotate('r3', 'r4'), { kind: 'wrong' });
  });

  it('get one more pair if the response may have been lost: once, soon, and before the successor is used', async () => {
    const rows: readonly [string, (() => Promise<Grant>)[], Grant['kind'][]][] = [
      ['soon', [() => rotate('r1', 'x', 3000 + REFRESH_GRACE_MS)], ['granted']],
      ['late', [() => rotate('r1', 'x', 3001 + REFRESH_GRACE_MS)], ['ended']],
      ['twice', [() => rotate('r1', 'x'), () => rotate('r1', 'y')], ['granted', 'ended']],
      ['then the first', [() => rotate('r1', 'x'), () => rotate('r2', 'y')], ['granted', 'granted']],
      [
        'then both',
        [() => rotate('r1', 'x'), () => rotate('r2', 'y'), () => rotate('x', 'z')],
        ['granted', 'granted', 'ended'],
      ],
      ['after the successor', [() => rotate('r2', 'x'), () => rotate('r1', 'y')], ['granted', 'ended']],
    ];
    for (const [row, steps, kinds] of rows) {
      agent = anAgent(tunnel);
      await store.insertAgent(agent, 64);
      await redeem();
      await rotate('r1', 'r2');
      const seen: string[] = [];
      for (const step of steps) seen.push((await step()).kind);
      assert.deepEqual(seen, kinds, row);
    }
  });

  it('forget a refresh token that rests for too long, and the oldest of many access tokens', async () => {
    await redeem();
    assert.deepEqual(await rotate('r1', 'r2', 2000 + REFRESH_TOKEN_MS), { kind: 'wrong' });
    let last = 'r1';
    for (let count = 0; count < ACCESS_TOKENS_MAX; count += 1) {
      await rotate(last, `s${count}`);
      last = `s${count}`;
    }
    const { accessTokens = [] } = (await store.findAgent(agent.id)) ?? {};
    assert.equal(accessTokens.length, ACCESS_TOKENS_MAX);
    assert.ok(!accessTokens.some(([hash]) => hash === 'a1'));
  });

  it('are ended by their owner, and with a refresh token; an access token goes alone', async () => {
    await redeem();
    assert.equal(await store.revokeToken(agent.id, 'a1', 'other', 3000), undefined);
    assert.equal(await store.revokeToken(agent.id, 'x', 'client', 3000), undefined);
    assert.equal((await store.revokeToken(agent.id, 'a1', undefined, 3000))?.tunnel?.id, tunnel.id);
    assert.deepEqual((await store.findAgent(agent.id))?.accessTokens, []);
    assert.deepEqual(await revoked(), []);
    assert.equal(await store.endAgent({ ...tunnel, accountId: other.id }, agent.id, 3000), undefined);
    assert.equal(await store.endAgent({ ...tunnel, slug: 'web' }, agent.id, 3000), undefined);
    assert.ok(await store.revokeToken(agent.id, 'r1', 'client', 3000));
    assert.equal(await store.findAgent(agent.id), undefined);
    const second = anAgent(tunnel);
    await store.insertAgent(second, 2);
    assert.equal((await store.endAgent(tunnel, second.id, 4000))?.agent.id, second.id);
    assert.deepEqual(await revoked(), [
      [agent.id, 3000 + ACCESS_TOKEN_MS],
      [second.id, 4000 + ACCESS_TOKEN_MS],
    ]);
  });

  it('know their first and last use', async () => {
    await store.markAgentsUsed([['unknown', 1]]);
    for (const at of [5000, 7000]) await store.markAgentsUsed([[agent.id, at]]);
    const { firstUsedAt, lastUsedAt } = (await store.findAgent(agent.id)) ?? {};
    assert.deepEqual([firstUsedAt, lastUsedAt], [5000, 7000]);
  });

  describe('stay', () => {
    it('while their name is held, and with the next tunnel of that name', async () => {
      await release(7000);
      assert.ok(await isThere());
      await again({ access: anAccess({ oauth: true, password: 'hash' }) });
      assert.ok(await isThere());
    });

    it('while their name is kept', async () => {
      await keep(1000);
      await release(2000);
      assert.ok(await isThere());
      await again({ createdAt: 9_000_000 });
      assert.ok(await isThere());
    });

    it('no longer than their name is held, even if it is kept later', async () => {
      await redeem();
      await release(7000);
      await keep(8000);
      assert.ok(!(await isThere()));
      assert.deepEqual(await rotate('r1', 'r2', 8000), { kind: 'wrong' });
    });

    it('no longer than their name is kept, unless it is held', async () => {
      await keep(1000);
      await release(2000);
      await letGo(3000);
      assert.ok(!(await isThere()));
    });

    it('with their tunnel, and while it is held, when their name is let go', async () => {
      await keep(1000);
      await letGo(1500);
      assert.ok(await isThere());
      await keep(1600);
      await release(7000);
      await letGo(3000);
      assert.ok(await isThere());
    });

    it('no longer than the hold, for who has their refresh token', async () => {
      await redeem();
      await release(7000);
      assert.equal((await rotate('r1', 'r2', 6999)).kind, 'granted');
      assert.deepEqual(await rotate('r2', 'r3', 7000), { kind: 'wrong' });
      assert.ok(!(await isThere()));
    });

    for (const [how, fields] of [
      ['takes no agents', { access: anAccess({ knock: true }) }],
      ['is open', { access: null }],
      ['is created after the name was free', { createdAt: 7000 }],
      ["is another account's", { accountId: other.id, createdAt: 7000 }],
    ] as const)
      it(`no longer if that tunnel ${how}`, async () => {
        await release(7000);
        await again(fields);
        assert.ok(!(await isThere()));
      });

    it('no longer than a tunnel whose name is not held', async () => {
      await release(2000);
      assert.ok(!(await isThere()));
    });

    it('through every change of the access policy but the one that excludes them', async () => {
      const access = anAccess({ oauth: true, sign_in: ['*'] });
      await store.setAccess(tunnel.id, { access, kept: [] }, 'any');
      await store.setTerms(tunnel.id, theTerms(), { access, kept: [] }, { now: 2000, nameHold: 0 });
      assert.ok(await isThere());
      await store.setAccess(tunnel.id, { access: anAccess({ links: true }), kept: [] }, 'any');
      assert.ok(!(await isThere()));
    });

    it('no longer if a client takes the tunnel over without them, or than their account', async () => {
      await store.setTerms(tunnel.id, theTerms(), { access: null, kept: [] }, { now: 2000, nameHold: 0 });
      assert.ok(!(await isThere()));
      const theirs = aTunnel(other.id, { slug: 'theirs', access: OAUTH });
      await store.insertTunnel(theirs);
      agent = anAgent(theirs);
      await store.insertAgent(agent, 2);
      await store.removeAccount('other', 2000);
      assert.ok(!(await isThere()));
    });
  });
});
