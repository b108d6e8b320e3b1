import { createAccount } from '../../support/accounts.ts';
import { Culvert } from '../../support/programs.ts';
import { Random } from '../../support/random.ts';
import { SHIPPED } from '../../support/shipped-proxies.ts';
import { testAttack } from './attack.ts';
import { Faults, sample } from './measure.ts';
import { startFronts } from './fronts.ts';
import { startHonest } from './tenants.ts';
import { sendRequests, startWitnesses, type Target } from './messages/request-phase.ts';
import { hostileRequests } from './messages/requests.ts';
import { askForResponses, startHostileService } from './messages/response-phase.ts';
import { hostileResponses } from './messages/responses.ts';

type Figure = 'requests' | 'answers' | 'forwarded' | 'strayed' | 'lost' | 'honest' | 'unserved';

/** The number of each in a short run. */
const SHORT = { requests: 130, answers: 60 };

testAttack<Figure>({
  name: 'messages',
  title:
    'Hostile requests are sent to Node, nginx, Apache and a service that records bytes, and a service sends hostile responses. Each message goes directly and through nginx, HAProxy and Caddy, while other visitors use the same proxies',
  thresholds: {
    requests: { meaning: 'different hostile requests', atLeast: 120 },
    answers: { meaning: 'different hostile responses', atLeast: 55 },
    forwarded: { meaning: 'ambiguous messages that were forwarded', atMost: 0 },
    strayed: { meaning: 'messages whose bytes became part of another request or response', atMost: 0 },
    lost: { meaning: 'unusual but valid messages that were not forwarded', atMost: 0 },
    honest: { meaning: "other visitors' requests answered correctly", atLeast: 200 },
    unserved: { meaning: "other visitors' requests without a response", atMost: 0 },
  },

  async run({ scope, short, seed, say }) {
    const { relay, fronts } = await startFronts(scope);
    const faults = new Faults();
    const honest = await startHonest(scope, relay);
    const phase = { scope, fronts, honest, faults, say };
    const { key } = await createAccount(relay);
    const hostOf = async (port: number): Promise<string> => {
      const address = { url: `http://127.0.0.1:${relay.port}` };
      const { tunnel } = await Culvert.start(scope, address, key, port);
      return `${tunnel.slug}.${SHIPPED.tunnelDomain}`;
    };
    const pick = <T>(all: readonly T[], count: number): T[] =>
      sample(all, short ? count : all.length, new Random(seed));

    const targets: Target[] = [];
    for (const witness of await startWitnesses(scope)) {
      const hosts = { host: await hostOf(witness.port), victim: honest.host, relay: SHIPPED.relayHost };
      targets.push({ witness, requests: pick(hostileRequests(hosts), SHORT.requests) });
    }
    const requests = targets[0]?.requests.length ?? 0;
    const responses = pick(hostileResponses(), SHORT.answers);
    const beside = await sendRequests(phase, targets, !short);
    const service = await startHostileService(scope, responses);
    const tunnel = { host: await hostOf(service.port), requests: service.requests };
    const behind = await askForResponses(phase, responses, tunnel);
    return {
      figures: {
        requests,
        answers: responses.length,
        honest: beside + behind,
        ...faults.counts('forwarded', 'strayed', 'lost', 'unserved'),
      },
      faults: faults.first,
    };
  },
});
