import { createAccount } from '../../support/accounts.ts';
import { Culvert } from '../../support/programs.ts';
import { Random } from '../../support/random.ts';
import { formatRequest } from '../../support/raw-http.ts';
import { Scope } from '../../support/scope.ts';
import { SHIPPED } from '../../support/shipped-proxies.ts';
import { testAttack } from './attack.ts';
import { Faults, sample } from './measure.ts';
import { type Front, startFronts, talk } from './fronts.ts';
import { type Honest, HonestVisitor, startHonest } from './tenants.ts';
import { LOGIN, startHostileService } from './messages/response-phase.ts';
import { hostileResponses } from './messages/responses.ts';

type Figure = 'strayed' | 'unserved' | 'requests';

const REQUESTS = { whole: 100_000, short: 1500 };
/** Visitors through each proxy who keep their connection, and visitors of the hostile tunnel. */
const HONEST = 6;
const HOSTILE = 3;
const PATIENCE = { firstMs: 1500, quietMs: 30 };

testAttack<Figure>({
  name: 'pooled-tenants',
  title:
    "Two tenants and the API share the pooled connections of nginx, HAProxy and Caddy, while one tenant's service sends responses designed to confuse parsers",
  thresholds: {
    requests: { meaning: `requests (a short run sends ${REQUESTS.short})`, atLeast: REQUESTS.short },
    strayed: { meaning: 'responses that belonged to another request', atMost: 0 },
    unserved: { meaning: "other visitors' requests without a response", atMost: 0 },
  },

  async run({ scope, short, seed, say }) {
    const { relay, fronts } = await startFronts(scope);
    const honest = await startHonest(scope, relay);
    const responses = sample(hostileResponses(), Infinity, new Random(seed));
    const { key } = await createAccount(relay);
    const { port } = await startHostileService(scope, responses);
    const { tunnel } = await Culvert.start(scope, { url: `http://127.0.0.1:${relay.port}` }, key, port);
    const faults = new Faults();
    const crowd = new Crowd(honest, `${tunnel.slug}.${SHIPPED.tunnelDomain}`, responses.length, faults);
    const count = short ? REQUESTS.short : REQUESTS.whole;
    const proxies = fronts.filter(({ name }) => name !== 'straight');
    const watch = setInterval(() => say(`${crowd.asked} of ${count} requests`), 10_000);
    scope.defer(() => clearInterval(watch));
    await Promise.all(proxies.map((front) => crowd.visit(scope, front, count)));
    return {
      figures: { requests: crowd.asked, ...faults.counts('strayed', 'unserved') },
      faults: faults.first,
    };
  },
});

/** All visitors, until this many requests were sent. */
class Crowd {
  /** requests so far, including those to the hostile tenant */
  asked = 0;
  hostile = 0;
  readonly #honest: Honest;
  readonly #hostileHost: string;
  readonly #responses: number;
  readonly #faults: Faults;

  constructor(honest: Honest, hostileHost: string, responses: number, faults: Faults) {
    this.#honest = honest;
    this.#hostileHost = hostileHost;
    this.#responses = responses;
    this.#faults = faults;
  }

  async visit(scope: Scope, front: Front, until: number): Promise<void> {
    const honest = Array.from({ length: HONEST }, async () => {
      const visitor = new HonestVisitor(scope, this.#honest, front, this.#faults);
      for (; this.asked < until; this.asked += 1) await visitor.ask(`${front.name}, request ${this.asked}`);
    });
    const hostile = Array.from({ length: HOSTILE }, async () => {
      for (; this.asked < until; this.asked += 1) await this.#visitHostile(front);
    });
    await Promise.all([...honest, ...hostile]);
  }

  /** Requests the next response of the hostile tenant, and checks that it contains no data of other tenants. */
  async #visitHostile(front: Front): Promise<void> {
    this.hostile += 1;
    const number = this.hostile;
    const scope = new Scope();
    try {
      const connection = await front.open(scope);
      const target = `/answer/${number % this.#responses}/${number}`;
      const request = formatRequest({ host: this.#hostileHost, target, headers: LOGIN });
      const { text } = await talk(connection, request, PATIENCE);
      // Unsolicited data of its own service may be taken for the next response of that service, as it may without a
      // tunnel.
      if (text.includes('honest /') || text.includes(this.#honest.account.id)) {
        this.#faults.add(
          'strayed',
          `${front.name}, the hostile visitor got ${JSON.stringify(text.slice(0, 500))}`,
        );
      }
    } finally {
      await scope.end();
    }
  }
}
