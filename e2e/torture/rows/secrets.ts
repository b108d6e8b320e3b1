import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { createAccount } from '../../support/accounts.ts';
import { eventually } from '../../support/deadline.ts';
import { Culvert, newApiKey, Relay, spawnCulvert } from '../../support/programs.ts';
import { visit } from '../../support/raw-http.ts';
import type { Scope } from '../../support/scope.ts';
import { startEchoService } from '../../support/services/echo.ts';
import { SHIPPED } from '../../support/shipped-proxies.ts';
import type { Row, RowResult, RunOptions } from '../row.ts';
import { Faults } from '../tools/faults.ts';
import { straight } from '../tools/fronts.ts';
import { inParallel } from '../tools/in-parallel.ts';
import { crash, shippedCoreLimits } from './secrets/core-dump.ts';
import { useInvitations, useKeys } from './secrets/exercise.ts';
import { KeySearch } from './secrets/search.ts';

type Figure = 'logs' | 'metrics' | 'answers' | 'processes' | 'files' | 'dumps' | 'searched';

const METRICS = /"url":"http:\/\/127\.0\.0\.1:(\d+)\/metrics"/;

export const secrets: Row<Figure> = {
  name: 'secrets',
  title:
    'API keys, right and wrong, and tokens of invitations, used in every way, at the most talkative log level, with an access log, with a store that fails ' +
    'and programs that end: where they can be read afterwards',
  thresholds: {
    searched: { meaning: 'KiB looked through', atLeast: 100 },
    logs: { meaning: 'keys in logs, errors and stack traces', atMost: 0 },
    metrics: { meaning: 'keys in metrics', atMost: 0 },
    answers: { meaning: 'keys in answers', atMost: 0 },
    processes: { meaning: 'keys in the process list', atMost: 0 },
    files: { meaning: "keys in the relay's folder", atMost: 0 },
    dumps: { meaning: 'core dumps of a relay that crashes under the shipped unit', atMost: 0 },
  },

  async run({ scope, say }: RunOptions): Promise<RowResult<Figure>> {
    const { CULVERT_PUBLIC_URL, CULVERT_TUNNEL_DOMAIN } = SHIPPED.settings;
    const relay = await Relay.start(scope, {
      CULVERT_PUBLIC_URL,
      CULVERT_TUNNEL_DOMAIN,
      CULVERT_LOG_LEVEL: 'debug',
      CULVERT_METRICS_PORT: '0',
      CULVERT_ACCESS_LOG: 'stderr',
    });
    const { key } = await createAccount(relay);
    const wrong = [newApiKey(), newApiKey()];
    const keys = [relay.bootstrapKey, key, ...wrong];
    const faults = new Faults();
    const tokens = [1, 2].map(() => randomBytes(24).toString('base64url'));
    const search = new KeySearch([...keys, ...tokens], faults);
    const address = { url: `http://127.0.0.1:${relay.port}` };
    const service = await startEchoService(scope);
    const culverts = [
      await Culvert.start(scope, address, key, service.port),
      await Culvert.start(scope, address, '', service.port, ['--key', key]),
    ];
    const host = `${culverts[0]?.tunnel.slug}.${SHIPPED.tunnelDomain}`;

    say('keys in requests');
    const front = straight(relay.port);
    const hosts = [SHIPPED.relayHost, `nobody.${SHIPPED.tunnelDomain}`];
    const responses = await useKeys(front, keys, hosts);
    for (const response of responses) search.look('answers', 'a response', response);
    const invited = await useInvitations(front, tokens, [...hosts, 'elsewhere.example.org']);
    for (const response of invited) search.look('answers', 'a response', response);
    // The local service may know what its visitors send; the relay's logs may not.
    await useKeys(front, [key], [host]);
    for (const { pid } of [relay.child, ...culverts.map(({ child }) => child)])
      search.look('processes', 'a command line', readFileSync(`/proc/${pid}/cmdline`, 'latin1'));
    say('keys of programs that fail');
    for (const output of await failingPrograms(scope, address.url, wrong))
      search.look('logs', 'culvert', output);
    search.lookInFolder('files', relay.dataDirectory);

    say('a store that fails');
    renameSync(join(relay.dataDirectory, 'culvert.db'), join(relay.dataDirectory, 'culvert.away'));
    for (const response of await useKeys(front, keys, [SHIPPED.relayHost]))
      search.look('answers', 'a response', response);
    const metrics = METRICS.exec(relay.child.stderr)?.[1];
    if (metrics === undefined) throw new Error('the log does not say where metrics are');
    const { text } = await visit(Number(metrics), { host: 'localhost', target: '/metrics' });
    search.look('metrics', 'metrics', text);
    for (const { child } of culverts) {
      await child.stop('SIGINT', 20_000).catch(() => child.stop('SIGKILL'));
      search.look('logs', 'culvert', child.lines.join('\n') + child.stderr);
    }
    await relay.stop('SIGTERM', 40_000).catch(() => undefined);
    await eventually(20_000, () =>
      search.look('logs', "the relay's log", relay.child.lines.join('\n') + relay.child.stderr),
    );

    say('crashes');
    for (const limit of shippedCoreLimits())
      for (const file of await crash(scope, limit)) faults.add('dumps', `${file} with LimitCORE=${limit}`);
    return {
      figures: {
        searched: search.bytes / 1024,
        ...faults.counts('logs', 'metrics', 'answers', 'processes', 'files', 'dumps'),
      },
      done:
        `${keys.length} keys and ${tokens.length} invitations, ${responses.length + invited.length} requests with them. What is kept out of core dumps is the dump itself, by the unit's ` +
        "limit: the relay's memory has the keys of requests in progress, and who may read that may read them",
      faults: faults.first,
    };
  },
};

/** What `culvert` says about keys that are refused, about a relay that is away, and when it is used wrongly. */
async function failingPrograms(scope: Scope, url: string, wrong: readonly string[]): Promise<string[]> {
  const uses = [
    ['http', '1', '--json'],
    ['list'],
    ['http', '1', '--relay', 'http://127.0.0.1:1'],
    ['close', 'nobody', '--no-such-flag'],
    ['doctor', '1'],
  ];
  const keys = [...wrong, `${wrong[0]}\u00e9`, `x${wrong[0]}`];
  const runs = keys.flatMap((key) => uses.map((args) => ({ key, args })));
  const outputs: string[] = [];
  await inParallel(4, runs, async ({ key, args }) => {
    const child = spawnCulvert(scope, args, { CULVERT_RELAY: url, CULVERT_API_KEY: key });
    // A command that tries again and again is ended.
    await child.exit(5000).catch(() => child.stop('SIGINT').catch(() => child.stop('SIGKILL')));
    outputs.push(child.lines.join('\n') + child.stderr);
  });
  return outputs;
}
