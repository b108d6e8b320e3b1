/** Claims of visitors about their address and identity, in every spelling that services fold (protocol.md section 4.2). */
import { createAccount } from '../../support/accounts.ts';
import { Culvert } from '../../support/programs.ts';
import { Random } from '../../support/random.ts';
import { formatRequest } from '../../support/raw-http.ts';
import { Scope } from '../../support/scope.ts';
import { echo, type Echo } from '../../support/services/echo.ts';
import { startHttpService } from '../../support/services/listen.ts';
import { SHIPPED } from '../../support/shipped-proxies.ts';
import { torture } from '../torture.ts';
import { Faults, inParallel, sample } from '../tools/measure.ts';
import { type Front, startFronts } from '../tools/fronts.ts';

type Figure = 'distinct' | 'answered' | 'believed';

/** Names that services and libraries trust, from the documentation of proxies, CDNs and frameworks. */
const NAMES = [
  'Culvert-Visitor',
  'Forwarded',
  'X-Real-IP',
  'X-Forwarded',
  'X-Forwarded-For',
  'X-Forwarded-Host',
  'X-Forwarded-Proto',
  'X-Forwarded-Port',
  'X-Forwarded-Prefix',
  'X-Forwarded-Server',
  'X-Forwarded-Scheme',
  'X-Forwarded-Ssl',
  'X-Forwarded-User',
  'X-Forwarded-Groups',
  'X-Forwarded-Email',
  'X-Forwarded-Access-Token',
  'X-Forwarded-Preferred-Username',
  'X-Forwarded-Client-Cert',
  'X-Original-Forwarded-For',
  'X-Vercel-Forwarded-For',
  'Forwarded-For',
  'Client-IP',
  'X-Client-IP',
  'X-Cluster-Client-IP',
  'True-Client-IP',
  'Fastly-Client-IP',
  'Fly-Client-IP',
  'Proxy-Client-IP',
  'WL-Proxy-Client-IP',
  'HTTP-Client-IP',
  'CF-Connecting-IP',
  'DO-Connecting-IP',
];
/** All characters of a field name except letters and digits (RFC 9110 section 5.6.2). */
const SEPARATORS = Array.from("-_!#$%&'*+.^`|~");
const CLAIM = 'claimed-by-a-visitor';
const VISITORS = 12;
const SHORT = 120;

torture<Figure>({
  name: 'claims',
  title:
    'Requests forge header fields that say where a request comes from, in every spelling that services accept, directly and through nginx, HAProxy and Caddy',
  thresholds: {
    distinct: { meaning: 'different header fields', atLeast: SHORT },
    answered: { meaning: 'requests that reached the service', atLeast: SHORT },
    believed: { meaning: 'forged values that reached the service', atMost: 0 },
  },

  async run({ scope, short, seed, say }) {
    const { relay, fronts } = await startFronts(scope);
    const service = await startHttpService(scope, (request, response) => {
      echo(request, response).catch(() => request.destroy());
    });
    const { key } = await createAccount(relay);
    const address = { url: `http://127.0.0.1:${relay.port}` };
    await Culvert.start(scope, address, key, service.port, ['--name', 'shop']);
    const random = new Random(seed);
    const all = fieldsOf(random);
    const fields = sample(all, short ? SHORT : all.length, random);
    const faults = new Faults();
    let answered = 0;
    for (const front of fronts) {
      say(`${fields.length} fields, ${front.name}`);
      await inParallel(VISITORS, fields, async (name) => {
        const seen = await ask(front, name);
        if (seen === undefined) return;
        answered += 1;
        if (seen.rawHeaders.some((text) => text.includes(CLAIM)))
          faults.add('believed', `${front.name}: ${name}`);
      });
    }
    return {
      figures: { distinct: fields.length, answered, ...faults.counts('believed') },
      done: `${fields.length} spellings of ${NAMES.length} header field names`,
      faults: faults.first,
    };
  },
});

/** Each name with the same separator everywhere, and with random ones, in all kinds of case. */
function fieldsOf(random: Random): string[] {
  const separator = (): string => SEPARATORS[random.below(SEPARATORS.length)] ?? '-';
  const cased = (name: string): string =>
    name.replaceAll(/[a-z]/gi, (letter) =>
      random.below(2) === 0 ? letter.toUpperCase() : letter.toLowerCase(),
    );
  const spelled = NAMES.flatMap((name) => [
    ...SEPARATORS.map((each) => name.replaceAll('-', () => each)),
    ...SEPARATORS.map(() => cased(name.replaceAll('-', separator))),
  ]);
  return [...new Set(spelled)];
}

/** @returns what the service has received; `undefined` if the relay or a proxy refused the field */
async function ask(front: Front, name: string): Promise<Echo | undefined> {
  const scope = new Scope();
  try {
    const connection = await front.open(scope);
    const host = `shop.${SHIPPED.tunnelDomain}`;
    await connection.write(formatRequest({ host, headers: [[name, CLAIM]] }));
    const { status, text } = await connection.response();
    return status === 200 ? (JSON.parse(text) as Echo) : undefined;
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('the stream ended')) return undefined;
    throw error;
  } finally {
    await scope.end();
  }
}
