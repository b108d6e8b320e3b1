import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { administer, createAccount, type TestAccount, withNewKey } from '../../support/accounts.ts';
import { hostOf } from '../../support/manual-client.ts';
import { Relay } from '../../support/programs.ts';
import { formatRequest, RawConnection, visit } from '../../support/raw-http.ts';
import type { Scope } from '../../support/scope.ts';
import { startHttpService } from '../../support/services/listen.ts';
import { SpecClient } from '../../support/spec-client/client.ts';
import { testAttack } from './attack.ts';
import { Faults } from './measure.ts';

type Figure = 'tried' | 'misdirected' | 'back' | 'served' | 'pushed' | 'revived';

/** ms within which a relay has applied an admin action, on a busy machine. */
const FOLLOWED_MS = 5000;
const REASON = ['--reason', 'attack'] as const;

testAttack<Figure>({
  name: 'operators',
  title:
    "Users try to undo or evade an operator's suspensions and revocations: with tunnels named like ids, addresses of suspended tunnels, open responses, a flooded audit log and old backups",
  thresholds: {
    tried: { meaning: 'suspensions and revocations that a user tried to undo or evade', atLeast: 40 },
    misdirected: { meaning: 'actions applied to the wrong tunnel', atMost: 0 },
    back: { meaning: 'suspended addresses that a user managed to use again', atMost: 0 },
    served: { meaning: 'responses of suspended tunnels that continued', atMost: 0 },
    pushed: { meaning: 'actions that a flood pushed out of the audit log', atMost: 0 },
    revived: { meaning: 'suspended or revoked items that were valid again after a restore', atMost: 0 },
  },

  async run({ scope, say, short }) {
    const relay = await Relay.start(scope);
    const faults = new Faults();
    let tried = 0;
    for (const [name, attack] of [
      ['ids as names', idsAsNames],
      ['suspended addresses', addresses],
      ['responses under way', responses],
      ['a flood of acts', flood],
      ['restores', restores],
    ] as const) {
      say(name);
      for (let round = 0; round < (short ? 1 : 3); round += 1) tried += await attack(scope, relay, faults);
    }
    return {
      figures: { tried, ...faults.counts('misdirected', 'back', 'served', 'pushed', 'revived') },
      faults: faults.first,
    };
  },
});

async function idsAsNames(_scope: Scope, relay: Relay, faults: Faults): Promise<number> {
  const [owner, attacker] = [await createAccount(relay), await createAccount(relay)];
  const acts = ['suspend', 'resume', 'close'] as const;
  const { id, slug } = await owner.api.create({ local_port: 9 });
  const taken = await create(attacker, { name: id });
  if (taken !== 409) faults.add('misdirected', `a tunnel named like an id was answered ${taken}`);
  for (const act of acts) {
    const done = await administer(relay, 'tunnel', act, id, ...(act === 'suspend' ? REASON : []));
    if (done['slug'] !== slug) faults.add('misdirected', `${act} of ${slug} hit ${String(done['slug'])}`);
  }
  return acts.length + 1;
}

/** Every way in which a suspended tunnel can end, and every way to claim its address again. */
async function addresses(_scope: Scope, relay: Relay, faults: Faults): Promise<number> {
  let tried = 0;
  const ends: readonly (readonly [string, (account: TestAccount, id: string) => Promise<unknown>])[] = [
    ['a close', ({ api }, id) => api.send('DELETE', `/v1/tunnels/${id}`)],
    ['an expiry', () => delay(FOLLOWED_MS)],
    ['a close by an operator', (_account, id) => administer(relay, 'tunnel', 'close', id)],
    ['the end of the account', ({ name }) => administer(relay, 'account', 'remove', '--name', name)],
  ];
  for (const [end, act] of ends)
    for (const which of ['tunnel', 'account']) {
      const [owner, other] = [await createAccount(relay), await createAccount(relay)];
      const name = `held-${owner.name.slice(-8)}`;
      // A suspended account cannot close tunnels, and a removed account cannot send requests.
      if (which === 'account' && end === 'a close') continue;
      const ttl = end === 'an expiry' ? '2s' : '1h';
      const { id } = await owner.api.create({ local_port: 9, name, ttl });
      const target = which === 'tunnel' ? [id] : ['--name', owner.name];
      await administer(relay, which, 'suspend', ...target, ...REASON);
      await act(owner, id);
      await delay(FOLLOWED_MS / 5);
      for (const account of [owner, other])
        for (const take_over of [false, true]) {
          tried += 1;
          const status = await create(account, { name, take_over });
          if (status === 201 || status === 200)
            faults.add('back', `${name} after ${end} of a suspended ${which}`);
        }
    }
  return tried;
}

