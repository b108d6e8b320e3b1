import { Random } from '../../support/random.ts';
import { createAccount } from '../../support/accounts.ts';
import { Culvert } from '../../support/programs.ts';
import { formatRequest } from '../../support/raw-http.ts';
import { Scope } from '../../support/scope.ts';
import { startRawService } from '../../support/services/listen.ts';
import type { Row, RowResult, RunOptions } from '../row.ts';
import { Faults } from '../tools/faults.ts';
import { type Front, startFronts } from '../tools/fronts.ts';
import { inParallel } from '../tools/in-parallel.ts';
import { SHIPPED } from '../../support/shipped-proxies.ts';
import { sample } from '../tools/sample.ts';
import { type Place, type Spelling, spellingsOf } from './spellings/cases.ts';

type Figure = 'distinct' | 'strayed' | 'serverErrors' | 'reached';

/** One name is the beginning of the other, and each account has both a tunnel and a subdomain. */
const PLACES: readonly [Place, Place, Place] = [
  { name: 'shop', account: 'acme' },
  { name: 'shop-two', account: 'other' },
  { name: 'hop', account: 'third' },
];
const VISITORS = 12;
/** How many a short run uses. */
const SHORT = 520;
const TOKEN = /^case-token: (\S+)/gim;

export const spellings: Row<Figure> = {
  name: 'spellings',
  title:
    'Hosts and paths, written as they may be and as they may not, straight and behind nginx, HAProxy and Caddy',
  thresholds: {
    distinct: { meaning: 'different spellings', atLeast: 500 },
    strayed: { meaning: 'requests that reached another tunnel than they name', atMost: 0 },
    serverErrors: { meaning: 'answers of 5xx', atMost: 0 },
    reached: { meaning: 'requests that reached the tunnel they name', atLeast: 500 },
  },

  async run({ scope, short, seed, say }: RunOptions): Promise<RowResult<Figure>> {
    const { relay, fronts } = await startFronts(scope);
    const reachedBy = new Map<string, string[]>();
    for (const { name, account } of PLACES) {
      const port = await startWitness(scope, name, reachedBy);
      const { key } = await createAccount(relay, { subdomain: account });
      const url = { url: `http://127.0.0.1:${relay.port}` };
      await Culvert.start(scope, url, key, port, ['--name', name]);
    }
    const names = { ...SHIPPED, places: PLACES };
    const random = new Random(seed);
    const all = spellingsOf(names, random);
    const cases = sample(all, short ? SHORT : all.length, random);
    const faults = new Faults();
    let reached = 0;
    for (const front of fronts) {
      say(`${cases.length} spellings, ${front.name}`);
      await inParallel(VISITORS, cases.entries(), async ([number, spelling]) => {
        const token = `${front.name}-${number}`;
        const what = `${front.name}: ${JSON.stringify(spelling)}`;
        const status = await ask(front, spelling, token);
        if (status >= 500) faults.add('serverErrors', `${what} was answered ${status}`);
        const { may, mayBehindProxy = may } = spelling;
        const allowed = front.name === 'straight' ? may : mayBehindProxy;
        const seen = reachedBy.get(token) ?? [];
        const strayed = seen.filter((name) => !allowed.includes(name));
        if (strayed.length > 0 || seen.length > 1) faults.add('strayed', `${what} reached ${seen.join()}`);
        else reached += seen.length;
      });
    }
    return {
      figures: { distinct: cases.length, reached, ...faults.counts('strayed', 'serverErrors') },
      done: `${cases.length} spellings of ${PLACES.length} tunnels, ${fronts.map(({ name }) => name).join(', ')}`,
      faults: faults.first,
    };
  },
};

/** A service that records which requests have reached it. */
async function startWitness(scope: Scope, name: string, reachedBy: Map<string, string[]>): Promise<number> {
  const { port } = await startRawService(scope, (socket) => {
    let text = '';
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
      const end = text.lastIndexOf('\r\n\r\n');
      if (end === -1) return;
      for (const [, token = ''] of text.slice(0, end).matchAll(TOKEN)) {
        reachedBy.set(token, [...(reachedBy.get(token) ?? []), name]);
      }
      text = text.slice(end + 4);
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    });
    socket.on('end', () => socket.end());
  });
  return port;
}

/** @returns the status, or 0 if the connection ended without a response */
async function ask(front: Front, { host, target, headers = [] }: Spelling, token: string): Promise<number> {
  const scope = new Scope();
  try {
    const connection = await front.open(scope);
    const request = formatRequest({ host, target, headers: [...headers, ['Case-Token', token]] });
    await connection.write(request);
    return (await connection.finalHead()).status;
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('the stream ended')) return 0;
    throw error;
  } finally {
    await scope.end();
  }
}
