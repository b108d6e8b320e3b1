import { createAccount } from '../../support/accounts.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import { SHIPPED } from '../../support/shipped-proxies.ts';
import type { Row, RowResult, RunOptions } from '../row.ts';
import { Faults } from '../tools/faults.ts';
import { straight } from '../tools/fronts.ts';
import { startService } from './leaving-and-breaking/service.ts';
import {
  frozenClients,
  halfClosedVisitors,
  leavingClients,
  leavingVisitors,
  type Stage,
  truncatingServices,
} from './leaving-and-breaking/visits.ts';

type Figure = 'wrong' | 'endless' | 'leftBehind';

const COUNT = { whole: 1000, short: 100 };

export const leavingAndBreaking: Row<Figure> = {
  name: 'leaving-and-breaking',
  title:
    'Visitors that leave in every moment, services that end in the middle of an answer, visitors that half-close, clients that are ' +
    'killed and clients that freeze',
  thresholds: {
    wrong: { meaning: 'wrong endings', atMost: 0 },
    endless: { meaning: 'visitors without an end', atMost: 0 },
    leftBehind: { meaning: 'times that visitors who have left leave local connections behind', atMost: 0 },
  },

  async run({ scope, short, say }: RunOptions): Promise<RowResult<Figure>> {
    const { CULVERT_PUBLIC_URL, CULVERT_TUNNEL_DOMAIN } = SHIPPED.settings;
    // All who wait here come from one address.
    const settings = { CULVERT_PUBLIC_URL, CULVERT_TUNNEL_DOMAIN, CULVERT_ADDRESS_CONNECTIONS: '100000' };
    const relay = await Relay.start(scope, settings);
    const faults = new Faults();
    const count = short ? COUNT.short : COUNT.whole;
    const stageOf = async (): Promise<Stage> => {
      const service = await startService(scope);
      const { key } = await createAccount(relay);
      const address = { url: `http://127.0.0.1:${relay.port}` };
      const { tunnel } = await Culvert.start(scope, address, key, service.port);
      const host = `${tunnel.slug}.${SHIPPED.tunnelDomain}`;
      return { scope, relay, front: straight(relay.port), service, host, faults, count };
    };
    // They mostly wait.
    const freezing = frozenClients(await stageOf(), short);
    say(`${count} visitors leave`);
    await leavingVisitors(await stageOf());
    say(`${count} answers are cut`);
    await truncatingServices(await stageOf());
    say(`${count} visitors half-close`);
    await halfClosedVisitors(await stageOf());
    say(`clients with ${count} visitors are killed`);
    await leavingClients(await stageOf());
    say(`clients with ${count} visitors freeze`);
    await freezing;
    return {
      figures: faults.counts('wrong', 'endless', 'leftBehind'),
      done: `${count} of each${short ? '; frozen clients go on after 3 s' : '; frozen clients stay frozen'}`,
      faults: faults.first,
    };
  },
};
