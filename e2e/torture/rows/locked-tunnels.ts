/** Strangers who try to get into tunnels that are not open to everybody (docs/access.md), while those who may come in do. */
import { createAccount, type TestAccount } from '../../support/accounts.ts';
import { hostOf } from '../../support/manual-client.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import { Random } from '../../support/random.ts';
import { type Field, visit } from '../../support/raw-http.ts';
import { startHttpService } from '../../support/services/listen.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import type { Row, RowResult, RunOptions } from '../row.ts';
import { Faults } from '../tools/faults.ts';
import { inParallel } from '../tools/in-parallel.ts';
import { ResidentWatch } from '../tools/resident.ts';

type Figure = 'tries' | 'inside' | 'growth' | 'ended' | 'stalls' | 'served' | 'unserved';

const PASSWORD = 'mild oak fern';
const TRIES = 40_000;
/** Each way a hundred times: a password costs the relay a tenth of a second of computing, and a busy machine several. */
const SHORT_TRIES = 900;
/** Connections that the strangers use at a time. */
const AT_A_TIME = 32;
const NETWORKS = 250;

/** What a stranger knows: where both tunnels are, and a cookie of the one that it may come into. */
interface Known {
  readonly target: string;
  readonly cookie: string;
  readonly random: Random;
}

/** One try: what is sent besides where it comes from. */
type Try = (known: Known) => {
  readonly method?: string;
  readonly target?: string;
  readonly headers?: readonly Field[];
  readonly body?: string;
};

const TRIES_OF: Readonly<Record<string, Try>> = {
  'a wrong password, with HTTP Basic': ({ random }) => ({ headers: [basic('ann', word(random))] }),
  'a user that there is not': ({ random }) => ({ headers: [basic(word(random), PASSWORD)] }),
  'a wrong password, in the form': ({ random }) => ({
    method: 'POST',
    target: '/?culvert_gate',
    body: new URLSearchParams({ culvert_password: word(random) }).toString(),
  }),
  'the cookie of another tunnel': ({ cookie }) => ({ headers: [['Cookie', cookie]] }),
  'a cookie that was made up': ({ random }) => ({
    headers: [['Cookie', `culvert-pass=visit.9999999999.cGFzc3dvcmQ.${word(random).padEnd(43, 'A')}`]],
  }),
  'a hundred cookies': ({ cookie, random }) => ({
    headers: [['Cookie', Array.from({ length: 100 }, () => `${cookie}${word(random)}`).join('; ')]],
  }),
  'a signed link that was made up': ({ random }) => ({
    target: `/?culvert_pass=0123456789abcdef.9999999999..${word(random).padEnd(43, 'A')}`,
  }),
  'the word of the relay': () => ({ headers: [['Culvert-Visitor', 'basic:ann']] }),
  'a preflight': () => ({
    method: 'OPTIONS',
    headers: [
      ['Origin', 'https://a.example'],
      ['Access-Control-Request-Method', 'PUT'],
    ],
  }),
};

export const lockedTunnels: Row<Figure> = {
  name: 'locked-tunnels',
  title: `Strangers of ${NETWORKS} networks try to get into a tunnel with a lock, ${AT_A_TIME} at a time, while others sign in and are served`,
  thresholds: {
    tries: { meaning: 'tries', atLeast: SHORT_TRIES },
    inside: { meaning: 'tries that came in', atMost: 0 },
    growth: { meaning: "growth of the relay's resident memory, MiB", atMost: 150 },
    ended: { meaning: 'ends of the relay', atMost: 0 },
    stalls: { meaning: 'seconds and more in which the relay stood still', atMost: 0, onlyWhole: true },
    served: { meaning: 'visitors of others who came in with their password meanwhile', atLeast: 3 },
    unserved: { meaning: 'visitors of others who did not', atMost: 0 },
  },

  async run({ scope, short, seed, say }: RunOptions): Promise<RowResult<Figure>> {
    const service = await startHttpService(scope, (_request, response) => response.end('inside'));
    const relay = await Relay.start(scope, { CULVERT_TRUST_PROXY: '127.0.0.1' });
    const share = async (access: object): Promise<[TestAccount, Tunnel]> => {
      const account = await createAccount(relay, { plan: 'team' });
      const { tunnel } = await Culvert.start(scope, relay, account.key, service.port);
      await account.api.send('PUT', `/v1/tunnels/${tunnel.id}/access`, { json: access });
      return [account, tunnel];
    };
    const basicOf = (user: string) => [{ user, password: PASSWORD }];
    // A preflight would pass HTTP Basic, as it should.
    const [, attacked] = await share({ password: PASSWORD, links: true, knock: true });
    const [, named] = await share({ basic: basicOf('ann') });
    const [otherAccount, other] = await share({ password: PASSWORD });
    const faults = new Faults();
    const watch = new ResidentWatch(scope, relay.child.pid);

    /** Types the password of the other tunnel, from an address of its own. */
    const signIn = async (from: string): Promise<string | undefined> => {
      const { head } = await visit(relay.port, {
        host: hostOf(other, relay),
        method: 'POST',
        target: '/?culvert_gate',
        headers: [['X-Forwarded-For', from]],
        body: new URLSearchParams({ culvert_password: PASSWORD }).toString(),
      });
      return head.field('set-cookie')?.split(';', 1)[0];
    };
    const cookie = (await signIn('198.51.100.1')) ?? '';

    let served = 0;
    const attack = new AbortController();
    const others = (async () => {
      for (let count = 0; !attack.signal.aborted; count += 1) {
        // Another access each time: what was right before is not remembered.
        await otherAccount.api.send('PUT', `/v1/tunnels/${other.id}/access`, {
          json: { password: PASSWORD },
        });
        const own = await signIn(`198.51.100.${2 + (count % 200)}`);
        const { text } = await visit(relay.port, {
          host: hostOf(other, relay),
          headers: [['Cookie', own ?? '']],
        });
        if (text === 'inside') served += 1;
        else faults.add('unserved', text);
      }
    })();

    const random = new Random(seed);
    const kinds = Object.entries(TRIES_OF);
    const tries = Array.from({ length: short ? SHORT_TRIES : TRIES }, (_, index) => index);
    await inParallel(AT_A_TIME, tries, async (index) => {
      const [what = '', make] = kinds[index % kinds.length] ?? [];
      const tunnel = what.includes('HTTP Basic') || what.includes('user') ? named : attacked;
      const request = make?.({ target: '/', cookie, random }) ?? {};
      const address = `203.0.113.${index % NETWORKS}`;
      const { text } = await visit(relay.port, {
        host: hostOf(tunnel, relay),
        ...request,
        headers: [...(request.headers ?? []), ['X-Forwarded-For', address]],
      });
      if (text === 'inside') faults.add('inside', what);
      if (index % 300 === 0)
        say(`${index} tries, ${Math.round(watch.growthMib)} MiB more, ${served} others served`);
    });
    attack.abort();
    await others;
    return {
      figures: {
        tries: tries.length,
        growth: watch.growthMib,
        ended: relay.child.hasExited ? 1 : 0,
        stalls: relay.child.stderr.split('event loop stalled').length - 1,
        served,
        ...faults.counts('inside', 'unserved'),
      },
      done: `${kinds.length} ways, ${tries.length} tries in all`,
      faults: faults.first,
    };
  },
};

function basic(user: string, password: string): Field {
  return ['Authorization', `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`];
}

/** A few letters. */
function word(random: Random): string {
  return random.below(1e9).toString(36);
}