async function create({ api }: TestAccount, wanted: object): Promise<number> {
  return (await api.send('POST', '/v1/tunnels', { json: { local_port: 9, ...wanted } })).status;
}

async function responses(scope: Scope, relay: Relay, faults: Faults): Promise<number> {
  const account = await createAccount(relay);
  const service = await startHttpService(scope, (asked, response) => {
    const pulse = setInterval(() => response.write('more'), 100);
    response.on('close', () => clearInterval(pulse));
    if (asked.url === '/length') response.writeHead(200, { 'Content-Length': '1000000' });
    response.write('begun');
  });
  const wanted = { local_port: service.port };
  const { tunnel } = await SpecClient.start(scope, relay, account.key, wanted);
  const targets = ['/length', '/chunks'];
  const visitors = await Promise.all(
    targets.map(async (target) => {
      const visitor = await RawConnection.open(scope, relay.port);
      await visitor.write(formatRequest({ host: hostOf(tunnel, relay), target }));
      const head = await visitor.finalHead();
      const outcome = visitor.rest(head).then(
        () => 'complete',
        () => 'cut',
      );
      return { outcome };
    }),
  );
  await administer(relay, 'tunnel', 'suspend', tunnel.id, ...REASON);
  const late = delay(FOLLOWED_MS).then(() => 'open');
  for (const [at, target] of targets.entries()) {
    const outcome = await Promise.race([visitors[at]?.outcome, late]);
    if (outcome !== 'cut') faults.add('served', `${target} is ${String(outcome)}`);
  }
  const { status } = await visit(relay.port, { host: hostOf(tunnel, relay) });
  if (status !== 451) faults.add('served', `a new request was answered ${status}`);
  return targets.length + 1;
}

async function flood(_scope: Scope, relay: Relay, faults: Faults): Promise<number> {
  const account = await createAccount(relay);
  const { api } = await withNewKey(relay, account, '--admin');
  const name = `evidence-${account.name.slice(-8)}`;
  await api.send('POST', '/v1/admin/accounts', { json: { name } });
  const calls = 12;
  for (let call = 0; call < calls; call += 1)
    await api.send('POST', '/v1/admin/invites', { json: { account: name, count: 1000 } });
  const { acts } = (await administer(relay, 'audit', '--count', '10000')) as { acts: { subject: string }[] };
  if (!acts.some(({ subject }) => subject === name)) faults.add('pushed', `the act on ${name}`);
  return calls;
}

async function restores(_scope: Scope, relay: Relay, faults: Faults): Promise<number> {
  const accounts = await Promise.all(Array.from({ length: 4 }, () => createAccount(relay)));
  const [revoked, removed, suspended, inviting] = accounts;
  if (revoked === undefined || removed === undefined || suspended === undefined || inviting === undefined)
    throw new Error('four accounts were asked for');
  const { invites } = (await administer(relay, 'invite', 'create', '--account', inviting.name)) as {
    invites: { url: string }[];
  };
  const token = invites[0]?.url.split('/').at(-1) ?? '';
  const closed = await inviting.api.create({ local_port: 9 });
  const file = join(relay.dataDirectory, `backup-${revoked.name}.db`);
  await administer(relay, 'backup', file);
  await administer(relay, 'key', 'revoke', revoked.keyId);
  await administer(relay, 'account', 'remove', '--name', removed.name);
  await administer(relay, 'account', 'suspend', '--name', suspended.name, ...REASON);
  await inviting.api.send('POST', `/v1/invites/${token}`, { json: {} });
  await inviting.api.send('DELETE', `/v1/tunnels/${closed.id}`);
  await relay.stop();
  await administer(relay, 'restore', file);
  await relay.restart();
  for (const [what, account, status] of [
    ['a revoked key', revoked, 401],
    ['the key of a removed account', removed, 401],
    ['a suspended account', suspended, 403],
  ] as const) {
    const answer = await account.api.send('GET', '/v1/account');
    if (answer.status !== status) faults.add('revived', `${what} is answered ${answer.status}`);
  }
  const taken = await inviting.api.send('POST', `/v1/invites/${token}`, { json: {} });
  if (taken.status !== 404) faults.add('revived', `a used invitation is answered ${taken.status}`);
  const shown = await inviting.api.send('GET', `/v1/tunnels/${closed.id}`);
  if (shown.status !== 404) faults.add('revived', `a closed tunnel is answered ${shown.status}`);
  return 5;
}
