import { createAccount } from '../../support/accounts.ts';
import { Culvert } from '../../support/programs.ts';
import { Scope } from '../../support/scope.ts';
import { SHIPPED } from '../../support/shipped-proxies.ts';
import type { Row, RowResult, RunOptions } from '../row.ts';
import { Faults } from '../tools/faults.ts';
import { startFronts } from '../tools/fronts.ts';
import { HonestVisitor, startHonest } from '../tools/honest.ts';
import { ATTACKS, SEATS } from './audit/attacks.ts';
import { startEvilService } from './audit/evil-service.ts';

type Figure = 'tried' | 'succeeded' | 'served' | 'unserved' | 'strayed';

export const audit: Row<Figure> = {
  name: 'audit',
  onlyWhole: true,
  title:
    'What an audit once found, done again: each attack straight and behind nginx, HAProxy and Caddy, while others visit a tunnel and ask the API',
  thresholds: {
    tried: { meaning: 'attacks, each by each way', atLeast: 44 },
    succeeded: { meaning: 'attacks that succeeded', atMost: 0 },
    served: { meaning: 'requests of others meanwhile that got their own answer', atLeast: 100 },
    unserved: { meaning: 'requests of others meanwhile that got none', atMost: 0 },
    strayed: { meaning: "requests of others meanwhile that got somebody else's answer", atMost: 0 },
  },

  async run({ scope, say }: RunOptions): Promise<RowResult<Figure>> {
    const { relay, fronts } = await startFronts(scope, { CULVERT_MAX_CONNECTIONS: String(SEATS) });
    const service = await startEvilService(scope);
    const by = { url: `http://127.0.0.1:${relay.port}` };
    const account = await createAccount(relay, { subdomain: 'attacker' });
    const { tunnel, child } = await Culvert.start(scope, by, account.key, service);
    const free = await createAccount(relay, { plan: 'free' });
    const { tunnel: small } = await Culvert.start(scope, by, free.key, service);
    const honest = await startHonest(scope, relay);
    const faults = new Faults();
    let [tried, served] = [0, 0];
    for (const front of fronts) {
      for (const { finding, name, attack } of ATTACKS) {
        say(`${front.name}: ${name}`);
        tried += 1;
        const inner = new Scope();
        const visitor = new HonestVisitor(inner, honest, front, faults);
        try {
          const visits = new Scope();
          const asking = visitor.keepAsking(visits, `${front.name}, ${name}`);
          const world = {
            front,
            account,
            host: `${tunnel.slug}.${SHIPPED.tunnelDomain}`,
            slug: tunnel.slug,
            small: `${small.slug}.${SHIPPED.tunnelDomain}`,
            honest,
            relay,
            client: child.pid,
            tunnelId: tunnel.id,
          };
          const achieved = await attack(inner, world);
          if (achieved !== undefined)
            faults.add('succeeded', `${finding}, ${front.name}, ${name}: ${achieved}`);
          await visits.end();
          await asking;
        } finally {
          served += visitor.served;
          await inner.end();
        }
      }
    }
    return {
      figures: { tried, served, ...faults.counts('succeeded', 'unserved', 'strayed') },
      done: `${ATTACKS.length} attacks, each ${fronts.map(({ name }) => name).join(', ')}`,
      faults: faults.first,
    };
  },
};
